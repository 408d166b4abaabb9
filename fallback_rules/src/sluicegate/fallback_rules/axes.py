"""The axes of a table: each column's line cut where a cell begins or ends, and which rows hold in each piece.

Rows are bits of an integer, the first in the order of answering lowest; rows that hold for an input are the `and` of one
mask of each column. One evaluation costs a search per column, whatever the number of rows.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.resources.fallback import ColumnType
from sluicegate.fallback_rules.rows import Cell, Column, Row
from sluicegate.fallback_rules.scales import Mistyped, Point, Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """cuts: where each piece begins; it ends before the next, the last at the column's end. absent: rows that hold without a value,
    or None when the column is never absent."""

    name: str
    scale: Scale
    cuts: tuple[Point, ...]
    masks: tuple[int, ...]
    absent: int | None

    @property
    def pieces(self) -> tuple[int, ...]:
        """The rows that hold in each piece; absence is the last piece where it may be."""
        return self.masks if self.absent is None else (*self.masks, self.absent)

    def value(self, piece: int) -> Any:
        """A plain JSON value of a piece; None is absence."""
        if piece == len(self.cuts):
            return None
        return self.scale.value(self.scale.sample(*self.ends(piece)))

    def ends(self, piece: int) -> tuple[Point, Point]:
        """A piece, half-open."""
        return self.cuts[piece], self.cuts[piece + 1] if piece + 1 < len(self.cuts) else self.scale.high


def axis_of(column: Column, rows: Sequence[Row], more_cuts: Sequence[Point] = ()) -> Axis:
    """The axis on which row k is bit k. more_cuts: places to cut at as well."""
    asked = [row.cells.get(column.name) for row in rows]
    cuts = sorted({column.scale.low, *more_cuts, *_ends(asked, column.scale)})
    positions = {point: place for place, point in enumerate(cuts)}
    masks = [0] * len(cuts)
    anything = absent = 0
    for number, cell in enumerate(asked):
        bit = 1 << number
        if cell is None:
            anything |= bit
            continue
        absent |= bit if cell.absent else 0
        for low, high in cell.intervals:
            for piece in range(positions[low], positions.get(high, len(cuts))):
                masks[piece] |= bit
    return Axis(
        name=column.name,
        scale=column.scale,
        cuts=tuple(cuts),
        masks=tuple(mask | anything for mask in masks),
        absent=absent | anything if column.spec.may_be_absent else None,
    )


def _ends(cells: Sequence[Cell | None], scale: Scale) -> set[Point]:
    return {
        end
        for cell in cells
        if cell
        for interval in cell.intervals
        for end in interval
        if scale.low <= end < scale.high
    }


_PLAIN: Final = 2**53
_PLAIN_KINDS: Final[dict[ColumnType, tuple[type, ...]]] = {
    ColumnType.NUMBER: (float, int),
    ColumnType.INTEGER: (int,),
}
MaskOf = Callable[[Any], int]


def lookup(axis: Axis) -> MaskOf:
    """JSON value → rows that hold. Raises Mistyped for a value that the column cannot have, None without absence included."""
    read, absent, masks, cuts = axis.scale.read, axis.absent, axis.masks, list(axis.cuts)
    if not axis.scale.is_ordered:
        return _by_value(axis)

    low, high = max(axis.scale.low, -_PLAIN), min(axis.scale.high, _PLAIN)
    kinds = _PLAIN_KINDS.get(axis.scale.type, ())

    def mask_of(value: Any) -> int:
        if type(value) in kinds and low <= value < high:  # most values; `read` would say the same
            return masks[bisect_right(cuts, value) - 1]
        if value is None:
            return _absent(absent)
        return masks[bisect_right(cuts, read(value)) - 1]

    return mask_of


def _by_value(axis: Axis) -> MaskOf:
    read, absent = axis.scale.read, axis.absent
    points = range(int(axis.scale.low), int(axis.scale.high))
    known: Mapping[Any, int] = {
        axis.scale.value(point): axis.masks[bisect_right(axis.cuts, point) - 1] for point in points
    }
    kind = type(next(iter(known)))

    def mask_of(value: Any) -> int:
        if type(value) is kind and value in known:
            return known[value]
        if value is None:
            return _absent(absent)
        read(value)  # raises
        raise AssertionError(value)

    return mask_of


def _absent(mask: int | None) -> int:
    if mask is None:
        raise Mistyped("is missing")
    return mask


def bits(mask: int) -> list[int]:
    """The places of a mask's ones, lowest first."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
