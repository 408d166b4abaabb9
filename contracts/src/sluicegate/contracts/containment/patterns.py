"""Example texts of a regular expression: short ones, long ones, one for each alternative.

Reads the common part of the dialects: literals, classes, groups, alternatives, repetitions, anchors. An example is a
guess: who uses it validates it. Whatever cannot be read gives fewer examples, never an error.
"""

from itertools import product
from typing import Final

MAX_EXAMPLES: Final = 12
_LONGEST: Final = 600
_DEEPEST: Final = 24
_FORKS: Final = 64
_CLASSES: Final = {"d": "05", "w": "aZ0_", "s": " ", "D": "a-", "W": "- ", "S": "a0", "h": " "}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}
_EVERY: Final = "aA0_- zZ9.é/"
_ZERO_WIDTH: Final = "bBAzZ"
_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def examples(pattern: str) -> tuple[str, ...]:
    """At most twelve texts that probably match, the shortest first."""
    if len(pattern) > 2_000:
        return ()
    try:
        found = _Reader(pattern).alternatives(0)
    except (IndexError, ValueError, OverflowError):
        return ()
    return tuple(sorted(found[:MAX_EXAMPLES], key=len))


class _Reader:
    """Recursive descent; every part gives a few texts, and parts in a row are zipped rather than multiplied."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def alternatives(self, depth: int) -> list[str]:
        if depth > _DEEPEST:
            raise ValueError(self.pattern)
        found = self.sequence(depth)
        while self._next_is("|"):
            self.at += 1
            found = _mixed(found, self.sequence(depth))
        return found[:MAX_EXAMPLES]

    def sequence(self, depth: int) -> list[str]:
        texts = [""]
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            texts = _joined(texts, self.repeated(depth))
        return texts

    def repeated(self, depth: int) -> list[str]:
        atom = self.atom(depth)
        while self.at < len(self.pattern) and (bounds := self._bounds()):
            atom = _times(atom, *bounds)
            if self._next_is("?") or self._next_is("+"):
                self.at += 1
        return atom

    def atom(self, depth: int) -> list[str]:
        sign = self._take()
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return list(self._class())
        if sign == "\\":
            return self._escaped()
        if sign == ".":
            return list(_EVERY[:4])
        return [""] if sign in "^$" else [sign]

    def _group(self, depth: int) -> list[str]:
        if self._next_is("?"):
            self.at += 1
            while self._take() not in ":>)":  # (?: (?<name> (?i: (?i)
                pass
            if self.pattern[self.at - 1] == ")":
                return [""]
        found = self.alternatives(depth + 1)
        if self._take() != ")":
            raise ValueError(self.pattern)
        return found

    def _escaped(self) -> list[str]:
        sign = self._take()
        if sign in "pP":
            return self._property(sign == "P")
        if sign in _CLASSES:
            return list(_CLASSES[sign])
        if sign in "ux" and (code := self._code(sign)):
            return [code]
        return [""] if sign in _ZERO_WIDTH else [_ESCAPES.get(sign, sign)]

    def _property(self, negated: bool) -> list[str]:
        name = self._take()
        if name == "{":
            end = self.pattern.index("}", self.at)
            name, self.at = self.pattern[self.at : end], end + 1
        samples = {"L": "aé", "N": "5", "P": ".", "S": "+", "Z": " "}.get(name[:1], "a")
        return list("~" if negated else samples)

    def _code(self, sign: str) -> str:
        if self._next_is("{"):
            end = self.pattern.index("}", self.at)
            digits, self.at = self.pattern[self.at + 1 : end], end + 1
        else:
            size = 4 if sign == "u" else 2
            digits, self.at = self.pattern[self.at : self.at + size], self.at + size
        return chr(int(digits, 16))

    def _class(self) -> str:
        """A few characters of ``[…]``: both ends of each range."""
        negated = self._next_is("^")
        self.at += negated
        inside: list[tuple[str, str]] = []
        while not (self._next_is("]") and inside):
            sign = self._take()
            if sign == "\\":
                inside += [(text, text) for text in self._escaped() if text]
            elif self._next_is("-") and self.pattern[self.at + 1] != "]":
                self.at += 1
                last = self._take()
                inside.append((sign, self._escaped()[0] if last == "\\" else last))
            else:
                inside.append((sign, sign))
        self.at += 1
        if not negated:
            return "".join(dict.fromkeys(end for pair in inside for end in pair))[:8]
        return "".join(sign for sign in _EVERY if not any(low <= sign <= high for low, high in inside))[:4]

    def _bounds(self) -> tuple[int, int | None] | None:
        sign = self.pattern[self.at]
        if sign in _REPEATS:
            self.at += 1
            return _REPEATS[sign]
        if sign != "{":
            return None
        end = self.pattern.index("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : end].partition(",")
        self.at = end + 1
        return int(low or 0), (int(high) if high else None) if comma else int(low)

    def _take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1]

    def _next_is(self, sign: str) -> bool:
        return self.pattern[self.at : self.at + 1] == sign


def _times(texts: list[str], low: int, high: int | None) -> list[str]:
    counts = dict.fromkeys((low, low + 1 if high is None else min(low + 1, high), high or low + 3))
    found = [text * count for count in counts for text in texts[:4] if len(text) * count <= _LONGEST]
    mixed = ["".join(texts)] if len(texts) > 1 and low <= len(texts) <= (high or len(texts)) else []
    return list(dict.fromkeys([*found, *mixed]))[:MAX_EXAMPLES] or [""]


def _joined(left: list[str], right: list[str]) -> list[str]:
    """Every pair while these are few; then each part once more beside the first of the other."""
    if len(left) * len(right) <= _FORKS // 4:
        pairs = list(product(left, right))
    else:
        pairs = (
            [(text, right[0]) for text in left]
            + [(left[0], text) for text in right]
            + list(zip(left, right, strict=False))
        )
    joined = (first + second for first, second in pairs if len(first) + len(second) <= _LONGEST)
    return list(dict.fromkeys(joined))[: _FORKS // 4] or [""]


def _mixed(left: list[str], right: list[str]) -> list[str]:
    both = [text for pair in zip(left, right, strict=False) for text in pair]
    return list(dict.fromkeys([*both, *left, *right]))
