"""Gates: (evidence, now) -> Finding. An ordered chain of small checks; the first that speaks decides.

Two error rates: harm is shown when its e-value reaches 1/α of abort (split over the rollout's guardrails, and again
over components), safety when its e-value reaches 1/α of promotion. Between the two: Wait, and at the stage's
deadline Inconclusive. Missing, stale, non-finite or one-sided evidence is never a Pass.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sluicegate.contracts.evidence import SignalEvidence, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import PlannedGate
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.rollout import (
    arrival,
    drifts,
    explaining,
    external,
    improvement,
    judging,
    likeness,
    outputs,
    phrases,
    shares,
    verdicts,
)
from sluicegate.rollout.judging import Ruling, View, at_deadline, stale, units_to_go
from sluicegate.rollout.planning import BOUNDARY, asks_for_units

UNSEEN_RUNS: Final = 3
"""Units that must show a kind of violation which stable never showed (ARCHITECTURE section 9)."""

REASONS: Final = {
    "NotWorse": "Shown: not worse than stable by the margin or more.",
    "Worse": "Shown: worse than stable.",
    "UnseenViolation": f"{UNSEEN_RUNS} units of the candidate broke the contract in a way that stable, seen at least as often, never did.",
    "NeedsMore": "Neither is shown yet; the message estimates how many more units it takes.",
    "NoData": "Nothing comparable was observed, or more than half of the units lack the value.",
    "InsufficientSamples": f"The deadline came before a decision; or, of a p95, fewer than {BOUNDARY} units.",
    "StaleData": "The last unit is older than 10 minutes, or than ten times the usual gap, and the outcome window; or it is "
    "dated more than a minute ahead, so that a clock is wrong.",
    "NonFinite": "The evidence holds a number that is none.",
    "TooManyDropped": "More than half of the mirrors were dropped for want of budget.",
    **external.REASONS,
    **likeness.REASONS,
    **drifts.REASONS,
    **shares.REASONS,
    **improvement.REASONS,
}
"""What each reason of a finding means; docs/reference/gates.md is made of it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question of one gate."""

    view: View
    gate: PlannedGate
    evidence: StageEvidence
    item: SignalEvidence
    parts: int  # questions of this gate, over which its α is split

    @property
    def harm_threshold(self) -> float:
        """Natural log of what the harm e-value must reach."""
        return math.log(self.parts / float(self.gate.abort_alpha))

    @property
    def safe_threshold(self) -> float:
        """Natural log of what the safety e-value must reach."""
        return -math.log(float(self.gate.promote_alpha))


def evaluate(view: View) -> tuple[Finding, ...]:
    """Every gate of the stage, in its order, then the checks that are always on; all findings are kept.

    A stage whose gates ask for no units (runtime Service) has nothing to check.
    """
    found = judge_all(view)
    if not asks_for_units(view.stage):
        return found
    confirmed = improvement.judge(view)
    return (*found, _routing(view), *(() if confirmed is None else (confirmed,)))


def judge_all(view: View) -> tuple[Finding, ...]:
    """Every gate of the stage, without the check of the routing."""
    return tuple(judge(view, gate) for gate in view.stage.gates)


def _routing(view: View) -> Finding:
    return shares.judge(view.spec, view.stage, view.evidence, view.now, late=view.late)


def judge(view: View, gate: PlannedGate) -> Finding:
    """One gate, by the judge of its signal."""
    return JUDGES.get(gate.signal, compared)(view, gate)


def compared(view: View, gate: PlannedGate) -> Finding:
    """Candidate beside stable. With several questions (one per component) the worst answer is the gate's."""
    items = () if view.evidence is None else _items(view, gate, view.evidence)
    if view.evidence is None or not items:
        ruling = Ruling(Verdict.WAIT, "NoData", f"no unit of the candidate was observed for {gate.signal}")
        return judging.finding(gate, SignalEvidence(signal=gate.signal), at_deadline(view, ruling))
    cases = [Case(view, gate, view.evidence, item, len(items)) for item in items]
    rulings = [(case, at_deadline(view, _rule(case))) for case in cases]
    case, ruling = min(rulings, key=lambda pair: _rank(*pair))
    said = judging.finding(gate, case.item, ruling)
    if ruling.verdict is Verdict.FAIL and gate.signal in explaining.EXPLAINED:
        return replace(said, message=f"{said.message}{explaining.culprit(view.evidence)}")
    if ruling.reason == "UnseenViolation":
        return replace(said, runs=_unseen_runs(case))
    if gate.signal is Signal.DRIFT:
        return replace(said, message=f"{said.message}{drifts.beside(case.item)}{drifts.new_values(items)}")
    return said


def _items(view: View, gate: PlannedGate, evidence: StageEvidence) -> tuple[SignalEvidence, ...]:
    """The answers to the gate's questions; a component without an answer gets an empty one, which is NoData."""
    found = evidence.of(gate.signal)
    if gate.signal is Signal.DRIFT:
        return drifts.items(outputs.seen_in(view.spec.observed, view.stage.name), found)
    if gate.signal is not Signal.FALLBACK_RATE_MAX:
        return found[:1]
    known = {item.component: item for item in found}
    return tuple(
        known.get(component, SignalEvidence(signal=gate.signal, component=component))
        for component in view.spec.components
    )


def _rank(case: Case, ruling: Ruling) -> tuple[int, float]:
    """Worst verdict first, then the least proven."""
    safe = case.item.safe_log_e
    return verdicts.PRECEDENCE.index(ruling.verdict), safe if math.isfinite(safe) else -math.inf


def _rule(case: Case) -> Ruling:
    for check in CHECKS:
        ruling = check(case)
        if ruling is not None:
            return ruling
    return _needs_more(case)


def _unseen(case: Case) -> Ruling | None:
    """A kind of contract violation that stable, seen at least as often, never showed."""
    if case.gate.signal is not Signal.CONTRACT_VIOLATIONS or case.view.stage.name is Stage.FULL:
        return None
    if case.evidence.stable_units < case.evidence.units:
        return None
    kind = _unseen_kind(case)
    if kind is None:
        return None
    count = case.evidence.unseen_violations[kind][0]
    return Ruling(
        Verdict.FAIL,
        "UnseenViolation",
        f"candidate broke the contract in a new way ({kind}) in {count} of {case.evidence.units} units, "
        f"stable in 0 of {case.evidence.stable_units}: {UNSEEN_RUNS} are enough",
    )


def _unseen_kind(case: Case) -> str | None:
    kinds = case.evidence.unseen_violations
    worst = max(kinds, key=lambda kind: (kinds[kind][0], kind), default=None)
    return worst if worst is not None and kinds[worst][0] >= UNSEEN_RUNS else None


def _unseen_runs(case: Case) -> tuple[str, ...]:
    kind = _unseen_kind(case)
    return () if kind is None else case.evidence.unseen_violations[kind][1][:5]


def _absent(case: Case) -> Ruling | None:
    item = case.item
    if item.units > 0 and item.candidate is not None and item.stable is not None:
        return None
    missing = f" ({item.missing} units lack the value)" if item.missing else ""
    name = f" of {item.component}{f'.{item.output}' if item.output else ''}" if item.component else ""
    return Ruling(Verdict.WAIT, "NoData", f"nothing comparable was observed for {item.signal}{name}{missing}")


def _non_finite(case: Case) -> Ruling | None:
    item = case.item
    numbers = (item.harm_log_e, item.safe_log_e, item.candidate or 0.0, item.stable or 0.0)
    if all(math.isfinite(number) for number in numbers):
        return None
    return Ruling(
        Verdict.WAIT, "NonFinite", f"the evidence for {item.signal} holds a number that is not finite"
    )


def _below_floor(case: Case) -> Ruling | None:
    """A p95 says nothing below 59 units, neither for nor against."""
    if case.gate.signal is not Signal.P95_LATENCY or case.item.units >= BOUNDARY:
        return None
    return Ruling(
        Verdict.WAIT,
        "InsufficientSamples",
        f"{_seen(case)}: a p95 needs {BOUNDARY} units, has {case.item.units}",
        need=BOUNDARY,
    )


def _harmful(case: Case) -> Ruling | None:
    if case.item.harm_log_e < case.harm_threshold:
        return None
    e, needed = phrases.evalue(case.item.harm_log_e), phrases.evalue(case.harm_threshold)
    reason, what = drifts.harm(case.item) if case.gate.signal is Signal.DRIFT else ("Worse", "worse")
    return Ruling(Verdict.FAIL, reason, f"{_seen(case)}: {what} (e = {e} ≥ {needed} = 1/α)")


def _uncalibrated(case: Case) -> Ruling | None:
    """Texts that cannot be judged yet, in more units than the margin would forgive."""
    answers, item = case.item.answers, case.item
    if answers is None or answers.floor is not None or answers.unjudged <= item.margin * item.units:
        return None
    return Ruling(
        Verdict.WAIT,
        "NeedsMore",
        f"{_seen(case)}, by facts alone: how alike stable's own texts are is known from {answers.have} of "
        f"{answers.want} answers",
    )


def _incomplete(case: Case) -> Ruling | None:
    item = case.item
    if item.missing <= item.units:
        return None
    return Ruling(
        Verdict.WAIT,
        "NoData",
        f"{item.missing} of {item.missing + item.units} units lack the value of {item.signal}; more than half",
    )


def _dropped(case: Case) -> Ruling | None:
    evidence = case.evidence
    if evidence.dropped <= evidence.units:
        return None
    attempted = evidence.dropped + evidence.units
    return Ruling(
        Verdict.WAIT,
        "TooManyDropped",
        f"{evidence.dropped} of {attempted} mirrors were dropped for want of budget; more than half",
    )


def _stale(case: Case) -> Ruling | None:
    return stale(case.view, case.evidence)


def _safe(case: Case) -> Ruling | None:
    if case.item.safe_log_e < case.safe_threshold:
        return None
    e, needed = phrases.evalue(case.item.safe_log_e), phrases.evalue(case.safe_threshold)
    margin = phrases.points(float(case.gate.margin or 0))
    reason, what = drifts.SAFE if case.gate.signal is Signal.DRIFT else ("NotWorse", "not worse by")
    return Ruling(Verdict.PASS, reason, f"{_seen(case)}: {what} {margin} (e = {e} ≥ {needed} = 1/α)")


def _needs_more(case: Case) -> Ruling:
    item, threshold = case.item, case.safe_threshold
    e, needed = phrases.evalue(item.safe_log_e), phrases.evalue(threshold)
    more = units_to_go(threshold - item.safe_log_e, item.growth)
    if more is None:
        tail = "no end in sight at the present rates"
    else:
        tail = (
            f"needs about {more} more units{arrival.told(arrival.of_units(case.evidence, item.units, more))}"
        )
    return Ruling(
        Verdict.WAIT,
        "NeedsMore",
        f"{_seen(case)}: not decided (e = {e} < {needed} = 1/α), {tail}",
        need=None if more is None else item.units + more,
    )


def _seen(case: Case) -> str:
    return phrases.comparison(case.item, baseline=case.view.stage.name is Stage.FULL)


Check = Callable[[Case], Ruling | None]

CHECKS: Final[tuple[Check, ...]] = (
    _unseen,
    _absent,
    _non_finite,
    _below_floor,
    _harmful,  # a breach never waits for completeness
    _uncalibrated,
    _incomplete,
    _dropped,
    _stale,
    _safe,
)


JUDGES: Final[dict[Signal, Callable[[View, PlannedGate], Finding]]] = {
    Signal.EXTERNAL: external.judge,
    Signal.SHAPLEY_VARIANCE: likeness.judge,
}
"""Signals that are judged otherwise than by comparing the arms."""
