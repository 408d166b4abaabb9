"""Conditions are judged as CEL itself would, tried with every value there is; sums over branches are those of the worst run."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.guards import guards, possible
from sluicegate.contracts.analysis.ranges import ranges_of, sizes_at, values_at
from sluicegate.contracts.analysis.values import ANYTHING, Comparison, Values, some, union
from sluicegate.contracts.cel_tree import UNKNOWN, Constant, Items, Operation, Reference
from sluicegate.contracts.expressions import compile_expression, tree
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification.facts import gather
from tests.contracts.files import component, minimal

WORDS, NUMBERS = ("a", "b", "c"), range(5)
OUTPUT = {
    "type": "object",
    "required": ["word", "n", "ok"],
    "properties": {
        "word": {"enum": list(WORDS)},
        "n": {"type": "integer", "minimum": 0, "maximum": 4},
        "ok": {"type": "boolean"},
    },
}
ATOMS = st.one_of(
    st.builds('steps.p.word {} "{}"'.format, st.sampled_from(["==", "!="]), st.sampled_from("abcd")),
    st.builds("steps.p.word in {}".format, st.lists(st.sampled_from("abcd"), max_size=3).map(lambda words: str(list(words)).replace("'", '"'))),
    st.builds("steps.p.n {} {}".format, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.sampled_from(["-1", "0", "1", "2.5", "3", "4", "5"])),
    st.builds("{} {} steps.p.n".format, st.integers(-1, 5), st.sampled_from(["<", ">="])),
    st.sampled_from(["steps.p.ok", "true", "false"]),
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=5,
)


def divided(*conditions: str) -> AgentWorkflow:
    """A step that gives the values, and one step for each condition."""
    steps = [{"name": f"s{number}", "component": "x", "when": text} for number, text in enumerate(conditions)]
    made = parse_data(
        minimal(
            components=[component("p", contract={"output": OUTPUT}), component("x")],
            steps=[{"name": "p", "component": "p"}, *steps, {"name": "last", "component": "x"}],
        )
    )
    assert isinstance(made, AgentWorkflow)
    return made


def outcomes(text: str) -> Iterator[bool]:
    """What CEL gives for every value that the contract allows."""
    compiled = compile_expression(text)
    for word, n, ok in product(WORDS, NUMBERS, (False, True)):
        yield compiled.evaluate({"steps": {"p": {"word": word, "n": n, "ok": ok}}}) is True


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_a_condition_can_hold_exactly_when_cel_says_so_for_some_value(text: str) -> None:
    facts = gather(divided(text))
    (guard,) = guards(facts)
    found = set(outcomes(text))
    assert bool(possible(guard.holds, ranges_of(facts))) is (True in found)
    assert bool(possible(guard.fails, ranges_of(facts))) is (False in found)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CONDITIONS, st.integers(1, 9)), min_size=1, max_size=4))
def test_no_run_weighs_more_than_the_heaviest_branches(steps: list[tuple[str, int]]) -> None:
    facts = gather(divided(*(text for text, _ in steps)))
    weights = {number + 1: float(weight) for number, (_, weight) in enumerate(steps)}
    found = branches(facts).heaviest(weights)
    runs = zip(*(outcomes(text) for text, _ in steps), strict=True)
    worst = max(
        sum(weight for runs_it, (_, weight) in zip(run, steps, strict=True) if runs_it) for run in runs
    )
    assert worst <= sum(weights[number] for number in found) <= sum(weights.values())


def test_steps_that_exclude_one_another_are_not_added() -> None:
    facts = gather(
        divided('steps.p.word == "a"', 'steps.p.word == "b"', 'steps.p.word in ["b", "c"]', "steps.p.ok")
    )
    assert branches(facts).heaviest({1: 5.0, 2: 3.0, 3: 3.0, 4: 1.0}) == (2, 3, 4)


UNREADABLE = {
    "a function that nobody knows": 'steps.p.word.startsWith("z")',
    "a macro": 'steps.p.list.exists(x, x == "z")',
    "a comparison of two fields": "steps.p.n > steps.p.m",
    "arithmetic": "steps.p.n + 1 > 9",
    "an index of run time": "steps.p.list[steps.p.n] == 3",
}


@pytest.mark.parametrize("sentence", UNREADABLE)
def test_what_cannot_be_read_is_taken_for_anything(sentence: str) -> None:
    open_ended = divided(f"{UNREADABLE[sentence]} || steps.p.n > 9", f"!({UNREADABLE[sentence]})")
    assert {item.code for item in analyse(open_ended)} <= {"DeadEnd"}


TREES: dict[str, Any] = {
    "input.a.b": Reference(("input", "a", "b")),
    'input.a["b"][2]': Reference(("input", "a", "b", 2)),
    "has(steps.a)": Reference(("steps", "a"), tested=True),
    "input.x == -3": Operation("_==_", (Reference(("input", "x")), Constant(-3))),
    "input.x > 2.5": Operation("_>_", (Reference(("input", "x")), Constant(2.5))),
    "input.x in ['a', null, true]": Operation(
        "@in", (Reference(("input", "x")), Items((Constant("a"), Constant(None), Constant(value=True))))
    ),
    "input.x.size() == 2": Operation("_==_", (Operation("size", (Reference(("input", "x")),)), Constant(2))),
    "input.x.all(y, y > 0)": UNKNOWN,
    "{'a': 1}": UNKNOWN,
}


@pytest.mark.parametrize("text", TREES)
def test_a_tree_says_how_the_expression_is_made_up(text: str) -> None:
    assert tree(compile_expression(text)) == TREES[text]


NUMBER = frozenset({"number"})
ALLOWED: dict[str, tuple[Any, Values]] = {
    "an enumeration": ({"enum": ["a", 1, None]}, Values(members=("a", 1, None))),
    "one of its values by its type": ({"type": "string", "enum": ["a", 1]}, Values(members=("a",))),
    "a constant": ({"const": False}, Values(members=(False,))),
    "a truth value or nothing": ({"type": ["boolean", "null"]}, Values(members=(False, True, None))),
    "whole numbers": (
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
        Values(kinds=NUMBER, low=1, high=5, high_open=True, whole=True),
    ),
    "numbers": ({"type": "number", "exclusiveMinimum": 0}, Values(kinds=NUMBER, low=0, low_open=True)),
    "a choice of enumerations": (
        {"anyOf": [{"enum": ["a"]}, {"const": "b"}]},
        Values(members=("a", "b")),
    ),
    "a reference": ({"$ref": "#/$defs/w", "$defs": {"w": {"enum": ["a"]}}}, Values(members=("a",))),
    "an object in an enumeration": ({"enum": [{"a": 1}]}, ANYTHING),
    "a choice that is open": ({"anyOf": [{"enum": ["a"]}, {}]}, ANYTHING),
    "nothing": (True, ANYTHING),
    "a broken schema": ({"type": [["x"]], "enum": 3}, Values(kinds=frozenset())),
}


@pytest.mark.parametrize("sentence", ALLOWED)
def test_what_a_schema_allows(sentence: str) -> None:
    schema, values = ALLOWED[sentence]
    assert values_at(schema, ()) == values


def test_sizes_and_items_are_read_below_a_field() -> None:
    schema = {
        "properties": {
            "a": {"type": "array", "maxItems": 3, "prefixItems": [{"const": 1}], "items": {"enum": [2]}}
        }
    }
    assert sizes_at(schema, ("a",)) == Values(kinds=NUMBER, low=0, high=3, whole=True)
    assert values_at(schema, ("a", 0)) == Values(members=(1,))
    assert values_at(schema, ("a", 1)) == Values(members=(2,))
    assert values_at({"patternProperties": {".*": {"enum": [1]}}}, ("a",)) == ANYTHING


POSITIVE = Values(kinds=NUMBER, low=0, low_open=True, whole=True)
ASKED: dict[str, tuple[Values, tuple[Comparison, ...], bool]] = {
    "a whole number above 0 and below 1": (POSITIVE, (Comparison("<", (1,)),), False),
    "a whole number above 0, at most 1": (POSITIVE, (Comparison("<=", (1,)),), True),
    "the only whole number, excluded": (POSITIVE, (Comparison("<", (2,)), Comparison("!=", (1,))), False),
    "a number between 0 and 1": (Values(kinds=NUMBER), (Comparison(">", (0,)), Comparison("<", (1,))), True),
    "a number above and below 1": (
        Values(kinds=NUMBER),
        (Comparison(">", (1,)), Comparison("<=", (1,))),
        False,
    ),
    "a text above a number": (Values(kinds=frozenset({"string"})), (Comparison(">", (1,)),), False),
    "an order of what may be anything": (ANYTHING, (Comparison(">", (1,)),), True),
    "an order of two types": (ANYTHING, (Comparison(">", (1,)), Comparison("<", ("a",))), False),
    "one of two words, excluded": (Values(members=("a", "b")), (Comparison("!=", ("a", "b")),), False),
    "true, where 1 is": (Values(members=(1,)), (Comparison("==", (True,)),), False),
    "1.0, where 1 is": (Values(members=(1,)), (Comparison("==", (1.0,)),), True),
    "any other text": (Values(kinds=frozenset({"string"})), (Comparison("!=", ("a",)),), True),
}


@pytest.mark.parametrize("sentence", ASKED)
def test_whether_some_value_passes(sentence: str) -> None:
    values, tests, is_possible = ASKED[sentence]
    assert some(values, tests) is is_possible


def test_what_may_be_in_one_of_two_sets() -> None:
    assert union((Values(members=("a",)), Values(members=("b", "a")))) == Values(members=("a", "b"))
    assert union((POSITIVE, POSITIVE)) == POSITIVE
    assert union((POSITIVE, Values(members=(1,)))) == ANYTHING
