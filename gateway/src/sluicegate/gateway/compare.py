"""How two answers to the same request differ: typed facts first, then similarity of free text.

Every similarity ranks a wrong number or an added "not" above a correct paraphrase (research/statistics.md section
8.2). So facts decide: numbers, ids, dates, URLs, money, polarity and the order of steps inside texts; values of every
other field exactly, unless the contract says otherwise (contracts.comparing). How alike texts must be is decided where
evidence is folded, by how alike stable's own answers are.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sluicegate.contracts.comparing import NOTHING, Hint, How
from sluicegate.contracts.runs import Comparison
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.texts.facts import facts_of
from sluicegate.gateway.texts.normal import is_free_text, normal
from sluicegate.gateway.texts.similarity import similarity

MAX_DIFFERENCES: Final = 20
RELATIVE_TOLERANCE: Final = 1e-9
MAX_TEXT: Final = 8_000
MAX_LEAVES: Final = 5_000
MAX_TEXTS: Final = 16_000
"""Bounds of the work for one pair: leaves, characters of one text and of all; answers beyond them are compared whole where they go on."""
MAX_INSIDE: Final = 2
"""JSON in a text is looked into, and JSON in a text of that; each level may nest as deep as an answer."""
_SHOWN: Final = 60
_RUNS_OF_LETTERS = re.compile(r"\w+")


@dataclass(slots=True)
class _Tally:
    """What the walk found."""

    shows_values: bool
    differences: list[str] = field(default_factory=list)
    found: int = 0  # differences, also those beyond MAX_DIFFERENCES
    facts: int = 0
    compared: int = 0  # characters of texts that were looked into
    inside: int = 0  # how many texts the walk is inside of
    texts: list[tuple[int, float]] = field(default_factory=list)  # length and similarity
    open_texts: list[tuple[int, float]] = field(default_factory=list)  # for the floor to judge

    def differ(self, path: str, served: Any, other: Any, what: str = "") -> None:
        self.found += 1
        if len(self.differences) < MAX_DIFFERENCES:
            values = f": {_short(served)} | {_short(other)}" if self.shows_values else ""
            self.differences.append(f"{path}{f' ({what})' if what else ''}{values}")

    def weigh(self, weight: int, similar: float, hint: Hint) -> None:
        self.texts.append((weight, similar))
        if hint.similarity is None:
            self.open_texts.append((weight, similar))


def compare(served: Any, other: Any, hints: Hint = NOTHING, *, shows_values: bool = True) -> Comparison:
    """Compare two JSON values.

    agrees: no fact differs, as `hints` say what counts. similarity: mean of the texts' similarities by length; without
    texts, the share of equal facts. shows_values: differences quote values.
    """
    tally = _Tally(shows_values=shows_values)
    _walk("output", served, other, hints, tally)
    similar = _mean(tally.texts)
    if similar is None:
        similar = max(0.0, 1.0 - tally.found / tally.facts) if tally.facts else 1.0
    return Comparison(
        agrees=tally.found == 0,
        similarity=similar,
        differences=tuple(tally.differences),
        texts=_mean(tally.open_texts),
    )


def _mean(weighed: list[tuple[int, float]]) -> float | None:
    """By weight."""
    total = sum(weight for weight, _ in weighed)
    return min(1.0, sum(weight * value for weight, value in weighed) / total) if total else None


def _walk(path: str, served: Any, other: Any, hint: Hint, tally: _Tally) -> None:
    if hint.how is How.IGNORE:
        return
    if tally.facts >= MAX_LEAVES:
        tally.facts += 1
        if served != other:
            tally.differ(path, served, other)
    elif isinstance(served, dict) and isinstance(other, dict):
        _objects(path, served, other, hint, tally)
    elif isinstance(served, list) and isinstance(other, list):
        _lists(path, served, other, hint, tally)
    elif isinstance(served, str) and isinstance(other, str):
        _strings(path, served, other, hint, tally)
    else:
        tally.facts += 1
        if not _is_same(served, other, hint):
            tally.differ(path, served, other)


def _objects(path: str, served: dict[str, Any], other: dict[str, Any], hint: Hint, tally: _Tally) -> None:
    for name in _names(served, other):
        below = hint.of(name)
        if name in served and name in other:
            _walk(f"{path}.{name}", served[name], other[name], below, tally)
        elif below.how is not How.IGNORE:
            tally.facts += 1
            tally.differ(f"{path}.{name}", served.get(name, _ABSENT), other.get(name, _ABSENT))


def _lists(path: str, served: list[Any], other: list[Any], hint: Hint, tally: _Tally) -> None:
    if hint.how is How.SET:
        served, other = _aligned(served, other, hint.of_item())
    for index, (left, right) in enumerate(zip(served, other, strict=False)):
        _walk(f"{path}[{index}]", left, right, hint.of_item(), tally)
    if len(served) != len(other):
        tally.facts += 1
        tally.differ(path, f"{len(served)} items", f"{len(other)} items", "length")


def _aligned(served: list[Any], other: list[Any], hint: Hint) -> tuple[list[Any], list[Any]]:
    """Both as multisets: what both have side by side first, then the rest in one order."""
    left, right = [(_key(item, hint), item) for item in served], [(_key(item, hint), item) for item in other]
    common = Counter(key for key, _ in left) & Counter(key for key, _ in right)
    return _in_order(left, common), _in_order(right, common)


def _in_order(keyed: list[tuple[str, Any]], common: Counter[str]) -> list[Any]:
    left_over = common.copy()
    shared: list[Any] = []
    rest: list[Any] = []
    for key, item in sorted(keyed, key=lambda pair: pair[0]):
        (shared if left_over[key] > 0 else rest).append(item)
        left_over[key] -= 1
    return shared + rest


def _key(item: Any, hint: Hint) -> str:
    return json.dumps(_without_ignored(item, hint), sort_keys=True, ensure_ascii=False)


def _without_ignored(value: Any, hint: Hint) -> Any:
    if isinstance(value, dict):
        parts = ((name, item, hint.of(name)) for name, item in value.items())
        return {
            name: _without_ignored(item, below) for name, item, below in parts if below.how is not How.IGNORE
        }
    if isinstance(value, list):
        return [_without_ignored(item, hint.of_item()) for item in value]
    return _canonical(value) if isinstance(value, str) else value


def _strings(path: str, served: str, other: str, hint: Hint, tally: _Tally) -> None:
    left, right = _canonical(served), _canonical(other)
    is_text = hint.how is How.TEXT or (hint.how is How.DEFAULT and is_free_text(left) and is_free_text(right))
    if left == right:
        tally.facts += 1
        if is_text:
            tally.weigh(len(left), 1.0, hint)
        return
    nested = _nested(left, right) if tally.inside < MAX_INSIDE else None
    if nested is not None:
        tally.inside += 1
        _walk(path, *nested, hint, tally)
        tally.inside -= 1
    elif is_text:
        _texts(path, left, right, hint, tally)
    else:
        tally.facts += 1
        if hint.how is How.PATTERN:
            left, right = _RUNS_OF_LETTERS.sub("*", left), _RUNS_OF_LETTERS.sub("*", right)
        if left != right and _instant(left) != _instant(right, default=""):
            tally.differ(path, served, other)


def _nested(left: str, right: str) -> tuple[Any, Any] | None:
    """Two objects or lists that are written as texts, as the arguments of tool calls often are."""
    if left[:1] not in {"{", "["} or right[:1] != left[:1] or max(len(left), len(right)) > MAX_TEXT:
        return None
    try:
        return parse(left.encode()), parse(right.encode())
    except (JsonError, UnicodeEncodeError):
        return None


def _texts(path: str, served: str, other: str, hint: Hint, tally: _Tally) -> None:
    weight = max(len(served), len(other), 1)
    most = min(MAX_TEXT, max(0, MAX_TEXTS - tally.compared))
    tally.compared += min(weight, most)
    served, served_rest = _split(served, most)
    other, other_rest = _split(other, most)
    if served_rest != other_rest:
        tally.differ(path, served_rest, other_rest, f"after {most} characters")
    similar = similarity(served, other)
    tally.facts += 1
    tally.weigh(weight, similar, hint)
    kinds = [kind for kind in facts_of(served).differing(facts_of(other)) if kind not in hint.ignored]
    if kinds:
        tally.differ(path, served, other, ", ".join(kinds))
    elif hint.similarity is not None and similar < hint.similarity:
        tally.differ(path, served, other, f"similarity {similar:.2f}")


def _split(text: str, most: int) -> tuple[str, str]:
    """What is looked into, as `normal` writes it, and the rest: of one character normal makes up to 18."""
    start = normal(text[:most])
    return start[:most], start[most:] + text[most:]


def _is_same(served: Any, other: Any, hint: Hint) -> bool:
    if isinstance(served, bool) or isinstance(other, bool):
        return served is other
    if not (isinstance(served, int | float) and isinstance(other, int | float)):
        return type(served) is type(other) and bool(served == other)
    if hint.how is How.PATTERN:
        return True
    relative, absolute = hint.relative_tolerance, hint.tolerance
    if not relative and not absolute and isinstance(served, int) and isinstance(other, int):
        return served == other
    try:
        return math.isclose(served, other, rel_tol=max(relative, RELATIVE_TOLERANCE), abs_tol=absolute)
    except OverflowError:  # an integer that no float can hold
        return served == other


def _canonical(text: str) -> str:
    """NFC, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _instant(text: str, *, default: str | None = None) -> datetime | str | None:
    """A time stamp as a UTC instant, so that two ways to write it are the same."""
    if len(text) < 16 or not text[0].isdigit():
        return default
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo is not None else default
    except (ValueError, OverflowError):
        return default


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
