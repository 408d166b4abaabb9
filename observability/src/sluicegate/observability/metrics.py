"""The Prometheus exporter: what the process that ingests spools and runs the control loop shows.

One registry, given by the caller. Series of a workflow or revision that is gone are removed, and at most
MOST_REVISIONS revisions are kept (the least recently seen goes first), so that cardinality is bounded.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sluicegate.contracts.evidence import SignalEvidence
from sluicegate.contracts.runs import Arm, Failure, RunOutcome, StepOutcome
from sluicegate.contracts.stages import Outcome, State
from sluicegate.observability import catalog
from sluicegate.observability.catalog import Definition, Kind, reference

__all__ = ["ClusterMetrics", "ControlMetrics", "GatewayMetrics", "ProcessMetrics", "reference"]

_K = TypeVar("_K")
_V = TypeVar("_V")

MOST_REVISIONS: Final = 500
MOST_PENDING: Final = 10_000
OTHER: Final = "Other"
_LARGEST: Final = 1e300
_STRATEGIES: Final = frozenset({"Skip", "Value", "Component", "StableVersion", "Stub", "Fail"})
_CALLED: Final = frozenset({StepOutcome.OK, StepOutcome.FALLBACK, StepOutcome.FAILED})


class _Family:
    """One metric and the label values it has shown, so that they can be removed by their first labels."""

    def __init__(self, definition: Definition, registry: CollectorRegistry) -> None:
        self.definition = definition
        self._metric = _metric(definition, registry)
        self._children: dict[tuple[str, ...], Any] = {}

    def child(self, *values: str) -> Any:
        """The series with these label values."""
        child = self._children.get(values)
        if child is None:
            child = self._metric.labels(*values) if values else self._metric
            self._children[values] = child
        return child

    def count(self, *values: str, run: str | None = None) -> None:
        """One more."""
        self.child(*values).inc(1, _exemplar(run) if self.definition.exemplar else None)

    def observe(self, amount: float | None, *values: str, run: str | None = None) -> None:
        """One more value; None is no value."""
        if amount is not None:
            self.child(*values).observe(amount, _exemplar(run) if self.definition.exemplar else None)

    def forget(self, *first: str) -> None:
        """Remove every series that starts with these label values."""
        for values in [values for values in self._children if values[: len(first)] == first]:
            del self._children[values]
            self._metric.remove(*values)


class _Ran(NamedTuple):
    """The labels of a run whose reward may still come."""

    namespace: str
    workflow: str
    revision: str
    arm: str


class GatewayMetrics:
    """Runs, components, fallbacks, violations and rewards; fed with the entries of the spool.

    Thread-safe. An entry that lacks something is counted as far as it can be and never raises.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._families = {item.name: _Family(item, registry) for item in catalog.GATEWAY}
        self._revisions: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._rollouts: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._pending: OrderedDict[tuple[str, str], _Ran] = OrderedDict()
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
            for key in [key for key in self._revisions if key[:2] == (namespace, workflow)]:
                self._forget(key)
            self._families[catalog.MIRRORS_DROPPED.name].forget(namespace, workflow)

    def _forget(self, key: tuple[str, str, str]) -> None:
        self._revisions.pop(key, None)
        for run in [run for run, ran in self._pending.items() if ran[:3] == key]:
            del self._pending[run]
        for item in catalog.GATEWAY:
            if "revision" in item.labels:
                self._families[item.name].forget(*key)

    def _run(self, entry: Mapping[str, Any]) -> None:
        ran = _Ran(
            _text(entry, "namespace"),
            _text(entry, "workflow"),
            _text(entry, "revision"),
            _known(Arm, entry.get("arm")),
        )
        self._seen(ran, entry)
        run = _text(entry, "run_id")
        serving = entry.get("serving") is True
        outcome = _known(RunOutcome, entry.get("outcome"))
        self._family(catalog.RUNS).count(*ran, str(serving).lower(), outcome, run=run)
        self._family(catalog.RUN_DURATION).observe(_seconds(entry.get("latency_ms")), *ran, run=run)
        self._violations(ran, "", entry, run)
        self._steps(ran, entry, run)
        reward = _number(entry.get("reward"))
        if reward is None:
            _remember(self._pending, (run, ran.arm), ran, MOST_PENDING)
            if serving:
                _remember(self._pending, (run, ""), ran, MOST_PENDING)
        else:
            self._family(catalog.REWARD).observe(reward, *ran, run=run)

    def _seen(self, ran: _Ran, entry: Mapping[str, Any]) -> None:
        key = ran[:3]
        self._revisions[key] = None
        self._revisions.move_to_end(key)
        if len(self._revisions) > MOST_REVISIONS:
            self._forget(next(iter(self._revisions)))
        rollout = entry.get("rollout")
        if isinstance(rollout, str):
            _remember(self._rollouts, rollout, (ran.namespace, ran.workflow), MOST_REVISIONS)

    def _steps(self, ran: _Ran, entry: Mapping[str, Any], run: str) -> None:
        for step in _mappings(entry.get("steps")):
            component = _text(step, "component")
            self._violations(ran, component, step, run)
            outcome = step.get("outcome")
            if not isinstance(outcome, str) or outcome not in _CALLED:
                continue
            labels = (*ran, component, _text(step, "version"))
            self._family(catalog.COMPONENT_CALLS).count(*labels, outcome)
            seconds = _seconds(step.get("latency_ms"))
            self._family(catalog.COMPONENT_DURATION).observe(seconds, *labels, run=run)
            fallback = step.get("fallback")
            if isinstance(fallback, Mapping) and fallback.get("forced") is not True:
                strategy = str(fallback.get("strategy"))
                strategy = strategy if strategy in _STRATEGIES else OTHER
                reason = _known(Failure, fallback.get("reason"))
                self._family(catalog.FALLBACKS).count(*ran, component, strategy, reason, run=run)

    def _violations(self, ran: _Ran, component: str, entry: Mapping[str, Any], run: str) -> None:
        for _ in _mappings(entry.get("violations")):
            self._family(catalog.VIOLATIONS).count(*ran, component, run=run)

    def _after(self, entry: Mapping[str, Any]) -> None:
        run = _text(entry, "run_id")
        ran = self._pending.get((run, _known(Arm, entry.get("arm"))))
        if ran is not None:
            self._steps(ran, entry, run)
            self._late_reward(ran, entry, run)

    def _outcome(self, entry: Mapping[str, Any]) -> None:
        run = _text(entry, "run_id")
        ran = self._pending.get((run, ""))
        if ran is not None:
            self._late_reward(ran, entry, run)

    def _late_reward(self, ran: _Ran, entry: Mapping[str, Any], run: str) -> None:
        """The first reward of a run counts; later ones correct the document, not the metric."""
        reward = _number(entry.get("reward"))
        if reward is not None and self._pending.pop((run, ran.arm), None) is not None:
            self._family(catalog.REWARD).observe(reward, *ran, run=run)

    def _observation(self, entry: Mapping[str, Any]) -> None:
        dropped = _number(entry.get("dropped"))
        key = entry.get("key")
        if not dropped or dropped < 0.0 or not isinstance(key, (list, tuple)) or not key:
            return
        namespace, workflow = self._rollouts.get(str(key[0]), (OTHER, OTHER))
        self._family(catalog.MIRRORS_DROPPED).child(namespace, workflow).inc(dropped)

    def _family(self, definition: Definition) -> _Family:
        return self._families[definition.name]


class ControlMetrics:
    """Queue, reconciles, and where every rollout stands. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._families = {item.name: _Family(item, registry) for item in catalog.CONTROL}

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

    def declared_share(self, namespace: str, workflow: str, candidate: float) -> None:
        """Share of users whom the plan gives to the candidate, [0, 1]."""
        self._child(catalog.SHARE, namespace, workflow, "candidate").set(candidate)
        self._child(catalog.SHARE, namespace, workflow, "stable").set(1.0 - candidate)

    def ended(self, namespace: str, workflow: str, outcome: Outcome) -> None:
        """A rollout ended."""
        self._child(catalog.OUTCOMES, namespace, workflow, outcome).inc()

    def gate(self, namespace: str, workflow: str, gate: str, evidence: SignalEvidence) -> None:
        """The present evidence of a gate."""
        labels = (namespace, workflow, gate, evidence.component or "")
        self._child(catalog.GATE_LOG_E, *labels, "harm").set(evidence.harm_log_e)
        self._child(catalog.GATE_LOG_E, *labels, "safe").set(evidence.safe_log_e)

    def forget_gates(self, namespace: str, workflow: str) -> None:
        """Remove the gates' series: their stage or rollout is over."""
        with self._lock:
            self._families[catalog.GATE_LOG_E.name].forget(namespace, workflow)

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
        series = {item: _Family(item, registry).child() for item in catalog.PROCESSES}
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
        self._families = {item.name: _Family(item, registry) for item in catalog.CLUSTER}
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


def _metric(definition: Definition, registry: CollectorRegistry) -> Any:
    name, text, labels = definition.name, definition.help, definition.labels
    if definition.kind is Kind.HISTOGRAM:
        return Histogram(name, text, labels, buckets=definition.buckets, registry=registry)
    kinds = {Kind.COUNTER: Counter, Kind.GAUGE: Gauge}
    return kinds[definition.kind](name, text, labels, registry=registry)


def _exemplar(run: str | None) -> dict[str, str] | None:
    """OpenMetrics allows 128 characters of labels and values."""
    return {"run_id": run} if run and len(run) <= 64 else None


def _known(kind: type[Arm] | type[RunOutcome] | type[Failure], value: object) -> str:
    """The value when it is in the closed set, else Other."""
    return value if isinstance(value, str) and value in kind._value2member_map_ else OTHER


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value[:128] if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    """A finite number; true and false are none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) <= _LARGEST else None  # false for NaN


def _seconds(milliseconds: object) -> float | None:
    number = _number(milliseconds)
    return None if number is None or number < 0.0 else number / 1000.0


def _mappings(value: object) -> Iterable[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, (list, tuple)) else ()


def _remember(memory: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > most:
        memory.popitem(last=False)
