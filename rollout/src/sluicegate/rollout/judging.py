"""What every way of judging a gate shares: the view of the stage, a ruling, its finding, staleness, the deadline."""

import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sluicegate.contracts.evidence import SignalEvidence, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage, RolloutSpec
from sluicegate.contracts.stages import Verdict
from sluicegate.rollout import phrases

STALE_SECONDS: Final = 600.0
STALE_GAPS: Final = 10.0
"""Evidence is stale after 10 minutes, or ten times the mean gap between units when that is longer."""

CLOCK_SECONDS: Final = 60.0
"""By so much the clocks of gateways and of the judge may differ. A unit dated further ahead hides how old the evidence is."""

MOST_UNITS: Final = 1e9
"""An estimate above this is no estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A stage's evidence at a moment. late: the stage's deadline is over, so that waiting has ended. measured: of gates
    with a source. active_seconds: in the stage so far, without pauses; 0: not known."""

    spec: RolloutSpec
    stage: PlannedStage
    evidence: StageEvidence | None
    now: datetime
    late: bool = False
    measured: tuple[Measured, ...] = ()
    active_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a check says."""

    verdict: Verdict
    reason: str
    message: str
    need: int | None = None


def finding(gate: PlannedGate, item: SignalEvidence, ruling: Ruling) -> Finding:
    """The ruling on a gate, with the numbers that it rests on."""
    return Finding(
        gate=gate.name,
        signal=gate.signal,
        verdict=ruling.verdict,
        reason=ruling.reason,
        message=ruling.message,
        candidate=item.candidate,
        stable=item.stable,
        have=item.units,
        need=ruling.need,
        component=item.component,
        on_fail=gate.on_fail,
        required=gate.required,
        runs=item.witnesses[-5:] if ruling.verdict is not Verdict.PASS else (),
    )


def units_to_go(lacking: float, growth: float | None) -> int | None:
    """Units until a log e-value that grows by so much a unit has gained what it lacks; None when it is not getting there."""
    if growth is None or not math.isfinite(growth) or growth <= 0.0:
        return None
    more = lacking / growth
    return max(1, math.ceil(more)) if more <= MOST_UNITS else None


def stale_after(spec: RolloutSpec, evidence: StageEvidence) -> float:
    """Seconds without a unit after which evidence is stale; a unit may be held open for the outcome window."""
    rate = evidence.units_per_hour
    gap = 3600.0 / rate if rate is not None and math.isfinite(rate) and rate > 0.0 else 0.0
    return max(STALE_SECONDS, STALE_GAPS * gap) + spec.outcome_window_seconds


def stale(view: View, evidence: StageEvidence) -> Ruling | None:
    """The last unit is too old, or a clock is wrong."""
    last, limit = evidence.last_at, stale_after(view.spec, evidence)
    age = math.inf if last is None else (view.now - last).total_seconds()
    if -CLOCK_SECONDS <= age <= limit:
        return None
    if last is None:
        said = "was observed at no known time"
    elif age < 0.0:
        said = f"is dated {phrases.duration(-age)} from now: a clock was set back, or another is ahead"
    else:
        said = f"was observed {phrases.duration(age)} ago, more than {phrases.duration(limit)}"
    return Ruling(Verdict.WAIT, "StaleData", f"the last unit {said}")


def at_deadline(view: View, ruling: Ruling) -> Ruling:
    """Waiting ends with the stage's deadline."""
    if ruling.verdict is not Verdict.WAIT or not view.late:
        return ruling
    reason = "InsufficientSamples" if ruling.reason == "NeedsMore" else ruling.reason
    return replace(ruling, verdict=Verdict.INCONCLUSIVE, reason=reason)
