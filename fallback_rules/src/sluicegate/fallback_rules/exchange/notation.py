"""Cells as text, as people and other programs write them: ``refund, track``, ``[50..100)``, ``>= 50``, ``"refund", "track"``."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from sluicegate.contracts.resources.fallback import ColumnType, RuleCell

ANY = ("", "-")
"""A cell that asks nothing."""
_RANGE = re.compile(r"\[(?P<low>[^\]\[]+?)\.\.(?P<high>[^\]\[]+?)\)")
_OPEN = re.compile(r"(?P<sign>>=|<)\s*(?P<end>.+)")
_ITEM = re.compile(r'\s*(?P<item>"(?:[^"\\]|\\.)*"|date\("[^"]*"\)|[^,"]+?)\s*(?:,|\Z)')
_DATE = re.compile(r'date\("([^"]*)"\)')
_UNPLAIN = re.compile(r'[",\\]|^\s|\s\Z|^[<>=\[\-+@]|^(absent|null)\Z|^\Z|\.\.|[\x00-\x1f]|^date\(')


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How values and absence are written. quotes: texts are in quotation marks and dates in ``date(…)``, as in FEEL and JDM."""

    quotes: bool
    absent: str

    def cell(self, cell: RuleCell | None, kind: ColumnType) -> str:
        """A cell as text; one that is not there as nothing."""
        if cell is None:
            return ""
        if cell.absent:
            return self.absent
        if cell.one_of:
            return ", ".join(self._item(text, kind) for text in cell.one_of)
        low, high = (None if end is None else self._item(end, kind) for end in (cell.at_least, cell.below))
        if low is not None and high is not None:
            return f"[{low}..{high})"
        return f">= {low}" if high is None else f"< {high}"

    def _item(self, text: str, kind: ColumnType) -> str:
        if kind is ColumnType.ENUM and (self.quotes or _UNPLAIN.search(text)):
            return json.dumps(text, ensure_ascii=False)
        return f'date("{text}")' if self.quotes and kind is ColumnType.DATE else text

    def read(self, text: str) -> RuleCell | None:
        """The cell of a text; None asks nothing. ValueError when it is none."""
        stripped = text.strip()
        if stripped in ANY:
            return None
        if stripped == self.absent:
            return RuleCell(absent=True)
        for pattern, made in _RANGES:
            found = pattern.fullmatch(stripped)
            if found:
                return made(found)
        return RuleCell(one_of=tuple(_items(stripped)))


PLAIN = Style(quotes=False, absent="absent")
"""Of spreadsheets."""
QUOTED = Style(quotes=True, absent="null")
"""Of FEEL and JDM."""

_RANGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], RuleCell]], ...] = (
    (_RANGE, lambda found: RuleCell(at_least=_value(found["low"]), below=_value(found["high"]))),
    (
        _OPEN,
        lambda found: RuleCell(**{"at_least" if found["sign"] == ">=" else "below": _value(found["end"])}),
    ),
)


def _items(text: str) -> list[str]:
    items = []
    at = 0
    while at < len(text):
        found = _ITEM.match(text, at)
        if found is None:
            raise ValueError(f"cannot be read from {text[at : at + 20]!r} on")
        items.append(_value(found["item"]))
        at = found.end()
    return items


def _value(text: str) -> str:
    stripped = text.strip()
    if stripped.startswith('"'):
        return str(json.loads(stripped))
    found = _DATE.fullmatch(stripped)
    return found[1] if found else stripped


def json_cell(value: object) -> str:
    """A JSON value as a cell: a text as it is where nothing else could be meant."""
    told = json.dumps(value, ensure_ascii=False)
    return (
        value if isinstance(value, str) and read_json(value) == value and not _UNPLAIN.search(value) else told
    )


def read_json(text: str) -> object:
    """The value of such a cell: JSON, or else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
