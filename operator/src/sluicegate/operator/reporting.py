"""Report: is there anything new to say in a status? Zero writes in steady state."""

from enum import StrEnum
from typing import Any

from sluicegate.operator.ports import Json

_SILENT = frozenset({"nextEvaluationAt", "numbersAt"})
"""Move by themselves; never worth a write alone."""
_NUMBERS = frozenset(
    {
        "samples",
        "needed",
        "estimatedSecondsToDecision",
        "evidenceDigest",
        "message",
        "candidate",
        "stable",
        "have",
        "need",
        "runs",
        "programmedVersion",
    }
)
"""Fields of a status, and of its gates and conditions, that follow the evidence from look to look."""


class News(StrEnum):
    """What differs between the stored status and the wanted one."""

    NOTHING = "Nothing"
    NUMBERS = "Numbers"
    FACTS = "Facts"  # a stage, a verdict, a condition, a decision…: written at once


def news(held: Json | None, wanted: Json) -> News:
    """Compare."""
    if held is None:
        return News.FACTS
    if _without(held, _SILENT) == _without(wanted, _SILENT):
        return News.NOTHING
    left, right = _facts(held), _facts(wanted)
    return News.NUMBERS if left == right else News.FACTS


def _facts(status: Json) -> Json:
    kept = _without(status, _NUMBERS | _SILENT)
    for name in ("gates", "conditions"):
        kept[name] = [_without(entry, _NUMBERS) for entry in status.get(name) or ()]
    return kept


def _without(entry: Json, names: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in names}
