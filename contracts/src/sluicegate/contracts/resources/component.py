"""AgentComponent: the registry entry of a component."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Digest, Model, Resource, Text, VersionText
from sluicegate.contracts.resources.workflow import Endpoint, MessageContract, Protocol, Role


class Lifecycle(StrEnum):
    """Where a component version stands."""

    PROPOSED = "Proposed"
    APPROVED = "Approved"
    DEPRECATED = "Deprecated"
    RETIRED = "Retired"


class ComponentVersion(Model):
    """One version of a component."""

    version: VersionText
    """As in workflows."""
    digest: Digest | None = None
    """Of what is deployed."""
    lifecycle: Lifecycle = Lifecycle.PROPOSED
    """Where it stands; for people."""
    endpoint: Endpoint | None = None
    """Where it is."""
    contract: MessageContract | None = None
    """What goes in and comes out."""


class ComponentSpec(Model):
    """Who owns it and which versions there are."""

    owner: Text
    """Team or person."""
    role: Role = Role.EXECUTOR
    """What it is for."""
    protocol: Protocol = Protocol.HTTP
    """How it is called."""
    description: Text | None = None
    """For people."""
    versions: Annotated[tuple[ComponentVersion, ...], Field(max_length=256)] = ()
    """All there are."""


class AgentComponent(Resource):
    """A component that workflows may use."""

    kind: Literal["AgentComponent"] = "AgentComponent"
    """Always this."""
    spec: ComponentSpec
    """Owner and versions."""
