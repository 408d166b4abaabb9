"""The judge of gates with a source: (what was measured, now) -> Finding. One policy above all providers.

Only fresh numbers count for a Pass. No data, a number that is none, stale, partial or ambiguous answers and failures of the
provider are never a verdict about the candidate: the gate waits with the reason, is an Error when the provider fails again and
again, and is Inconclusive at the stage's deadline.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sluicegate.contracts.evidence import SignalEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Counted, Measured
from sluicegate.contracts.resources.rollout import PlannedGate
from sluicegate.contracts.resources.source import Limit, Source
from sluicegate.contracts.stages import Verdict
from sluicegate.contracts.verification.sources import counts, is_outcome, limit_of, longest
from sluicegate.observability.counts import log_e
from sluicegate.rollout import arrival, judging, phrases
from sluicegate.rollout.judging import Ruling, View, at_deadline, units_to_go
from sluicegate.rollout.measurements import Outcome
from sluicegate.rollout.measuring import broken

REASONS: Final = {
    "LimitKept": "Of a gate with a source: shown by counts, or by measurements in a row, that the limit is kept.",
    "LimitBroken": "Of a gate with a source: shown by counts, or by measurements in a row, that the limit is broken.",
    "PartialData": "The provider answered with a warning: a part of the data may be missing; or more than half of the measurements "
    "were left out because a counter fell or came back.",
    "AmbiguousData": "The provider answered something else than one number for each arm, or counters that are none.",
    "ProviderTimeout": "The provider did not answer in time.",
    "ProviderError": "The provider failed, refused the question or was not reached; after `errorLimit` times in a row the verdict is Error.",
}
"""Reasons that only these gates give; the others mean the same as elsewhere, with measurements instead of units."""

_CLOCKS: Final = 5.0
"""Seconds by which two clocks may differ."""


@dataclass(frozen=True, slots=True)
class Case:
    """One gate and its measurements."""

    view: View
    gate: PlannedGate
    source: Source
    measured: Measured

    @property
    def counted(self) -> Counted | None:
        """The candidate's counts; None of a gate that measures a value."""
        return self.measured.candidate_counts

    @property
    def is_value(self) -> bool:
        """It compares a value with a limit, else it tests counts."""
        return not counts(self.source)


def judge(view: View, gate: PlannedGate) -> Finding:
    """The finding of a gate with a source."""
    source = gate.source or Source()
    found = next((one for one in view.measured if one.gate == gate.name), Measured(gate=gate.name))
    case = Case(view, gate, source, found)
    spoken = (check(case) for check in CHECKS)
    return _finding(case, _at_deadline(view, next(ruling for ruling in spoken if ruling is not None)))


def _at_deadline(view: View, ruling: Ruling) -> Ruling:
    """A provider that fails ends as waiting does: a person is asked."""
    if view.late and ruling.verdict is Verdict.ERROR:
        return replace(ruling, verdict=Verdict.INCONCLUSIVE)
    return at_deadline(view, ruling)


def _worse(case: Case) -> Ruling | None:
    """A breach never waits for completeness."""
    if case.is_value or (case.counted or Counted()).grown_total < (case.source.min_samples or 0):
        return None
    e, needed = log_e([float(log) for log in case.measured.harm]), -math.log(float(case.gate.abort_alpha))
    if e < needed:
        return None
    said = f"{_rates(case)}: {_bound(case)[0]} (e = {phrases.evalue(e)} ≥ {phrases.evalue(needed)} = 1/α)"
    return Ruling(Verdict.FAIL, "Worse" if _limit(case).max is None else "LimitBroken", said)


def _limit_broken(case: Case) -> Ruling | None:
    if not case.is_value or case.measured.bad < case.source.consecutive:
        return None
    said = f"{_value(case)}, {_breach(case)}: {case.measured.bad} measurements in a row{_where(case)}"
    return Ruling(Verdict.FAIL, "LimitBroken", said)


def _unmeasured(case: Case) -> Ruling | None:
    if case.measured.at is not None:
        return None
    return Ruling(Verdict.WAIT, "NoData", "was not measured yet")


def _failing(case: Case) -> Ruling | None:
    if case.measured.errors < case.source.error_limit:
        return None
    said = f"{case.measured.errors} failures in a row: {case.measured.message}"
    return Ruling(Verdict.ERROR, case.measured.outcome, said)


def _not_a_value(case: Case) -> Ruling | None:
    if case.measured.outcome == Outcome.VALUE:
        return None
    return Ruling(Verdict.WAIT, case.measured.outcome, case.measured.message)


def _stale(case: Case) -> Ruling | None:
    """The newest measurement, or the newest growth of the counters, is too old, or was taken by a clock that was set back."""
    source, at = case.source, case.measured.at
    patience = float(source.max_age_seconds + source.interval_seconds + longest(source))
    moments = [("measured", at)]
    if not case.is_value and case.measured.grew_at is not None:
        moments.append(("seen to grow", case.measured.grew_at))
    for what, moment in moments:
        age = math.inf if moment is None else (case.view.now - moment).total_seconds()
        if age < -_CLOCKS - longest(source):
            return Ruling(
                Verdict.WAIT,
                "StaleData",
                f"was {what} {phrases.duration(-age)} from now: a clock was set back",
            )
        if age > patience:
            said = f"was last {what} {phrases.duration(age)} ago, more than {phrases.duration(patience)}"
            return Ruling(Verdict.WAIT, "StaleData", said)
    return None


def _resetting(case: Case) -> Ruling | None:
    """Processes that come and go take with them what went wrong in them: what is left is no sample of all."""
    resets, number = case.measured.resets, case.measured.number
    if resets * 2 <= number:
        return None
    said = (
        f"{resets} of {number} measurements were left out because a counter fell or came back; more than half"
    )
    return Ruling(Verdict.WAIT, "PartialData", said)


def _too_few(case: Case) -> Ruling | None:
    have, need = _have(case), case.source.min_samples or (0 if case.is_value else 1)
    if have >= need:
        return None
    return Ruling(Verdict.WAIT, "InsufficientSamples", f"measured on {have} of {need} samples", need=need)


def _kept(case: Case) -> Ruling | None:
    if case.is_value:
        if case.measured.good < case.source.consecutive:
            return None
        said = f"{_value(case)}: keeps the limit, {case.measured.good} measurements in a row"
        return Ruling(Verdict.PASS, "LimitKept", said)
    e, needed = log_e([float(log) for log in case.measured.safe]), -math.log(float(case.gate.promote_alpha))
    if e < needed:
        return None
    said = f"{_rates(case)}: {_bound(case)[1]} (e = {phrases.evalue(e)} ≥ {phrases.evalue(needed)} = 1/α)"
    return Ruling(Verdict.PASS, "NotWorse" if _limit(case).max is None else "LimitKept", said)


def _needs_more(case: Case) -> Ruling:
    measured, source = case.measured, case.source
    if case.is_value:
        if measured.bad:
            said = f"{_value(case)}, {_breach(case)}: {measured.bad} of {source.consecutive} measurements in a row"
        else:
            said = f"{_value(case)}: keeps the limit, {measured.good} of {source.consecutive} measurements in a row"
        return Ruling(Verdict.WAIT, "NeedsMore", said)
    logs, needed = [float(log) for log in measured.safe], -math.log(float(case.gate.promote_alpha))
    have, e = _have(case), log_e(logs)
    more = units_to_go(needed - e, max(logs, default=0.0) / have if have else None)
    tail = (
        "no end in sight at the present rates"
        if more is None
        else f"needs about {more} more of the candidate{arrival.told(arrival.of_counts(case.view, have, more))}"
    )
    said = f"{_rates(case)}: not decided (e = {phrases.evalue(e)} < {phrases.evalue(needed)} = 1/α), {tail}"
    return Ruling(Verdict.WAIT, "NeedsMore", said, need=None if more is None else have + more)


Check = Callable[[Case], Ruling | None]
CHECKS: Final[tuple[Check, ...]] = (
    _worse,
    _limit_broken,
    _unmeasured,
    _failing,
    _not_a_value,
    _stale,
    _resetting,
    _too_few,
    _kept,
    _needs_more,
)


def _limit(case: Case) -> Limit:
    return limit_of(case.source)


def _have(case: Case) -> int:
    if case.is_value:
        return case.measured.samples or 0
    return 0 if case.counted is None else case.counted.grown_total


def _where(case: Case) -> str:
    """Which Job said it, for people who read its log."""
    measured = case.measured
    return f" ({measured.message})" if measured.message and measured.outcome == Outcome.VALUE else ""


def _value(case: Case) -> str:
    if is_outcome(case.source):
        return "the Job completed" if case.measured.candidate == "1" else "the Job failed"
    stable = "" if case.measured.stable is None else f", stable {case.measured.stable}"
    return f"candidate {case.measured.candidate}{stable}"


def _breach(case: Case) -> str:
    stable = None if case.measured.stable is None else float(case.measured.stable)
    found = list(broken(_limit(case), float(case.measured.candidate or 0), stable))
    return " and ".join(found) or "broke the limit before"


def _bound(case: Case) -> tuple[str, str]:
    """How harm and safety are said."""
    largest = _limit(case).max
    if largest is not None:
        return f"above {phrases.percent(float(largest))}", f"below {phrases.percent(float(largest))}"
    return "worse", f"not worse by {phrases.points(float(case.gate.margin or 0))}"


def _rates(case: Case) -> str:
    counts, stable = case.counted or Counted(), case.measured.stable_counts
    said = f"candidate {phrases.percent(_rate(counts))} bad of {counts.grown_total}"
    if stable is not None:
        said = f"{said}, stable {phrases.percent(_rate(stable))} of {stable.grown_total}"
    resets = case.measured.resets
    return (
        f"{said} ({resets} of {case.measured.number} measurements left out: a counter fell)"
        if resets
        else said
    )


def _rate(counts: Counted | None) -> float | None:
    return None if counts is None or not counts.grown_total else counts.grown_bad / counts.grown_total


def _number(value: str | None) -> float | None:
    return None if value is None else float(value)


def _finding(case: Case, ruling: Ruling) -> Finding:
    measured = case.measured
    item = SignalEvidence(
        signal=case.gate.signal,
        units=_have(case),
        candidate=_number(measured.candidate) if case.is_value else _rate(measured.candidate_counts),
        stable=_number(measured.stable) if case.is_value else _rate(measured.stable_counts),
    )
    return judging.finding(case.gate, item, ruling)
