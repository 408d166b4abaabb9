"""Tables for tests, random ones as well, and what they mean said a second time: from the spec, by decimals and dates, row by row."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from sluicegate.contracts.resources.fallback import (
    ColumnType,
    HitPolicy,
    RuleCell,
    RuleColumn,
    RuleSetSpec,
    TableRule,
)

INTENT = {"name": "intent", "value": "input.intent", "type": "Enum", "values": ["refund", "track", "other"]}
AMOUNT = {"name": "amount", "value": "input.amount", "type": "Number", "minimum": "0", "maximum": "1000"}


def table(*rules: dict[str, Any], **more: Any) -> RuleSetSpec:
    """A spec; columns intent and amount unless others are given."""
    data = {"version": "1", "owner": "support", "columns": [INTENT, AMOUNT], "rules": list(rules)}
    return RuleSetSpec.model_validate(data | more)


def rule(id: str, answer: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": id, "answer": {"text": id} if answer is None else answer} | more


# --- what a table means, without the engine ---


def cell_holds(cell: RuleCell, column: RuleColumn, value: Any) -> bool:
    if cell.absent or value is None:
        return cell.absent and value is None
    told = _comparable(column.type, value)
    if cell.one_of:
        return any(_comparable(column.type, _read(column.type, text)) == told for text in cell.one_of)
    least = cell.at_least is None or _comparable(column.type, _read(column.type, cell.at_least)) <= told
    return least and (cell.below is None or told < _comparable(column.type, _read(column.type, cell.below)))


def _read(kind: ColumnType, text: str) -> Any:
    return {"true": True, "false": False}[text] if kind is ColumnType.BOOLEAN else text


def _comparable(kind: ColumnType, value: Any) -> Any:
    if kind in {ColumnType.INTEGER, ColumnType.NUMBER}:
        return Decimal(value if isinstance(value, str) else repr(value))
    return date.fromisoformat(value) if kind is ColumnType.DATE else value


def holding(spec: RuleSetSpec, values: dict[str, Any]) -> list[TableRule]:
    """Rows without a guard that hold, in the order of answering. Guards in these tests are the constants true and false."""
    columns = {column.name: column for column in spec.columns}
    rows = [
        row
        for row in spec.rules
        if row.guard in {None, "true"}
        and all(cell_holds(cell, columns[name], values.get(name)) for name, cell in row.when.items())
    ]
    if spec.hit_policy is HitPolicy.PRIORITY:
        rows.sort(key=lambda row: -row.priority)  # stable: of equal ones the earlier
    return rows


CONFLICT = object()
GAP = object()


def meaning(spec: RuleSetSpec, values: dict[str, Any]) -> Any:
    """The answer; CONFLICT or GAP when there is none."""
    rows = holding(spec, values)
    if not rows:
        return GAP if spec.default is None else spec.default
    if spec.hit_policy is HitPolicy.COLLECT:
        return [row.answer for row in rows]
    if spec.hit_policy is HitPolicy.UNIQUE and len(rows) > 1:
        return CONFLICT
    if spec.hit_policy is HitPolicy.ANY and any(row.answer != rows[0].answer for row in rows):
        return CONFLICT
    return rows[0].answer


# --- random tables, small enough for every input to be tried ---

_COLUMNS: dict[str, dict[str, Any]] = {
    "color": {"type": "Enum", "values": ["red", "green", "蓝"]},
    "flag": {"type": "Boolean"},
    "count": {"type": "Integer", "minimum": "0", "maximum": "6"},
    "total": {"type": "Number", "minimum": "-1", "maximum": "2.5"},
    "day": {"type": "Date"},
}
_DAYS = [(date(2026, 1, 1) + timedelta(days=n)).isoformat() for n in range(5)]
_TEXTS = {
    "color": ["red", "green", "蓝"], "flag": ["true", "false"], "count": [str(n) for n in range(7)],
    "total": ["-1", "-0.5", "0", "0.1", "1", "2.5"], "day": _DAYS,
}  # fmt: skip
# Beside every bound a value on it, one below and one above it.
EVERY: dict[str, list[Any]] = {
    "color": ["red", "green", "蓝"], "flag": [True, False], "count": list(range(7)),
    "total": [-1, -0.75, -0.5, -0.25, 0, 0.05, 0.1, 0.5, 1, 2, 2.5], "day": ["2025-12-31", *_DAYS, "2026-01-06"],
}  # fmt: skip


@st.composite
def cells(draw: st.DrawFn, name: str, *, may_be_absent: bool) -> dict[str, Any]:
    if may_be_absent and draw(st.integers(0, 4)) == 0:
        return {"absent": True}
    texts = _TEXTS[name]
    if name in {"color", "flag"} or draw(st.booleans()):
        return {"oneOf": draw(st.lists(st.sampled_from(texts), min_size=1, max_size=3, unique=True))}
    low, high = sorted(draw(st.lists(st.integers(0, len(texts)), min_size=2, max_size=2, unique=True)))
    ends = {"atLeast": texts[low]} if low or high == len(texts) else {}
    return ends | ({"below": texts[high]} if high < len(texts) else {})


@st.composite
def specs(draw: st.DrawFn, *, guards: bool = True, max_rules: int = 7) -> RuleSetSpec:
    """One to three columns, up to `max_rules` rules, every hit policy."""
    names = draw(st.lists(st.sampled_from(sorted(_COLUMNS)), min_size=1, max_size=3, unique=True))
    absent = {name: draw(st.booleans()) for name in names}
    policy = draw(st.sampled_from(list(HitPolicy)))
    rules = []
    for number in range(draw(st.integers(0, max_rules))):
        asked = draw(st.lists(st.sampled_from(names), unique=True, max_size=len(names)))
        row: dict[str, Any] = {
            "id": f"r{number}",
            "when": {name: draw(cells(name, may_be_absent=absent[name])) for name in asked},
            "answer": {"say": draw(st.sampled_from(["a", "b", "c"]))},
        }
        if policy is HitPolicy.PRIORITY:
            row["priority"] = draw(st.integers(0, 2))
        if guards and draw(st.integers(0, 5)) == 0:
            row["guard"] = draw(st.sampled_from(["true", "false"]))
        rules.append(row)
    has_default = not rules or draw(st.booleans())
    data: dict[str, Any] = {
        "version": "1", "owner": "o", "hitPolicy": policy, "rules": rules,
        "columns": [{"name": name, "value": f"input.{name}", "mayBeAbsent": absent[name]} | _COLUMNS[name] for name in names],
    }  # fmt: skip
    return RuleSetSpec.model_validate(data | ({"default": {"say": "default"}} if has_default else {}))


def every_input(spec: RuleSetSpec) -> list[dict[str, Any]]:
    inputs: list[dict[str, Any]] = [{}]
    for column in spec.columns:
        values = [*EVERY[column.name], *([None] if column.may_be_absent else [])]
        inputs = [one | {column.name: value} for one in inputs for value in values]
    return inputs
