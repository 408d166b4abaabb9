"""A decision table that answers: typed columns, rows as bits, hit policies. Pure; a table may be shared by threads.

An input that the table cannot read (missing, of another type, outside of the column) is a `problem` and never the
default's: a default is an answer to inputs that were understood.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from sluicegate.contracts.cel_syntax import ANY_INDEX, Path
from sluicegate.contracts.digest import digest_of
from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.resources.fallback import HitPolicy, RuleSetSpec
from sluicegate.contracts.suggestions import did_you_mean, listed
from sluicegate.fallback_rules.axes import Axis, axis_of, bits, lookup
from sluicegate.fallback_rules.compiling import parts_of
from sluicegate.fallback_rules.rows import Column, Parts, Row
from sluicegate.fallback_rules.scales import Mistyped

_OF_THE_TABLE: Final[dict[str, Any]] = {
    "hit_policy": True,
    "columns": {"__all__": {"name", "value", "type", "values", "minimum", "maximum", "may_be_absent"}},
    "rules": True,
    "default": True,
    "contract": True,
}
"""What an answer depends on. Not the version's name, owner, descriptions, examples, drills."""


class Cause(StrEnum):
    """Why a table has no answer."""

    INPUT = "Input"  # missing, mistyped or outside of its column
    GUARD = "Guard"  # a guard cannot be evaluated
    FORMULA = "Formula"  # a computed answer cannot be evaluated
    CONTRACT = "Contract"  # the answer would break the table's contract
    CONFLICT = "Conflict"  # several rules hold, where the hit policy allows one answer
    GAP = "Gap"  # no rule holds and there is no default


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the table says. The answer belongs to the table: it must not be changed.

    rule: the id of the rule that answered; None with no `problem` is the default. rules: of Collect and Any, all that
    held. values: column → what was looked at. reason: the rule's. problem: why there is no answer, in a sentence, and
    `cause` in a word; None otherwise.
    """

    answer: Any = None
    rule: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    rules: tuple[str, ...] = ()
    problem: str | None = None
    cause: Cause | None = None

    @property
    def is_default(self) -> bool:
        """No rule held, and the default answered."""
        return self.rule is None and self.problem is None


class _Failed(Exception):  # noqa: N818 - becomes a `problem`
    def __init__(self, cause: Cause, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class Table:
    """Compiled by `compile_table`. ordered: rows in the order of answering; row k is bit k of the masks of `axes`."""

    def __init__(self, spec: RuleSetSpec, parts: Parts) -> None:
        self.spec = spec
        self.columns: tuple[Column, ...] = parts.columns
        self.rows: tuple[Row, ...] = parts.rows
        self.ordered: tuple[Row, ...] = order_of(parts.rows, spec.hit_policy)
        self.axes: tuple[Axis, ...] = tuple(axis_of(column, self.ordered) for column in parts.columns)
        self.guarded: int = sum(1 << bit for bit, row in enumerate(self.ordered) if row.guard is not None)
        self.check = parts.check
        self.digest: str = digest_of(
            spec.model_dump(mode="json", by_alias=True, include=_OF_THE_TABLE, exclude_defaults=True)
        )
        self._all = (1 << len(self.rows)) - 1
        self._names = frozenset(column.name for column in self.columns)
        self._lookups = tuple((axis.name, lookup(axis)) for axis in self.axes)
        self._decide: Callable[[int, Mapping[str, Any]], Answered] = {
            HitPolicy.UNIQUE: self._unique,
            HitPolicy.FIRST: self._first,
            HitPolicy.PRIORITY: self._first,
            HitPolicy.ANY: self._any,
            HitPolicy.COLLECT: self._collect,
        }[spec.hit_policy]

    def answer(self, context: Mapping[str, Any]) -> Answered:
        """The answer to a run: `context` has input, steps and run as in a workflow's expressions."""
        values: dict[str, Any] = {}
        for column in self.columns:
            try:
                values[column.name] = column.value.evaluate(context)
            except ExpressionError as error:
                is_absent = any(_is_missing(path, context) for path in column.value.references)
                if not (is_absent and column.spec.may_be_absent):
                    return _not_understood(values, f"{column.name}: {error.message}")
                values[column.name] = None
        return self.decide(values)

    def decide(self, values: Mapping[str, Any]) -> Answered:
        """The answer to column → value; None, or no entry, is absence."""
        mask = self._all
        name = ""
        try:
            for name, mask_of in self._lookups:
                mask &= mask_of(values.get(name))
            if not values.keys() <= self._names:
                return _not_understood(values, self._unknown(values))
            return self._decide(mask, values)
        except Mistyped as error:
            allowed = f"; allowed: {error.allowed}" if error.allowed else ""
            return _not_understood(values, f"{name}: {error}{allowed}")
        except _Failed as error:
            return Answered(values=values, problem=str(error), cause=error.cause)

    def scope(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What guards and formulas see: every column, of its CEL type, null where absent. Values as `decide` takes them."""
        return {column.name: _typed(column, values.get(column.name)) for column in self.columns}

    def holds(self, row: Row, scope: Mapping[str, Any]) -> bool:
        """Whether the row's guard holds. Raises ExpressionError when it cannot be told."""
        if row.guard is None:
            return True
        held = row.guard.evaluate(scope)
        if held is True or held is False:
            return held
        raise ExpressionError(f"{row.guard.text}: gives no boolean")

    def output(self, row: Row, scope: Mapping[str, Any]) -> Any:
        """The row's answer, not yet checked against the contract. Raises ExpressionError."""
        if not row.formulas:
            return row.answer
        return {name: compiled.evaluate(scope) for name, compiled in row.formulas}

    def breach(self, answer: Any) -> str | None:
        """How an answer breaks the table's contract, in a sentence; None when it does not."""
        if self.check.is_valid(answer):
            return None
        broken = self.check.violations(answer, "answer")
        return "; ".join(f"{one.path}: {one.message}" for one in broken) or "answer: breaks the contract"

    def _unknown(self, values: Mapping[str, Any]) -> str:
        unknown = next(name for name in values if name not in self._names)
        hint = did_you_mean(unknown, self._names)
        return f"there is no column {unknown[:63]}; {hint or f'there is {listed(sorted(self._names))}'}"

    def _holding(self, mask: int, values: Mapping[str, Any]) -> list[Row]:
        """The rows of a mask whose guards hold, in the order of answering."""
        rows = [self.ordered[bit] for bit in bits(mask)]
        if not mask & self.guarded:
            return rows
        scope = self.scope(values)
        return [row for row in rows if self._guard(row, scope)]

    def _guard(self, row: Row, scope: Mapping[str, Any]) -> bool:
        try:
            return self.holds(row, scope)
        except ExpressionError as error:
            raise _Failed(Cause.GUARD, f"the guard of rule {row.id} fails: {error.message}") from None

    def _given(self, row: Row, values: Mapping[str, Any], rules: tuple[str, ...]) -> Answered:
        answer = self._output(row, values)
        return Answered(answer=answer, rule=row.id, values=values, reason=row.reason, rules=rules)

    def _output(self, row: Row, values: Mapping[str, Any]) -> Any:
        """Static answers were checked when the table was compiled; a computed one is checked now."""
        if not row.formulas:
            return row.answer
        try:
            answer = self.output(row, self.scope(values))
        except ExpressionError as error:
            raise _Failed(Cause.FORMULA, f"the answer of rule {row.id} fails: {error.message}") from None
        breach = None if self.spec.hit_policy is HitPolicy.COLLECT else self.breach(answer)
        if breach:
            raise _Failed(Cause.CONTRACT, f"the answer of rule {row.id} breaks the contract: {breach}")
        return answer

    def _default(self, values: Mapping[str, Any]) -> Answered:
        if self.spec.default is None:
            raise _Failed(Cause.GAP, "no rule holds and there is no default")
        return Answered(answer=self.spec.default, values=values)

    def _first(self, mask: int, values: Mapping[str, Any]) -> Answered:
        scope = self.scope(values) if mask & self.guarded else {}
        while mask:
            lowest = mask & -mask
            row = self.ordered[lowest.bit_length() - 1]
            if row.guard is None or self._guard(row, scope):
                return self._given(row, values, (row.id,))
            mask ^= lowest
        return self._default(values)

    def _unique(self, mask: int, values: Mapping[str, Any]) -> Answered:
        if not mask & (mask - 1):
            return self._first(mask, values)
        rows = self._holding(mask, values)
        if not rows:
            return self._default(values)
        if len(rows) > 1:
            raise _Failed(
                Cause.CONFLICT,
                f"several rules hold: {listed(row.id for row in rows)}; hitPolicy Unique allows one",
            )
        return self._given(rows[0], values, (rows[0].id,))

    def _any(self, mask: int, values: Mapping[str, Any]) -> Answered:
        rows = self._holding(mask, values)
        if not rows:
            return self._default(values)
        answers = [self._output(row, values) for row in rows]
        if not all(same(answer, answers[0]) for answer in answers[1:]):
            raise _Failed(
                Cause.CONFLICT, f"rules {listed(row.id for row in rows)} hold and answer differently"
            )
        return self._given(rows[0], values, tuple(row.id for row in rows))

    def _collect(self, mask: int, values: Mapping[str, Any]) -> Answered:
        rows = self._holding(mask, values)
        if not rows:
            return self._default(values)
        answer = [self._output(row, values) for row in rows]
        breach = self.breach(answer)
        if breach:
            raise _Failed(
                Cause.CONTRACT,
                f"the answers of rules {listed(row.id for row in rows)} break the contract: {breach}",
            )
        ids = tuple(row.id for row in rows)
        return Answered(answer=answer, rule=ids[0], values=values, reason=rows[0].reason, rules=ids)


def compile_table(spec: RuleSetSpec) -> Table:
    """Compile once. Raises Refused with everything wrong: columns, cells, guards, ids, answers that break the contract, examples.

    What it takes is sound row by row; that it is complete and free of overlaps is `proof.prove`'s to say.
    """
    return Table(spec, parts_of(spec))


def order_of(rows: tuple[Row, ...], policy: HitPolicy) -> tuple[Row, ...]:
    """As written; of Priority the largest first, of equal ones the earlier."""
    if policy is not HitPolicy.PRIORITY:
        return rows
    return tuple(sorted(rows, key=lambda row: (-row.priority, row.number)))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, and neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _not_understood(values: Mapping[str, Any], problem: str) -> Answered:
    return Answered(values=values, problem=problem, cause=Cause.INPUT)


_NUMERIC: Final[dict[str, Callable[[Any], Any]]] = {"int": int, "double": float}


def _typed(column: Column, value: Any) -> Any:
    convert = _NUMERIC.get(column.scale.variable)
    return value if value is None or convert is None else convert(value)


def _is_missing(path: Path, context: Mapping[str, Any]) -> bool:
    """Whether something on the way is not there, or null; a value of another shape is not missing but wrong."""
    value: Any = context
    for name in path[: path.index(ANY_INDEX)] if ANY_INDEX in path else path:
        if isinstance(value, Mapping) and name not in value:
            return True
        if not isinstance(value, Mapping):
            return value is None
        value = value[name]
    return value is None
