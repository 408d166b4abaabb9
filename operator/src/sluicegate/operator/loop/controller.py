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
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.stages import State
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import Gatherer
from sluicegate.operator.loop.queue import KeyedQueue, Limits
from sluicegate.operator.loop.users import RULE_SET, WORKFLOW, Users
from sluicegate.operator.ports import (
    Change,
    ChangeType,
    Json,
    LoopClock,
    LoopMetrics,
    NotLeading,
    QueueMetrics,
    ResourceStore,
    ref_of,
)
from sluicegate.operator.resources.store import Expired
from sluicegate.rollout import drills
from sluicegate.rollout.found import FoundRuleSet
from sluicegate.rollout.model import Plan, Ref
from sluicegate.rollout.rollouts import reconcile_rollout
from sluicegate.rollout.rule_sets import reconcile_rule_set
from sluicegate.rollout.workflows import reconcile_workflow

log = structlog.get_logger(__name__)


COALESCED_SECONDS: Final = 1.0
"""Between a look that moved something of a rule set and the look at the rule set, which reads the plans of its users."""
RESYNC_SHARE: Final = 0.25
"""Of the queue's rate: what changes does not wait behind what is only looked at to be sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """resync: seconds after which every key is looked at again; more where RESYNC_SHARE of the rate asks for it."""

    resync: float = 60.0
    workers: int = 4
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What the lane of proofs counts: how long a key waits there says nothing of the loop."""

    metrics: QueueMetrics

    def queued(self, depth: int) -> None: ...

    def waited(self, seconds: float) -> None: ...

    def retried(self) -> None:
        self.metrics.retried()


class Controller:
    """Looks at workflows, rollouts and rule sets until cancelled. Rule sets have a lane of their own: a proof may take
    seconds, and no look at a workflow waits behind it.
    """

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
        self._proofs: KeyedQueue[Ref] = KeyedQueue(clock, _Beside(metrics), self._pace.limits)
        self._users, self._unsettled = Users(), set[Ref]()
        self._looks = {
            WORKFLOW: self.look_at_workflow,
            "WorkflowRollout": self.look_at_rollout,
            RULE_SET: self.look_at_rule_set,
        }
        self.synced = asyncio.Event()
        """Set once everything that exists was queued."""

    async def run(self) -> None:
        """Watch, queue, look."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._resync())
            group.create_task(self._queue.serve(self.handle, workers=self._pace.workers))
            group.create_task(self._proofs.serve(self.handle, workers=1))

    def add(self, key: Ref) -> None:
        """Look at it soon: something moved that is no object of ours."""
        self._lane(key).add(key)

    async def drain(self) -> None:
        """Begin no other look; returns when those that began have ended, but a proof, which may be cut anywhere. `run` goes on,
        and does nothing.
        """
        self._proofs.shut()
        await self._queue.close()

    def _lane(self, key: Ref) -> KeyedQueue[Ref]:
        return self._proofs if key.kind == RULE_SET else self._queue

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
            self._lane(key).add(key, after=max(after, 0.01))
        return True

    async def look_at_workflow(self, ref: Ref) -> float | None:
        """One look; seconds until the next, None: only when something changes."""
        found = await self._gather.workflow(ref, self._clock.now())
        if found is None:
            await self._executor.plans.remove(ref.namespace, ref.name)
            self._forget(ref)
            return None
        held, observed = found
        if observed.watch is not None:
            self._metrics.watched(ref, observed.watch)
        plan = reconcile_workflow(observed, self._clock.now())
        after = await self._carry_out(held, plan)
        self._metrics.fallback(ref, plan.status)
        if drills.is_news(observed, plan.status):
            for one in observed.rule_sets:
                self.add(Ref(RULE_SET, ref.namespace, one.name))
        self._use(ref, ref, observed.rule_sets, observed.plan)
        return after

    async def look_at_rollout(self, ref: Ref) -> float | None:
        """The same for a rollout."""
        found = await self._gather.rollout(ref)
        if found is None:
            self._forget(ref)
            return None
        held, observed = found
        plan = reconcile_rollout(observed, self._clock.now())
        after = await self._carry_out(held, plan)
        workflow = Ref(WORKFLOW, ref.namespace, observed.rollout.spec.workflow)
        is_done = plan.status.state is State.DONE
        self._use(ref, workflow, () if is_done else observed.rule_sets, observed.plan)
        self._metrics.rollout(observed.rollout, plan.status, observed.evidence)
        return after

    async def look_at_rule_set(self, ref: Ref) -> float | None:
        """The same for a rule set; this look, and no other, waits for a proof."""
        found = await self._gather.rule_set(ref, self._users.workflows(ref))
        if found is None:
            self._forget(ref)
            return None
        held, observed, judged = found
        plan = reconcile_rule_set(observed, judged, self._clock.now())
        (self._unsettled.discard if plan.requeue_after is None else self._unsettled.add)(ref)
        return await self._carry_out(held, plan)

    def _use(self, key: Ref, workflow: Ref, found: tuple[FoundRuleSet, ...], plan: RoutePlan | None) -> None:
        """The rule sets that a look met: those that got or lost a user or a place in the plan, and those that wait for gateways,
        are looked at, once for all looks of a moment.
        """
        moved = self._users.uses(key, (one.name for one in found)) | self._users.carries(workflow, plan)
        met = {Ref(RULE_SET, key.namespace, one.name) for one in found}
        for rule_set in moved | (met & self._unsettled):
            self._lane(rule_set).add(rule_set, after=COALESCED_SECONDS)

    async def _carry_out(self, held: Json, plan: Plan[Any]) -> float | None:
        await self._executor.carry_out(plan.before())
        status = plan.status.to_json()
        if status != held.get("status"):
            await self._store.update_status({**held, "status": status})
        await self._executor.carry_out(plan.after())
        return plan.requeue_after

    def _forget(self, ref: Ref) -> None:
        self._lane(ref).forget(ref)
        self._unsettled.discard(ref)
        for rule_set in self._users.forget(ref):
            self.add(rule_set)
        self._metrics.gone(ref)

    async def _follow(self) -> None:
        """Everything that exists, then every change; again from the start when the watch came too late."""
        while True:
            version, keys = await self._existing()
            self._users.keep(keys)
            for key in keys:
                self.add(key)
            self.synced.set()
            try:
                async for change in self._store.watch(KINDS, version):
                    urgent = change.item["kind"] == "Decision"  # a person waits, perhaps to abort
                    for key in self._woken(change):
                        self._lane(key).add(key, urgent=urgent)
            except Expired:
                log.info("watch_expired", since=version)

    def _woken(self, change: Change) -> Iterator[Ref]:
        """The keys to look at: the item's own, and those that a rule set and its users have of each other."""
        item, kind = change.item, change.item["kind"]
        yield from keys_of(item)
        gone = change.type is ChangeType.DELETED
        if kind == WORKFLOW and not gone:
            yield from self._users.saw(item)
        elif kind == RULE_SET and self._users.is_news(item, gone=gone):
            yield from self._users.keys(ref_of(item))

    async def _existing(self) -> tuple[int, list[Ref]]:
        """The oldest version that was listed, and every key, those under way first."""
        versions: list[int] = []
        first: list[Ref] = []
        rest: list[Ref] = []
        for kind in sorted(self._looks):
            listing = await self._store.listing(kind)
            versions.append(listing.version)
            for item in listing.items:
                if kind == WORKFLOW:
                    self._users.saw(item)
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
                self._lane(key).add(key, after=gap * place)
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
    "FallbackRuleSet": _own,
    "Decision": _target,
}


KINDS = frozenset(_KEYS)
"""What the loop follows."""


def keys_of(item: Json) -> Iterator[Ref]:
    """The keys to look at when `item` changed."""
    source = _KEYS.get(item["kind"])
    if source is not None:
        yield from source(item)
