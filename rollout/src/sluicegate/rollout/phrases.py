"""The sentences of gates: both numbers, n, e and what it was held against."""

import math
from collections.abc import Callable
from typing import Final

from sluicegate.contracts.evidence import SignalEvidence
from sluicegate.contracts.stages import Signal
from sluicegate.rollout import answers, drifts


def percent(value: float | None) -> str:
    """A rate for people."""
    return "?" if value is None else f"{value * 100:.1f} %"


def evalue(log_e: float) -> str:
    """An e-value for people, of any size."""
    if log_e > 690.0:
        return f"10^{log_e / math.log(10):.0f}"
    return f"{math.exp(log_e):.3g}"


def points(margin: float) -> str:
    """A margin on a rate, in percentage points."""
    return f"{margin * 100:g} point{'' if margin == 0.01 else 's'}"


def comparison(item: SignalEvidence, *, baseline: bool) -> str:
    """What was seen in both arms."""
    who = "stable before Full" if baseline else "stable"
    return _COMPARISONS[item.signal](item, who)


def _success(item: SignalEvidence, who: str) -> str:
    return (
        f"candidate succeeded in {percent(item.candidate)} of {item.units} units, "
        f"{who} in {percent(item.stable)}"
    )


def _latency(item: SignalEvidence, who: str) -> str:
    boundary = "the boundary" if item.boundary is None else f"{item.boundary:.0f} ms"
    tail = ""
    if item.candidate_p95_ms is not None and item.stable_p95_ms is not None:
        tail = f" (p95 {item.candidate_p95_ms:.0f} and {item.stable_p95_ms:.0f} ms)"
    return (
        f"candidate was slower than {boundary} in {percent(item.candidate)} of {item.units} units, "
        f"{who} in {percent(item.stable)}{tail}"
    )


def _fallback(item: SignalEvidence, who: str) -> str:
    return (
        f"candidate's {item.component or 'components'} fell back in {percent(item.candidate)} of {item.units} units, "
        f"{who} in {percent(item.stable)}"
    )


def _violations(item: SignalEvidence, who: str) -> str:
    return (
        f"candidate broke the contract in {percent(item.candidate)} of {item.units} units, "
        f"{who} in {percent(item.stable)}"
    )


def _disagreement(item: SignalEvidence, _who: str) -> str:
    return (
        f"candidate's answer differed in {percent(item.candidate)} of {item.units} pairs, "
        f"stable's second copy's in {percent(item.stable)}{answers.told(item)}"
    )


def _reward(item: SignalEvidence, who: str) -> str:
    candidate = "?" if item.candidate is None else f"{item.candidate:.3f}"
    stable = "?" if item.stable is None else f"{item.stable:.3f}"
    return f"candidate earned a mean reward of {candidate} over {item.units} units, {who} {stable}"


def _other(item: SignalEvidence, who: str) -> str:
    return f"candidate {item.candidate} over {item.units} units, {who} {item.stable}"


_COMPARISONS: Final[dict[Signal, Callable[[SignalEvidence, str], str]]] = {
    Signal.SUCCESS_RATE: _success,
    Signal.P95_LATENCY: _latency,
    Signal.FALLBACK_RATE_MAX: _fallback,
    Signal.CONTRACT_VIOLATIONS: _violations,
    Signal.DISAGREEMENT: _disagreement,
    Signal.REWARD: _reward,
    Signal.SHAPLEY_VARIANCE: _other,
    Signal.DRIFT: lambda item, _who: drifts.seen(item),
}


def duration(seconds: float) -> str:
    """A length of time for people."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
