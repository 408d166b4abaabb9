"""Explanations, lint, and answers against who receives them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from sluicegate.contracts.resources.fallback import HitPolicy, RuleSetSpec
from sluicegate.fallback_rules.against import check_against
from sluicegate.fallback_rules.explain import explain
from sluicegate.fallback_rules.lint import lint
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import every_input, holding, rule, specs, table

LOW, HIGH = {"below": "50"}, {"atLeast": "50"}
REFUND = {"oneOf": ["refund"]}


def test_every_row_says_why() -> None:
    spec = table(
        rule("vip", when={"intent": REFUND}, guard="amount > 900.0"),
        rule("small", when={"intent": REFUND, "amount": LOW}, reason="cheaper"),
        rule("any", when={"amount": LOW}), rule("large", when={"intent": {"oneOf": ["track"]}, "amount": HIGH}),
        hitPolicy="First", default={"text": "d"},
    )  # fmt: skip
    told = explain(compile_table(spec), {"intent": "refund", "amount": 20})
    assert (told.answered.rule, told.answered.reason) == ("small", "cheaper")
    assert {row.rule: row.why for row in told.rows} == {
        "vip": "its guard does not hold: amount > 900.0",
        "small": "",
        "any": "rule small goes before it",
        "large": "asks that intent is track and amount from 50 to 1000",
    }
    assert [(cell.column, cell.asked, cell.value, cell.holds) for cell in told.rows[1].cells] == [
        ("intent", "is refund", "refund", True), ("amount", "from 0 to below 50", 20, True),
    ]  # fmt: skip


def test_what_is_not_understood_is_explained_by_its_problem() -> None:
    told = explain(compile_table(table(rule("a"))), {"intent": "refund"})
    assert (told.rows, told.answered.problem) == ((), "amount: is missing")


@settings(max_examples=40, deadline=None)
@given(specs(guards=False))
def test_cells_hold_where_the_spec_says_so(spec: RuleSetSpec) -> None:
    compiled = compile_table(spec)
    for values in every_input(spec)[:60]:
        told = explain(compiled, values)
        assert [row.rule for row in told.rows if all(cell.holds for cell in row.cells)] == [
            row.id for row in holding(spec, values)
        ]
        assert tuple(row.rule for row in told.rows if row.answers) == told.answered.rules


LINTS: dict[str, tuple[RuleSetSpec, str, str]] = {
    "a column that nobody asks for": (table(rule("a", when={"amount": LOW}), rule("b", when={"amount": HIGH})), "ColumnNeverMatters", "spec.columns[0]"),
    "a column that changes nothing": (
        table(
            rule("a", "x", when={"intent": REFUND, "amount": LOW}), rule("b", "x", when={"intent": {"oneOf": ["track", "other"]}, "amount": LOW}, guard="true"),
            rule("c", when={"amount": HIGH}), default="x",
        ),
        "ColumnNeverMatters", "spec.columns[0]",
    ),
    "two rules that could be one": (
        table(rule("a", "x", when={"amount": LOW, "intent": REFUND}), rule("b", "x", when={"amount": HIGH, "intent": REFUND}), rule("c", when={"intent": {"oneOf": ["track", "other"]}, "amount": LOW}), rule("d", when={"intent": {"oneOf": ["track", "other"]}, "amount": HIGH})),
        "RuleRepeatsNeighbour", "spec.rules[1]",
    ),
    "a default that answers most": (table(rule("a", when={"amount": {"atLeast": "5", "below": "9"}, "intent": REFUND}), default="x"), "DefaultAnswersMost", "spec.default"),
    "a default that never answers": (
        table(rule("a", when={"intent": REFUND, "amount": LOW}), rule("b", when={"intent": REFUND, "amount": HIGH}), rule("c", when={"intent": {"oneOf": ["track", "other"]}}), default="x"),
        "DefaultNeverAnswers", "spec.default",
    ),
    "a guard that always holds": (
        table(rule("a", when={"intent": REFUND, "amount": LOW}, guard="1 < 2"), rule("c", when={"intent": REFUND, "amount": HIGH}), default="x"), "GuardAlwaysHolds", "spec.rules[0].guard",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LINTS)
def test_is_worth_a_look(case: str) -> None:
    spec, code, path = LINTS[case]
    assert (code, path) in [(one.code, one.path) for one in lint(compile_table(spec))]


def test_nothing_is_said_of_a_plain_table() -> None:
    plain = table(
        rule("a", when={"intent": REFUND, "amount": LOW}), rule("b", when={"intent": REFUND, "amount": HIGH}),
        rule("c", when={"intent": {"oneOf": ["track", "other"]}}),
    )  # fmt: skip
    assert lint(compile_table(plain)) == ()


def test_a_column_that_a_formula_reads_matters() -> None:
    spec = table(
        {"id": "a", "answerFrom": {"intent": "intent"}, "when": {"amount": LOW}},
        rule("b", when={"amount": HIGH}),
    )
    assert lint(compile_table(spec)) == ()


RESPONSE: dict[str, Any] = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"maxLength": 5}, "fee": {"maximum": 100}},
}


def test_answers_are_checked_against_who_receives_them() -> None:
    spec = table(
        rule("good", when={"amount": LOW}), rule("long", {"text": "longer"}, when={"amount": HIGH}),
        {"id": "fee", "answerFrom": {"text": "intent", "fee": "amount"}, "when": {"amount": {"oneOf": ["50"]}}}, default={},
    )  # fmt: skip
    told = check_against(spec.model_copy(update={"hit_policy": HitPolicy.FIRST}), RESPONSE)
    assert [(one.code, one.path) for one in told] == [
        ("AnswerBreaksContract", "spec.default"), ("AnswerBreaksContract", "spec.rules[1].answer"), ("AnswerNotProved", "spec.rules[2].answerFrom"),
    ]  # fmt: skip
    assert "answer/text" in told[1].message


def test_a_computed_answer_is_tried_at_its_corners() -> None:
    (told,) = check_against(table({"id": "fee", "answerFrom": {"text": "'x'", "fee": "amount"}}), RESPONSE)
    assert told.code == "AnswerBreaksContract"
    assert json.loads(told.witness or "")["amount"] == 1000


def test_lists_of_answers_are_checked_as_lists() -> None:
    spec = table(rule("a"), rule("b", when={"amount": LOW}), hitPolicy="Collect")
    (told,) = check_against(spec, {"maxItems": 1})
    assert "the list of rules a, b breaks" in told.message
