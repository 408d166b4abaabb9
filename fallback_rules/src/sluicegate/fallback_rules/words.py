"""Inputs in words: ``intent is refund or track, amount from 50 to below 100``."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sluicegate.contracts.resources.fallback import ColumnType
from sluicegate.fallback_rules.axes import Axis
from sluicegate.fallback_rules.rows import Cell
from sluicegate.fallback_rules.scales import INFINITY, Intervals, Point, Scale, merged
from sluicegate.fallback_rules.space import Box

EVERYTHING = "every input"
_MOST = 8
"""Values or ranges of one column that are written out."""


def box_in_words(axes: Sequence[Axis], box: Box) -> str:
    """A box; columns that may be anything are left out."""
    parts = [
        f"{axis.name} {pieces_in_words(axis, pieces)}"
        for axis, pieces in zip(axes, box, strict=True)
        if pieces != (1 << len(axis.pieces)) - 1
    ]
    return ", ".join(parts) or EVERYTHING


def pieces_in_words(axis: Axis, pieces: int) -> str:
    """Some pieces of an axis."""
    return cell_in_words(cell_of_pieces(axis, pieces), axis.scale)


def cell_of_pieces(axis: Axis, pieces: int) -> Cell:
    """The same as a cell."""
    chosen = [axis.ends(piece) for piece in range(len(axis.cuts)) if pieces >> piece & 1]
    return Cell(intervals=merged(chosen), absent=bool(pieces >> len(axis.cuts) & 1))


def cell_in_words(cell: Cell | None, scale: Scale) -> str:
    """``is refund or track``, ``from 50 to below 100``, ``is absent``, ``is anything``."""
    if cell is None:
        return "is anything"
    parts = [] if not cell.intervals else [_intervals(cell.intervals, scale)]
    return " or ".join([*parts, *(["is absent"] if cell.absent else [])])


def _intervals(intervals: Intervals, scale: Scale) -> str:
    if not scale.is_ordered:
        points = [point for low, high in intervals for point in range(int(low), int(high))]
        more = " or …" if len(points) > _MOST else ""
        return "is " + " or ".join(scale.text(point) for point in points[:_MOST]) + more
    more = " or …" if len(intervals) > _MOST else ""
    return " or ".join(_interval(low, high, scale) for low, high in intervals[:_MOST]) + more


def _interval(low: Point, high: Point, scale: Scale) -> str:
    if high == scale.after(low):
        return f"is {scale.text(low)}"
    begins = "" if _is_open(low, scale) else _from(low, scale)
    ends = (
        "" if high == INFINITY or (scale.type is ColumnType.DATE and high == scale.high) else _to(high, scale)
    )
    if begins and ends:
        return f"{begins} to {ends.removeprefix('up to ')}"
    return begins or ends or "is any value"


def _is_open(low: Point, scale: Scale) -> bool:
    return low == -INFINITY or (scale.type is ColumnType.DATE and low == scale.low)


def _from(low: Point, scale: Scale) -> str:
    below = scale.before(low)
    if scale.type is ColumnType.NUMBER and len(scale.text(below)) < len(scale.text(low)):
        return f"above {scale.text(below)}"
    return f"from {scale.text(low)}"


def _to(high: Point, scale: Scale) -> str:
    last = scale.before(high)
    if scale.type is not ColumnType.NUMBER or len(scale.text(last)) < len(scale.text(high)):
        return f"up to {scale.text(last)}"
    return f"below {scale.text(high)}"


def witness_text(values: Mapping[str, Any]) -> str:
    """An input as one line of JSON."""
    return json.dumps(dict(values), ensure_ascii=False)
