"""Comparison of answers. The hard cases are those of research/statistics.md section 8.2, in our own words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.comparing import KEYWORD, compile_hints
from sluicegate.gateway.compare import MAX_DIFFERENCES, MAX_TEXT, compare

VERBOSE = (
    "Thank you so much for reaching out to our wonderful team today; after a careful look at everything I would "
    "love to tell you that it ships on Monday morning. Have a lovely time!"
)
SERVED = "Your order 4512 ships on Monday to Berlin."


@pytest.mark.parametrize(
    ("why", "served", "other", "agrees"),
    [
        ("paraphrase", SERVED, "On Monday, your order 4512 will ship to Berlin.", True),
        ("same text", SERVED, SERVED, True),
        ("other white space", SERVED, SERVED.replace(" ", "  ") + "\n", True),
        ("number word for a digit", "You have 3 open orders now.", "You have three open orders now.", True),
        ("negation added", "Your order can be returned within 30 days.", "Your order can not be returned within 30 days.", False),
        ("negation contracted", "You can return the order today.", "You can't return the order today.", False),
        ("digits swapped", SERVED, SERVED.replace("4512", "4521"), False),
        ("tenfold amount", "We refund $120 to your card today.", "We refund $1200 to your card today.", False),
        ("thousands separator", "We refund $1,200 to your card today.", "We refund $1200.00 to your card today.", True),
        ("other currency", "We refund $120 to your card today.", "We refund €120 to your card today.", False),
        ("approved and declined", "Your refund request has been approved now.", "Your refund request has been declined now.", False),
        ("other day", SERVED, SERVED.replace("Monday", "Tuesday"), False),
        ("other date", "It arrives on 2026-03-01 at your door.", "It arrives on 2026-03-11 at your door.", False),
        ("other id", "The item SKU-77A is in stock today.", "The item SKU-77B is in stock today.", False),
        ("other link", "See https://shop.example/a for more details.", "See https://shop.example/b for more details.", False),
        ("percent or not", "You get 20% off your order.", "You get 20 off your order.", False),
        ("steps swapped", "First verify the address, then cancel the order.", "First cancel the order, then verify the address.", False),
        ("refusal", SERVED, "I am sorry, but I am unable to help with that.", False),
        ("unrelated", "The weather in Berlin is quite nice today.", "Please enter your password on the login page.", False),
        ("verbose wrapper", "It ships on Monday morning.", VERBOSE.replace(" today", ""), True),  # less alike: judged apart
    ],
)  # fmt: skip
def test_facts_decide_texts(why: str, served: str, other: str, agrees: bool) -> None:
    assert compare({"answer": served}, {"answer": other}).agrees is agrees, why


@pytest.mark.parametrize(
    ("served", "other", "agrees"),
    [
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.000001, False),
        (10**16 + 1, 10**16, False),
        (True, 1, False),
        (None, False, False),
        (0, None, False),
        ("approved", "Approved", False),  # an enum
        ("track order", "cancel order", False),  # too short for free text
        ("2026-01-01T12:00:00+00:00", "2026-01-01T13:00:00+01:00", True),
        ("2026-01-01T12:00:00+00:00", "2026-01-01T12:00:00+01:00", False),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2, 3], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"name": "get_order", "arguments": {"id": 1}}, {"name": "get_order", "arguments": {"id": 2}}, False),
        ({"name": "get_order", "arguments": {}}, {"name": "cancel_order", "arguments": {}}, False),
        ("caf\u00e9", "cafe\u0301", True),  # NFC
        ([], {}, False),
        ({}, {}, True),
    ],
)
def test_values_are_compared_exactly_where_they_mean_something(served: Any, other: Any, agrees: bool) -> None:
    assert compare(served, other).agrees is agrees


def test_a_negation_in_chinese_is_a_fact() -> None:
    assert not compare("您的订单可以在三十天内退货。", "您的订单不可以在三十天内退货。").agrees
    assert compare("您的订单可以在三十天内退货。", "您的订单可以在三十天之内退货。").agrees


def test_differences_say_where_and_what() -> None:
    found = compare({"plan": {"steps": [{"type": "a"}]}}, {"plan": {"steps": [{"type": "b"}]}})
    assert found.differences == ("output.plan.steps[0].type: a | b",)


def test_differences_of_a_redacted_workflow_show_no_values() -> None:
    found = compare({"card": "4111"}, {"card": "4222"}, shows_values=False)
    assert found.differences == ("output.card",)


def test_differences_are_bounded() -> None:
    found = compare(list(range(1000)), list(range(1, 1001)))
    assert len(found.differences) == MAX_DIFFERENCES
    assert not found.agrees
    assert found.similarity == 0.0


def test_huge_answers_are_still_told_apart() -> None:
    text = "all work and no play " * 100_000
    assert compare(text, text).agrees
    assert not compare(text, text + "except on Sunday 12").agrees
    many = list(range(200_000))
    assert not compare(many, [*many[:-1], -1]).agrees


def test_texts_count_for_the_floor_of_similarity_and_other_values_do_not() -> None:
    one, two = "Your order will ship on Monday.", "On Monday we are going to ship your order."
    found = compare({"answer": one, "status": "open"}, {"answer": two, "status": "open"})
    assert found.texts == found.similarity
    assert 0.5 < found.similarity < 0.8
    assert compare({"status": "open"}, {"status": "open"}).texts is None


def test_arguments_of_a_tool_call_may_be_json_in_a_text() -> None:
    one, two = '{"id": 7, "note": "x"}', '{ "note":"x", "id":7 }'
    assert compare({"arguments": one}, {"arguments": two}).agrees
    found = compare({"arguments": one}, {"arguments": '{"id": 8, "note": "x"}'})
    assert found.differences == ("output.arguments.id: 7 | 8",)


def test_json_in_texts_in_texts_is_compared_as_text_at_some_depth() -> None:
    """Each of these nests no deeper than an answer may; together they are deeper than Python calls itself."""
    one, two = 1, 2
    for _ in range(9):
        one, two = (json.loads("[" * 60 + json.dumps(json.dumps(value)) + "]" * 60) for value in (one, two))
    assert compare(one, one).agrees
    assert not compare(one, two).agrees


def test_characters_that_stand_for_many_cost_no_more_than_others() -> None:
    """U+FDFA is written out in 18 characters."""
    found = compare("\ufdfa" * 7_000 + " a b c d", "\ufdfa" * 7_000 + " a b c e")
    assert [text.split(":")[0] for text in found.differences] == [f"output (after {MAX_TEXT} characters)"]


@pytest.mark.parametrize(
    ("hint", "served", "other", "agrees"),
    [
        ("Ignore", "run-1", "run-2", True),
        ("Ignore", {"a": 1}, None, True),
        ("Pattern", "ORD-4512-x", "ORD-99-yz", True),
        ("Pattern", "ORD-4512-x", "ORD/99/yz", False),
        ("Pattern", 17, 18, True),
        ("Exact", "Your parcel ships on Monday morning.", "Your parcel will ship on Monday morning.", False),
        ("Text", "It ships Monday.", "Ships Monday.", True),
        ("Text", "It ships Monday.", "Ships Tuesday.", False),
        ("Set", ["a", "b", "b"], ["b", "a", "b"], True),
        ("Set", ["a", "b", "b"], ["b", "a", "a"], False),
        ("Set", [{"n": 1, "m": 2}, {"n": 3}], [{"n": 3}, {"m": 2, "n": 1}], True),
        ("Set", [1, 2], [2, 1, 1], False),
        ({"tolerance": "0.05"}, 0.50, 0.54, True),
        ({"tolerance": "0.05"}, 0.50, 0.56, False),
        ({"relativeTolerance": "0.01"}, 1000, 1009, True),
        ({"relativeTolerance": "0.01"}, 1000, 1011, False),
        ({"similarity": "0.3"}, "The dog is in the garden now.", "The garden is where the dog is now.", True),
        ({"similarity": "0.9"}, "The dog is in the garden now.", "The garden is where the dog is now.", False),
        ({"ignore": ["Ids"]}, "Your ticket T-84213 is open by now.", "Your ticket T-99001 is open by now.", True),
        ({"ignore": ["Ids"]}, "Your ticket T-84213 has 3 replies now.", "Your ticket T-99001 has 4 replies now.", False),
    ],
)  # fmt: skip
def test_the_contract_says_what_is_the_same(hint: Any, served: Any, other: Any, agrees: bool) -> None:
    hints = compile_hints({"properties": {"field": {KEYWORD: hint}}})
    found = compare({"field": served}, {"field": other}, hints)
    assert found.agrees is agrees, found
    assert compare({"field": other}, {"field": served}, hints).agrees is agrees


def test_hints_reach_items_references_branches_and_what_is_missing() -> None:
    schema = {
        "$defs": {"Call": {"properties": {"id": {KEYWORD: "Ignore"}, "next": {"$ref": "#/$defs/Call"}}}},
        "properties": {
            "calls": {"items": {"$ref": "#/$defs/Call"}, KEYWORD: "Set"},
            "made": {"anyOf": [{"type": "null"}, {KEYWORD: "Ignore"}]},
        },
        "additionalProperties": {KEYWORD: {"tolerance": "0.1"}},
    }
    hints = compile_hints(schema)
    served = {
        "calls": [{"id": 1, "n": 1}, {"id": 2, "n": 2, "next": {"id": 3}}],
        "made": "then",
        "score": 0.5,
    }
    other = {"calls": [{"id": 8, "n": 2, "next": {"id": 9}}, {"n": 1}], "score": 0.55}
    assert compare(served, other, hints).agrees
    assert not compare(served, other).agrees


def test_a_field_with_its_own_similarity_leaves_nothing_to_the_floor() -> None:
    hints = compile_hints({KEYWORD: {"similarity": "0.3"}})
    found = compare("The dog is in the garden now.", "The garden is where the dog is now.", hints)
    assert found.texts is None
    assert found.similarity < 1.0


def test_an_integer_that_no_float_holds_is_compared() -> None:
    assert not compare(10**400, 1.5).agrees


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_everything_agrees_with_itself(value: Any) -> None:
    found = compare(value, value)
    assert (found.agrees, found.similarity, found.differences) == (True, 1.0, ())


@given(JSON, JSON)
def test_agreement_is_symmetric_and_similarity_is_a_share(one: Any, two: Any) -> None:
    there, back = compare(one, two), compare(two, one)
    assert there.agrees == back.agrees
    assert 0.0 <= there.similarity <= 1.0
