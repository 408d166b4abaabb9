"""What is wrong with a table is told all at once, each with its path."""

from typing import Any

import pytest

from sluicegate.contracts.errors import Refused
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import AMOUNT, INTENT, rule, table

_LEVEL = {"name": "level", "value": "input.level", "type": "Integer", "minimum": "1", "maximum": "5"}
_DAY = {"name": "day", "value": "input.day", "type": "Date"}
_GOLD = {"name": "gold", "value": "input.gold", "type": "Boolean"}
_ALL = [INTENT, AMOUNT, _LEVEL, _DAY, _GOLD]


def when(**cells: Any) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return (rule("a", when=cells),), {"columns": _ALL}


def column(base: dict[str, Any], **more: Any) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return (rule("a"),), {"columns": [base | more]}


Case = tuple[tuple[tuple[dict[str, Any], ...], dict[str, Any]], str, str]

WRONG: dict[str, Case] = {
    "an unknown column": (when(amuont={"below": "1"}), "spec.rules[0].when.amuont", "did you mean amount?"),
    "no cell": (when(amount={}), "spec.rules[0].when.amount", "needs exactly one of"),
    "a set and a range": (when(amount={"oneOf": ["1"], "below": "2"}), "spec.rules[0].when.amount", "needs exactly one of"),
    "an empty range": (when(amount={"atLeast": "5", "below": "5"}), "spec.rules[0].when.amount", "is an empty range"),
    "no whole number in a range": (when(level={"atLeast": "1.2", "below": "1.8"}), "spec.rules[0].when.level", "is an empty range"),
    "a word for a number": (when(amount={"below": "ten"}), "spec.rules[0].when.amount.below", "is no number"),
    "infinity": (when(amount={"atLeast": "Infinity"}), "spec.rules[0].when.amount.atLeast", "is no number"),
    "more digits than a number has": (
        when(amount={"below": "0.10000000000000000001"}), "spec.rules[0].when.amount.below", "more digits",
    ),
    "a fraction of a whole number": (when(level={"oneOf": ["1.5"]}), "spec.rules[0].when.level.oneOf[0]", "is no whole number"),
    "a range above the column": (when(amount={"atLeast": "2000"}), "spec.rules[0].when.amount.atLeast", "outside of amount"),
    "a range below the column": (when(level={"below": "1"}), "spec.rules[0].when.level.below", "outside of level"),
    "a value outside of the column": (when(level={"oneOf": ["9"]}), "spec.rules[0].when.level.oneOf[0]", "outside of level"),
    "an unknown value": (when(intent={"oneOf": ["refnd"]}), "spec.rules[0].when.intent.oneOf[0]", "did you mean refund?"),
    "a value twice": (when(amount={"oneOf": ["1", "1.0"]}), "spec.rules[0].when.amount.oneOf[1]", "is there twice"),
    "a range of words": (when(intent={"atLeast": "a"}), "spec.rules[0].when.intent.atLeast", "has no meaning with type Enum"),
    "a range of booleans": (when(gold={"below": "true"}), "spec.rules[0].when.gold.below", "has no meaning with type Boolean"),
    "yes for true": (when(gold={"oneOf": ["yes"]}), "spec.rules[0].when.gold.oneOf[0]", "is no boolean"),
    "a day that there is not": (when(day={"below": "2026-02-30"}), "spec.rules[0].when.day.below", "is no date"),
    "a time for a date": (when(day={"below": "2026-02-03T10:00:00Z"}), "spec.rules[0].when.day.below", "is no date"),
    "absence of what is always there": (when(day={"absent": True}), "spec.rules[0].when.day.absent", "mayBeAbsent"),
    "an id twice": (((rule("a"), rule("a")), {}), "spec.rules[1].id", "is that of spec.rules[0]"),
    "a column twice": (((rule("a"),), {"columns": [INTENT, INTENT]}), "spec.columns[1].name", "is that of spec.columns[0]"),
    "an answer and a formula": (((rule("a", answerFrom={"x": "amount"}),), {}), "spec.rules[0].answerFrom", "stands beside answer"),
    "no answer": ((({"id": "a"},), {}), "spec.rules[0].answer", "is missing"),
    "a guard that is no question": (((rule("a", guard="amount + 1.0"),), {}), "spec.rules[0].guard", "is double, not bool"),
    "a guard of another type": (((rule("a", guard="amount > 'a'"),), {}), "spec.rules[0].guard", "is not CEL"),
    "a guard over the input": (((rule("a", guard="input.amount > 1"),), {}), "spec.rules[0].guard", "unknown name input"),
    "a formula over nothing": ((({"id": "a", "answerFrom": {"x": "amuont"}},), {}), "spec.rules[0].answerFrom.x", "did you mean amount?"),
    "a priority under Unique": (((rule("a", priority=1),), {}), "spec.rules[0].priority", "Priority only"),
    "an answer that breaks the contract": (
        ((rule("a", {"x": 1}),), {"contract": {"properties": {"x": {"type": "string"}}}}),
        "spec.rules[0].answer", "breaks spec.contract: answer/x",
    ),
    "a default that breaks the contract": (((rule("a", "t"),), {"contract": {"type": "string"}, "default": 1}), "spec.default", "breaks"),
    "an answer that JSON would round": (((rule("a", {"x": 2**60}),), {}), "spec.rules[0].answer", "write such numbers as texts"),
    "a contract that is no schema": (((rule("a"),), {"contract": {"type": "objct"}}), "spec.contract.type", "did you mean object?"),
    "an enum without values": (column(INTENT, values=[]), "spec.columns[0].values", "are required"),
    "an enum value twice": (column(INTENT, values=["a", "a"]), "spec.columns[0].values[1]", "is there twice"),
    "values of a number": (column(AMOUNT, values=["1"]), "spec.columns[0].values", "type Enum only"),
    "bounds of a date": (column(_DAY, minimum="1"), "spec.columns[0].minimum", "type Integer and Number only"),
    "bounds upside down": (column(AMOUNT, minimum="2000"), "spec.columns[0].minimum", "is above maximum"),
    "no whole number between bounds": (column(_LEVEL, minimum="1.2", maximum="1.8"), "spec.columns[0].minimum", "leaves no value"),
    "a bound with more digits than a number has": (
        column(AMOUNT, maximum="0.30000000000000000001"), "spec.columns[0].maximum", "more digits",
    ),
    "a value that is not CEL": (column(AMOUNT, value="input."), "spec.columns[0].value", "is not CEL"),
    "a value from headers": (column(AMOUNT, value="headers.x"), "spec.columns[0].value", "reads headers"),
    "a word of CEL as a name": (column(AMOUNT, name="in"), "spec.columns[0].name", "is a word of CEL"),
    "nothing at all": (((), {}), "spec.rules", "is empty and there is no default"),
    "an example of an unknown rule": (
        ((rule("small-refund"),), {"examples": [{"name": "e", "input": {"intent": "track", "amount": 1}, "rule": "smal-refund"}]}),
        "spec.examples[0].rule", "did you mean small-refund?",
    ),
    "an example of an unknown column": (
        ((rule("a"),), {"examples": [{"name": "e", "input": {"intent": "track", "amount": 1, "x": 1}}]}),
        "spec.examples[0].input.x", "there is no such column",
    ),
    "an example outside of a column": (
        ((rule("a"),), {"examples": [{"name": "e", "input": {"intent": "track", "amount": -1}}]}), "spec.examples[0].input.amount", "outside",
    ),
    "an example that leaves a column out": (
        ((rule("a"),), {"examples": [{"name": "e", "input": {"intent": "track"}}]}), "spec.examples[0].input.amount", "is missing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_is_refused_with_its_path(case: str) -> None:
    (rules, more), path, said = WRONG[case]
    with pytest.raises(Refused) as refused:
        compile_table(table(*rules, **more))
    assert [problem.path for problem in refused.value.problems] == [path]
    assert said in str(refused.value)
    assert refused.value.problems[0].hint or refused.value.problems[0].allowed


def test_everything_is_told_at_once() -> None:
    with pytest.raises(Refused) as refused:
        compile_table(
            table(
                rule("a", when={"intent": {"oneOf": ["x"]}, "amount": {"below": "x"}}), rule("a", guard="1"),
                examples=[{"name": "e", "input": {"intent": "y", "amount": 1}}],
            )
        )  # fmt: skip
    assert {problem.path for problem in refused.value.problems} == {
        "spec.rules[1].id", "spec.rules[0].when.intent.oneOf[0]", "spec.rules[0].when.amount.below", "spec.rules[1].guard",
        "spec.examples[0].input.intent",
    }  # fmt: skip


def test_whole_numbers_are_compared_by_what_is_written() -> None:
    """A range may begin between two whole numbers: it holds from the next one on."""
    compiled = compile_table(
        table(
            rule("a", when={"level": {"below": "2.5"}}),
            rule("b", when={"level": {"atLeast": "2.5"}}),
            columns=[_LEVEL],
        )
    )
    assert [compiled.decide({"level": level}).rule for level in (1, 2, 3, 3.0, 5)] == [
        "a",
        "a",
        "b",
        "b",
        "b",
    ]
