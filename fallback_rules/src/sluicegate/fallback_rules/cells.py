"""Reading of a cell."""

from collections.abc import Iterator

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.fallback import RuleCell
from sluicegate.contracts.suggestions import shown
from sluicegate.fallback_rules.rows import Cell, Column
from sluicegate.fallback_rules.scales import Mistyped, Point, merged

_KINDS = "oneOf, a range (atLeast, below), absent"


def cell_of(written: RuleCell, column: Column, path: str) -> tuple[Cell | None, tuple[Problem, ...]]:
    """The cell and nothing, or nothing and what is wrong with it."""
    problems = tuple(_wrong_kind(written, column, path))
    if problems:
        return None, problems
    if written.absent:
        return Cell(absent=True), ()
    if written.one_of:
        return _set(written, column, path)
    return _range(written, column, path)


def _wrong_kind(written: RuleCell, column: Column, path: str) -> Iterator[Problem]:
    is_range = written.at_least is not None or written.below is not None
    given = sum((bool(written.one_of), is_range, written.absent))
    if given != 1:
        yield Problem(
            path=path, message=f"needs exactly one of {_KINDS}", value=f"{given} of them",
            hint="leave the column out where any value will do",
        )  # fmt: skip
    if is_range and not column.scale.is_ordered:
        field = "below" if written.at_least is None else "atLeast"
        yield Problem(
            path=f"{path}.{field}", message=f"has no meaning with type {column.spec.type}",
            value=shown(written.at_least or written.below), allowed="oneOf", hint="list the values",
        )  # fmt: skip
    if written.absent and not column.spec.may_be_absent:
        yield Problem(
            path=f"{path}.absent", message=f"{column.name} is never absent", value="true",
            hint="set mayBeAbsent on the column",
        )  # fmt: skip


def _set(written: RuleCell, column: Column, path: str) -> tuple[Cell | None, tuple[Problem, ...]]:
    scale = column.scale
    points: dict[Point, int] = {}
    problems = []
    for number, text in enumerate(written.one_of):
        where = f"{path}.oneOf[{number}]"
        try:
            point = scale.parse(text)
        except Mistyped as error:
            problems.append(_mistyped(error, where, text))
            continue
        if not scale.low <= point < scale.high:
            problems.append(_outside(column, where, text))
        elif points.setdefault(point, number) != number:
            problems.append(
                Problem(path=where, message="is there twice", value=shown(text), hint="remove it")
            )
    if problems:
        return None, tuple(problems)
    return Cell(intervals=merged([(point, scale.after(point)) for point in points])), ()


def _range(written: RuleCell, column: Column, path: str) -> tuple[Cell | None, tuple[Problem, ...]]:
    scale = column.scale
    ends: dict[str, Point] = {"atLeast": scale.low, "below": scale.high}
    problems = []
    for field, text in (("atLeast", written.at_least), ("below", written.below)):
        if text is None:
            continue
        try:
            ends[field] = scale.bound(text)
        except Mistyped as error:
            problems.append(_mistyped(error, f"{path}.{field}", text))
    if problems:
        return None, tuple(problems)
    low, high = ends["atLeast"], ends["below"]
    if low >= high and None not in {written.at_least, written.below}:
        empty = Problem(
            path=path, message="is an empty range", value=f"{written.at_least} to below {written.below}",
            hint="atLeast belongs to the range, below does not",
        )  # fmt: skip
        return None, (empty,)
    low, high = max(low, scale.low), min(high, scale.high)
    if low >= high:
        field, text = (
            ("atLeast", written.at_least) if written.at_least is not None else ("below", written.below)
        )
        return None, (_outside(column, f"{path}.{field}", str(text)),)
    return Cell(intervals=((low, high),)), ()


def _mistyped(error: Mistyped, path: str, text: str) -> Problem:
    return Problem(
        path=path,
        message=str(error),
        value=shown(text),
        allowed=error.allowed,
        hint=error.hint or "correct the value",
    )


def _outside(column: Column, path: str, text: str) -> Problem:
    domain = f"{column.spec.minimum or 'any'} to {column.spec.maximum or 'any'}"
    return Problem(
        path=path, message=f"lies outside of {column.name}", value=shown(text), allowed=domain,
        hint="correct it, or widen the column's bounds",
    )  # fmt: skip
