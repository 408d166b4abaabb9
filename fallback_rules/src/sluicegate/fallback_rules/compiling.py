"""From a written table to its compiled parts, with everything that is wrong told at once."""

from typing import Any

from sluicegate.contracts.digest import canonical
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.expressions import Compiled, compile_over
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.fallback import HitPolicy, RuleExample, RuleSetSpec, TableRule
from sluicegate.contracts.schemas import SchemaCheck, check_schema, compile_schema
from sluicegate.contracts.suggestions import did_you_mean, listed
from sluicegate.fallback_rules.cells import cell_of
from sluicegate.fallback_rules.columns import column_of
from sluicegate.fallback_rules.rows import Cell, Column, Parts, Row
from sluicegate.fallback_rules.scales import Mistyped
from sluicegate.fallback_rules.told import Told


def parts_of(spec: RuleSetSpec) -> Parts:
    """Every part compiled. Raises Refused with all problems; paths begin with ``spec``."""
    told = Told()
    told.unique("columns", "name", (column.name for column in spec.columns))
    told.unique("rules", "id", (rule.id for rule in spec.rules))
    told.unique("examples", "name", (example.name for example in spec.examples))
    reader = _Reader(spec, told)
    rows = tuple(reader.row(rule, f"spec.rules[{number}]", number) for number, rule in enumerate(spec.rules))
    check = _contract(spec, told)
    _check_answers(spec, check, told)
    for number, example in enumerate(spec.examples):
        reader.check_example(example, f"spec.examples[{number}]")
    if told.problems:
        raise Refused(tuple(told.problems))
    return Parts(columns=tuple(reader.columns.values()), rows=rows, check=check)


class _Reader:
    """columns: those that are sound."""

    def __init__(self, spec: RuleSetSpec, told: Told) -> None:
        self._spec = spec
        self._told = told
        self._declared = [column.name for column in spec.columns]
        read = [
            column_of(column, f"spec.columns[{number}]", told) for number, column in enumerate(spec.columns)
        ]
        self.columns: dict[str, Column] = {column.name: column for column in read if column is not None}
        self._variables = {name: column.variable for name, column in self.columns.items()}

    def row(self, rule: TableRule, path: str, number: int) -> Row:
        """What of the rule is sound."""
        guard = None if rule.guard is None else self._compiled(f"{path}.guard", rule.guard)
        if guard is not None and guard.result_type not in {"bool", "dyn"}:
            self._told.tell(
                f"{path}.guard",
                f"is {guard.result_type}, not bool",
                value=rule.guard,
                hint="compare it with something",
            )
        formulas = {
            field: self._compiled(child(f"{path}.answerFrom", field), text)
            for field, text in rule.answer_from.items()
        }
        if rule.priority and self._spec.hit_policy is not HitPolicy.PRIORITY:
            self._told.tell(
                f"{path}.priority", "has a meaning with hitPolicy Priority only", value=rule.priority,
                hint="remove it, or change the hit policy",
            )  # fmt: skip
        return Row(
            id=rule.id, number=number, cells=self._cells(rule, path), guard=guard, priority=rule.priority,
            answer=rule.answer, reason=rule.reason,
            formulas=tuple((field, compiled) for field, compiled in formulas.items() if compiled is not None),
        )  # fmt: skip

    def _compiled(self, path: str, text: str) -> Compiled | None:
        if len(self.columns) < len(self._spec.columns):  # names of unsound columns would be unknown
            return None
        return self._told.compiled(path, text, lambda text: compile_over(text, self._variables))

    def _cells(self, rule: TableRule, path: str) -> dict[str, Cell]:
        cells: dict[str, Cell] = {}
        for name, written in rule.when.items():
            where = child(f"{path}.when", name)
            if self._is_declared(name, where, "add it to spec.columns"):
                cell, problems = cell_of(written, self.columns[name], where)
                self._told.problems += problems
                if cell is not None:
                    cells[name] = cell
        return cells

    def check_example(self, example: RuleExample, path: str) -> None:
        """Tell what the table could not read in it."""
        ids = [rule.id for rule in self._spec.rules]
        if example.rule is not None and example.rule not in ids:
            self._told.tell(
                f"{path}.rule", "there is no such rule", value=example.rule, allowed=listed(ids),
                hint=did_you_mean(example.rule, ids) or "name a rule's id",
            )  # fmt: skip
        for name, value in example.input.items():
            where = child(f"{path}.input", name)
            if (
                self._is_declared(name, where, "examples give columns, not the workflow's input")
                and value is not None
            ):
                try:
                    self.columns[name].scale.read(value)
                except Mistyped as error:
                    self._told.mistyped(where, error, value)
        for name, column in self.columns.items():
            if not column.spec.may_be_absent and example.input.get(name) is None:
                self._told.tell(
                    child(f"{path}.input", name), "is missing", hint="an example gives every column"
                )

    def _is_declared(self, name: str, path: str, hint: str) -> bool:
        """Whether the column can be used; tell when there is none of this name."""
        if name not in self._declared:
            self._told.tell(
                path, "there is no such column", value=name, allowed=listed(self._declared),
                hint=did_you_mean(name, self._declared) or hint,
            )  # fmt: skip
        return name in self.columns


def _contract(spec: RuleSetSpec, told: Told) -> SchemaCheck:
    broken = check_schema(spec.contract, "spec.contract")
    told.problems += broken
    return compile_schema(True if broken else spec.contract)


def _check_answers(spec: RuleSetSpec, check: SchemaCheck, told: Told) -> None:
    for number, rule in enumerate(spec.rules):
        path = f"spec.rules[{number}]"
        if rule.answer is not None and rule.answer_from:
            told.tell(f"{path}.answerFrom", "stands beside answer", hint="keep one of the two")
        elif rule.answer is not None:  # of Collect the list is what must meet the contract
            _check_answer(
                f"{path}.answer", rule.answer, None if spec.hit_policy is HitPolicy.COLLECT else check, told
            )
        elif not rule.answer_from:
            told.tell(
                f"{path}.answer",
                "is missing",
                allowed="answer, or answerFrom",
                hint="say what the rule answers",
            )
    if spec.default is not None:
        _check_answer("spec.default", spec.default, check, told)
    elif not spec.rules:
        told.tell("spec.rules", "is empty and there is no default", hint="write a rule, or a default")


def _check_answer(path: str, answer: Any, check: SchemaCheck | None, told: Told) -> None:
    try:
        canonical(answer)
    except ValueError as error:
        told.tell(
            path,
            f"is not JSON that keeps its value: {error}",
            value=answer,
            hint="write such numbers as texts",
        )
        return
    if check is None or check.is_valid(answer):
        return
    for broken in check.violations(answer, "answer"):
        told.tell(
            path,
            f"breaks spec.contract: {broken.path}: {broken.message}",
            value=answer,
            hint="correct the answer",
        )
