"""What a question asks of one arm's facts: its badness in [0, 1], or nothing when it cannot be known."""

import math
from collections.abc import Callable
from typing import Final

from sluicegate.contracts.evidence import ArmFacts, Question
from sluicegate.contracts.stages import Signal


def badness(question: Question, facts: ArmFacts, boundary: float | None) -> float | None:
    """0 is good, 1 is bad; None when the value is absent, not finite or outside [0, 1].

    boundary: latency in ms above which a run counts as slow, or similarity below which a text counts as different; None
    when not yet known: no latency can be judged then, and answers by their facts alone. A component that does not
    appear in `fallbacks` did not fall back (a share of runs, so 0).
    """
    return _BADNESS[question.signal](question, facts, boundary)


def displayed(signal: Signal, bad: float) -> float:
    """The value as people know it (a success rate, a reward) from its badness, and back."""
    return 1.0 - bad if signal in HIGHER_IS_BETTER else bad


def valid_latencies(facts: ArmFacts | None) -> tuple[float, ...]:
    """The finite, non-negative ones."""
    if facts is None:
        return ()
    return tuple(value for value in facts.latencies_ms if 0.0 <= value < math.inf)


def _share(value: float | None) -> float | None:
    return value if value is not None and 0.0 <= value <= 1.0 else None  # NaN compares false


def _complement(value: float | None) -> float | None:
    share = _share(value)
    return None if share is None else 1.0 - share


def _slow_share(facts: ArmFacts, boundary: float | None) -> float | None:
    latencies = valid_latencies(facts)
    if boundary is None or not latencies or len(latencies) != len(facts.latencies_ms):
        return None
    return sum(value > boundary for value in latencies) / len(latencies)


def _differing(facts: ArmFacts, floor: float | None) -> float | None:
    """Share of runs that differ in a fact, or in a text that is less similar than `floor`."""
    by_facts = _share(facts.disagrees)
    if not all(value is None or 0.0 <= value <= 1.0 for value in facts.texts):
        return None
    if by_facts is None or floor is None or not facts.texts:
        return by_facts
    below = sum(value is not None and value < floor for value in facts.texts) / len(facts.texts)
    return min(1.0, by_facts + below)


_BADNESS: Final[dict[Signal, Callable[[Question, ArmFacts, float | None], float | None]]] = {
    Signal.SUCCESS_RATE: lambda _question, facts, _boundary: _complement(facts.success),
    Signal.P95_LATENCY: lambda _question, facts, boundary: _slow_share(facts, boundary),
    Signal.FALLBACK_RATE_MAX: lambda question, facts, _boundary: _share(
        facts.fallbacks.get(question.component or "", 0.0)
    ),
    Signal.CONTRACT_VIOLATIONS: lambda _question, facts, _boundary: _share(facts.violated),
    Signal.DISAGREEMENT: lambda _question, facts, floor: _differing(facts, floor),
    Signal.REWARD: lambda _question, facts, _boundary: _complement(facts.reward),
}

SIGNALS: Final = frozenset(_BADNESS)
"""Signals that can be folded."""

HIGHER_IS_BETTER: Final = frozenset({Signal.SUCCESS_RATE, Signal.REWARD})
