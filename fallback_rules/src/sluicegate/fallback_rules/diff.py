"""What an edit changes: the inputs whose answer differs between two versions of a table, as boxes with an input of each."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sluicegate.contracts.resources.fallback import ColumnType, RuleColumn, RuleSetSpec
from sluicegate.fallback_rules.axes import Axis, axis_of
from sluicegate.fallback_rules.cells import cell_of
from sluicegate.fallback_rules.outcomes import outcome
from sluicegate.fallback_rules.rows import Cell, Column, Row
from sluicegate.fallback_rules.scales import merged, scale_of
from sluicegate.fallback_rules.searching import Reading
from sluicegate.fallback_rules.space import (
    MAX_STATES,
    Diagram,
    TooLarge,
    cells_of,
    corner,
    regions,
    size,
    values_at,
)
from sluicegate.fallback_rules.table import Answered, Table
from sluicegate.fallback_rules.words import box_in_words

MAX_CHANGES = 100
OUTSIDE: Hashable = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Inputs whose answer differs. where: in words; witness: one of them; before, after: what the tables say to it."""

    where: str
    cells: int
    witness: dict[str, Any]
    before: Answered
    after: Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """changed: of `cells` of the common grid; None when the tables cannot be compared, which `notes` then say. changes: the first hundred."""

    cells: int
    changed: int | None
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Every input gets the same answer, from the same place."""
        return self.changed == 0 and not self.notes


def diff(old: Table, new: Table, *, limit: int = MAX_STATES) -> Difference:
    """Compare what two tables answer. A guard and a computed answer are compared by their text."""
    notes = tuple(_notes(old.spec, new.spec))
    columns = _columns(old.spec, new.spec)
    if columns is None:
        return Difference(cells=0, changed=None, changes=(), notes=notes)
    both = _Both(old, new, columns)
    try:
        found = regions(both.axes, both.rows, limit)
        diagram = Diagram(both.axes, both.rows, both.changed, limit)
    except TooLarge:
        too_large = f"the tables are too large to be compared: {cells_of(both.axes)} cells"
        return Difference(cells=0, changed=None, changes=(), notes=(*notes, too_large))
    changed = [region.cells for region in found if both.changed(region.mask)]
    changes = tuple(both.change(box) for box, _ in diagram.boxes(MAX_CHANGES))
    return Difference(cells=cells_of(both.axes), changed=sum(changed), changes=changes, notes=notes)


def _notes(old: RuleSetSpec, new: RuleSetSpec) -> Iterator[str]:
    before = {column.name: column for column in old.columns}
    after = {column.name: column for column in new.columns}
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            yield f"column {name} is {'new' if one is None else 'gone'}"
        elif one.type is not other.type:
            yield f"column {name} was {one.type} and is {other.type}: the tables cannot be compared"
        elif one.value != other.value:
            yield f"column {name} was taken from {one.value} and is taken from {other.value}"
    if old.contract != new.contract:
        yield "the contract of the answers changed"
    if old.hit_policy is not new.hit_policy:
        yield f"the hit policy was {old.hit_policy} and is {new.hit_policy}"


def _columns(old: RuleSetSpec, new: RuleSetSpec) -> dict[str, RuleColumn] | None:
    """Columns with the values of both; None when types differ."""
    joined = {column.name: column for column in old.columns}
    for column in new.columns:
        before = joined.get(column.name, column)
        if before.type is not column.type:
            return None
        joined[column.name] = column.model_copy(
            update={
                "values": tuple(dict.fromkeys((*before.values, *column.values))),
                "minimum": _wider(before.minimum, column.minimum, lowest=True),
                "maximum": _wider(before.maximum, column.maximum, lowest=False),
                "may_be_absent": before.may_be_absent or column.may_be_absent,
            }
        )
    return joined


def _wider(one: str | None, other: str | None, *, lowest: bool) -> str | None:
    if one is None or other is None:
        return None
    return (min if lowest else max)(one, other, key=float)


class _Both:
    """Two tables as one grid. Bits: rows of the old one, whether it knows the input, rows of the new one, whether that knows it."""

    def __init__(self, old: Table, new: Table, columns: dict[str, RuleColumn]) -> None:
        self._old, self._new = old, new
        self._readings = Reading(old), Reading(new)
        compiled = {table: {column.name: column for column in table.columns} for table in (old, new)}
        self._columns = [
            Column(
                name=name,
                spec=spec,
                scale=scale_of(spec),
                value=(compiled[new].get(name) or compiled[old][name]).value,
            )
            for name, spec in columns.items()
        ]
        rows = [*self._placed(old), *self._placed(new)]
        self.rows = len(rows)
        self.axes: tuple[Axis, ...] = tuple(axis_of(column, rows) for column in self._columns)

    def _placed(self, table: Table) -> list[Row]:
        """The table's rows on the common columns, and one more that holds for the inputs that it knows."""
        own = {column.name: column for column in table.columns}
        placed = []
        for row in table.ordered:
            written = table.spec.rules[row.number].when
            cells = {
                column.name: cell
                for column in self._columns
                if column.name in written and (cell := cell_of(written[column.name], column, "")[0])
            }
            placed.append(replace(row, cells=cells))
        known = {
            column.name: _domain(own[column.name], column) for column in self._columns if column.name in own
        }
        everything = Row(
            id="", number=-1, cells=known, guard=None, priority=0, answer=None, formulas=(), reason=None
        )
        return [*placed, everything]

    def changed(self, mask: int) -> Hashable:
        """True where the answers differ, else None."""
        size_of_old = len(self._old.rows) + 1
        before = self._outcome(self._readings[0], mask & (1 << size_of_old) - 1)
        after = self._outcome(self._readings[1], mask >> size_of_old)
        return None if before == after else True

    def _outcome(self, reading: Reading, mask: int) -> Hashable:
        knows = mask >> len(reading.rows) & 1
        return outcome(reading, mask & reading.all) if knows else OUTSIDE

    def change(self, box: tuple[int, ...]) -> Change:
        """A box in words, and what the tables say to its first input."""
        witness = values_at(self.axes, corner(box))
        before, after = (
            table.decide({column.name: witness[column.name] for column in table.columns})
            for table in (self._old, self._new)
        )
        return Change(
            where=box_in_words(self.axes, box), cells=size(box), witness=witness, before=before, after=after
        )


def _domain(own: Column, common: Column) -> Cell:
    if own.spec.type is ColumnType.ENUM:
        points = [common.scale.parse(value) for value in own.spec.values]
        return Cell(intervals=merged([(point, point + 1) for point in points]), absent=own.spec.may_be_absent)
    return Cell(intervals=((own.scale.low, own.scale.high),), absent=own.spec.may_be_absent)
