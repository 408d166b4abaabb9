"""Report: is there anything new to say in a status? Zero writes in steady state."""

from enum import StrEnum
from typing import Any

from sluicegate.operator.ports import Json

_DERIVED = frozenset({"nextEvaluationAt", "numbersAt", "estimatedSecondsToDecision", "evidenceDigest"})
"""Follow the clock or the numbers ("seen 12 min ago"): never worth a write alone."""
_NUMBERS = frozenset({"samples", "needed", "programmedVersion"})
_GATE_NUMBERS = frozenset({"candidate", "stable", "have", "need", "runs"})
"""Follow the evidence from look to look: written now and then."""
_TEXT = frozenset({"message"})
_LISTS = ("gates", "conditions")


class News(StrEnum):
    """What differs between the stored status and the wanted one."""

    NOTHING = "Nothing"
    NUMBERS = "Numbers"
    FACTS = "Facts"  # a stage, a verdict, a condition, a decision…: written at once


def news(held: Json | None, wanted: Json) -> News:
    """Compare. The text of a gate or condition is made from what is compared, so it does not count itself."""
    if held is None or _seen(held, numbers=False) != _seen(wanted, numbers=False):
        return News.FACTS
    same = _seen(held, numbers=True) == _seen(wanted, numbers=True)
    return News.NOTHING if same else News.NUMBERS


def _seen(status: Json, *, numbers: bool) -> Json:
    hidden, hidden_of_gates = (_DERIVED, _TEXT) if numbers else (_DERIVED | _NUMBERS, _TEXT | _GATE_NUMBERS)
    seen = _without(status, hidden)
    for name in _LISTS:
        seen[name] = [_without(entry, hidden_of_gates) for entry in status.get(name) or ()]
    return seen


def _without(entry: Json, names: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in names}
