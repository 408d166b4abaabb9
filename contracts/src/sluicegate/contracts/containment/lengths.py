"""How long the texts are that a pattern matches: said beside the pattern, it lets the library compare the two.

Adding what already follows changes no meaning, wherever the schema stands. Only patterns that are fully understood
count; a bound that is not known is left out.
"""

import re
from typing import Any, Final

_ONE: Final = re.compile(
    r"\\[pP]\{[A-Za-z_=]+\}|\\[dDwWsSnrtf]|\\[^A-Za-z0-9]|\[\^?(?:\\.|[^\[\]\\])+\]|[^\\\[\](){}|*+?^$]"
)
_TIMES: Final = re.compile(r"(\*|\+|\?|\{(\d{1,5})(,(\d{0,5}))?\})\??")
_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"const", "enum", "default", "examples", "required", "dependentRequired"})
_DEEPEST: Final = 64

Range = tuple[int, int | None]


def with_lengths(schema: Any, depth: int = 0) -> Any:
    """The same schema, with minLength and maxLength where a pattern implies them."""
    if isinstance(schema, list):
        return [with_lengths(item, depth + 1) for item in schema]
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _MAPS and isinstance(value, dict):
            found[word] = {name: with_lengths(item, depth + 1) for name, item in value.items()}
        else:
            found[word] = value if word in _VALUES else with_lengths(value, depth + 1)
    known = lengths(schema["pattern"]) if isinstance(schema.get("pattern"), str) else None
    if known is not None:
        low, high = known
        if low > _whole(schema.get("minLength"), 0):
            found["minLength"] = low
        if high is not None and high < _whole(schema.get("maxLength"), high + 1):
            found["maxLength"] = high
    return found


def lengths(pattern: str) -> Range | None:
    """(at least, at most) in characters; at most None: no bound. None: the pattern is not understood."""
    try:
        reader = _Reader(pattern)
        found = reader.alternatives(top=True)
        return found if reader.at == len(pattern) else None
    except (ValueError, RecursionError):
        return None


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def alternatives(self, *, top: bool) -> Range:
        found = [self.sequence(top=top)]
        while self.next_is("|"):
            self.at += 1
            found.append(self.sequence(top=top))
        return min(low for low, _ in found), _most([high for _, high in found])

    def sequence(self, *, top: bool) -> Range:
        """Without anchors on both sides more may stand around what matches."""
        low, high, begins, ends = 0, 0, self.next_is("^"), False
        known: int | None = high
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            ends = self.next_is("$")
            least, most = self.repeated()
            low += least
            known = None if most is None or known is None else known + most
        return low, known if not top or (begins and ends) else None

    def repeated(self) -> Range:
        is_anchor = self.pattern[self.at] in "^$"
        least, most = self.atom()
        found = _TIMES.match(self.pattern, self.at)
        if found is None:
            return least, most
        if is_anchor:  # it may be missing then, so that it anchors nothing
            raise ValueError(self.pattern)
        self.at = found.end()
        low, high = _times(found)
        return least * low, None if high is None or most is None else most * high

    def atom(self) -> Range:
        if self.pattern[self.at] in "^$":
            self.at += 1
            return 0, 0
        if self.next_is("("):
            self.at += 1
            if self.next_is("?"):
                if not self.pattern.startswith("?:", self.at):
                    raise ValueError(self.pattern)
                self.at += 2
            found = self.alternatives(top=False)
            if not self.next_is(")"):
                raise ValueError(self.pattern)
            self.at += 1
            return found
        one = _ONE.match(self.pattern, self.at)
        if one is None:
            raise ValueError(self.pattern)
        self.at = one.end()
        return 1, 1

    def next_is(self, sign: str) -> bool:
        return self.pattern[self.at : self.at + 1] == sign


def _times(found: re.Match[str]) -> Range:
    sign = found[1]
    if sign in "*+?":
        return (1 if sign == "+" else 0), (1 if sign == "?" else None)
    low = int(found[2])
    return low, low if found[3] is None else int(found[4]) if found[4] else None


def _most(highs: list[int | None]) -> int | None:
    known = [high for high in highs if high is not None]
    return max(known) if len(known) == len(highs) else None


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
