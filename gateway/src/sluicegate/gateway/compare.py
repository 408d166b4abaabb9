"""How two answers to the same request differ: typed facts first, then similarity of free text.

Every similarity ranks a wrong number or an added "not" above a correct paraphrase (research/statistics.md section
8.2). So facts decide: numbers, ids, dates, URLs, money, polarity and the order of steps inside texts; values of every
other field exactly. Similarity only says whether two texts with the same facts are the same answer at all.
"""

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rapidfuzz import fuzz

from sluicegate.contracts.runs import Comparison
from sluicegate.gateway.text_facts import facts_of, is_free_text

FLOOR = 0.5
MAX_DIFFERENCES = 20
RELATIVE_TOLERANCE = 1e-9
MAX_TEXT = 8_000
MAX_LEAVES = 5_000
"""Bounds of the work for one pair (about 2 ms): answers beyond them are compared whole where they go on."""
_SHOWN = 60


@dataclass(slots=True)
class _Tally:
    """What the walk found."""

    shows_values: bool
    floor: float
    differences: list[str] = field(default_factory=list)
    found: int = 0  # differences, also those beyond MAX_DIFFERENCES
    facts: int = 0
    text_weight: int = 0
    text_similarity: float = 0.0

    def differ(self, path: str, served: Any, other: Any, what: str = "") -> None:
        self.found += 1
        if len(self.differences) < MAX_DIFFERENCES:
            values = f": {_short(served)} | {_short(other)}" if self.shows_values else ""
            self.differences.append(f"{path}{f' ({what})' if what else ''}{values}")


def compare(served: Any, other: Any, *, floor: float = FLOOR, shows_values: bool = True) -> Comparison:
    """Compare two JSON values.

    agrees: no fact differs and every pair of texts has a similarity of at least `floor`. similarity: mean of the
    texts' similarities by length; without texts, the share of equal facts. shows_values: differences quote values.
    """
    tally = _Tally(shows_values=shows_values, floor=floor)
    _walk("output", served, other, tally)
    if tally.text_weight:
        similarity = tally.text_similarity / tally.text_weight
    else:
        similarity = max(0.0, 1.0 - tally.found / tally.facts) if tally.facts else 1.0
    return Comparison(agrees=tally.found == 0, similarity=similarity, differences=tuple(tally.differences))


def _walk(path: str, served: Any, other: Any, tally: _Tally) -> None:
    if tally.facts >= MAX_LEAVES:
        tally.facts += 1
        if served != other:
            tally.differ(path, served, other)
    elif isinstance(served, dict) and isinstance(other, dict):
        for name in _names(served, other):
            if name in served and name in other:
                _walk(f"{path}.{name}", served[name], other[name], tally)
            else:
                tally.facts += 1
                tally.differ(f"{path}.{name}", served.get(name, _ABSENT), other.get(name, _ABSENT))
    elif isinstance(served, list) and isinstance(other, list):
        for index, (left, right) in enumerate(zip(served, other, strict=False)):
            _walk(f"{path}[{index}]", left, right, tally)
        if len(served) != len(other):
            tally.facts += 1
            tally.differ(path, f"{len(served)} items", f"{len(other)} items", "length")
    else:
        _leaf(path, served, other, tally)


def _leaf(path: str, served: Any, other: Any, tally: _Tally) -> None:
    if isinstance(served, str) and isinstance(other, str):
        left, right = _canonical(served), _canonical(other)
        if left != right and is_free_text(left) and is_free_text(right):
            _texts(path, left, right, tally)
            return
        if left == right and is_free_text(left):
            tally.text_weight += len(left)
            tally.text_similarity += len(left)
        tally.facts += 1
        if left != right and _instant(left) != _instant(right, default=""):
            tally.differ(path, served, other)
        return
    tally.facts += 1
    if not _is_same(served, other):
        tally.differ(path, served, other)


def _texts(path: str, served: str, other: str, tally: _Tally) -> None:
    weight = max(len(served), len(other))
    if served[MAX_TEXT:] != other[MAX_TEXT:]:
        tally.differ(path, served[MAX_TEXT:], other[MAX_TEXT:], f"after {MAX_TEXT} characters")
    served, other = served[:MAX_TEXT], other[:MAX_TEXT]
    similarity = fuzz.ratio(served.casefold(), other.casefold()) / 100.0
    tally.text_weight += weight
    tally.text_similarity += weight * similarity
    tally.facts += 1
    kinds = facts_of(served).differing(facts_of(other))
    if kinds:
        tally.differ(path, served, other, ", ".join(kinds))
    elif similarity < tally.floor:
        tally.differ(path, served, other, f"similarity {similarity:.2f}")


def _is_same(served: Any, other: Any) -> bool:
    if isinstance(served, bool) or isinstance(other, bool):
        return served is other
    if isinstance(served, int) and isinstance(other, int):
        return served == other
    if isinstance(served, int | float) and isinstance(other, int | float):
        return math.isclose(served, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)
    return type(served) is type(other) and bool(served == other)


def _canonical(text: str) -> str:
    """NFC, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _instant(text: str, *, default: str | None = None) -> datetime | str | None:
    """A time stamp as a UTC instant, so that two ways to write it are the same."""
    if len(text) < 16 or not text[0].isdigit():
        return default
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return default
    return at.astimezone(UTC) if at.tzinfo is not None else default


def _names(served: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    yield from served
    yield from (name for name in other if name not in served)


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


_ABSENT = _Absent()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
