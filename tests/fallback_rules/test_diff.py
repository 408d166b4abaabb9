"""What an edit changes, against every input of small tables."""

import hypothesis.strategies as st
from hypothesis import given, settings

from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.fallback_rules.diff import diff
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import AMOUNT, INTENT, every_input, meaning, rule, specs, table


@st.composite
def edits(draw: st.DrawFn) -> tuple[RuleSetSpec, RuleSetSpec]:
    """A table and the same after one edit: a rule gone, moved, or with another answer; or another default."""
    spec = draw(specs(guards=False, max_rules=5))
    rules = list(spec.rules)
    kind = draw(st.sampled_from(["nothing", "gone", "moved", "answer", "default"]))
    if kind == "default" or not rules:
        return spec, spec.model_copy(update={"default": {"say": "b"}})
    number = draw(st.integers(0, len(rules) - 1))
    if kind == "answer":
        rules[number] = rules[number].model_copy(update={"answer": {"say": "d"}})
    elif kind in {"gone", "moved"}:
        row = rules.pop(number)
        if kind == "moved" or (not rules and spec.default is None):
            rules.insert(draw(st.integers(0, len(rules))), row)
    return spec, spec.model_copy(update={"rules": tuple(rules)})


@settings(max_examples=60, deadline=None)
@given(edits())
def test_an_edit_changes_what_every_input_says(edit: tuple[RuleSetSpec, RuleSetSpec]) -> None:
    old, new = edit
    told = diff(compile_table(old), compile_table(new))
    changed = [values for values in every_input(old) if meaning(old, values) != meaning(new, values)]
    assert (told.changed == 0) == (not changed)
    for change in told.changes:
        assert meaning(old, change.witness) != meaning(new, change.witness)
        assert (change.before.answer, change.before.problem) != (change.after.answer, change.after.problem)
    assert (
        sum(change.cells for change in told.changes) == told.changed
    )  # fewer than a hundred boxes, apart from each other


def test_an_edit_is_told_as_a_box_with_an_input() -> None:
    """Cuts of the amount at 50 and 60 and three intents: nine cells, of which one changes."""
    rest = {"intent": {"oneOf": ["track", "other"]}}
    old = table(
        rule("small", when={"amount": {"below": "50"}, "intent": {"oneOf": ["refund"]}}),
        rule("rest", when=rest),
        default={"text": "d"},
    )
    new = table(
        rule("small", when={"amount": {"below": "60"}, "intent": {"oneOf": ["refund"]}}),
        rule("rest", when=rest),
        default={"text": "d"},
    )
    told = diff(compile_table(old), compile_table(new))
    (change,) = told.changes
    assert (told.changed, told.cells) == (1, 6)  # track and other are never told apart
    assert change.where == "intent is refund, amount from 50 to below 60"
    assert change.witness == {"intent": "refund", "amount": 50}
    assert (change.before.is_default, change.after.rule) == (True, "small")


def test_a_wider_column_changes_what_was_not_understood() -> None:
    old, new = (table(rule("a"), columns=[AMOUNT | {"maximum": most}]) for most in ("10", "20"))
    told = diff(compile_table(old), compile_table(new))
    (change,) = told.changes
    assert change.where == "amount above 10 to 20"
    assert change.before.problem is not None
    assert change.after.rule == "a"


def test_columns_that_come_and_go_are_told_and_types_that_change_end_it() -> None:
    told = diff(compile_table(table(rule("a"))), compile_table(table(rule("a"), columns=[INTENT])))
    assert (told.changed, told.notes, told.is_empty) == (0, ("column amount is gone",), False)
    other = diff(
        compile_table(table(rule("a"))),
        compile_table(table(rule("a"), columns=[INTENT, AMOUNT | {"type": "Integer"}])),
    )
    assert other.changed is None
    assert "cannot be compared" in other.notes[0]


def test_another_order_of_rules_that_do_not_overlap_changes_nothing() -> None:
    rows = [rule("a", when={"amount": {"below": "50"}}), rule("b", when={"amount": {"atLeast": "50"}})]
    assert diff(
        compile_table(table(*rows)), compile_table(table(*reversed(rows), hitPolicy="Unique"))
    ).is_empty
