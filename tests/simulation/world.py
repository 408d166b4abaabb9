"""An in-memory cluster under a virtual clock: real reconcile functions, hostile conditions.

Objects go through JSON at every read and write, as in a real store. A step may read an older version of an object, may
find its write in conflict, and may die between any two actions; nothing is kept between steps but the store.
"""

import json
import random  # noqa: TID251 - seeded by the test
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.evidence import EvidenceKey, SignalEvidence, StageEvidence
from sluicegate.contracts.resources import (
    KINDS,
    AgentWorkflow,
    Decision,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.routes import RoutePlan, TrafficMode
from sluicegate.contracts.stages import Action, Signal
from sluicegate.rollout import planning
from sluicegate.rollout.model import (
    FINALIZER,
    Apply,
    Delete,
    Emit,
    Hold,
    Plan,
    Release,
    RolloutObserved,
    Route,
    Unroute,
    WorkflowObserved,
)
from sluicegate.rollout.rollouts import reconcile_rollout
from sluicegate.rollout.workflows import reconcile_workflow

START = datetime(2026, 3, 1, tzinfo=UTC)
R = TypeVar("R", bound=Resource)
Ref = tuple[str, str]


class CrashedError(Exception):
    """The process died here; the store keeps what was written."""


class ConflictedError(Exception):
    """The object changed since it was read."""


@dataclass
class Gateway:
    """One data plane process: the plan that it follows, and the units it sees."""

    alive: bool = True
    plan: RoutePlan | None = None


@dataclass
class Chaos:
    """How hostile a step is, as chances."""

    stale: float = 0.0
    conflict: float = 0.0
    crash: float = 0.0


@dataclass
class World:
    """One namespace with one workflow `bot`. bad: versions that are worse in every signal."""

    seed: int = 0
    bad: frozenset[str] = frozenset()
    chaos: Chaos = field(default_factory=Chaos)
    now: datetime = START
    log: list[str] = field(default_factory=list)
    crash_at: int = 0  # die once, at this point; points are counted from 1
    points: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.versions: dict[Ref, list[str | None]] = {}  # every stored text of an object, newest last
        self.plans: list[RoutePlan | None] = [None]
        self.gateways = [Gateway(), Gateway()]
        self.units: dict[EvidenceKey, int] = {}
        self.first_at: dict[EvidenceKey, datetime] = {}
        self.last_at: dict[EvidenceKey, datetime] = {}
        self.writes = 0
        self.uids = 0
        self.seen_events: set[str] = set()

    def get(self, kind: type[R], name: str, *, stale: bool = False) -> R | None:
        texts = self.versions.get((kind.__name__, name), [])
        if not texts:
            return None
        text = texts[-1]
        if stale and len(texts) > 1 and self.random.random() < self.chaos.stale:
            text = texts[-self.random.randint(1, min(3, len(texts)))]
        return None if text is None else kind.model_validate(json.loads(text))

    def list(self, kind: type[R], *, stale: bool = False) -> tuple[R, ...]:
        names = [name for found, name in self.versions if found == kind.__name__]
        items = [self.get(kind, name, stale=stale) for name in names]
        return tuple(item for item in items if item is not None)

    def put(self, item: Resource) -> None:
        texts = self.versions.setdefault((item.kind, item.metadata.name), [])
        version = str(len(texts) + 1)
        metadata = item.metadata.model_copy(update={"resource_version": version})
        texts.append(json.dumps(item.model_copy(update={"metadata": metadata}).to_json()))
        self.writes += 1

    def create(self, item: Resource) -> None:
        """A no-op when it exists with the same spec; another spec is a conflict."""
        held = self.get(KINDS[item.kind].model, item.metadata.name)
        if held is not None:
            if getattr(held, "spec", None) != getattr(item, "spec", None):
                raise ConflictedError(f"{item.kind} {item.metadata.name} has another spec")
            return
        self.uids += 1
        metadata = item.metadata.model_copy(
            update={
                "uid": f"uid-{self.uids}",
                "generation": 1,
                "creation_timestamp": self.now,
            }
        )
        self.put(item.model_copy(update={"metadata": metadata}))

    def delete(self, kind: str, name: str) -> None:
        held = self.get(KINDS[kind].model, name)
        if held is None:
            return
        if held.metadata.finalizers:
            if held.metadata.deletion_timestamp is None:
                gone = held.metadata.model_copy(update={"deletion_timestamp": self.now})
                self.put(held.model_copy(update={"metadata": gone}))
            return
        self.versions[kind, name].append(None)

    def apply(self, spec: WorkflowSpec, by: str = "author") -> None:
        held = self.get(AgentWorkflow, "bot")
        if held is None:
            marks = {"sluicegate.io/changed-by": by}
            self.create(AgentWorkflow(metadata=Metadata(name="bot", annotations=marks), spec=spec))
        else:
            grown = held.metadata.model_copy(update={"generation": (held.metadata.generation or 0) + 1})
            self.put(held.model_copy(update={"spec": spec, "metadata": grown}))
        self.say("people", f"apply {spec.version}")

    def decide(self, action: Action, rollout: str, by: str = "alice", **spec: Any) -> str:
        """A Decision with what the person sees now; its name."""
        item = self.rollout(rollout)
        status = item.status
        expected: dict[str, Any] = {"candidate": item.spec.candidate.digest}
        if status is not None:
            expected |= {"attempt": status.attempt} | ({"stage": status.stage} if status.stage else {})
        body = {
            "action": action,
            "target": {"name": rollout, "uid": item.metadata.uid},
            "expected": expected,
            "decided_by": by,
            "reason": "because",
        }
        name = f"decision-{self.uids + 1}"
        self.create(Decision.model_validate({"metadata": {"name": name}, "spec": body | spec}))
        self.say("people", f"{action.value} {rollout} by {by}")
        return name

    def workflow(self) -> AgentWorkflow:
        held = self.get(AgentWorkflow, "bot")
        assert held is not None
        return held

    def rollout(self, name: str) -> WorkflowRollout:
        held = self.get(WorkflowRollout, name)
        assert held is not None, name
        return held

    def status_of(self, name: str) -> RolloutStatus:
        """Of a rollout that was looked at."""
        status = self.rollout(name).status
        assert status is not None, name
        return status

    def summary(self) -> WorkflowStatus:
        """Of the workflow, after its first look."""
        status = self.workflow().status
        assert status is not None
        return status

    def reconcile(self, kind: str, name: str) -> None:
        """One look at one object, with everything that can go wrong; the next look starts from the store alone."""
        try:
            if kind == "AgentWorkflow":
                self._look_at_workflow(name)
            else:
                self._look_at_rollout(name)
        except (ConflictedError, CrashedError):
            return

    def _look_at_workflow(self, name: str) -> None:
        held = self.get(AgentWorkflow, name, stale=True)
        if held is None:
            return
        seen = WorkflowObserved(
            workflow=held,
            revisions=self.list(WorkflowRevision, stale=True),
            rollouts=self.list(WorkflowRollout, stale=True),
            plan=self.plans[-1],
            programmed=self.programmed(),
            live_gateways=sum(gateway.alive for gateway in self.gateways),
        )
        self._carry_out(held, reconcile_workflow(seen, self.now))

    def _look_at_rollout(self, name: str) -> None:
        held = self.get(WorkflowRollout, name, stale=True)
        if held is None:
            return
        wanted = planning.look(held)
        seen = RolloutObserved(
            rollout=held,
            workflow=self.get(AgentWorkflow, held.spec.workflow, stale=True),
            stable=self.get(WorkflowRevision, held.spec.stable.name),
            candidate=self.get(WorkflowRevision, held.spec.candidate.name),
            decisions=tuple(
                item for item in self.list(Decision) if item.spec.target.uid == held.metadata.uid
            ),
            evidence=None if wanted is None else self.evidence(held, wanted.key),
            plan=self.plans[-1],
            programmed=self.programmed(),
            live_gateways=sum(gateway.alive for gateway in self.gateways),
        )
        self._carry_out(held, reconcile_rollout(seen, self.now))

    def _carry_out(self, held: Any, plan: Plan[Any]) -> None:
        for act in plan.before():
            self._may_crash()
            match act:
                case Apply(resource):
                    self.create(resource)
                case Delete(ref):
                    self.delete(ref.kind, ref.name)
        if plan.status != held.status:
            self._may_crash()
            self._write_status(held, plan.status)
        for later in plan.after():
            self._may_crash()
            match later:
                case Hold(ref):
                    self._hold(ref.name)
                case Release(ref):
                    self._release(ref.name)
                case Route(route):
                    self._route(route)
                case Unroute():
                    self.plans.append(None)
                case Emit(event):
                    if event.key not in self.seen_events:
                        self.seen_events.add(event.key)
                        self.say("event", f"{event.about.name} {event.reason}: {event.message}")

    def _write_status(self, held: Any, status: Any) -> None:
        current = self.get(type(held), held.metadata.name)
        if current is None or current.metadata.resource_version != held.metadata.resource_version:
            raise ConflictedError(held.metadata.name)
        if self.random.random() < self.chaos.conflict:
            raise ConflictedError("injected")
        self.check_status(held, status)
        self.put(current.model_copy(update={"status": status}))

    def check_status(self, held: Any, status: Any) -> None:
        """Invariants of a transition; see invariants.py."""

    def _hold(self, name: str) -> None:
        held = self.get(AgentWorkflow, name)
        if held is None:
            return
        metadata = held.metadata.model_copy(update={"finalizers": (FINALIZER,)})
        self.put(held.model_copy(update={"metadata": metadata}))

    def _release(self, name: str) -> None:
        """The deletion ends, and with it whatever belonged to the workflow."""
        held = self.get(AgentWorkflow, name)
        if held is None:
            return
        assert held.metadata.deletion_timestamp is not None
        self.versions["AgentWorkflow", name].append(None)
        for kind, child in list(self.versions):
            if kind != "AgentWorkflow":
                self.versions[kind, child].append(None)

    def _route(self, plan: RoutePlan) -> None:
        stored = self.plans[-1]
        if stored is not None and stored.version == plan.version:
            self.plans[-1] = replace(stored, lease_until=plan.lease_until)
            return
        assert stored is None or plan.version > stored.version, f"plan {plan.version} after {stored}"
        self.plans.append(plan)
        candidate = "nobody" if plan.candidate is None else plan.candidate.version
        share = f"{plan.share.numerator}/{plan.share.denominator}"
        self.say("plan", f"{plan.version}: stable {plan.stable.version}, {plan.mode} {share} to {candidate}")

    def _may_crash(self) -> None:
        self.points += 1
        if self.points == self.crash_at or self.random.random() < self.chaos.crash:
            raise CrashedError

    def sync(self, gateway: Gateway) -> None:
        """The gateway reads the plan table."""
        if gateway.alive:
            gateway.plan = self.plans[-1]

    def programmed(self) -> int:
        alive = [gateway for gateway in self.gateways if gateway.alive]
        return min((gateway.plan.version if gateway.plan else 0 for gateway in alive), default=0)

    def traffic(self, units: int = 40) -> None:
        """Units through every live gateway, by the plan that it follows."""
        for gateway in self.gateways:
            plan = gateway.plan
            if not gateway.alive or plan is None or plan.candidate is None or plan.stage is None:
                continue
            if plan.lease_until is not None and plan.lease_until < self.now:
                continue
            key = EvidenceKey(plan.rollout or "", plan.stage, plan.attempt)
            self.units[key] = self.units.get(key, 0) + units
            self.first_at.setdefault(key, self.now)
            self.last_at[key] = self.now

    def users_on_candidate(self) -> set[str]:
        """Versions that answer users besides stable, right now."""
        found = set()
        for gateway in self.gateways:
            plan = gateway.plan
            if not gateway.alive or plan is None or plan.candidate is None:
                continue
            if plan.mode is TrafficMode.SPLIT and plan.lease_until and plan.lease_until >= self.now:
                found.add(plan.candidate.version)
        return found

    def evidence(self, rollout: WorkflowRollout, key: EvidenceKey) -> StageEvidence | None:
        """What the units of the key show: e-values that grow by a fixed step per unit."""
        units = self.units.get(key, 0)
        if units == 0:
            return None
        worse = rollout.spec.candidate.version in self.bad
        planned = planning.stage_of(rollout.spec, key.stage)
        signals = tuple(self._signal(gate.signal, units, worse=worse) for gate in planned.gates)
        return StageEvidence(
            key=key,
            cursor=units,
            units=units,
            stable_units=units,
            first_at=self.first_at[key],
            last_at=self.last_at[key],
            units_per_hour=3600.0,
            signals=signals,
        )

    def _signal(self, signal: Signal, units: int, *, worse: bool) -> SignalEvidence:
        return SignalEvidence(
            signal=signal,
            component="agent" if signal is Signal.FALLBACK_RATE_MAX else None,
            units=units,
            candidate=0.6 if worse else 0.95,
            stable=0.95,
            harm_log_e=0.05 * units if worse else -0.01 * units,
            safe_log_e=-0.01 * units if worse else 0.02 * units,
            margin=0.05,
            boundary=1000.0,
            growth=None if worse else 0.02,
        )

    def say(self, who: str, text: str) -> None:
        seconds = int((self.now - START).total_seconds())
        self.log.append(f"{seconds:6d}s  {who:<7} {text}")

    def tick(self, seconds: float = 10.0) -> None:
        """Time passes; gateways poll, traffic flows, every object is looked at once."""
        self.now += timedelta(seconds=seconds)
        for gateway in self.gateways:
            self.sync(gateway)
        self.traffic()
        self.look_at_all()

    def look_at_all(self) -> None:
        for kind, name in list(self.versions):
            if kind in {"AgentWorkflow", "WorkflowRollout"}:
                self.reconcile(kind, name)

    def run(self, ticks: int, seconds: float = 10.0) -> None:
        for _ in range(ticks):
            self.tick(seconds)

    def digest(self, spec: WorkflowSpec) -> str:
        return revision_digest(spec)
