"""Why a table says what it says: every row, its cells, the values, and what kept it from answering."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.expressions import ExpressionError
from sluicegate.fallback_rules.rows import Cell, Column, Row
from sluicegate.fallback_rules.scales import Mistyped
from sluicegate.fallback_rules.table import Answered, Table
from sluicegate.fallback_rules.words import cell_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReading:
    """A cell at a value. asked: in words."""

    column: str
    asked: str
    value: Any
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReading:
    """A row at an input. why: in a sentence what kept it from answering; empty when it answered."""

    rule: str
    answers: bool
    cells: tuple[CellReading, ...]
    guard: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the table says, and how each row reads the input, in the order of answering. rows: none when the input was not understood."""

    answered: Answered
    rows: tuple[RowReading, ...]
    hit_policy: str
    digest: str


def explain(table: Table, values: Mapping[str, Any]) -> Explanation:
    """The answer to column → value, row by row."""
    answered = table.decide(values)
    rows: tuple[RowReading, ...] = ()
    if all(_is_understood(column, values.get(column.name)) for column in table.columns):
        scope = table.scope(values)
        rows = tuple(_row(table, row, values, scope, answered) for row in table.ordered)
    return Explanation(answered=answered, rows=rows, hit_policy=table.spec.hit_policy, digest=table.digest)


def _is_understood(column: Column, value: Any) -> bool:
    if value is None:
        return column.spec.may_be_absent
    try:
        column.scale.read(value)
    except Mistyped:
        return False
    return True


def _row(
    table: Table, row: Row, values: Mapping[str, Any], scope: Mapping[str, Any], answered: Answered
) -> RowReading:
    columns = {column.name: column for column in table.columns}
    cells = tuple(_cell(columns[name], cell, values.get(name)) for name, cell in row.cells.items())
    answers = row.id in answered.rules
    return RowReading(
        rule=row.id, answers=answers, cells=cells, guard=row.guard.text if row.guard else None,
        why="" if answers else _why_not(table, row, cells, scope, answered),
    )  # fmt: skip


def _cell(column: Column, cell: Cell, value: Any) -> CellReading:
    holds = cell.absent if value is None else _within(cell, column.scale.read(value))
    return CellReading(column=column.name, asked=cell_in_words(cell, column.scale), value=value, holds=holds)


def _within(cell: Cell, point: float) -> bool:
    return any(low <= point < high for low, high in cell.intervals)


def _why_not(
    table: Table, row: Row, cells: tuple[CellReading, ...], scope: Mapping[str, Any], answered: Answered
) -> str:
    against = [f"{cell.column} {cell.asked}" for cell in cells if not cell.holds]
    if against:
        return "asks that " + " and ".join(against)
    try:
        if not table.holds(row, scope):
            return f"its guard does not hold: {row.guard.text if row.guard else ''}"
    except ExpressionError as error:
        return f"its guard fails: {error.message}"
    if answered.problem:
        return answered.problem
    return f"rule {answered.rule} goes before it"
