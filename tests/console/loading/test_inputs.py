"""Inputs: recorded ones as sessions, and those that are made of a contract."""

from pathlib import Path
from typing import Any

import pytest

from sluicegate.console.loading import inputs
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.expressions import compile_expression
from sluicegate.contracts.resources.workflow import SemanticDomain
from sluicegate.contracts.schemas import compile_schema


def test_inputs_with_the_same_key_are_one_session_in_their_order() -> None:
    values = [{"s": "a", "n": 1}, {"s": "b", "n": 2}, {"s": "a", "n": 3}, {"n": 4}, {"n": 5}]
    found = inputs.scripts(values, compile_expression("input.s"))
    assert [[one["n"] for one in script.inputs] for script in found] == [[1, 3], [2], [4], [5]]
    assert [len(script.inputs) for script in inputs.scripts(values, None)] == [1] * 5


@pytest.mark.parametrize(
    ("what", "schema", "some"),
    [
        (
            "examples of the whole",
            {"type": "object", "examples": [{"q": "a"}, {"q": "b"}]},
            [{"q": "a"}, {"q": "b"}],
        ),
        (
            "examples of a field",
            {"properties": {"q": {"type": "string", "examples": ["x", "y"]}}},
            [{"q": "x"}, {"q": "y"}],
        ),
        ("a default", {"properties": {"n": {"type": "integer", "default": 7}}}, [{"n": 7}]),
        ("an enumeration", {"properties": {"k": {"enum": ["on", "off"]}}}, [{"k": "on"}, {"k": "off"}]),
        ("a constant", {"properties": {"k": {"const": 1}}}, [{"k": 1}]),
        (
            "bounds of a text",
            {"properties": {"q": {"type": "string", "minLength": 12, "maxLength": 12}}},
            [{"q": "q 0........."}],
        ),
        (
            "bounds of a number",
            {"properties": {"n": {"type": "integer", "minimum": 3, "maximum": 4}}},
            [{"n": 3}, {"n": 4}],
        ),
        (
            "a list",
            {"properties": {"l": {"type": "array", "minItems": 2, "items": {"enum": [1, 2]}}}},
            [{"l": [1, 2]}],
        ),
    ],
)
def test_inputs_are_made_of_what_the_contract_shows(
    what: str, schema: dict[str, Any], some: list[Any]
) -> None:
    schema = {"type": "object", "required": list(schema.get("properties", {})), **schema}
    check = compile_schema(schema)
    found = inputs.made(schema, check)
    assert found == inputs.made(schema, check)
    assert all(check.is_valid(one) for one in found)
    assert all(one in found for one in some), (what, found[:3])


def test_the_words_of_a_domain_are_used_and_their_aliases() -> None:
    domain = SemanticDomain.model_validate(
        {"field": "input.kind", "values": [{"value": "track", "aliases": ["查我的快递"]}]}
    )
    schema = {"type": "object", "properties": {"kind": {"type": "string"}}}
    found = inputs.made(schema, compile_schema(schema), (domain,))
    assert [one["kind"] for one in found] == ["track", "查我的快递"]


def test_where_nothing_valid_can_be_made_there_is_nothing() -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string", "pattern": "^[A-Z]-[0-9]{4}$"}},
    }
    assert inputs.made(schema, compile_schema(schema)) == ()


@pytest.mark.parametrize("line", [b"{", b"NaN", b'{"a": 1, "a": 2}', b"\xff", b'{"a": 1e999}'])
def test_a_line_that_is_no_json_is_told_with_its_number(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "inputs.jsonl"
    file.write_bytes(b'{"a": 1}\n' + line + b"\n")
    problems: list[Problem] = []
    assert [value for _, value in inputs.read(file, problems)] == [{"a": 1}]
    assert [problem.line for problem in problems] == [2]


def test_an_empty_or_absent_file_is_a_problem(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    for file in (empty, tmp_path / "absent"):
        problems: list[Problem] = []
        assert inputs.read(file, problems) == []
        assert [problem.path for problem in problems] == ["--inputs"]
