"""First contracts: they accept what was seen, and say what it has in common."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.inference import infer
from sluicegate.contracts.schemas import compile_schema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["track", "cancel", "2026-01-01", "a@b.example", "", "查到了"]) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcdef") | st.text(max_size=3), inner, max_size=12),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, max_size=30))
def test_what_was_seen_is_accepted(values: list[Any]) -> None:
    check = compile_schema(infer(values))
    assert all(check.is_valid(value) for value in values)


@settings(max_examples=40, deadline=None)
@given(st.lists(JSON, max_size=12), st.randoms(use_true_random=False))
def test_the_order_does_not_matter(values: list[Any], order: Any) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)
    assert infer(shuffled) == infer(values)


SEEN: dict[str, tuple[list[Any], Any]] = {
    "nothing": ([], True),
    "whole numbers": ([1, 2], {"type": "integer"}),
    "a whole number among others": ([1, 2.5], {"type": "number"}),
    "true is no number": ([True, 1], {"type": ["boolean", "integer"]}),
    "sometimes null": ([None, "x"], {"type": ["null", "string"]}),
    "a field that is sometimes absent is optional": (
        [{"a": 1}, {"a": 1, "b": "x y"}],
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        },
    ),
    "few words again and again": (["on", "off"] * 10, {"type": "string", "enum": ["off", "on"]}),
    "few words, seldom": (["on", "off"] * 9, {"type": "string"}),
    "sentences": (["it is on", "it is off"] * 20, {"type": "string"}),
    "dates": (
        ["2026-01-01", "2026-02-01", "2024-02-29"],
        {"type": "string", "format": "date"},
    ),
    "a date that is none": (["2026-01-01", "2026-02-01", "2026-02-30"], {"type": "string"}),
    "an empty list says nothing of its items": ([[]], {"type": "array"}),
    "lists are one kind": ([[1], [2.5, None]], {"type": "array", "items": {"type": ["null", "number"]}}),
    "names that are data": (
        [{f"card_{n}": {"amount": n}} for n in range(9)],
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["amount"],
                "properties": {"amount": {"type": "integer"}},
            },
        },
    ),
}


@pytest.mark.parametrize(("values", "schema"), SEEN.values(), ids=SEEN.keys())
def test_what_is_common_is_said(values: list[Any], schema: Any) -> None:
    assert infer(values) == schema
