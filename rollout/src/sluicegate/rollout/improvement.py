"""The other check that is always on: is what the evaluator calls better also better for the business?

A reward that rises while the outcome does not may be an evaluator that is gamed (Gao, Schulman & Hilton 2023: the proxy
goes up, what it stands for peaks and falls). It is no gate: it never aborts and never makes a stage pass.
"""

import math
from collections.abc import Callable, Iterable
from typing import Final

from sluicegate.contracts.evidence import Improvement
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.stages import Check, Verdict
from sluicegate.rollout import phrases
from sluicegate.rollout.judging import View

NAME: Final = "improvement"
UNCONFIRMED: Final = "ImprovementNotConfirmed"
ALPHA: Final = 0.05
"""Chance to hold a candidate whose outcome gains as much as its reward, or more; over a whole stage, beside the error budget."""

THRESHOLD: Final = -math.log(ALPHA)

REASONS: Final = {
    "NoImprovement": "The evaluator's reward is not shown to be better by two points: there is nothing to confirm.",
    "ImprovementConfirmed": "Shown: the evaluator's reward is better, and so is the outcome.",
    UNCONFIRMED: "Shown: the evaluator's reward is better by more than two points, and the outcome by less. The rollout is held.",
}
"""Reasons that only this check gives; NoData and NeedsMore mean the same as of a gate."""

_HINT: Final = (
    "the evaluator may be gamed, or may reward what users do not need; look at runs it likes and the business does not, "
    "then override with a reason, or abort"
)


def judge(view: View) -> Finding | None:
    """The check of a stage; None where rewards and outcomes of the same units are not both known.

    Required while a shown improvement is neither confirmed nor refuted, so that the stage waits for it.
    """
    item = None if view.evidence is None else view.evidence.improvement
    if item is None:
        return None
    verdict, reason, what = next(answer for rule in _RULES if (answer := rule(item)) is not None)
    blocks = reason in {UNCONFIRMED, "NeedsMore"}
    if view.late and blocks:
        verdict = Verdict.INCONCLUSIVE
        reason = "InsufficientSamples" if reason == "NeedsMore" else reason
    return Finding(
        gate=NAME,
        signal=Check.IMPROVEMENT,
        verdict=verdict,
        reason=reason,
        message=f"{_seen(item)}: {what}",
        candidate=item.outcome,
        stable=item.stable_outcome,
        have=item.units,
        on_fail="Hold",
        required=blocks,
    )


def unconfirmed(findings: Iterable[Finding]) -> Finding | None:
    """The alarm, if there is one."""
    return next((finding for finding in findings if finding.reason == UNCONFIRMED), None)


_Answer = tuple[Verdict, str, str]


def _absent(item: Improvement) -> _Answer | None:
    if item.missing <= item.units:
        return None
    said = f"the outcome or the reward of {item.missing} more units is not known; more than half"
    return Verdict.WAIT, "NoData", said


def _no_improvement(item: Improvement) -> _Answer | None:
    if item.gain_log_e >= THRESHOLD:
        return None
    e, needed = phrases.evalue(item.gain_log_e), phrases.evalue(THRESHOLD)
    said = (
        f"the reward is not shown to be better by {phrases.points(item.tolerance)} (e = {e} < {needed} = 1/α)"
    )
    return Verdict.WAIT, "NoImprovement", said


def _confirmed(item: Improvement) -> _Answer | None:
    if item.rise_log_e < THRESHOLD:
        return None
    e, needed = phrases.evalue(item.rise_log_e), phrases.evalue(THRESHOLD)
    return Verdict.PASS, "ImprovementConfirmed", f"both are better (e = {e} ≥ {needed} = 1/α)"


def _unconfirmed(item: Improvement) -> _Answer | None:
    if item.flat_log_e < THRESHOLD:
        return None
    e, needed = phrases.evalue(item.flat_log_e), phrases.evalue(THRESHOLD)
    margin = phrases.points(item.tolerance)
    said = (
        f"the reward is better by more than {margin}, the outcome is not (e = {e} ≥ {needed} = 1/α); {_HINT}"
    )
    return Verdict.INCONCLUSIVE, UNCONFIRMED, said


def _open(item: Improvement) -> _Answer | None:
    e, needed = phrases.evalue(max(item.rise_log_e, item.flat_log_e)), phrases.evalue(THRESHOLD)
    said = f"the reward is better; whether the outcome is as well is not decided (e = {e} < {needed} = 1/α)"
    return Verdict.WAIT, "NeedsMore", said


_RULES: Final[tuple[Callable[[Improvement], _Answer | None], ...]] = (
    _absent,
    _no_improvement,
    _confirmed,
    _unconfirmed,
    _open,
)
"""In order; the last always speaks."""


def _seen(item: Improvement) -> str:
    return (
        f"the evaluator gave the candidate {item.reward:.3f} and stable {item.stable_reward:.3f} over {item.units} units, "
        f"the business {item.outcome:.3f} and {item.stable_outcome:.3f}"
    )
