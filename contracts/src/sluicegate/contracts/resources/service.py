"""`runtime: Service`: each revision is a Kubernetes Service behind one rule of an HTTPRoute."""

from typing import Annotated

from pydantic import Field

from sluicegate.contracts.resources.base import Model, Name

_Subdomain = Annotated[
    str,
    Field(
        strict=True,
        min_length=1,
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
]


class ServiceRoute(Model):
    """An HTTPRoute that exists, in the workflow's namespace. Only the backends of one rule are changed in it."""

    name: _Subdomain
    """Of the HTTPRoute."""
    rule: _Subdomain | None = None
    """Name of the rule. Absent: the only rule that leads to the backend."""


class ServiceBackend(Model):
    """The Kubernetes Service that answers for this version, in the workflow's namespace."""

    name: Name
    """Of the Service; another version has another one."""
    port: Annotated[int, Field(strict=True, ge=1, le=65_535)]
    """Of the Service."""


class ServiceRuntime(Model):
    """Where traffic comes in and what answers it."""

    route: ServiceRoute
    """Where traffic comes in; no part of a revision, so it is followed at once."""
    backend: ServiceBackend
    """What answers: the body of the revision."""
