"""Which outputs are observed, from the contracts alone."""

from typing import Any

import pytest

from sluicegate.contracts.observed import observed_fields
from sluicegate.contracts.resources.workflow import WorkflowSpec


def spec(output: Any, *, redact: tuple[str, ...] = (), **component: Any) -> WorkflowSpec:
    agent = {
        "name": "agent",
        "version": "1",
        "endpoint": {"url": "http://agent"},
        "sideEffects": "None",
        "contract": {"output": output},
    }
    return WorkflowSpec.model_validate(
        {
            "version": "1",
            "components": [agent | component],
            "steps": [{"name": "plan", "component": "agent"}],
            "lineage": {"redact": list(redact)},
        }
    )


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def names(found: WorkflowSpec) -> list[tuple[str, bool]]:
    return [(field.output, field.numeric) for field in observed_fields(found)]


INTENT = {"enum": ["order", "refund"]}
SCORE = {"type": "number", "minimum": 0, "maximum": 1}

NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}

CASES: dict[str, tuple[Any, list[tuple[str, bool]]]] = {
    "an enum": (fields(intent=INTENT), [("intent", False)]),
    "a boolean": (fields(sure={"type": "boolean"}), [("sure", False)]),
    "an enum or null, by reference": (
        fields(intent={"anyOf": [{"$ref": "#/$defs/I"}, {"type": "null"}]}) | {"$defs": {"I": INTENT}},
        [("intent", False)],
    ),
    "constants": (fields(kind={"oneOf": [{"const": "a"}, {"const": "b"}]}), [("kind", False)]),
    "a number with both bounds": (fields(score=SCORE), [("score", True)]),
    "a nullable one": (fields(score=SCORE | {"type": ["number", "null"]}), [("score", True)]),
    "items of a list": (
        fields(steps={"type": "array", "items": fields(type=INTENT)}),
        [("steps[*].type", False)],
    ),
    "a list of so many numbers": (fields(embedding=NUMBERS), [("embedding", True)]),
    "a list of numbers of any length": (fields(embedding=NUMBERS | {"minItems": 1}), []),
    "a list longer than is compared": (fields(embedding=NUMBERS | {"minItems": 4097, "maxItems": 4097}), []),
    "so many bounded numbers": (fields(shares=NUMBERS | {"items": SCORE}), [("shares[*]", True)]),
    "a list of values": (fields(tags={"type": "array", "items": INTENT}), [("tags[*]", False)]),
    "a name that must be quoted": (fields(**{"a.b": INTENT}), [('["a.b"]', False)]),
    "the output itself": (INTENT, [("output", False)]),
    "tools": (
        fields(tool_calls={"type": "array", "items": fields(name={"type": "string"})}),
        [("tool_calls", False)],
    ),
    "nothing of what has a single value": (fields(kind={"const": "a"}, one={"enum": ["a"]}), []),
    "nothing of free text and of numbers without both bounds": (
        fields(text={"type": "string"}, trial={"type": "integer"}, age={"type": "integer", "minimum": 0}),
        [],
    ),
    "nothing of an enum beside free text": (fields(x={"anyOf": [INTENT, {"type": "string"}]}), []),
    "nothing of lists in an enum": (fields(x={"enum": [["a"], ["b"]]}), []),
    "nothing without a contract": (True, []),
    "nothing of a reference that leads nowhere": (fields(x={"$ref": "#/$defs/none"}), []),
}


@pytest.mark.parametrize("case", CASES)
def test_observed_are_outputs_that_the_contract_bounds(case: str) -> None:
    output, expected = CASES[case]
    assert names(spec(output)) == expected


def test_a_schema_that_contains_itself_ends() -> None:
    tree = {
        "$ref": "#/$defs/t",
        "$defs": {"t": fields(kind=INTENT, left={"$ref": "#/$defs/t"}, right={"$ref": "#/$defs/t"})},
    }
    found = names(spec(tree))
    assert found[0] == ("kind", False)
    assert len(found) == 32
    loop = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert names(spec(loop)) == []


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("steps.plan.output.intent", True),
        ("steps.plan.intent", True),
        ("steps.*.output", True),
        ("steps.plan", True),
        ("steps.plan.output.*", True),
        ("steps.other.output.intent", False),
        ("steps.plan.input.intent", False),
        ("steps.plan.output.other", False),
        ("input.intent", False),
    ],
)
def test_what_is_redacted_is_not_observed(path: str, hidden: bool) -> None:
    found = names(spec(fields(intent=INTENT), redact=(path,)))
    assert found == ([] if hidden else [("intent", False)])


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("steps.plan.output.steps[*].type", True),
        ("steps.plan.output.steps[0].type", True),
        ("steps.plan.output.steps", True),
        ("steps.plan.output.steps[*].order", False),
    ],
)
def test_items_are_redacted_by_any_of_them(path: str, hidden: bool) -> None:
    output = fields(steps={"type": "array", "items": fields(type=INTENT)})
    assert (names(spec(output, redact=(path,))) == []) is hidden


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("steps.plan.output.tool_calls[*].function.arguments", False),
        ("steps.plan.output.tool_calls[*].function.name", True),
        ("steps.plan.output.tool_calls[*].name", True),
        ("steps.plan.output.tool_calls", True),
    ],
)
def test_arguments_of_tools_may_be_hidden_and_names_seen(path: str, hidden: bool) -> None:
    output = fields(tool_calls={"type": "array"})
    assert (names(spec(output, redact=(path,))) == []) is hidden


def test_a_model_without_a_contract_of_its_output_may_call_tools() -> None:
    endpoint = {"protocol": "OpenAI", "url": "http://model", "model": "m"}
    assert names(spec(output=True, endpoint=endpoint)) == [("tool_calls", False)]
    assert names(spec(fields(intent=INTENT), endpoint=endpoint)) == [("intent", False)]


def test_live_components_are_marked() -> None:
    found = observed_fields(spec(fields(intent=INTENT), sideEffects="Live"))
    assert [field.live for field in found] == [True]
