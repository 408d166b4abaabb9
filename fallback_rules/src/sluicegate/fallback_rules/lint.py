"""What is right and still worth a look."""

from collections.abc import Iterator
from itertools import pairwise

from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.resources.fallback import HitPolicy
from sluicegate.fallback_rules.outcomes import outcome
from sluicegate.fallback_rules.proof import constant, diagnostic
from sluicegate.fallback_rules.rows import Row
from sluicegate.fallback_rules.searching import Facts, Reading, kind_of, search
from sluicegate.fallback_rules.space import MAX_STATES, Diagram, TooLarge, cells_of
from sluicegate.fallback_rules.table import Table


def lint(table: Table, *, subject: str = "", limit: int = MAX_STATES) -> tuple[Diagnostic, ...]:
    """Warnings and remarks; none of them refuses a table. What would take too long is not looked at."""
    reading = Reading(table)
    facts = search(reading, limit=limit)
    found = [
        *_columns(table, reading, limit), *_neighbours(table), *_default(table, facts), *_guards(table),
    ]  # fmt: skip
    return tuple(diagnostic(code, path, message, subject=subject) for code, path, message in found)


_Found = Iterator[tuple[str, str, str]]


def _columns(table: Table, reading: Reading, limit: int) -> _Found:
    """Columns on which no answer depends, by cells, guards or formulas."""
    try:
        diagram = Diagram(table.axes, len(table.rows), lambda mask: outcome(reading, mask), limit)
    except TooLarge:
        return
    read = {
        path[0]
        for row in table.rows
        for compiled in (row.guard, *(formula for _, formula in row.formulas))
        if compiled
        for path in compiled.references
    }
    for number, column in enumerate(table.columns):
        if number not in diagram.matters and column.name not in read:
            yield "ColumnNeverMatters", f"spec.columns[{number}]", f"no answer depends on {column.name}"


def _neighbours(table: Table) -> _Found:
    if table.spec.hit_policy is HitPolicy.COLLECT:
        return
    for one, other in pairwise(table.rows):
        column = _only_difference(one, other)
        if column is not None:
            message = f"rules {one.id} and {other.id} answer the same and differ in {column} only"
            yield "RuleRepeatsNeighbour", other.path, message


def _only_difference(one: Row, other: Row) -> str | None:
    guards = [row.guard.text if row.guard else None for row in (one, other)]
    if guards[0] != guards[1] or one.priority != other.priority or kind_of(one) != kind_of(other):
        return None
    names = [name for name in {**one.cells, **other.cells} if one.cells.get(name) != other.cells.get(name)]
    return names[0] if len(names) == 1 and names[0] in one.cells and names[0] in other.cells else None


def _default(table: Table, facts: Facts) -> _Found:
    if table.spec.default is None or facts.regions is None:
        return
    cells = cells_of(table.axes)
    if not facts.gap_cells and table.rows:
        yield "DefaultNeverAnswers", "spec.default", "the rules are complete"
    elif table.rows and 2 * facts.default_cells > cells:
        yield (
            "DefaultAnswersMost",
            "spec.default",
            f"the default answers {facts.default_cells} of {cells} cells",
        )


def _guards(table: Table) -> _Found:
    for row in table.rows:
        if constant(table, row) is True:
            yield (
                "GuardAlwaysHolds",
                f"{row.path}.guard",
                f"the guard of rule {row.id} is true whatever the input",
            )
