"""Answers against the contract of who receives them."""

from collections.abc import Iterator, Mapping
from typing import Any

from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.resources.fallback import HitPolicy, RuleSetSpec
from sluicegate.contracts.schemas import Schema, SchemaCheck, compile_schema
from sluicegate.fallback_rules.probing import probes
from sluicegate.fallback_rules.proof import diagnostic
from sluicegate.fallback_rules.space import TooLarge, regions, values_at
from sluicegate.fallback_rules.table import Table, compile_table
from sluicegate.fallback_rules.words import witness_text


def check_against(spec: RuleSetSpec, schema: Schema, *, subject: str = "") -> tuple[Diagnostic, ...]:
    """Every answer of the table that `schema` refuses, for instance the output contract of a workflow with this fallback.

    Written answers are all checked; computed ones at the corners of their rules, which a remark says. Raises Refused when the
    table or the schema cannot be compiled.
    """
    table = compile_table(spec)
    check = compile_schema(schema)
    return tuple(
        diagnostic(
            code, path, message, subject=subject, witness=None if values is None else witness_text(values)
        )
        for code, path, message, values in _found(table, check)
    )


_Found = tuple[str, str, str, Mapping[str, Any] | None]


def _found(table: Table, check: SchemaCheck) -> Iterator[_Found]:
    if table.spec.default is not None and not check.is_valid(table.spec.default):
        yield "AnswerBreaksContract", "spec.default", _broken("the default", table.spec.default, check), None
    if table.spec.hit_policy is HitPolicy.COLLECT:
        yield from _collected(table, check)
        return
    for row in table.rows:
        if row.formulas:
            yield from _computed(table, row.id, check)
        elif not check.is_valid(row.answer):
            message = _broken(f"the answer of rule {row.id}", row.answer, check)
            yield "AnswerBreaksContract", f"{row.path}.answer", message, None


def _broken(what: str, answer: Any, check: SchemaCheck) -> str:
    told = "; ".join(f"{one.path}: {one.message}" for one in check.violations(answer, "answer"))
    return f"{what} breaks the contract of who receives it: {told}"


def _computed(table: Table, rule: str, check: SchemaCheck) -> Iterator[_Found]:
    row = next(row for row in table.rows if row.id == rule)
    tried = 0
    for values in probes(table, row):
        told = table.decide(values)
        if rule not in told.rules:
            continue
        tried += 1
        if not check.is_valid(told.answer):
            message = _broken(f"the answer of rule {rule}", told.answer, check)
            yield "AnswerBreaksContract", f"{row.path}.answerFrom", message, values
            return
    message = f"rule {rule} computes its answer: it keeps the contract at {tried} inputs that were tried"
    yield "AnswerNotProved", f"{row.path}.answerFrom", message, None


def _collected(table: Table, check: SchemaCheck) -> Iterator[_Found]:
    try:
        found = regions(table.axes, len(table.rows))
    except TooLarge:
        yield "RuleProofTooLarge", "spec.rules", "the lists of answers are too many to be checked", None
        return
    for region in found:
        values = values_at(table.axes, region.place)
        told = table.decide(values)
        if told.problem is None and not check.is_valid(told.answer):
            yield (
                "AnswerBreaksContract",
                "spec.rules",
                _broken(f"the list of rules {', '.join(told.rules)}", told.answer, check),
                values,
            )
