"""What the control loop needs of the world, by need. Local mode and Kubernetes are adapters.

Objects are JSON (``dict``) with camelCase keys, the way both stores speak; the loop makes them typed at
its edge. All errors are those of ``contracts.errors``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.resources.rollout import RolloutStatus, WorkflowRollout
from sluicegate.contracts.resources.source import SourceCredential
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.watch import WatchEvidence
from sluicegate.rollout.measurements import Ask, Inquiry, Measurement, Reading
from sluicegate.rollout.model import Event, Ref, Trouble

Json = dict[str, Any]


class NotLeading(Unavailable):
    """Another replica leads, or may: this one writes nothing."""


def ref_of(item: Mapping[str, Any]) -> Ref:
    """The reference of an object."""
    metadata = item["metadata"]
    return Ref(item["kind"], metadata.get("namespace", "default"), metadata["name"])


class ChangeType(StrEnum):
    """What happened to an object, in the words of a Kubernetes watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One committed change; `version` is its place in the sequence of the reader that told it, for a watch to go on from."""

    version: int
    type: ChangeType
    item: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Objects as of `version`, a place in this reader's sequence; a watch from there misses nothing."""

    items: tuple[Json, ...]
    version: int


class ResourceReader(Protocol):
    """Reads; never older than the caller's own last write. Local mode: always the last committed state."""

    async def get(self, ref: Ref) -> Json:
        """The object, or NotFound."""
        ...

    async def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, by namespace and name; all namespaces when None."""
        ...

    async def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to the object with uid `owner`, by namespace and name."""
        ...


class ResourceWatcher(Protocol):
    """Changes in order."""

    def watch(self, kinds: frozenset[str], after: int) -> AsyncIterator[Change]:
        """Changes after `after` (the version of a Listing or a Change), for ever; store.Expired when that is too long ago."""
        ...


class ResourceWriter(Protocol):
    """Writes with optimistic concurrency: a `metadata.resourceVersion` that is not current is a Conflict.

    `update` never touches status and `update_status` nothing but status; a write that changes nothing makes
    no new resourceVersion.
    """

    async def create(self, item: Json) -> Json:
        """The object as stored; Conflict when the name is taken."""
        ...

    async def update(self, item: Json) -> Json:
        """Replace spec and metadata; NotFound, Conflict."""
        ...

    async def update_status(self, item: Json) -> Json:
        """Replace status; NotFound, Conflict."""
        ...

    async def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        """Put one finalizer on the object, or take it off; the others stay. NotFound; Conflict when `uid` differs,
        Refused for a new one on an object that is being deleted.
        """
        ...


class ResourceDeleter(Protocol):
    """Deletion: marked while finalizers are left, removed when none is; its dependents follow."""

    async def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        """NotFound when absent; Conflict when `uid` is given and differs."""
        ...


class ResourceStore(ResourceReader, ResourceWriter, ResourceDeleter, ResourceWatcher, Protocol):
    """All of it; what the contract suite runs on."""


class PlanSink(Protocol):
    """Where routing plans go, and what the gateways say of them."""

    async def write(self, plan: RoutePlan) -> None:
        """Publish the plan to the gateways. The same version again only moves the candidate's lease."""
        ...

    async def remove(self, namespace: str, workflow: str) -> None:
        """The workflow is gone: gateways answer 404."""
        ...


class GatewayView(Protocol):
    """What the gateways say of the plans."""

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        """The plan as published."""
        ...

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        """What every live gateway has applied."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Programmed:
    """version: the plan version that every live gateway serves at least; 0 when one of them does not, or none lives."""

    version: int
    gateways: int  # how many live
    trouble: Trouble | None = None  # why the plan is not followed, where that is known


class EventSink(Protocol):
    """Where what happened is told to people."""

    async def record(self, event: Event) -> None:
        """The same event again raises its count."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What one arm is asked. at: as of when. max_age_seconds: older samples are stale. token: bearer token, if any. number:
    of the measurement, of its gate in this stage and attempt.
    """

    inquiry: Inquiry
    at: datetime
    max_age_seconds: int
    timeout_seconds: float
    token: str | None = None
    number: int = 0


class ExternalEvidence(Protocol):
    """A provider of evidence, as Prometheus. Nothing is raised for what it answers or fails to: a Reading says it."""

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """One Reading for each text of the inquiry, in its order."""
        ...


class SourceTokens(Protocol):
    """Bearer tokens of sources."""

    async def token(self, namespace: str, credential: SourceCredential) -> str:
        """NotFound when there is none, Forbidden when it may not be read; neither says its value."""
        ...


class ExternalView(Protocol):
    """What was measured for rollouts. Never waits."""

    def measured(self, rollout: Ref, wanted: tuple[Ask, ...]) -> tuple[Measurement, ...]:
        """Measure `wanted` and nothing else for this rollout from now on; what is newer than `Ask.after`."""
        ...

    def forget(self, rollout: Ref) -> None:
        """It is gone."""
        ...


class LoopClock(Protocol):
    """Time of the shells. `monotonic` never goes back."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class QueueMetrics(Protocol):
    """What the queue counts."""

    def queued(self, depth: int) -> None:
        """Keys that are ready and not yet taken."""
        ...

    def waited(self, seconds: float) -> None:
        """How long a key was ready before it was taken."""
        ...

    def retried(self) -> None:
        """A key failed and comes back."""
        ...


class LoopMetrics(QueueMetrics, Protocol):
    """What the loop counts."""

    def looked(self, kind: str, outcome: str, seconds: float) -> None:
        """One look; outcome: Done, Conflict, Error."""
        ...

    def rollout(
        self, rollout: WorkflowRollout, status: RolloutStatus, evidence: StageEvidence | None = None
    ) -> None:
        """Where a rollout stands, and the evidence that was looked at."""
        ...

    def watched(self, ref: Ref, found: WatchEvidence) -> None:
        """The watch over a workflow's stable version."""
        ...

    def fallback(self, ref: Ref, status: WorkflowStatus) -> None:
        """What the status of a workflow says of its business fallback."""
        ...

    def gone(self, ref: Ref) -> None:
        """The object is no more; drop its series."""
        ...
