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
    digest: Digest | None = None
    lifecycle: Lifecycle = Lifecycle.PROPOSED
    endpoint: Endpoint | None = None
    contract: MessageContract | None = None


class ComponentSpec(Model):
    """Who owns it and which versions there are."""

    owner: Text
    role: Role = Role.EXECUTOR
    protocol: Protocol = Protocol.HTTP
    description: Text | None = None
    versions: Annotated[tuple[ComponentVersion, ...], Field(max_length=256)] = ()


class AgentComponent(Resource):
    """A component that workflows may use."""

    kind: Literal["AgentComponent"] = "AgentComponent"
    spec: ComponentSpec
