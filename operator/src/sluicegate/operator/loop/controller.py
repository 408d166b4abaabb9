"""The control loop: gather → decide → apply → report, one function per kind.

Order of one look (rollout.model says why it may be cut anywhere): children, then the status with the
resourceVersion that was read, then routes, finalizers and events. A Conflict is looked at again with a fresh
read; it is never a verdict.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Conflict, SluicegateError
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import Gatherer
from sluicegate.operator.loop.queue import KeyedQueue, Limits
from sluicegate.operator.ports import Json, LoopClock, LoopMetrics, NotLeading, ResourceStore
from sluicegate.operator.resources.store import Expired
from sluicegate.rollout.model import Plan, Ref
from sluicegate.rollout.rollouts import reconcile_rollout
from sluicegate.rollout.workflows import reconcile_workflow

log = structlog.get_logger(__name__)


RESYNC_SHARE: Final = 0.25
"""Of the queue's rate: what changes does not wait behind what is only looked at to be sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """resync: seconds after which every key is looked at again; more where RESYNC_SHARE of the rate asks for it."""

    resync: float = 60.0
    workers: int = 4
    limits: Limits = field(default_factory=Limits)


class Controller:
    """Looks at workflows and rollouts until cancelled."""

    def __init__(
        self,
        *,
        store: ResourceStore,
        gatherer: Gatherer,
        executor: Executor,
        clock: LoopClock,
        metrics: LoopMetrics,
        pace: Pace | None = None,
    ) -> None:
        self._store, self._gather, self._executor = store, gatherer, executor
        self._clock, self._metrics, self._pace = clock, metrics, pace or Pace()
        self._queue: KeyedQueue[Ref] = KeyedQueue(clock, metrics, self._pace.limits)
        self._looks = {"AgentWorkflow": self.look_at_workflow, "WorkflowRollout": self.look_at_rollout}
        self.synced = asyncio.Event()
        """Set once everything that exists was queued."""

    async def run(self) -> None:
        """Watch, queue, look."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._resync())
            group.create_task(self._queue.serve(self.handle, workers=self._pace.workers))

    def add(self, key: Ref) -> None:
        """Look at it soon: something moved that is no object of ours."""
        self._queue.add(key)

    async def drain(self) -> None:
        """Begin no other look; returns when those that began have ended. `run` goes on, and does nothing."""
        await self._queue.close()

    async def handle(self, key: Ref) -> bool:
        """One look with its failures told; False: again, later."""
        started = self._clock.monotonic()
        outcome = "Error"
        try:
            after = await self._looks[key.kind](key)
            outcome = "Done"
        except Conflict as conflict:
            outcome = "Conflict"
            log.debug("look_again", about=str(key), reason=str(conflict))
            return False
        except NotLeading as fence:  # of a leader that ends, thousands at once: the elector has told it
            log.debug("look_left", about=str(key), reason=str(fence))
            return False
        except SluicegateError as error:
            log.warning("look_failed", about=str(key), error=str(error))
            return False
        except Exception:  # the loop's one net: a bug in one object must not stop the others
            log.exception("look_crashed", about=str(key))
            return False
        finally:
            self._metrics.looked(key.kind, outcome, self._clock.monotonic() - started)
        if after is not None:
            self._queue.add(key, after=max(after, 0.01))
        return True

    async def look_at_workflow(self, ref: Ref) -> float | None:
        """One look; seconds until the next, None: only when something changes."""
        found = await self._gather.workflow(ref)
        if found is None:
            await self._executor.plans.remove(ref.namespace, ref.name)
            self._forget(ref)
            return None
        held, observed = found
        if observed.watch is not None:
            self._metrics.watched(ref, observed.watch)
        return await self._carry_out(held, reconcile_workflow(observed, self._clock.now()))

    async def look_at_rollout(self, ref: Ref) -> float | None:
        """The same for a rollout."""
        found = await self._gather.rollout(ref)
        if found is None:
            self._forget(ref)
            return None
        held, observed = found
        plan = reconcile_rollout(observed, self._clock.now())
        after = await self._carry_out(held, plan)
        self._metrics.rollout(observed.rollout, plan.status, observed.evidence)
        return after

    async def _carry_out(self, held: Json, plan: Plan[Any]) -> float | None:
        await self._executor.carry_out(plan.before())
        status = plan.status.to_json()
        if status != held.get("status"):
            await self._store.update_status({**held, "status": status})
        await self._executor.carry_out(plan.after())
        return plan.requeue_after

    def _forget(self, ref: Ref) -> None:
        self._queue.forget(ref)
        self._metrics.gone(ref)

    async def _follow(self) -> None:
        """Everything that exists, then every change; again from the start when the watch came too late."""
        while True:
            version, keys = await self._existing()
            for key in keys:
                self._queue.add(key)
            self.synced.set()
            try:
                async for change in self._store.watch(KINDS, version):
                    urgent = change.item["kind"] == "Decision"  # a person waits, perhaps to abort
                    for key in keys_of(change.item):
                        self._queue.add(key, urgent=urgent)
            except Expired:
                log.info("watch_expired", since=version)

    async def _existing(self) -> tuple[int, list[Ref]]:
        """The oldest version that was listed, and every key, those under way first."""
        versions: list[int] = []
        first: list[Ref] = []
        rest: list[Ref] = []
        for kind in sorted(self._looks):
            listing = await self._store.listing(kind)
            versions.append(listing.version)
            for item in listing.items:
                (first if is_under_way(item) else rest).extend(keys_of(item))
        return min(versions), list(dict.fromkeys(first + rest))

    async def _resync(self) -> None:
        """One key after the other, a round each `pace.resync`."""
        gap = 1.0 / (RESYNC_SHARE * self._pace.limits.rate)
        every = self._pace.resync
        while True:
            await self._clock.sleep(every / 2 + system.jitter(every))
            _, keys = await self._existing()
            for place, key in enumerate(keys):
                self._queue.add(key, after=gap * place)
            every = max(self._pace.resync, gap * len(keys))


def is_under_way(item: Json) -> bool:
    """A rollout that has not ended; a workflow that is not healthy, is to go, or has a spec that nobody looked at."""
    status, metadata = item.get("status") or {}, item["metadata"]
    if item["kind"] == "WorkflowRollout":
        return bool(status.get("state") != "Done")
    is_seen = metadata.get("generation") == status.get("observedGeneration")
    return not is_seen or "deletionTimestamp" in metadata or status.get("phase") != "Healthy"


def _own(item: Json) -> Iterator[Ref]:
    yield Ref(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])


def _workflow(item: Json) -> Iterator[Ref]:
    yield Ref("AgentWorkflow", item["metadata"]["namespace"], item["spec"]["workflow"])


def _rollout(item: Json) -> Iterator[Ref]:
    yield from _own(item)
    yield from _workflow(item)


def _target(item: Json) -> Iterator[Ref]:
    target = item["spec"]["target"]
    kind = target.get("kind", "WorkflowRollout")
    if kind in KINDS:
        yield Ref(kind, item["metadata"]["namespace"], target["name"])


_KEYS: dict[str, Callable[[Json], Iterator[Ref]]] = {
    "AgentWorkflow": _own,
    "WorkflowRevision": _workflow,
    "WorkflowRollout": _rollout,
    "Decision": _target,
}


KINDS = frozenset(_KEYS)
"""What the loop follows."""


def keys_of(item: Json) -> Iterator[Ref]:
    """The keys to look at when `item` changed."""
    source = _KEYS.get(item["kind"])
    if source is not None:
        yield from source(item)
