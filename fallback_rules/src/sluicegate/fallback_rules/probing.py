"""Inputs at which what cannot be proved is tried: the corners of the rows that compute."""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from sluicegate.fallback_rules.rows import Cell, Column, Row
from sluicegate.fallback_rules.scales import Point
from sluicegate.fallback_rules.table import Table

MAX_PROBES = 256
"""Of one row."""
_FAR = 1_000_000_000
"""Stands for the end of a column that has none."""


def probes(table: Table, row: Row) -> Iterator[Mapping[str, Any]]:
    """Inputs of the row: every combination of the ends of its cells, or, where these are too many, one column after another."""
    choices = {column.name: _choices(column, row.cells.get(column.name)) for column in table.columns}
    if math.prod(len(values) for values in choices.values()) <= MAX_PROBES:
        for combination in product(*choices.values()):
            yield dict(zip(choices, combination, strict=True))
        return
    plain = {name: values[0] for name, values in choices.items()}
    yield plain
    yield {name: values[-1] for name, values in choices.items()}
    tried = 2
    for name, values in choices.items():
        for value in values[1:]:
            if tried < MAX_PROBES:
                tried += 1
                yield plain | {name: value}


def _choices(column: Column, cell: Cell | None) -> list[Any]:
    scale = column.scale
    intervals = ((scale.low, scale.high),) if cell is None else cell.intervals
    absent = column.spec.may_be_absent if cell is None else cell.absent
    points: dict[Point, None] = {}
    for low, high in intervals:
        points |= dict.fromkeys(_points(column, low, high))
    return [*([None] if absent else []), *(scale.value(point) for point in points)]


def _points(column: Column, low: Point, high: Point) -> list[Point]:
    scale = column.scale
    if not scale.is_ordered:
        return list(range(int(low), int(high)))
    sample = scale.sample(low, high)
    first = low if math.isfinite(low) else min(sample, -_FAR)
    last = scale.before(high) if math.isfinite(high) else max(sample, _FAR)
    return [first, sample, last]
