"""Sets of JSON values that a field may have, and whether some value of such a set passes a number of tests.

A set is never smaller than what is really possible: whoever finds no value in it has proved that there is none.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sluicegate.contracts.cel_tree import Scalar

KINDS: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})
_MAX_WHOLE = 64
"""Whole numbers of an interval that are tried one after the other, when single ones are excluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """members: these and no others, when given. Else anything of `kinds`, numbers within the bounds; whole: of numbers only whole ones."""

    members: tuple[Scalar, ...] | None = None
    kinds: frozenset[str] = field(default=KINDS)
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    whole: bool = False

    def has(self, value: Scalar) -> bool:
        """Whether this value may be."""
        if self.members is not None:
            return any(same(value, member) for member in self.members)
        if kind(value) not in self.kinds:
            return False
        return kind(value) != "number" or self._holds(value)

    def _holds(self, number: Any) -> bool:
        low = number > self.low if self.low_open else number >= self.low
        high = number < self.high if self.high_open else number <= self.high
        return low and high and (not self.whole or float(number).is_integer())


ANYTHING: Final = Values()


@dataclass(frozen=True, slots=True)
class Comparison:
    """``field <operator> one of constants``: `==`, `!=` take any number of them, an order takes one."""

    operator: str
    constants: tuple[Scalar, ...]

    def passes(self, value: Scalar) -> bool:
        """As CEL has it; what it cannot compare does not pass."""
        if self.operator in _ORDER:
            constant = self.constants[0]
            return kind(value) == kind(constant) and bool(_ORDER[self.operator](value, constant))
        for constant in self.constants:
            if value == constant and kind(value) == kind(constant):
                return self.operator == "=="
        return self.operator != "=="


_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_KINDS: Final[dict[type, str]] = {type(None): "null", bool: "boolean", str: "string"}
NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def kind(value: Scalar) -> str:
    """The JSON type."""
    return _KINDS.get(type(value), "number")


def same(one: Scalar, other: Scalar) -> bool:
    """Equal as JSON values: `1` and `true` are not, `1` and `1.0` are."""
    return one == other and kind(one) == kind(other)


def union(sets: Iterable[Values]) -> Values:
    """What may be in one of them; at least that."""
    first, *others = sets
    for one in others:
        first = _joined(first, one)
    return first


def _joined(one: Values, other: Values) -> Values:
    if one == other:
        return one
    if one.members is not None and other.members is not None:
        return Values(members=one.members + tuple(new for new in other.members if not one.has(new)))
    return ANYTHING


def some(values: Values, tests: Sequence[Comparison]) -> bool:
    """Whether a value of the set passes all tests. True when that cannot be told."""
    members = values.members
    if members is None:
        wanted = next((test.constants for test in tests if test.operator == "=="), None)
        members = None if wanted is None else tuple(one for one in wanted if values.has(one))
    if members is not None:
        return any(all(test.passes(one) for test in tests) for one in members)
    ordered = [test for test in tests if test.operator in _ORDER]
    if not ordered:
        return True
    kinds = {kind(test.constants[0]) for test in ordered}
    if len(kinds) > 1 or not kinds <= values.kinds:
        return False  # an order of what is of different types has no value
    return kinds != {"number"} or _between(values, ordered, tests)


def _between(values: Values, ordered: Sequence[Comparison], tests: Sequence[Comparison]) -> bool:
    """Whether a number passes."""
    low, high = (values.low, values.low_open), (values.high, values.high_open)
    for test in ordered:
        bound = (float(test.constants[0]), test.operator in {"<", ">"})  # type: ignore[arg-type]
        if test.operator in {">", ">="}:
            low = max(low, bound)
        else:
            high = min(high, bound, key=lambda end: (end[0], not end[1]))
    if not values.whole:
        return low[0] < high[0] or (low[0] == high[0] and not low[1] and not high[1])
    if math.isinf(low[0]) or math.isinf(high[0]):
        return True
    first = math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])
    last = math.ceil(high[0]) - 1 if high[1] else math.floor(high[0])
    if last - first >= _MAX_WHOLE:
        return True
    return any(all(test.passes(number) for test in tests) for number in range(first, last + 1))
