"""Containment: verdicts, witnesses, places and sentences; bounds; laws on random schemas."""

from typing import Any

import pytest

from benchmarks import schema_bombs, schema_pairs
from sluicegate.contracts.containment import Verdict, closed, covers
from sluicegate.contracts.containment.size import MAX_NODES
from sluicegate.contracts.schemas import compile_schema

TEXT = {"type": "string"}


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(fields), "properties": fields}


def tree(value: Any) -> dict[str, Any]:
    node = {"type": "object", "properties": {"value": value, "next": {"$ref": "#/$defs/node"}}}
    return {"$ref": "#/$defs/node", "$defs": {"node": node}}


INTENT = record(
    intent={"enum": ["track", "cancel", "chitchat"]}, score={"type": "number", "minimum": 0, "maximum": 1}
)
PAIRS: dict[str, tuple[Any, Any, Verdict, str, Any]] = {
    "the same": (INTENT, INTENT, Verdict.COMPATIBLE, "", None),
    "anything": (True, INTENT, Verdict.COMPATIBLE, "", None),
    "nothing is given": (False, {"type": "string", "minLength": 2, "maxLength": 1}, Verdict.COMPATIBLE, "", None),
    "a value outside the enum": (
        record(intent={"enum": ["track", "cancel"]}), record(intent={"enum": ["track", "cancel", "chitchat"]}),
        Verdict.BREAKING, "/intent", {"intent": "chitchat"},
    ),
    "a bound is lower": (
        record(score={"type": "number", "maximum": 0.9}), record(score={"type": "number", "minimum": 0, "maximum": 1}),
        Verdict.BREAKING, "/score", {"score": 1},
    ),
    "a field is missing": (record(order=TEXT), record(text=TEXT), Verdict.BREAKING, "/order", {"text": ""}),
    "a field may be missing": (
        record(text=TEXT), {"type": "object", "properties": {"text": TEXT}}, Verdict.BREAKING, "/text", {}
    ),
    "a new optional field, which the closed producer does not give": (
        {"type": "object", "properties": {"text": TEXT, "extra": {"type": "integer"}}}, record(text=TEXT),
        Verdict.COMPATIBLE, "", None,
    ),
    "a closed consumer and a producer of the same fields": (
        {"type": "object", "properties": {"text": TEXT}, "additionalProperties": False}, record(text=TEXT),
        Verdict.COMPATIBLE, "", None,
    ),
    "a type inside a list": (
        {"type": "array", "items": record(id={"type": "integer"})},
        {"type": "array", "items": record(id={"type": ["integer", "null"]})},
        Verdict.BREAKING, "/0/id", [{"id": None}],
    ),
    "a recursive schema that got wider": (tree({"type": "number"}), tree({"type": "integer"}), Verdict.COMPATIBLE, "", None),
    "a recursive schema that got narrower": (
        tree({"type": "integer"}), tree({"type": "number"}), Verdict.BREAKING, "/value", {"value": 0.5}
    ),
    "composed producers are closed as a whole": (
        {"type": "object", "properties": {"a": True, "b": True}, "additionalProperties": False},
        {"type": "object", "allOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
        Verdict.COMPATIBLE, "", None,
    ),
    "a pattern against a pattern": (
        {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,8}$"}, {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{3}$"},
        Verdict.BREAKING, "", "AAA-000",
    ),
    "a pattern bounds the length": (
        {"type": "string", "maxLength": 10}, {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{6}$"},
        Verdict.COMPATIBLE, "", None,
    ),
    "two patterns of which nobody knows": (
        {"type": "string", "pattern": "^(ab)*$"}, {"type": "string", "pattern": "^(abab)*$"}, Verdict.UNKNOWN, "", None
    ),
    "formats count": ({"type": "string", "format": "uuid"}, TEXT, Verdict.BREAKING, "", ""),
    "a format is a text": (TEXT, {"type": "string", "format": "uuid"}, Verdict.COMPATIBLE, "", None),
    "1 is not true": ({"enum": [True]}, {"enum": [1]}, Verdict.BREAKING, "", 1),
    "a reference to elsewhere": ({"$ref": "https://example.com/a.json"}, TEXT, Verdict.UNKNOWN, "", None),
    "draft 7, where a reference stands alone": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "maxLength": 3},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "maxLength": 4},
        Verdict.BREAKING, "", "aaaa",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PAIRS)
def test_verdict_place_and_witness(what: str) -> None:
    consumer, producer, verdict, where, witness = PAIRS[what]
    found = covers(consumer, producer)
    assert (found.verdict, found.where, found.witness) == (verdict, where, witness)


def test_both_sets_of_values_are_said() -> None:
    consumer = record(intent={"enum": ["track", "cancel"]})
    producer = record(intent={"enum": ["track", "cancel", "chitchat"]})
    assert covers(consumer, producer).message == (
        'the value is not one of "track" or "cancel"; given is also only "chitchat", taken is one of "track", "cancel"'
    )


def test_an_open_producer_may_give_any_field() -> None:
    consumer = {"type": "object", "properties": {"extra": {"type": "integer"}}}
    assert covers(consumer, record(text=TEXT)).verdict is Verdict.COMPATIBLE
    assert covers(consumer, record(text=TEXT), is_closed=False).verdict is Verdict.BREAKING


def test_a_required_field_that_is_not_listed_is_given_by_a_closed_producer() -> None:
    schema = {"type": "object", "required": ["a", "b"], "properties": {"a": TEXT}}
    assert compile_schema(closed(schema)).is_valid({"a": "", "b": 1})
    assert not compile_schema(closed(schema)).is_valid({"a": "", "b": 1, "c": 1})


@pytest.mark.parametrize("part", range(4))
def test_random_pairs_are_never_wrongly_compatible(part: int) -> None:
    """The validator on a pool of values is the oracle: it shares no code with the proof."""
    pool = schema_pairs.pool(150)
    unknown = 0
    for number, (consumer, producer) in enumerate(schema_pairs.pairs(500, seed=100 + part)):
        is_closed = number % 2 == 0
        found = covers(consumer, producer, is_closed=is_closed)
        takes, written = compile_schema(consumer).is_valid, compile_schema(producer).is_valid
        gives = compile_schema(closed(producer)).is_valid if is_closed else written
        if found.verdict is Verdict.BREAKING:
            assert written(found.witness), (consumer, producer)
            assert not takes(found.witness), (consumer, producer)
        elif found.verdict is Verdict.COMPATIBLE:
            assert all(takes(value) for value in pool if gives(value) and written(value)), (
                consumer,
                producer,
            )
        unknown += found.verdict is Verdict.UNKNOWN
    assert unknown <= 5 + 8  # 1 %, and three standard deviations more


def test_closing_only_takes_away() -> None:
    pool = schema_pairs.pool(200)
    for _, producer in schema_pairs.pairs(300, seed=3):
        narrow, wide = compile_schema(closed(producer)).is_valid, compile_schema(producer).is_valid
        assert all(wide(value) for value in pool if narrow(value)), producer


SMALLEST_BOMBS = ("huge enum", "nested not", "deep fields", "dependent names", "nested repetitions")


@pytest.mark.parametrize("name", SMALLEST_BOMBS)
def test_schemas_beyond_the_bounds_get_an_answer(name: str) -> None:
    """The largest of each family; all of them, with times, in benchmarks/containment.py."""
    family, sizes = schema_bombs.FAMILIES[name]
    found = covers(family(sizes[-1]), family(sizes[-1] - 1), is_closed=False)
    assert found.verdict in Verdict


def test_what_is_too_large_is_said() -> None:
    found = covers({"enum": list(range(MAX_NODES + 1))}, TEXT)
    assert found.verdict is Verdict.UNKNOWN
    assert "not compared" in found.message


def test_the_same_question_has_the_same_answer() -> None:
    from sluicegate.contracts.containment import _covers

    pairs = list(schema_pairs.pairs(60, seed=11))
    first = [covers(*pair) for pair in pairs]
    _covers.cache_clear()
    assert [covers(*pair) for pair in pairs] == first


def test_only_questions_of_a_usual_size_are_remembered() -> None:
    from sluicegate.contracts.containment import _covers

    _covers.cache_clear()
    covers({"enum": list(range(MAX_NODES + 1))}, TEXT)
    long = {**TEXT, "description": "x" * 20_000}
    assert covers(TEXT, long).verdict is covers(long, TEXT).verdict is Verdict.COMPATIBLE
    assert _covers.cache_info().currsize == 0
    covers(TEXT, TEXT)
    assert _covers.cache_info().currsize == 1


@pytest.mark.parametrize("pattern", ["^ab$?", "^ab$*", "^*ab$", "^{0,1}ab$", "^??ab$"])
def test_an_anchor_that_may_be_missing_bounds_no_length(pattern: str) -> None:
    """ECMA-262 lets Annex B repeat lookaheads only, other dialects repeat anchors as well: then more may stand around."""
    from sluicegate.contracts.containment.lengths import lengths

    assert lengths("^ab$") == (2, 2)
    assert lengths(pattern) is None
    found = covers({"type": "string", "maxLength": 2}, {"type": "string", "pattern": pattern})
    assert found.verdict is not Verdict.COMPATIBLE
