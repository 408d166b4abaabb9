"""Bounds of JSON from outside; trace context."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.gateway.jsonio import JsonError, is_deeper, parse
from sluicegate.gateway.tracing import trace_of

VALUES = st.recursive(
    st.text(max_size=8) | st.integers(-5, 5) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=30,
)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((_depth(item) for item in value.values()), default=0)
    return 1 + max((_depth(item) for item in value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(0, 8))
def test_depth_is_counted_outside_of_texts(value: object, limit: int) -> None:
    assert is_deeper(json.dumps(value).encode(), limit) == (_depth(value) > limit)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"[1,]", b'{"a":Infinity}', b"\xff", b"[" * 65 + b"]" * 65, b"[" * 1_000_000]
)
def test_what_is_no_bounded_json_is_refused(body: bytes) -> None:
    with pytest.raises(JsonError):
        parse(body)


def test_brackets_in_texts_do_not_count() -> None:
    assert parse(json.dumps({"a": "[" * 1000 + '\\"' + "{" * 1000}).encode())
    assert parse(b"[" * 64 + b"]" * 64)


RUN = "019a0000-0000-7000-8000-000000000001"


def test_a_run_without_a_trace_makes_its_own() -> None:
    assert trace_of(RUN, None) == (
        "019a0000000070008000000000000001",
        "00-019a0000000070008000000000000001-8000000000000001-01",
    )


@pytest.mark.parametrize(
    "header",
    ["", "00-x-y-01", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "00-" + "1" * 32 + "-" + "0" * 16 + "-01",
     "00-" + "1" * 32 + "-" + "1" * 16 + "-01\r\nx: y", "01-" + "1" * 32 + "-" + "1" * 16 + "-01"],
)  # fmt: skip
def test_a_broken_trace_counts_as_none(header: str) -> None:
    assert trace_of(RUN, header) == trace_of(RUN, None)
