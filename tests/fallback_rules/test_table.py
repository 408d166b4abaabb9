"""Answers of tables: every hit policy against a second reading of the spec, and inputs that are not understood."""

from typing import Any

import pytest
from hypothesis import given, settings

from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import (
    AMOUNT,
    CONFLICT,
    GAP,
    INTENT,
    every_input,
    meaning,
    rule,
    specs,
    table,
)


@settings(max_examples=80, deadline=None)
@given(specs())
def test_every_input_gets_the_answer_that_the_spec_means(spec: RuleSetSpec) -> None:
    compiled = compile_table(spec)
    for values in every_input(spec)[:400]:
        answered = compiled.decide(values)
        expected = meaning(spec, values)
        if expected is CONFLICT or expected is GAP:
            assert answered.problem
            assert answered.rule is None
        else:
            assert answered.problem is None
            assert answered.answer == expected


SMALL = table(
    rule(
        "small",
        when={"intent": {"oneOf": ["refund"]}, "amount": {"below": "50"}},
        reason="cheaper than asking",
    ),
    rule("large", when={"intent": {"oneOf": ["refund"]}, "amount": {"atLeast": "50"}}),
    default={"text": "default"},
)

NOT_UNDERSTOOD: dict[str, tuple[dict[str, Any], str]] = {
    "a value is missing": ({"intent": "refund"}, "amount: is missing"),
    "a value is null": ({"intent": None, "amount": 1}, "intent: is missing"),
    "a text for a number": ({"intent": "refund", "amount": "1"}, 'amount: "1" is no number'),
    "true for a number": ({"intent": "refund", "amount": True}, "amount: true is no number"),
    "not a number": ({"intent": "refund", "amount": float("nan")}, "amount: nan is no number"),
    "above the column": (
        {"intent": "refund", "amount": 1000.5},
        "amount: 1000.5 lies outside of amount; allowed: 0 to 1000",
    ),
    "a number for a text": ({"intent": 3, "amount": 1}, "intent: 3 is none of the values"),
    "a list for a text": ({"intent": ["refund"], "amount": 1}, "intent: a list of 1 is none of the values"),
    "an unknown value": ({"intent": "refnd", "amount": 1}, 'intent: "refnd" is none of the values'),
    "a misspelt column": (
        {"intent": "refund", "amount": 1, "amonut": 2},
        "there is no column amonut; did you mean amount?",
    ),
}


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_a_problem_and_never_the_default(case: str) -> None:
    values, problem = NOT_UNDERSTOOD[case]
    answered = compile_table(SMALL).decide(values)
    assert answered.problem is not None
    assert problem in answered.problem
    assert (answered.answer, answered.rule, answered.is_default) == (None, None, False)


def test_the_default_answers_what_is_understood_and_in_no_rule() -> None:
    answered = compile_table(SMALL).decide({"intent": "track", "amount": 0})
    assert answered.is_default
    assert answered.answer == {"text": "default"}


def test_a_range_begins_with_its_first_number_and_ends_before_its_last() -> None:
    compiled = compile_table(SMALL)
    told = [
        compiled.decide({"intent": "refund", "amount": amount}).rule
        for amount in (0, 49.999999999999993, 50, 1000)
    ]
    assert told == ["small", "small", "large", "large"]


def test_a_bound_is_the_decimal_that_is_written() -> None:
    """0.1 + 0.2 is above 0.3 in floats, and 0.3 itself is 0.3."""
    compiled = compile_table(
        table(rule("a", when={"amount": {"below": "0.3"}}), rule("b", when={"amount": {"atLeast": "0.3"}}))
    )
    assert [
        compiled.decide({"intent": "other", "amount": n}).rule for n in (0.3, 0.1 + 0.2, 0.29999999999999993)
    ] == ["b", "b", "a"]


def context(**input: Any) -> dict[str, Any]:
    return {"input": input, "steps": {}, "run": {"id": "r"}}


def test_values_come_from_the_run() -> None:
    answered = compile_table(SMALL).answer(context(intent="refund", amount=3))
    assert (answered.rule, answered.reason) == ("small", "cheaper than asking")
    assert answered.values == {"intent": "refund", "amount": 3}


def test_a_run_without_a_value_is_a_problem_unless_the_column_may_be_absent() -> None:
    told = compile_table(SMALL).answer(context(intent="refund"))
    assert told.problem is not None
    assert told.problem.startswith("amount: input.amount: input has no amount")
    optional = table(
        rule("none", when={"amount": {"absent": True}}),
        default={"text": "d"},
        columns=[INTENT, AMOUNT | {"mayBeAbsent": True}],
    )
    compiled = compile_table(optional)
    assert compiled.answer(context(intent="refund")).rule == "none"
    assert compiled.answer(context(intent="refund", amount=None)).rule == "none"
    assert compiled.answer(context(intent="refund", amount=7)).is_default
    assert compiled.answer({"input": "text", "steps": {}, "run": {}}).problem is not None


def test_a_guard_is_asked_only_where_the_cells_hold() -> None:
    spec = table(
        rule("odd", when={"intent": {"oneOf": ["refund"]}}, guard="[1][int(amount)] == 1"),
        hitPolicy="First", default={"text": "default"},
    )  # fmt: skip
    compiled = compile_table(spec)
    assert compiled.decide({"intent": "track", "amount": 5}).is_default
    assert compiled.decide({"intent": "refund", "amount": 0}).rule == "odd"
    problem = compiled.decide({"intent": "refund", "amount": 5}).problem
    assert problem is not None
    assert problem.startswith("the guard of rule odd fails")


def test_a_computed_answer_that_breaks_the_contract_is_never_given() -> None:
    contract = {"type": "object", "properties": {"fee": {"type": "number", "maximum": 100}}}
    spec = table({"id": "fee", "answerFrom": {"fee": "amount * 0.5", "kind": "intent"}}, contract=contract)
    compiled = compile_table(spec)
    assert compiled.decide({"intent": "track", "amount": 20}).answer == {"fee": 10.0, "kind": "track"}
    told = compiled.decide({"intent": "track", "amount": 900})
    assert (told.answer, told.rule) == (None, None)
    assert told.problem is not None
    assert "rule fee breaks the contract: answer/fee: " in told.problem


def test_collected_answers_are_a_list_and_any_needs_one_answer() -> None:
    rules = (rule("a", {"x": 1}), rule("b", {"x": 1.0}, when={"intent": {"oneOf": ["track"]}}))
    values = {"intent": "track", "amount": 1}
    collected = compile_table(table(*rules, hitPolicy="Collect")).decide(values)
    assert (collected.answer, collected.rules) == ([{"x": 1}, {"x": 1.0}], ("a", "b"))
    assert compile_table(table(*rules, hitPolicy="Any")).decide(values).rules == ("a", "b")
    different = table(rules[0], rule("b", {"x": True}), hitPolicy="Any")
    assert "answer differently" in str(compile_table(different).decide(values).problem)


def test_the_digest_is_of_what_an_answer_depends_on() -> None:
    digest = compile_table(SMALL).digest
    assert (
        compile_table(SMALL.model_copy(update={"version": "2", "owner": "x", "description": "d"})).digest
        == digest
    )
    other = SMALL.model_copy(update={"rules": tuple(reversed(SMALL.rules))})
    assert compile_table(other).digest != digest
