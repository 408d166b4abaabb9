"""The Prometheus exporter: what the process that ingests spools and runs the control loop shows.

One registry, given by the caller. Series of a workflow that is gone or a revision that is retired (`revisions`) are
removed, so that cardinality is bounded.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry

from sluicegate.contracts.evidence import AblatedUnits, SignalEvidence
from sluicegate.contracts.runs import Arm, Failure, RunOutcome, StepOutcome
from sluicegate.contracts.stages import Outcome, State
from sluicegate.contracts.watch import WatchedSignal
from sluicegate.observability import catalog
from sluicegate.observability.catalog import Definition, reference
from sluicegate.observability.contributions.interval import LEAST_UNITS, multiplier
from sluicegate.observability.departures import OF_RULES, count_business, count_violations
from sluicegate.observability.drift.score import kl_of
from sluicegate.observability.families import Family, amount, number
from sluicegate.observability.golden import Golden, Ran, called, moment
from sluicegate.observability.labels import OTHER, known, mappings, text
from sluicegate.observability.revisions import Revisions

__all__ = ["ClusterMetrics", "ControlMetrics", "GatewayMetrics", "ProcessMetrics", "reference"]

_K = TypeVar("_K")
_V = TypeVar("_V")

MOST_ROLLOUTS: Final = 10_000
MOST_PENDING: Final = 10_000
_STRATEGIES: Final = frozenset({"Skip", "Value", "Component", "StableVersion", "Stub", "Fail"})


class GatewayMetrics:
    """Runs, components, fallbacks, violations and rewards; fed with the entries of the spool.

    Thread-safe. An entry that lacks something is counted as far as it can be and never raises.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._families = {item.name: Family(item, registry) for item in catalog.GATEWAY}
        self._golden = Golden(registry, self._lock)
        self._revisions = Revisions()
        self._rollouts: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._pending: OrderedDict[tuple[str, str], Ran] = OrderedDict()
        self._feeds = {
            "run": self._run,
            "after": self._after,
            "outcome": self._outcome,
            "obs": self._observation,
        }

    def entry(self, entry: Mapping[str, Any]) -> None:
        """One line of the spool, decoded: a run, what came after it, its outcome, or an observation."""
        feed = self._feeds.get(str(entry.get("t")))
        if feed is not None:
            with self._lock:
                feed(entry)

    def forget(self, namespace: str, workflow: str, revision: str) -> None:
        """Remove the series of a revision that is gone."""
        with self._lock:
            self._forget((namespace, workflow, revision))

    def forget_workflow(self, namespace: str, workflow: str) -> None:
        """Remove every series of a workflow that is gone."""
        with self._lock:
            self._forget_workflow(namespace, workflow)

    def keep_workflows(self, alive: Collection[tuple[str, str]]) -> None:
        """Remove every series of workflows other than these (namespace, name)."""
        with self._lock:
            for namespace, workflow in self._revisions.workflows():
                if (namespace, workflow) not in alive:
                    self._forget_workflow(namespace, workflow)

    def _forget_workflow(self, namespace: str, workflow: str) -> None:
        for key in self._revisions.of(namespace, workflow):
            self._forget(key)
        for item in (catalog.MIRRORS_DROPPED, *OF_RULES):
            self._families[item.name].forget(namespace, workflow)

    def _forget(self, key: tuple[str, str, str]) -> None:
        self._revisions.forget(key)
        self._golden.forget(*key)
        for run in [run for run, ran in self._pending.items() if ran[:3] == key]:
            del self._pending[run]
        for item in catalog.GATEWAY:
            if "revision" in item.labels:
                self._families[item.name].forget(*key)

    def _run(self, entry: Mapping[str, Any]) -> None:
        ran = Ran(
            text(entry, "namespace"),
            text(entry, "workflow"),
            text(entry, "revision"),
            known(Arm, entry.get("arm")),
        )
        self._seen(ran, entry)
        run = text(entry, "run_id")
        serving = entry.get("serving") is True
        outcome = known(RunOutcome, entry.get("outcome"))
        runs, is_serving = self._family(catalog.RUNS), str(serving).lower()
        for ended in (RunOutcome.SUCCEEDED, RunOutcome.FAILED):
            runs.child(*ran, is_serving, ended)  # begins at 0
        runs.count(*ran, is_serving, outcome, run=run)
        if outcome not in (RunOutcome.REJECTED, RunOutcome.DIVERTED):
            self._family(catalog.RUN_DURATION).observe(_seconds(entry.get("latency_ms")), *ran, run=run)
        self._golden.run(ran, entry, run)
        count_violations(self._family(catalog.VIOLATIONS), (*ran, ""), entry, run)
        self._steps(ran, entry, run)
        count_business(self._families, ran[:2], entry, run)
        compared = entry.get("comparison")
        if isinstance(compared, Mapping):
            similarity = number(compared.get("similarity"))
            self._family(catalog.SIMILARITY).observe(similarity, *ran, run=run)
        reward = number(entry.get("reward"))
        if reward is None:
            _remember(self._pending, (run, ran.arm), ran, MOST_PENDING)
            if serving:
                _remember(self._pending, (run, ""), ran, MOST_PENDING)
        else:
            self._family(catalog.REWARD).observe(reward, *ran, run=run)

    def _seen(self, ran: Ran, entry: Mapping[str, Any]) -> None:
        for gone in self._revisions.ran(ran[:3], moment(entry.get("started_at"))):
            self._forget(gone)
        rollout = entry.get("rollout")
        if isinstance(rollout, str):
            _remember(self._rollouts, rollout, (ran.namespace, ran.workflow), MOST_ROLLOUTS)

    def _steps(self, ran: Ran, entry: Mapping[str, Any], run: str) -> None:
        for step in mappings(entry.get("steps")):
            component = text(step, "component")
            count_violations(self._family(catalog.VIOLATIONS), (*ran, component), step, run)
        for step in called(entry):
            component = text(step, "component")
            labels = (*ran, component, text(step, "version"))
            calls = self._family(catalog.COMPONENT_CALLS)
            calls.child(*labels, StepOutcome.OK)  # begins at 0
            calls.count(*labels, str(step.get("outcome")))
            seconds = _seconds(step.get("latency_ms"))
            self._family(catalog.COMPONENT_DURATION).observe(seconds, *labels, run=run)
            fallback = step.get("fallback")
            if isinstance(fallback, Mapping):
                strategy = str(fallback.get("strategy"))
                strategy = strategy if strategy in _STRATEGIES else OTHER
                reason = known(Failure, fallback.get("reason"))
                self._family(catalog.FALLBACKS).count(*ran, component, strategy, reason, run=run)

    def _after(self, entry: Mapping[str, Any]) -> None:
        self._golden.after(entry)
        run = text(entry, "run_id")
        ran = self._pending.get((run, known(Arm, entry.get("arm"))))
        if ran is not None:
            self._steps(ran, entry, run)
            self._late_reward(ran, entry, run)

    def _outcome(self, entry: Mapping[str, Any]) -> None:
        self._golden.outcome(entry)
        run = text(entry, "run_id")
        ran = self._pending.get((run, ""))
        if ran is not None:
            self._late_reward(ran, entry, run)

    def _late_reward(self, ran: Ran, entry: Mapping[str, Any], run: str) -> None:
        """The first reward of a run counts; later ones correct the document, not the metric."""
        reward = number(entry.get("reward"))
        if reward is not None and self._pending.pop((run, ran.arm), None) is not None:
            self._family(catalog.REWARD).observe(reward, *ran, run=run)

    def _observation(self, entry: Mapping[str, Any]) -> None:
        dropped = number(entry.get("dropped"))
        key = entry.get("key")
        if not dropped or dropped < 0.0 or not isinstance(key, (list, tuple)) or not key:
            return
        namespace, workflow = self._rollouts.get(str(key[0]), (OTHER, OTHER))
        self._family(catalog.MIRRORS_DROPPED).child(namespace, workflow).inc(dropped)

    def _family(self, definition: Definition) -> Family:
        return self._families[definition.name]


CONTRIBUTION_ALPHA: Final = 0.05
"""Of the intervals of contributions."""


class ControlMetrics:
    """Queue, reconciles, and where every rollout stands. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._families = {item.name: Family(item, registry) for item in catalog.CONTROL}

    def queued(self, depth: int) -> None:
        """Keys that are ready and not yet taken."""
        self._child(catalog.QUEUE_DEPTH).set(depth)

    def waited(self, seconds: float) -> None:
        """How long a key was ready before it was taken."""
        self._child(catalog.QUEUE_WAIT).observe(seconds)

    def retried(self) -> None:
        """A key failed and comes back."""
        self._child(catalog.QUEUE_RETRIES).inc()

    def reconciled(self, kind: str, outcome: str, seconds: float) -> None:
        """A reconcile of a resource kind ended; outcome from the caller's closed set."""
        self._child(catalog.RECONCILE, kind, outcome).observe(seconds)

    def stage(self, namespace: str, workflow: str, state: State | None) -> None:
        """The state of the workflow's present rollout; None: there is none."""
        for other in State:
            self._child(catalog.STAGE, namespace, workflow, other).set(1.0 if other is state else 0.0)

    def held(self, namespace: str, workflow: str, *, held: bool) -> None:
        """Whether the workflow's rollout waits for a person."""
        self._child(catalog.HELD, namespace, workflow).set(1.0 if held else 0.0)

    def declared_share(self, namespace: str, workflow: str, candidate: float) -> None:
        """Share of users whom the plan gives to the candidate, [0, 1]."""
        self._child(catalog.SHARE, namespace, workflow, "candidate").set(candidate)
        self._child(catalog.SHARE, namespace, workflow, "stable").set(1.0 - candidate)

    def ended(self, namespace: str, workflow: str, outcome: Outcome) -> None:
        """A rollout ended."""
        self._child(catalog.OUTCOMES, namespace, workflow, outcome).inc()

    def gate(self, namespace: str, workflow: str, gate: str, evidence: SignalEvidence) -> None:
        """The present evidence of a gate."""
        component = evidence.component or ""
        if evidence.output is not None:
            component = f"{component}.{evidence.output}"
        labels = (namespace, workflow, gate, component)
        self._child(catalog.GATE_LOG_E, *labels, "harm").set(evidence.harm_log_e)
        self._child(catalog.GATE_LOG_E, *labels, "safe").set(evidence.safe_log_e)

    def drift(self, namespace: str, workflow: str, revision: str, evidence: SignalEvidence) -> None:
        """How far an output of the candidate's component is from stable's. revision: the candidate's."""
        score = 0.0 if evidence.outputs is None else kl_of(evidence.outputs, evidence.units)
        labels = (
            namespace,
            workflow,
            revision,
            Arm.CANDIDATE,
            evidence.component or "",
            evidence.output or "",
        )
        self._child(catalog.DRIFT_SCORE, *labels).set(score)

    def contributions(self, namespace: str, workflow: str, revision: str, units: AblatedUnits) -> None:
        """What the components of a revision add to the reward; nothing before intervals can be told."""
        if units.units < LEAST_UNITS or units.spread is None:
            return
        labels, reach = (
            (namespace, workflow, revision, units.arm),
            multiplier(units.units, CONTRIBUTION_ALPHA),
        )
        self._child(catalog.SPREAD, *labels).set(units.spread)
        for one in units.estimates:
            for bound, place in (("low", -reach), ("estimate", 0.0), ("high", reach)):
                self._child(catalog.CONTRIBUTION, *labels, one.component, bound).set(
                    one.value + place * one.error
                )

    def decay(self, namespace: str, workflow: str, signal: WatchedSignal) -> None:
        """One signal of the watch over the stable version."""
        labels = (namespace, workflow, signal.signal, signal.component or "")
        self._child(catalog.DECAY_LOG_E, *labels).set(signal.log_e)
        self._child(catalog.DECAY_THRESHOLD, *labels).set(signal.threshold)

    def forget_decay(self, namespace: str, workflow: str) -> None:
        """Remove the watch's series: they are told anew, perhaps of another version."""
        with self._lock:
            for item in (catalog.DECAY_LOG_E, catalog.DECAY_THRESHOLD):
                self._families[item.name].forget(namespace, workflow)

    def fallback(
        self, namespace: str, workflow: str, *, ready: bool | None, passing: bool | None, passed: float | None
    ) -> None:
        """Of the business fallback: is it ready, do its drills pass, when did one last (Unix seconds); None: not known, or none."""
        told = {
            catalog.FALLBACK_READY: ready,
            catalog.DRILLS_PASSING: passing,
            catalog.DRILL_PASSED: passed,
        }
        for item, value in told.items():
            if value is None:
                with self._lock:
                    self._families[item.name].forget(namespace, workflow)
            else:
                self._child(item, namespace, workflow).set(float(value))

    def forget_gates(self, namespace: str, workflow: str) -> None:
        """Remove the series of gates and contributions: their stage or rollout is over."""
        with self._lock:
            for item in (catalog.GATE_LOG_E, catalog.DRIFT_SCORE, catalog.CONTRIBUTION, catalog.SPREAD):
                self._families[item.name].forget(namespace, workflow)

    def forget(self, namespace: str, workflow: str) -> None:
        """Remove every series of a workflow that is gone."""
        with self._lock:
            for item in catalog.CONTROL:
                if "workflow" in item.labels:
                    self._families[item.name].forget(namespace, workflow)

    def forget_all(self) -> None:
        """Remove every series of a workflow: another process tells of them now."""
        with self._lock:
            for item in catalog.CONTROL:
                if "workflow" in item.labels and item is not catalog.OUTCOMES:
                    self._families[item.name].forget()

    def _child(self, definition: Definition, *labels: str) -> Any:
        with self._lock:
            return self._families[definition.name].child(*labels)


class ProcessMetrics:
    """The gateway workers and the ingester of one process tree. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        series = {item: Family(item, registry).child() for item in catalog.PROCESSES}
        self._workers, self._restarts = series[catalog.WORKERS], series[catalog.WORKER_RESTARTS]
        self._lag, self._failures = series[catalog.INGEST_LAG], series[catalog.INGEST_FAILURES]

    def workers(self, listening: int) -> None:
        """Gateway workers that listen."""
        self._workers.set(listening)

    def restarted(self) -> None:
        """A gateway worker died and is started again."""
        self._restarts.inc()

    def lag(self, spooled: int) -> None:
        """Bytes that are not in the lineage store yet."""
        self._lag.set(spooled)

    def ingest_failed(self) -> None:
        """A step of the ingester failed and is repeated."""
        self._failures.inc()


class ClusterMetrics:
    """One replica of the operator of a cluster. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._families = {item.name: Family(item, registry) for item in catalog.CLUSTER}
        self.leads(None)

    def leads(self, epoch: int | None) -> None:
        """This replica leads in `epoch`, or does not (any more)."""
        self._child(catalog.LEADER).set(0 if epoch is None else 1)
        self._child(catalog.EPOCH).set(epoch or 0)

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """One attempt of a call of the Kubernetes API."""
        self._child(catalog.API_CALLS, verb, resource, str(code)).observe(seconds)

    def admitted(self, path: str, code: int, seconds: float) -> None:
        """One admission request; path is one of those that are served."""
        self._child(catalog.ADMISSIONS, path, str(code)).observe(seconds)

    def event(self, outcome: str) -> None:
        """What became of an Event."""
        self._child(catalog.EVENTS, outcome).inc()

    def repaired(self, namespace: str, workflow: str, field: str) -> None:
        """A change of somebody else in a route was put right."""
        self._child(catalog.ROUTE_REPAIRS, namespace, workflow, field).inc()

    def cached(self, counts: Mapping[str, int]) -> None:
        """Objects that are held, by kind."""
        for kind, count in counts.items():
            self._child(catalog.CACHED, kind).set(count)

    def certificate(self, until: float) -> None:
        """Seconds since the epoch of Unix at which the served certificate expires."""
        self._child(catalog.CERTIFICATE).set(until)

    def forget(self, namespace: str, workflow: str) -> None:
        """Remove the series of a workflow that is gone."""
        with self._lock:
            self._families[catalog.ROUTE_REPAIRS.name].forget(namespace, workflow)

    def _child(self, definition: Definition, *labels: str) -> Any:
        with self._lock:
            return self._families[definition.name].child(*labels)


def _seconds(milliseconds: object) -> float | None:
    found = amount(milliseconds)
    return None if found is None else found / 1000.0


def _remember(memory: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > most:
        memory.popitem(last=False)
