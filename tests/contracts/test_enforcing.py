"""What happens to a value that breaks its contract, by the policies of its fields."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.enforcing import Side, field_rule, side_of
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.enforcement import FieldPolicy
from sluicegate.contracts.runs import Policy
from sluicegate.contracts.schemas import compile_schema
from sluicegate.contracts.verification import verify
from tests.contracts.files import component, minimal

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["status", "user"],
    "properties": {
        "status": {"enum": ["shipped", "unknown"]},
        "user": {
            "type": "object",
            "properties": {"phone": {"pattern": "^[0-9]+$"}},
            "additionalProperties": False,
        },
        "notes": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 5}},
        "places": {
            "type": "array",
            "items": {"properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
        },
    },
}
GOOD: dict[str, Any] = {"status": "shipped", "user": {"phone": "123"}, "notes": ["a"]}


def side(*items: dict[str, Any]) -> Side:
    return side_of(compile_schema(SCHEMA), [field_rule(FieldPolicy.model_validate(item)) for item in items])


def of(field: str, policy: str, **more: Any) -> dict[str, Any]:
    return {"field": f"output.{field}", "policy": policy} | more


CASES: dict[str, tuple[list[dict[str, Any]], Any, Any, list[str]]] = {
    "nothing is broken": ([of("status", "Warn")], GOOD, GOOD, []),
    "no policy: it fails": ([], GOOD | {"status": "lost"}, None, ["Enum out/status Fail"]),
    "a policy for another field": ([of("user", "Warn")], GOOD | {"status": "lost"}, None, ["Enum out/status Fail"]),
    "Warn lets it pass": ([of("status", "Warn")], GOOD | {"status": "lost"}, GOOD | {"status": "lost"}, ["Enum out/status Warn"]),
    "Map puts a value there": (
        [of("status", "Map", value="unknown")], GOOD | {"status": "lost"}, GOOD | {"status": "unknown"}, ["Enum out/status Map"],
    ),
    "Map gives what is missing": (
        [of("status", "Map", value="unknown")], {"user": {}}, {"user": {}, "status": "unknown"}, ["Required out/status Map"],
    ),
    "Redact leaves the field out": (
        [of("user.phone", "Redact")], GOOD | {"user": {"phone": "x"}}, GOOD | {"user": {}}, ["Pattern out/user/phone Redact"],
    ),
    "Redact leaves out what should not be there": (
        [of("user.ssn", "Redact")], GOOD | {"user": {"ssn": "1-2"}}, GOOD | {"user": {}}, ["AdditionalProperties out/user Redact"],
    ),
    "one of two fields too many has no policy": (
        [of("user.ssn", "Redact")], GOOD | {"user": {"ssn": "1", "tax": "2"}}, None, ["AdditionalProperties out/user Fail"],
    ),
    "items of a list, all of them": (
        [of("notes[*]", "Redact")], GOOD | {"notes": ["too long", "ok", "too long"]}, GOOD | {"notes": ["ok"]}, ["MaxLength out/notes/* Redact"],
    ),
    "a policy holds for all that is below": (
        [of("user", "Map", value={})], GOOD | {"user": {"phone": "x"}}, GOOD | {"user": {}}, ["Pattern out/user/phone Map"],
    ),
    "the first that fits holds": (
        [of("user.phone", "Warn"), of("user", "Map", value={})],
        GOOD | {"user": {"phone": "x"}}, GOOD | {"user": {"phone": "x"}}, ["Pattern out/user/phone Warn"],
    ),
    "what is left out is missing then": (
        [of("status", "Redact")], GOOD | {"status": "lost"}, None, ["Enum out/status Redact", "Required out/status Fail"],
    ),
    "one field that fails stops the others": (
        [of("user", "Warn")], {"status": "lost", "user": {"phone": "x"}}, None, ["Enum out/status Fail", "Pattern out/user/phone Warn"],
    ),
    "several fields, each by its own": (
        [of("status", "Map", value="unknown"), of("user.phone", "Redact")],
        {"status": "lost", "user": {"phone": "x"}}, {"status": "unknown", "user": {}}, ["Enum out/status Map", "Pattern out/user/phone Redact"],
    ),
    "an item that breaks two rules goes once": (
        [of("places[*]", "Redact")],
        GOOD | {"places": [{"x": "a", "y": "b"}, {"x": 1, "y": 2}]}, GOOD | {"places": [{"x": 1, "y": 2}]},
        ["Type out/places/*/x Redact", "Type out/places/*/y Redact"],
    ),
    "what is mapped stands where it stood, whatever goes before it": (
        [of("places[*].x", "Map", value=0), of("places[*]", "Redact")],
        GOOD | {"places": [{"x": "a", "y": "b"}, {"x": 1, "y": 2}, {"x": "a", "y": 4}]},
        GOOD | {"places": [{"x": 1, "y": 2}, {"x": 0, "y": 4}]},
        ["Type out/places/*/y Redact", "Type out/places/*/x Map"],
    ),
    "nothing goes from what was mapped as a whole": (
        [of("notes[*]", "Redact"), of("notes", "Map", value=["none"])],
        GOOD | {"notes": ["too long", "b", "c", "d", "e"]}, GOOD | {"notes": ["none"]},
        ["MaxLength out/notes/* Redact", "MaxItems out/notes Map"],
    ),
    "another type altogether": ([of("status", "Warn")], "text", None, ["Type out Fail"]),
}  # fmt: skip


@pytest.mark.parametrize("sentence", CASES)
def test_a_violation_is_treated_as_its_field_says(sentence: str) -> None:
    items, value, wanted, told = CASES[sentence]
    before = copy.deepcopy(value)
    found, violations = side(*items).enforced(value, "out")
    assert sorted(f"{item.kind} {item.policy}" for item in violations) == sorted(told)
    assert value == before
    if wanted is not None:
        assert found == wanted
    else:
        assert any(item.policy is Policy.FAIL for item in violations)


FIELDS = ("status", "user", "user.phone", "user.ssn", "notes", "notes[*]")
POLICIES = st.lists(
    st.tuples(st.sampled_from(FIELDS), st.sampled_from(("Fail", "Warn", "Map", "Redact")), st.sampled_from(("unknown", {}, [], "x"))),
    max_size=4,
)  # fmt: skip
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(("shipped", "lost", 1)),
        "user": st.dictionaries(st.sampled_from(("phone", "ssn")), st.sampled_from(("1", "x", 2))),
        "notes": st.lists(st.sampled_from(("a", "too long", 1)), max_size=4),
    },
)


@given(POLICIES, VALUES)
def test_what_goes_on_keeps_the_schema_but_for_fields_that_warn(rules: list[Any], value: Any) -> None:
    """Against the schema itself: without Warn, whatever goes on is valid; nothing goes on silently changed."""
    items = [
        of(field, policy, **({"value": mapped} if policy == "Map" else {})) for field, policy, mapped in rules
    ]
    found, violations = side(*items).enforced(value, "out")
    is_valid = compile_schema(SCHEMA).is_valid
    if any(item.policy is Policy.FAIL for item in violations):
        return
    assert is_valid(found) or any(item.policy is Policy.WARN for item in violations)
    assert bool(violations) is not is_valid(value)
    assert found == value or violations


FINE: dict[str, dict[str, Any]] = {
    "policies of a component": component(
        contract={"output": SCHEMA, "enforcement": [of("status", "Map", value="unknown"), of("notes[*]", "Redact"), of("user.ssn", "Redact")]}
    ),
    "policies where nothing is declared": component(contract={"enforcement": [of("a.b", "Warn"), {"field": "input.x", "policy": "Redact"}]}),
}  # fmt: skip

BROKEN: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "no path": ([{"field": "output..status", "policy": "Warn"}], "field", "is not a path"),
    "no such field": ([of("statuz", "Warn"), of("user.fone", "Warn")], "field", "has no fone there"),
    "twice": ([of("status", "Warn"), of("status", "Fail")], "field", "another policy is for this field"),
    "Map without a value": ([of("status", "Map")], "value", "is required with policy Map"),
    "a value of Warn": ([of("status", "Warn", value="unknown")], "value", "has no meaning with policy Warn"),
    "a value that does not fit": (
        [of("status", "Map", value="lost")],
        "value",
        "breaks the contract that it mends",
    ),
    "a required field that is left out": (
        [of("status", "Redact")],
        "policy",
        "the contract requires this field",
    ),
}


def problems(agent: dict[str, Any]) -> list[Any]:
    workflow = parse_data(minimal(components=[agent]))
    assert isinstance(workflow, AgentWorkflow)
    return [problem for problem in verify(workflow) if "enforcement" in problem.path]


@pytest.mark.parametrize("sentence", FINE)
def test_verification_lets_pass(sentence: str) -> None:
    assert problems(FINE[sentence]) == []


@pytest.mark.parametrize("sentence", BROKEN)
def test_verification_refuses(sentence: str) -> None:
    items, where, words = BROKEN[sentence]
    found = problems(component(contract={"output": SCHEMA, "enforcement": items}))
    assert found
    assert all(one.message and one.value and one.allowed and one.hint for one in found)
    assert any(one.path.endswith(f".{where}") and words in one.message for one in found), found


def test_a_static_answer_keeps_the_workflows_contract() -> None:
    fallback = {"ruleSet": "r", "staticAnswer": {"value": {"response": 1}}}
    contract = {"output": {"required": ["response"], "properties": {"response": {"type": "string"}}}}
    workflow = parse_data(minimal(contract=contract, businessFallback=fallback))
    assert isinstance(workflow, AgentWorkflow)
    (found,) = verify(workflow)
    assert found.path == "spec.businessFallback.staticAnswer.value.response"
    assert found.allowed == "a value that fits spec.contract.output"
