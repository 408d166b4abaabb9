"""The exporter's part that the golden signals are made of (`signals`): runs as the gates count them.

Of each run of an arm: did the answer stand, which components fell back in it, how its latency compares with the
contract's promise. A run of the users is remembered until its outcome may have come; what comes after MOST_RUNS further
runs, or after a restart, is in the store and not here.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry

from sluicegate.contracts.runs import RunOutcome, StepOutcome
from sluicegate.observability import catalog
from sluicegate.observability.catalog import Definition
from sluicegate.observability.families import Family, amount, number
from sluicegate.observability.recent import Recent

MOST_RUNS: Final = 50_000
MOST_EARLY: Final = 1_000
"""Outcomes that were stored before their run; workers write to spools of their own."""

_CALLED: Final = frozenset({StepOutcome.OK, StepOutcome.FALLBACK, StepOutcome.FAILED})
_ENDED: Final = frozenset({RunOutcome.SUCCEEDED, RunOutcome.FAILED})

Entry = Mapping[str, Any]


class Ran(NamedTuple):
    """Whose run: the labels that every series of a run begins with."""

    namespace: str
    workflow: str
    revision: str
    arm: str


@dataclass(slots=True)
class _Run:
    """What is known of a run of a user. stands: its answer is still a success; said: when that was last said."""

    ran: Ran
    at: float
    answered: bool
    stands: bool
    fell: tuple[str, ...] = ()
    said: float = -math.inf


class Golden:
    """Not thread-safe: `GatewayMetrics` calls it under its lock, which `guarded` takes for a scrape."""

    def __init__(self, registry: CollectorRegistry, guarded: Any) -> None:
        self._families = {item.name: Family(item, registry) for item in catalog.GOLDEN}
        self._guarded = guarded
        self._recent: dict[tuple[Definition, tuple[str, ...]], Recent] = {}
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._early: OrderedDict[str, Entry] = OrderedDict()  # the latest word of each run

    def run(self, ran: Ran, entry: Entry, run_id: str) -> None:
        """A run in an arm. One that was rejected says nothing of the arm."""
        outcome = str(entry.get("outcome"))
        if outcome not in _ENDED:
            return
        at = moment(entry.get("started_at"))
        known = _Run(ran, at, outcome == RunOutcome.SUCCEEDED, outcome == RunOutcome.SUCCEEDED)
        for correction in catalog.CORRECTIONS:
            self._family(catalog.RUN_CORRECTIONS).child(*ran, correction)  # begins at 0
        self._latency(ran, entry, at, run_id)
        components = entry.get("components")
        for name in components if isinstance(components, Mapping) else ():
            self._family(catalog.FALLBACK_RUNS).child(*ran, str(name)[:128])
        self._steps(known, entry, run_id)
        if entry.get("serving") is True:
            self._runs[run_id] = known
            if len(self._runs) > MOST_RUNS:
                self._runs.popitem(last=False)
            early = self._early.pop(run_id, None)
            if early is not None:
                self.outcome(early)

    def after(self, entry: Entry) -> None:
        """Steps of a run after its answer."""
        run_id = str(entry.get("run_id"))
        known = self._runs.get(run_id)
        if known is not None and known.ran.arm == entry.get("arm"):
            self._steps(known, entry, run_id)

    def outcome(self, entry: Entry) -> None:
        """What the business says: the latest word counts, and a good one cannot mend a bad answer."""
        said = str(entry.get("outcome"))
        if said not in _ENDED:
            return
        run_id = str(entry.get("run_id"))
        known = self._runs.get(run_id)
        at = moment(entry.get("at"))
        if known is None:
            before = self._early.get(run_id)
            if before is None or at >= moment(before.get("at")):
                self._early[run_id] = entry
            if len(self._early) > MOST_EARLY:
                self._early.popitem(last=False)
            return
        stands = known.answered and said == RunOutcome.SUCCEEDED
        if at < known.said or stands == known.stands:
            known.said = max(known.said, at)
            return
        known.said, known.stands = at, stands
        correction = catalog.RESTORED if stands else catalog.FAILED_LATER
        self._family(catalog.RUN_CORRECTIONS).count(*known.ran, correction, run=run_id)

    def forget(self, *first: str) -> None:
        """Remove the series of a revision: namespace, workflow, revision."""
        for run_id in [run_id for run_id, known in self._runs.items() if known.ran[: len(first)] == first]:
            del self._runs[run_id]
        for key in [key for key in self._recent if key[1][: len(first)] == first]:
            del self._recent[key]
        for family in self._families.values():
            family.forget(*first)

    def _latency(self, ran: Ran, entry: Entry, at: float, run_id: str) -> None:
        milliseconds = amount(entry.get("latency_ms"))
        if milliseconds is not None:
            self._p95(catalog.P95_LATENCY, milliseconds, at, *ran)
        sla = entry.get("sla")
        bounds = {name: number(value) for name, value in sla.items()} if isinstance(sla, Mapping) else {}
        for name in catalog.SLA_BOUNDS:
            bound = bounds.get(name)
            if bound is not None:
                self._family(catalog.SLA).child(*ran[:3], name).set(bound)
        self._component_bounds(ran, entry)
        promised = bounds.get("maxLatencyMs")
        if promised and milliseconds is not None:
            # Above 1 exactly when it is slower: x > y floats differ by more than half a unit in the last place of 1.
            self._family(catalog.RUN_LATENCY_SLA).observe(milliseconds / promised, *ran, run=run_id)

    def _component_bounds(self, ran: Ran, entry: Entry) -> None:
        promised = entry.get("component_sla")
        if not isinstance(promised, Mapping):
            return
        for component, bounds in promised.items():
            for name in catalog.SLA_BOUNDS:
                bound = number(bounds.get(name)) if isinstance(bounds, Mapping) else None
                if bound is not None:
                    self._family(catalog.COMPONENT_SLA).child(*ran[:3], str(component)[:128], name).set(bound)

    def _steps(self, known: _Run, entry: Entry, run_id: str) -> None:
        for step in called(entry):
            component, version = str(step.get("component"))[:128], str(step.get("version"))[:128]
            milliseconds = amount(step.get("latency_ms"))
            if milliseconds is not None:
                self._p95(catalog.COMPONENT_P95, milliseconds, known.at, *known.ran, component, version)
            if isinstance(step.get("fallback"), Mapping) and component not in known.fell:
                known.fell = (*known.fell, component)
                self._family(catalog.FALLBACK_RUNS).count(*known.ran, component, run=run_id)

    def _p95(self, definition: Definition, milliseconds: float, at: float, *labels: str) -> None:
        recent = self._recent.get((definition, labels))
        if recent is None:
            recent = self._recent[definition, labels] = Recent()
            self._family(definition).child(*labels).set_function(lambda: self._seconds(definition, labels))
        recent.add(milliseconds, at)

    def _seconds(self, definition: Definition, labels: tuple[str, ...]) -> float:
        with self._guarded:  # a scrape: another thread than the one that feeds
            recent = self._recent.get((definition, labels))
            return math.nan if recent is None else recent.p95() / 1000.0

    def _family(self, definition: Definition) -> Family:
        return self._families[definition.name]


def called(entry: Entry) -> Iterator[Entry]:
    """The steps that really called a component: not the skipped, the stubbed and those that an ablation forced."""
    steps = entry.get("steps")
    for step in steps if isinstance(steps, (list, tuple)) else ():
        if not isinstance(step, Mapping) or str(step.get("outcome")) not in _CALLED:
            continue
        fallback = step.get("fallback")
        is_forced = isinstance(fallback, Mapping) and fallback.get("forced") is True
        if not is_forced and (step.get("stubbed") is not True or step.get("attempts")):
            yield step


def moment(value: object) -> float:
    """Unix seconds of an RFC 3339 text; 0 for anything else."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return 0.0
    if at is None:
        return 0.0
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
