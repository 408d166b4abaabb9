"""The check that is always on: do the arms receive their declared shares?

It is no gate: nobody configures it, it never counts for a Pass and never aborts. When it alarms, the comparison of the arms
rests on routing that is not as declared, so the rollout is held for a person.
"""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.evidence import RoutingCounts, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.rollout import PlannedStage, RolloutSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Check, Verdict
from sluicegate.observability.ratio import share_log_e
from sluicegate.rollout import phrases
from sluicegate.rollout.routing import ablates_stable

NAME: Final = "routing"
MISMATCH: Final = "SampleRatioMismatch"
ALPHA: Final = 0.001
"""Chance that right shares ever alarm, over a whole stage (EVIDENCE.md). Beside the error budget: it never aborts."""

THRESHOLD: Final = -math.log(ALPHA)

LONGEST_ARM_SECONDS: Final = 1200
"""What a gateway gives one arm of a run at the most: 600 s for the answer, as much for the steps after it."""

ARMS_IN_TURN: Final = 4
"""Of a mirrored run: the user's, the candidate's, stable's second copy, and the ablated one; each waits for the one before.
Where stable is ablated as well, or components are mixed, there is one more of each."""

REASONS: Final = {
    "SharesKept": "The arms received their declared shares, as far as the units tell; so many that a candidate "
    "without any unit would have been noticed.",
    MISMATCH: "Shown: the arms did not receive their declared shares. The rollout is held.",
    "NotObserved": "Units that are not mirrored are not observed, and the stage has no second copy of stable (`controlShare`): "
    "there is nothing to compare.",
}
"""Reasons that only this check gives; NoData and NeedsMore mean the same as of a gate."""

_HINT: Final = {
    False: "the arms are no longer comparable; check that nothing before or behind the gateway picks the arm (proxy, cache, "
    "retry), that every run of a session gives the same routing.key, and that no arm loses its runs (killed workers, spools)",
    True: "pairs get lost or doubled; check that no worker is killed while it mirrors, and that every gateway's spool arrives",
}


def judge(
    spec: RolloutSpec, stage: PlannedStage, evidence: StageEvidence | None, now: datetime, *, late: bool
) -> Finding:
    """The check of a stage. Only a mismatch is `required`, so that nothing else of it ever moves or stops the rollout."""
    mirrored = stage.name in MIRRORED_STAGES
    declared = _number(stage.control_share if mirrored else stage.share)
    routing = RoutingCounts() if evidence is None else evidence.routing
    arms = arms_in_turn(stage) if mirrored else 1
    chosen, others, unknown = _settled(spec, routing, now, arms=arms)
    known = chosen + others
    verdict, reason, message = _rule(chosen, others, unknown, declared, mirrored=mirrored)
    if late and verdict is Verdict.WAIT:
        verdict = Verdict.INCONCLUSIVE
        reason = "InsufficientSamples" if reason == "NeedsMore" else reason
    split = known > 0 and not mirrored
    return Finding(
        gate=NAME,
        signal=Check.ROUTING,
        verdict=verdict,
        reason=reason,
        message=message,
        candidate=chosen / known if split else None,
        stable=others / known if split else None,
        have=known,
        on_fail="Hold",
        required=reason == MISMATCH,
    )


def mismatch(findings: Iterable[Finding]) -> Finding | None:
    """The alarm, if there is one."""
    return next((finding for finding in findings if finding.reason == MISMATCH), None)


def arms_in_turn(stage: PlannedStage) -> int:
    """The most arms of a mirrored run of the stage, one after the other."""
    return ARMS_IN_TURN + ablates_stable(stage) + (stage.version_share.numerator > 0)


def settles_after(spec: RolloutSpec, *, arms: int, sessions: bool) -> float:
    """Seconds after its arm was chosen until a unit has closed, whichever arm it got and however slow that was.

    A run may take its whole deadline in every arm, and its unit stays open for the outcome window; a session's as long
    after its last run, which is taken to begin within one window of the first.
    """
    return LONGEST_ARM_SECONDS * arms + spec.outcome_window_seconds * (2 if sessions else 1)


def _settled(spec: RolloutSpec, routing: RoutingCounts, now: datetime, *, arms: int) -> tuple[int, int, int]:
    """Counts of the units that are all in: the newer ones would show which arm closes faster, not which gets more."""
    if routing.until is None:
        return 0, 0, 0
    wait = settles_after(spec, arms=arms, sessions=routing.sessions)
    return routing.before(min(routing.until, now) - timedelta(seconds=wait))


def _rule(
    chosen: int, others: int, unknown: int, declared: float, *, mirrored: bool
) -> tuple[Verdict, str, str]:
    known = chosen + others
    if not known:
        return Verdict.WAIT, "NoData", "no unit is old enough to count: those of one arm may still be open"
    log_e = share_log_e(chosen, others, declared, unknown)
    who = "a second copy of stable ran for" if mirrored else "candidate answered"
    seen = f"{who} {phrases.percent(chosen / known)} of {known} units, declared {phrases.percent(declared)}"
    e, needed = phrases.evalue(log_e), phrases.evalue(THRESHOLD)
    if log_e >= THRESHOLD:
        return (
            Verdict.INCONCLUSIVE,
            MISMATCH,
            f"{seen}: not as declared (e = {e} ≥ {needed} = 1/α); {_HINT[mirrored]}",
        )
    if mirrored and not declared:
        return Verdict.WAIT, "NotObserved", "units that are not mirrored are not observed: nothing to compare"
    if share_log_e(0, known, declared) < THRESHOLD:
        return Verdict.WAIT, "NeedsMore", f"{seen}: too few to notice anything (e = {e} < {needed} = 1/α)"
    return Verdict.PASS, "SharesKept", f"{seen}: as declared (e = {e} < {needed} = 1/α)"


def _number(share: Fraction) -> float:
    return share.numerator / share.denominator
