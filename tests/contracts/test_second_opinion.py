"""Two validators on the official suite; disagreements; no reference is ever fetched."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import jsonschema_rs
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from sluicegate.contracts.containment import Verdict, covers
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schemas import check_schema, compile_schema
from sluicegate.contracts.second_opinion import second_opinion
from tests import json_schema_suite

DISAGREEMENTS: dict[str, tuple[str, int]] = {
    "vocabulary: schema that uses custom metaschema with with no validation vocabulary": (
        "python's jsonschema does not look at $vocabulary: it asserts keywords that the meta-schema leaves out",
        1,
    ),
}
"""Case of the required tests -> why the two disagree, and in how many tests. In CI the stricter counts."""


def first(schema: Any) -> Any:
    """As `schemas` validates, with the suite's remotes in memory and its look-around allowed."""
    registry = jsonschema_rs.Registry(
        list(json_schema_suite.remotes().items()), draft=jsonschema_rs.Draft202012
    )
    return jsonschema_rs.Draft202012Validator(schema, registry=registry, offline=True)


def second(schema: Any) -> Any:
    pairs = [
        (address, Resource.from_contents(contents, default_specification=DRAFT202012))
        for address, contents in json_schema_suite.remotes().items()
    ]
    return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(pairs))


def answer(validator: Any, value: Any) -> bool | str:
    try:
        return bool(validator.is_valid(value))
    except Exception as error:  # noqa: BLE001 - whatever it cannot do
        return type(error).__name__


def test_both_agree_with_the_required_tests_and_each_other() -> None:
    told: dict[str, int] = {}
    count = 0
    for case in json_schema_suite.cases():
        ours, theirs = first(case.schema), second(case.schema)
        for description, value, is_valid in case.tests:
            count += 1
            assert answer(ours, value) is is_valid, (case.name, description)
            if answer(theirs, value) is not is_valid:
                told[case.name] = told.get(case.name, 0) + 1
    assert count > 1_200
    assert told == {name: number for name, (_, number) in DISAGREEMENTS.items()}


def test_a_value_is_valid_where_both_say_so() -> None:
    both = second_opinion({"type": "object", "required": ["a"]}, "spec.contract.output")
    assert both.of({"a": 1}, "output").is_valid
    refused = both.of({}, "output")
    assert (refused.is_valid, refused.disagreement) == (False, None)
    assert [item.path for item in refused.violations] == ["output/a"]


def test_the_stricter_one_counts_and_the_disagreement_is_told() -> None:
    """python's jsonschema takes every text with an @ for an address; RFC 5321 does not."""
    found = second_opinion({"type": "string", "format": "email"}, "spec.contract.output").of("@", "output")
    assert not found.is_valid
    assert found.disagreement is not None
    assert (found.disagreement.code, found.disagreement.path) == (
        "ValidatorsDisagree",
        "spec.contract.output",
    )
    assert found.disagreement.message.startswith("only jsonschema-rs refuses the value")


def test_a_second_validator_that_cannot_answer_leaves_the_first() -> None:
    schema = {"patternProperties": {"^x-": True}, "unevaluatedProperties": False}
    found = second_opinion(schema, "x").of({"x-a": 1}, "output")
    assert found.is_valid
    assert found.disagreement is not None
    assert "gave no answer" in found.disagreement.message


PATTERNS = {"^\\p{L}+$": {"type": "integer"}}
CLOSED = {"patternProperties": PATTERNS, "properties": {"1": {}}, "additionalProperties": False}
HANGS = "^(a+)+$"
LONG = "a" * 64 + "!"


@pytest.mark.parametrize(
    ("schema", "value", "is_valid"),
    [
        # school arithmetic on the decimals as they are written
        ({"multipleOf": 0.01}, 19.99, True),
        ({"multipleOf": 0.01}, 0.07, True),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"multipleOf": 0.01}, 1.0, True),
        ({"multipleOf": 0.5}, 1e308, True),
        ({"multipleOf": 0.01}, 0.305, False),
        ({"multipleOf": 2}, 3, False),
        ({"multipleOf": 2}, True, True),  # no number
        # ECMA 262, with the flag u
        ({"format": "regex"}, "\\p{L}", True),
        ({"not": {"format": "regex"}}, "\\p{L}", False),
        ({"format": "regex"}, "(", False),
        ({"pattern": "^\\p{L}+$"}, "é", True),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": "a"}, 7, True),
        (CLOSED, {"é": 1, "1": "x"}, True),
        (CLOSED, {"é": "x"}, False),
        (CLOSED, {"2": 1}, False),
        (CLOSED, [], True),
        # these take python's `re` 2^64 steps
        ({"pattern": HANGS}, LONG, False),
        ({"patternProperties": {HANGS: False}}, {LONG: 1}, True),
        ({"patternProperties": {HANGS: True}, "additionalProperties": False}, {LONG: 1}, False),
        ({"propertyNames": {"pattern": HANGS}}, {LONG: 1}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"]
)
def test_both_read_decimals_and_patterns_alike(dialect: str, schema: Any, value: Any, is_valid: bool) -> None:
    both = second_opinion({"$schema": dialect, **schema}, "x")
    found = both.of(value, "output")
    assert (found.is_valid, found.disagreement) == (is_valid, None)
    assert (list(both.refusals(value)) == []) is is_valid


@pytest.fixture
def listener() -> Iterator[tuple[str, list[Any]]]:
    """A port that answers nobody and remembers who called."""
    calls: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                calls.append(address)
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", calls
        ended.set()
        thread.join()


def schemas_that_refer(address: str) -> list[Any]:
    return [
        {"$ref": address},
        {"properties": {"a": {"$ref": f"{address}#/$defs/a"}}},
        {"$id": address, "properties": {"a": {"$ref": "other.json"}}},
        {"$schema": address, "type": "object"},
        {"$dynamicRef": f"{address}#a"},
        {"allOf": [{"$ref": address}, {"type": "object"}]},
        {"$ref": "file:///etc/hostname"},
    ]


def test_no_reference_is_fetched(listener: tuple[str, list[Any]]) -> None:
    address, calls = listener
    for schema in schemas_that_refer(address):
        assert check_schema(schema, "spec.contract.input")
        for act in (compile_schema, lambda each: second_opinion(each, "x")):
            with pytest.raises(Refused):
                act(schema)
        assert covers(schema, {"type": "object"}).verdict is Verdict.UNKNOWN
        assert covers({"type": "string"}, schema).verdict is Verdict.UNKNOWN
    assert calls == []
    with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].split("/")[0]))):
        pass
    for _ in range(100):
        if calls:
            break
        threading.Event().wait(0.02)
    assert calls, "the listener would have noticed"
