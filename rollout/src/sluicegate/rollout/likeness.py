"""The gate RewardShapleyVariance: do the candidate's components add to the reward as stable's do?

Alike (Pass) needs all of: so many pairs; the interval of the difference of variances inside ±delta at every look over so
many pairs in a row; and every contribution's shift below deltaPhi, by the upper end of its interval. The variance alone
misses who contributes, and whether everybody contributes less. Not alike (Fail) is either shown outside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sluicegate.contracts.evidence import Estimate, Likeness, SignalEvidence, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import PlannedGate
from sluicegate.contracts.stages import Verdict
from sluicegate.observability.contributions.interval import LEAST_UNITS, multiplier
from sluicegate.rollout import arrival, judging
from sluicegate.rollout.judging import MOST_UNITS, Ruling, View, at_deadline, stale

LEAST_PAIRS: Final = 1000
"""Pairs, and pairs in a row between looks inside, before the versions can be called alike (EVIDENCE.md)."""

REASONS: Final = {
    "ContributionsAlike": "Shown: the components contribute to the reward as stable's do.",
    "ContributionsDiffer": "Shown: the contributions vary otherwise than stable's, or one of them has moved.",
}
"""Reasons that only this gate gives."""


@dataclass(frozen=True, slots=True)
class _Case:
    view: View
    gate: PlannedGate
    evidence: StageEvidence
    item: SignalEvidence
    known: Likeness

    @property
    def difference(self) -> float:
        """Of the variances."""
        return (self.item.candidate or 0.0) - (self.item.stable or 0.0)

    @property
    def delta(self) -> float:
        """How far the variances may be apart."""
        return float(self.gate.delta or 0)

    @property
    def delta_phi(self) -> float:
        """How far a contribution may have moved."""
        return float(self.gate.delta_phi or 0)

    def reach(self, alpha: float) -> float:
        """Standard errors to each side of an interval that holds at every look."""
        return multiplier(self.item.units, alpha)


def judge(view: View, gate: PlannedGate) -> Finding:
    """The gate at a moment."""
    found = () if view.evidence is None else view.evidence.of(gate.signal)
    item = found[0] if found else SignalEvidence(signal=gate.signal)
    said = judging.finding(gate, item, at_deadline(view, _rule(view, gate, item)))
    return said if item.likeness is None else replace(said, component=_moved(item.likeness).component)


def _rule(view: View, gate: PlannedGate, item: SignalEvidence) -> Ruling:
    if view.evidence is None or item.likeness is None:
        lacking = f" ({item.missing} lack a reward)" if item.missing else ""
        return Ruling(Verdict.WAIT, "NoData", f"no pair in which both versions were ablated alike{lacking}")
    case = _Case(view, gate, view.evidence, item, item.likeness)
    return next(ruling for check in _CHECKS if (ruling := check(case)) is not None)


def _non_finite(case: _Case) -> Ruling | None:
    numbers = [case.item.candidate, case.item.stable, case.known.error]
    numbers += [number for one in case.known.shifts for number in (one.value, one.error)]
    if all(number is not None and math.isfinite(number) for number in numbers):
        return None
    return Ruling(Verdict.WAIT, "NonFinite", "the contributions hold a number that is not finite")


def _too_few(case: _Case) -> Ruling | None:
    units = case.item.units
    if units >= LEAST_UNITS:
        return None
    text = f"{units} pairs: an interval needs {LEAST_UNITS}, a decision at least {LEAST_PAIRS}"
    return Ruling(Verdict.WAIT, "NeedsMore", text, need=LEAST_PAIRS)


def _differs(case: _Case) -> Ruling | None:
    """Shown outside: half of α for the variance, half for the components."""
    alpha, players = float(case.gate.abort_alpha) / 2.0, len(case.known.shifts)
    if abs(case.difference) - case.reach(alpha) * case.known.error > case.delta:
        return Ruling(
            Verdict.FAIL, "ContributionsDiffer", f"{_seen(case)}: further apart than {case.delta:g}"
        )
    reach = case.reach(alpha / players)
    far = [one for one in case.known.shifts if abs(one.value) - reach * one.error > case.delta_phi]
    if not far:
        return None
    worst = max(far, key=lambda one: abs(one.value))
    text = f"{_seen(case)}: {worst.component} moved by more than {case.delta_phi:g}"
    return Ruling(Verdict.FAIL, "ContributionsDiffer", text)


def _incomplete(case: _Case) -> Ruling | None:
    item = case.item
    if item.missing <= item.units:
        return None
    text = f"{item.missing} of {item.missing + item.units} pairs lack a reward; more than half"
    return Ruling(Verdict.WAIT, "NoData", text)


def _dropped(case: _Case) -> Ruling | None:
    dropped, units = case.evidence.dropped, case.evidence.units
    if dropped <= units:
        return None
    text = f"{dropped} of {dropped + units} mirrors were dropped for want of budget; more than half"
    return Ruling(Verdict.WAIT, "TooManyDropped", text)


def _stale(case: _Case) -> Ruling | None:
    return stale(case.view, case.evidence)


def _alike(case: _Case) -> Ruling | None:
    is_long = case.item.units >= LEAST_PAIRS and case.known.steady >= LEAST_PAIRS
    if not (is_long and _farthest(case) < case.delta_phi):
        return None
    text = (
        f"{_seen(case)}: inside ±{case.delta:g} through {case.known.steady} pairs, no component moved by "
        f"{case.delta_phi:g}"
    )
    return Ruling(Verdict.PASS, "ContributionsAlike", text)


def _needs_more(case: _Case) -> Ruling:
    text = f"{_seen(case)}: not decided, inside ±{case.delta:g} through {case.known.steady} of {LEAST_PAIRS} pairs"
    need = _pairs_needed(case)
    if need is None:
        return Ruling(Verdict.WAIT, "NeedsMore", f"{text}, no end in sight at the present numbers")
    more = max(need - case.item.units, 1)
    when = arrival.told(arrival.of_units(case.evidence, case.item.units, more))
    return Ruling(
        Verdict.WAIT, "NeedsMore", f"{text}, needs about {more} more pairs{when}", need=case.item.units + more
    )


_CHECKS: Final[tuple[Callable[[_Case], Ruling | None], ...]] = (
    _non_finite,
    _too_few,
    _differs,  # a breach never waits for completeness
    _incomplete,
    _dropped,
    _stale,
    _alike,
    _needs_more,
)


def _farthest(case: _Case) -> float:
    """The largest shift, by the upper ends of intervals. Each at the whole α: all must hold for a Pass."""
    reach = case.reach(float(case.gate.promote_alpha))
    return max(abs(one.value) + reach * one.error for one in case.known.shifts)


def _pairs_needed(case: _Case) -> int | None:
    """At the present estimates and a width that shrinks by √N; None: it is not getting there."""
    reach = case.reach(float(case.gate.promote_alpha))
    parts = [(case.delta - abs(case.difference), reach * case.known.error)]
    parts += [(case.delta_phi - abs(one.value), reach * one.error) for one in case.known.shifts]
    if any(room <= 0.0 for room, _ in parts):
        return None
    inside, shifts = parts[0], parts[1:]
    variance = case.item.units * (inside[1] / inside[0]) ** 2
    left = LEAST_PAIRS if variance > case.item.units else LEAST_PAIRS - case.known.steady
    components = max(case.item.units * (width / room) ** 2 for room, width in shifts)
    need = max(LEAST_PAIRS, max(variance, case.item.units) + left, components)
    return math.ceil(need) if need <= MOST_UNITS else None


def _moved(known: Likeness) -> Estimate:
    return max(known.shifts, key=lambda one: abs(one.value))


def _seen(case: _Case) -> str:
    reach, moved = case.reach(float(case.gate.promote_alpha)), _moved(case.known)
    return (
        f"contributions vary by {case.item.candidate:.4f} in the candidate and {case.item.stable:.4f} in stable "
        f"(±{reach * case.known.error:.4f}) over {case.item.units} pairs; {moved.component} moved most, by "
        f"{moved.value:+.3f} ±{reach * moved.error:.3f}"
    )
