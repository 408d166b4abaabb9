"""Everything around the control loop, in memory, on a clock that the test moves. One fuse can kill it at any call."""

from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation, StageEvidence
from sluicegate.contracts.resources.rollout import RolloutStatus, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.contracts.watch import WatchEvidence
from sluicegate.operator.loop.controller import Controller, keys_of
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import Gatherer
from sluicegate.operator.ports import Change, Json, Listing, Programmed
from sluicegate.operator.resources.memory import MemoryStore
from sluicegate.rollout.measurements import Ask, Measurement, Reading
from sluicegate.rollout.model import Event, Ref

R = TypeVar("R")
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Killed(BaseException):
    """kill -9."""


@dataclass
class Clock:
    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a look does not sleep")


@dataclass
class Fuse:
    """Blows at the `at`-th call of a write, before or after it is done; never when `at` is 0."""

    at: int = 0
    after: bool = False
    calls: int = 0

    def burn(self, *, after: bool) -> None:
        if not after:
            self.calls += 1
        if self.calls == self.at and after == self.after:
            raise Killed


@dataclass
class FusedStore:
    """`MemoryStore` whose writes may be the last thing that happens. before_status runs before a status write."""

    inner: MemoryStore
    fuse: Fuse
    before_status: list[Any] = field(default_factory=list)

    async def get(self, ref: Ref) -> Json:
        return await self.inner.get(ref)

    async def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        return await self.inner.listing(kind, namespace, labels)

    async def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        return await self.inner.owned(kind, owner)

    def watch(self, kinds: frozenset[str], after: int) -> AsyncIterator[Change]:
        return self.inner.watch(kinds, after)

    async def create(self, item: Json) -> Json:
        return await self._fused(self.inner.create(item))

    async def update(self, item: Json) -> Json:
        return await self._fused(self.inner.update(item))

    async def update_status(self, item: Json) -> Json:
        while self.before_status:
            await self.before_status.pop()()
        return await self._fused(self.inner.update_status(item))

    async def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        await self._fused(self.inner.finalizer(ref, uid, name, present=present))

    async def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        await self._fused(self.inner.delete(ref, uid=uid))

    async def _fused(self, write: Coroutine[Any, Any, R]) -> R:
        try:
            self.fuse.burn(after=False)
        except Killed:
            write.close()
            raise
        done = await write
        self.fuse.burn(after=True)
        return done


@dataclass
class Gateways:
    """Plans, and gateways that acknowledge when the test says so."""

    fuse: Fuse
    clock: Clock
    plans: dict[tuple[str, str], RoutePlan] = field(default_factory=dict)
    acknowledged: dict[tuple[str, str], int] = field(default_factory=dict)
    history: list[RoutePlan] = field(default_factory=list)

    async def write(self, plan: RoutePlan) -> None:
        self.fuse.burn(after=False)
        held = self.plans.get((plan.namespace, plan.workflow))
        assert held is None or plan.version >= held.version, "versions never fall"
        if held is None or plan.version > held.version:
            self.history.append(plan)
        else:
            assert replace(held, lease_until=plan.lease_until) == plan, "one version has one content"
        self.plans[(plan.namespace, plan.workflow)] = plan
        self.fuse.burn(after=True)

    async def remove(self, namespace: str, workflow: str) -> None:
        self.plans.pop((namespace, workflow), None)

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        return self.plans.get((namespace, workflow))

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        return Programmed(version=self.acknowledged.get((namespace, workflow), 0), gateways=1)

    def acknowledge(self) -> None:
        self.acknowledged = {key: plan.version for key, plan in self.plans.items()}


@dataclass
class Lineage:
    """Observations that the test feeds, and saved folds."""

    units: dict[EvidenceKey, list[Observation]] = field(default_factory=dict)
    saved: dict[EvidenceKey, bytes] = field(default_factory=dict)
    saves: int = 0
    drills: DrillCounts | None = None  # of whatever window

    def observations(self, key: EvidenceKey, *, after: int, limit: int = 10_000) -> list[Observation]:
        return [unit for unit in self.units.get(key, ()) if unit.sequence > after][:limit]

    def load(self, key: EvidenceKey) -> bytes | None:
        return self.saved.get(key)

    def save(self, key: EvidenceKey, state: bytes) -> None:
        self.saves += 1
        self.saved[key] = state

    def forget(self, key: EvidenceKey, *, before: int) -> None:
        self.units[key] = [unit for unit in self.units.get(key, ()) if unit.sequence >= before]

    def drill(self, look: DrillLook) -> DrillCounts:
        return replace(self.drills, look=look) if self.drills is not None else DrillCounts(look=look)

    def fallbacks(self, rollout: str, stage: str, attempt: int) -> list[Json]:
        return []

    def feed(self, key: EvidenceKey, count: int, at: datetime, *, candidate: float = 1.0) -> None:
        """`count` units in which stable succeeds and the candidate succeeds with `candidate`."""
        units = self.units.setdefault(key, [])
        for _ in range(count):
            number = len(units) + 1
            arms = {
                "stable": ArmFacts(success=1.0, latencies_ms=(10.0,)),
                "candidate": ArmFacts(success=candidate, latencies_ms=(10.0,)),
            }
            if key.stage not in MIRRORED_STAGES:
                arms = {
                    name: facts for name, facts in arms.items() if (number % 2 == 0) == (name == "candidate")
                }
            if key.stage is Stage.FULL:
                arms = {"candidate": ArmFacts(success=candidate, latencies_ms=(10.0,))}
            units.append(
                Observation(sequence=number, key=key, unit=f"u{number}", runs=(f"r{number}",), at=at, **arms)  # type: ignore[arg-type]
            )


@dataclass
class Told:
    """`ports.LoopMetrics`."""

    looks: list[tuple[str, str]] = field(default_factory=list)

    def queued(self, depth: int) -> None: ...
    def waited(self, seconds: float) -> None: ...
    def retried(self) -> None: ...
    def rollout(
        self, rollout: WorkflowRollout, status: RolloutStatus, evidence: StageEvidence | None = None
    ) -> None: ...
    def watched(self, ref: Ref, found: WatchEvidence) -> None: ...
    def fallback(self, ref: Ref, status: WorkflowStatus) -> None: ...
    def gone(self, ref: Ref) -> None: ...

    def looked(self, kind: str, outcome: str, seconds: float) -> None:
        self.looks.append((kind, outcome))


@dataclass
class Events:
    """`ports.EventSink`, by key."""

    fuse: Fuse
    seen: dict[tuple[Ref, str], Event] = field(default_factory=dict)

    async def record(self, event: Event) -> None:
        self.fuse.burn(after=False)
        self.seen[(event.about, event.key)] = event
        self.fuse.burn(after=True)

    def reasons(self) -> list[str]:
        return [event.reason for event in self.seen.values()]


@dataclass
class Measured:
    """`ports.ExternalView`: every ask is answered at once with `values`, by gate, as (arm, role) -> reading."""

    clock: Clock
    values: dict[str, dict[tuple[str, str], Reading]] = field(default_factory=dict)
    wanted: dict[Ref, tuple[Ask, ...]] = field(default_factory=dict)

    def measured(self, rollout: Ref, wanted: tuple[Ask, ...]) -> tuple[Measurement, ...]:
        self.wanted[rollout] = wanted
        return tuple(
            Measurement(
                key=ask.key,
                gate=ask.gate,
                number=ask.after + 1,
                at=self.clock.now(),
                readings=tuple((arm, role, one) for (arm, role), one in self.values[ask.gate].items()),
            )
            for ask in wanted
            if ask.gate in self.values
        )

    def forget(self, rollout: Ref) -> None:
        self.wanted.pop(rollout, None)


class World:
    """The loop and its surroundings. `restart` drops the loop's memory and nothing else."""

    def __init__(self, fuse: Fuse | None = None) -> None:
        self.fuse = fuse or Fuse()
        self.clock, self.told = Clock(), Told()
        self.memory = MemoryStore(self.clock.now)
        self.store = FusedStore(self.memory, self.fuse)
        self.gateways = Gateways(self.fuse, self.clock)
        self.lineage, self.events = Lineage(), Events(self.fuse)
        self.measured = Measured(self.clock)
        self.restart()

    def restart(self) -> None:
        self.loop = Controller(
            store=self.store,
            gatherer=Gatherer(
                store=self.store,
                gateways=self.gateways,
                evidence=FoldedEvidence(self.lineage),
                external=self.measured,
            ),
            executor=Executor(store=self.store, plans=self.gateways, events=self.events),
            clock=self.clock,
            metrics=self.told,
        )

    async def keys(self) -> list[Ref]:
        found: dict[Ref, None] = {}
        for kind in ("FallbackRuleSet", "AgentWorkflow", "WorkflowRollout"):
            for item in (await self.memory.listing(kind)).items:
                found.update(dict.fromkeys(keys_of(item)))
        return list(found)

    async def round(self, *, seconds: float = 1.0, units: int = 10, candidate: float = 1.0) -> None:
        """Time passes, users come, gateways follow, every key is looked at; a kill is followed by a restart."""
        self.clock.at += timedelta(seconds=seconds)
        self.gateways.acknowledge()
        for rollout in await self.rollouts():
            status = rollout.get("status") or {}
            if status.get("state") in set(Stage) and units:
                stage = EvidenceKey(rollout["metadata"]["uid"], Stage(status["state"]), status["attempt"])
                self.lineage.feed(stage, units, self.clock.at, candidate=candidate)
        for key in await self.keys():
            try:
                await self.loop.handle(key)
            except Killed:
                self.restart()

    async def rollouts(self) -> list[Json]:
        return list((await self.memory.listing("WorkflowRollout")).items)

    async def rollout(self) -> Json:
        return (await self.rollouts())[-1]

    async def until_done(self, rounds: int = 80, **each: Any) -> Json:
        """Rounds until the newest rollout is done."""
        for _ in range(rounds):
            await self.round(**each)
            found = await self.rollouts()
            if found and (found[-1].get("status") or {}).get("state") == "Done":
                return found[-1]
        raise AssertionError(f"not done: {(await self.rollouts())[-1:]}")
