"""The values of a column as points on a line, so that sets, ranges and proofs are the same for every type.

A set of values is a set of half-open intervals of points. Points: the position of an Enum's value, 0 and 1 of a
Boolean, the whole number of an Integer, the ordinal of a Date, the float of a Number. JSON's numbers are floats, and a
bound that a float cannot carry digit by digit is refused: then comparisons of floats and of decimals agree.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sluicegate.contracts.resources.fallback import ColumnType, RuleColumn
from sluicegate.contracts.suggestions import closest, listed, shown

Point = int | float
INFINITY = math.inf
MAX_INTEGER = 2**63 - 1
"""CEL's whole numbers; a number beyond is mistyped."""
_EXACT_INTEGER = 2**53
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class Mistyped(ValueError):  # noqa: N818 - says what the value is
    """A value that the column cannot have. `allowed` and `hint` as in a Problem."""

    def __init__(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> None:
        self.allowed = allowed
        self.hint = hint
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A column's line from `low` to before `high`.

    read: JSON value → point, within the domain. parse: text of a cell → point. after: the next point. value: point → JSON
    value. text: point → as a cell writes it. is_ordered: whether ranges have a meaning. variable: the type in CEL.
    """

    type: ColumnType
    low: Point
    high: Point
    is_ordered: bool
    variable: str
    read: Callable[[Any], Point]
    parse: Callable[[str], Point]
    bound: Callable[[str], Point]
    after: Callable[[Point], Point]
    before: Callable[[Point], Point]
    value: Callable[[Point], Any]
    text: Callable[[Point], str]

    def sample(self, low: Point, high: Point) -> Point:
        """A point in [low, high), the plainest that is easily found."""
        if not self.is_ordered:
            return low
        if low <= 0 < high and self.type is not ColumnType.DATE:
            return 0
        if math.isfinite(low):
            return _shortest(low, high) if self.type is ColumnType.NUMBER else low
        return self.before(high) if self.type is not ColumnType.NUMBER else _below(high)


def _shortest(low: float, high: float) -> float:
    """The number with the fewest decimals in [low, high)."""
    exact = Decimal(repr(low))
    for digits in range(18):
        unit = Decimal(1).scaleb(-digits)
        rounded = float((exact / unit).to_integral_value(rounding="ROUND_CEILING") * unit)
        if low <= rounded < high:
            return rounded
    return low


def _below(high: float) -> float:
    one_less = math.ceil(high) - 1.0
    return one_less if one_less < high else math.nextafter(high, -INFINITY)


def scale_of(column: RuleColumn) -> Scale:
    """The line of a column, which must be sound by itself (`table.compile_table` tells what is not)."""
    return _SCALES[column.type](column)


def _enum(column: RuleColumn) -> Scale:
    values = column.values
    positions = {value: position for position, value in enumerate(values)}

    def read(value: Any) -> Point:
        position = positions.get(value) if type(value) is str else None
        if position is None:
            near = closest(value, values) if isinstance(value, str) else None
            raise Mistyped(
                f"{shown(value)} is none of the values of {column.name}",
                allowed=listed(values),
                hint=f"did you mean {near}?"
                if near
                else f"add it to the column's values, or take one of {listed(values, 6)}",
            )
        return position

    return Scale(
        type=column.type, low=0, high=len(values), is_ordered=False, variable="string", read=read, parse=read, bound=read,
        after=lambda point: point + 1, before=lambda point: point - 1,
        value=lambda point: values[int(point)], text=lambda point: values[int(point)],
    )  # fmt: skip


_BOOLEANS = ("false", "true")


def _boolean(column: RuleColumn) -> Scale:
    def read(value: Any) -> Point:
        if value is True or value is False:
            return int(value)
        raise Mistyped(f"{shown(value)} is no boolean, which {column.name} is", allowed="true, false")

    def parse(text: str) -> Point:
        if text in _BOOLEANS:
            return _BOOLEANS.index(text)
        raise Mistyped("is no boolean", allowed="true, false", hint='write it as a text: "true"')

    return Scale(
        type=column.type, low=0, high=2, is_ordered=False, variable="bool", read=read, parse=parse, bound=parse,
        after=lambda point: point + 1, before=lambda point: point - 1,
        value=bool, text=lambda point: _BOOLEANS[int(point)],
    )  # fmt: skip


def _integer(column: RuleColumn) -> Scale:
    low = -INFINITY if column.minimum is None else math.ceil(Decimal(column.minimum))
    high = INFINITY if column.maximum is None else math.floor(Decimal(column.maximum)) + 1

    def read(value: Any) -> Point:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or abs(value) > MAX_INTEGER:
            raise Mistyped(f"{shown(value)} is no whole number of 64 bits, which {column.name} is")
        return _within(value, low, high, column)

    def parse(text: str) -> Point:
        exact = _decimal(text)
        if exact != exact.to_integral_value():
            raise Mistyped(
                "is no whole number",
                allowed="digits, with a sign",
                hint="ranges may have decimals, values not",
            )
        return _of_64_bits(int(exact))

    return Scale(
        type=column.type, low=low, high=high, is_ordered=True, variable="int", read=read, parse=parse,
        bound=lambda text: _of_64_bits(math.ceil(_decimal(text))), after=lambda point: point + 1,
        before=lambda point: point - 1, value=int, text=lambda point: str(int(point)),
    )  # fmt: skip


def _number(column: RuleColumn) -> Scale:
    low = -INFINITY if column.minimum is None else _float(column.minimum)
    high = INFINITY if column.maximum is None else math.nextafter(_float(column.maximum), INFINITY)

    def read(value: Any) -> Point:
        kind = type(value)
        if kind is int and abs(value) <= _EXACT_INTEGER:
            value = float(value)
        elif kind is not float or not math.isfinite(value):
            raise Mistyped(f"{shown(value)} is no number that JSON carries exactly, which {column.name} is")
        return _within(value, low, high, column)

    return Scale(
        type=column.type, low=low, high=high, is_ordered=True, variable="double", read=read, parse=_float, bound=_float,
        after=lambda point: math.nextafter(point, INFINITY), before=lambda point: math.nextafter(point, -INFINITY),
        value=_plain_number, text=_plain_text,
    )  # fmt: skip


def _date(column: RuleColumn) -> Scale:
    low, high = date.min.toordinal(), date.max.toordinal() + 1

    def parse(text: Any) -> Point:
        try:
            if isinstance(text, str) and _ISO_DATE.fullmatch(text):
                return date.fromisoformat(text).toordinal()
        except ValueError:
            pass
        raise Mistyped(
            f"{shown(text)} is no date, which {column.name} is", allowed="an ISO 8601 date, 2026-11-30"
        )

    return Scale(
        type=column.type, low=low, high=high, is_ordered=True, variable="string", read=parse, parse=parse, bound=parse,
        after=lambda point: point + 1, before=lambda point: point - 1, value=_iso, text=_iso,
    )  # fmt: skip


_SCALES: dict[ColumnType, Callable[[RuleColumn], Scale]] = {
    ColumnType.ENUM: _enum,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.INTEGER: _integer,
    ColumnType.NUMBER: _number,
    ColumnType.DATE: _date,
}


def _within(point: Point, low: Point, high: Point, column: RuleColumn) -> Point:
    if low <= point < high:
        return point
    raise Mistyped(
        f"{shown(point)} lies outside of {column.name}",
        allowed=f"{column.minimum or 'any'} to {column.maximum or 'any'}",
    )


def _decimal(text: str) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise Mistyped(
            "is no number",
            allowed="digits, with a sign and a decimal point",
            hint='write it as a text: "12.50"',
        )
    return Decimal(text)


def _of_64_bits(number: int) -> int:
    if abs(number) > MAX_INTEGER:
        raise Mistyped("does not fit into 64 bits", allowed=f"at most {MAX_INTEGER}")
    return number


def _float(text: str) -> float:
    exact = _decimal(text)
    near = float(exact)
    if not math.isfinite(near) or Decimal(repr(near)) != exact:
        raise Mistyped(
            "has more digits than a number of JSON carries", allowed="about 15 digits", hint=f"write {near!r}"
        )
    return near + 0.0  # no negative zero


def _plain_number(point: Point) -> int | float:
    return int(point) if float(point).is_integer() and abs(point) <= _EXACT_INTEGER else point


def _plain_text(point: Point) -> str:
    return format(Decimal(repr(float(point))).normalize(), "f")


def _iso(point: Point) -> str:
    return date.fromordinal(int(point)).isoformat()


Intervals = tuple[tuple[Point, Point], ...]
"""Half-open, ascending, apart from each other."""


def merged(intervals: list[tuple[Point, Point]]) -> Intervals:
    """The same set of points as ascending intervals that do not touch."""
    joined: list[tuple[Point, Point]] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def position(cuts: list[Point], point: Point) -> int:
    """Which of the segments that begin at `cuts` holds the point."""
    return bisect_right(cuts, point) - 1
