"""Hints for the comparison of answers: what is refused, and where they stand. What they do: tests/gateway/test_compare.py."""

from typing import Any

import pytest

from sluicegate.contracts.comparing import KEYWORD, NOTHING, How, check_hints, compile_hints
from sluicegate.contracts.compiled import compile_workflow
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.verification import verify

URL = "http://127.0.0.1:9000/agent"


def workflow(output: Any = True, *, component: Any = True, **spec: Any) -> AgentWorkflow:
    one = {
        "name": "agent",
        "version": "1",
        "sideEffects": "None",
        "endpoint": {"protocol": "Native", "url": URL},
        "contract": {"input": True, "output": component},
    }
    return AgentWorkflow.model_validate(
        {
            "metadata": {"name": "bot", "namespace": "default"},
            "spec": {"version": "1", "components": [one], "contract": {"output": output}} | spec,
        }
    )


@pytest.mark.parametrize(
    ("hint", "path", "message"),
    [
        ("Ignored", "output.properties.id.x-sluicegate-compare", "unknown way to compare"),
        ("ignore", "output.properties.id.x-sluicegate-compare", "unknown way to compare"),
        (7, "output.properties.id.x-sluicegate-compare", "unknown way to compare"),
        ({}, "output.properties.id.x-sluicegate-compare", "unknown way to compare"),
        (
            {"tolerence": "0.1"},
            "output.properties.id.x-sluicegate-compare.tolerence",
            "unknown option tolerence",
        ),
        ({"tolerance": 0.1}, "output.properties.id.x-sluicegate-compare.tolerance", "is no such number"),
        ({"tolerance": "-1"}, "output.properties.id.x-sluicegate-compare.tolerance", "is no such number"),
        ({"tolerance": "NaN"}, "output.properties.id.x-sluicegate-compare.tolerance", "is no such number"),
        ({"similarity": "1.1"}, "output.properties.id.x-sluicegate-compare.similarity", "is no such number"),
        (
            {"ignore": ["Id"]},
            "output.properties.id.x-sluicegate-compare.ignore",
            "is no list of kinds of facts",
        ),
        (
            {"ignore": "Ids"},
            "output.properties.id.x-sluicegate-compare.ignore",
            "is no list of kinds of facts",
        ),
    ],
)
def test_a_hint_that_says_nothing_is_refused_with_what_is_allowed(hint: Any, path: str, message: str) -> None:
    (problem,) = check_hints({"properties": {"id": {KEYWORD: hint}}}, "output")
    assert (problem.path, problem.message) == (path, message)
    assert problem.allowed
    assert problem.hint


def test_all_problems_are_told_at_once_by_admission() -> None:
    output = {"properties": {"a": {KEYWORD: "Skip"}, "b": {"x-sluicegate-compair": "Ignore"}}}
    inside = {"properties": {"a": {KEYWORD: "Ignore"}}}
    found = {problem.path: problem for problem in verify(workflow(output, component=inside))}
    assert set(found) == {
        "spec.contract.output.properties.a.x-sluicegate-compare",
        "spec.contract.output.properties.b.x-sluicegate-compair",
        "spec.components[0].contract.output.properties.a.x-sluicegate-compare",
    }
    assert (
        found["spec.components[0].contract.output.properties.a.x-sluicegate-compare"].allowed
        == "in spec.contract.output"
    )


@pytest.mark.parametrize(
    "hint", ["Ignore", "Pattern", "Exact", "Text", "Set", {"tolerance": "0.01"}, {"ignore": ["Ids", "Dates"]}]
)
def test_good_hints_are_admitted(hint: Any) -> None:
    assert verify(workflow({"type": "object", "properties": {"a": {KEYWORD: hint}}})) == ()


def test_a_workflow_that_says_no_more_is_compared_by_the_contract_of_its_last_step() -> None:
    item = workflow(component={"properties": {"id": {KEYWORD: "Ignore"}}})
    assert verify(item) == ()
    assert compile_workflow(item.spec).hints.of("id").how is How.IGNORE


def test_without_hints_there_are_none() -> None:
    assert compile_hints({"properties": {"id": {"type": "string"}}}) is NOTHING
    assert compile_hints({}) is NOTHING


def test_schemas_that_contain_themselves_end() -> None:
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"properties": {"id": {KEYWORD: "Ignore"}, "child": {"$ref": "#/$defs/Node"}}}},
    }
    hint = compile_hints(schema)
    for _ in range(5):
        assert hint.of("id").how is How.IGNORE
        hint = hint.of("child")


def test_a_chain_of_references_without_end_says_nothing() -> None:
    """It is admitted, since it can be followed: neither admission nor a gateway may fail at it."""
    names = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3_000)}
    schema = {"$ref": "#/$defs/d0", "$defs": names | {"d3000": {KEYWORD: "Set"}}}
    assert compile_hints(schema).how is How.DEFAULT
    assert compile_hints({"$ref": "#/$defs/d2990", "$defs": schema["$defs"]}).how is How.SET


def test_a_reference_to_itself_says_nothing() -> None:
    assert compile_hints({"$ref": "#", KEYWORD: "Set"}).how is How.SET
    assert (
        compile_hints({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A", KEYWORD: "Set"}}}).how
        is How.SET
    )
    assert (
        compile_hints({"$ref": "#/$defs/none", "properties": {"a": {KEYWORD: "Set"}}}).of("a").how is How.SET
    )
