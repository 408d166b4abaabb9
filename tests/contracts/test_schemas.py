"""JSON Schema: two implementations agree, violations are countable, nothing is fetched."""

import socket
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schemas import check_schema, compile_schema

PLAN: dict[str, Any] = {
    "type": "object",
    "required": ["intent", "steps"],
    "properties": {
        "intent": {"type": "string", "maxLength": 4, "pattern": "^[a-c]*$"},
        "steps": {"type": "array", "maxItems": 2, "uniqueItems": True, "items": {"$ref": "#/$defs/step"}},
        "score": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.5},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]},
        "pair": {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        "labels": {"additionalProperties": {"type": "string"}, "propertyNames": {"maxLength": 3}},
        "when": {"if": {"type": "integer"}, "then": {"minimum": 0}, "else": {"type": "null"}},
    },
    "additionalProperties": False,
    "dependentRequired": {"score": ["either"]},
    "$defs": {
        "step": {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["call", "reply"]}, "then": {"$ref": "#/$defs/step"}}}
    },
}  # fmt: skip

LEAF = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.0, 0.5, 1.0, 1.5, -0.5])
    | st.text("abcd", max_size=5) | st.sampled_from(["call", "reply"])
)  # fmt: skip
KEYS = st.sampled_from([*PLAN["properties"], "type", "then", "other", "x"])
INSTANCES = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
STEP = st.fixed_dictionaries({"type": st.sampled_from(["call", "reply", "no"])}, optional={"then": INSTANCES})
NEARLY = st.fixed_dictionaries(
    {"intent": st.text("abcd", max_size=5), "steps": st.lists(STEP, max_size=3)},
    optional=dict.fromkeys(("score", "either", "pair", "labels", "when", "other"), LEAF | INSTANCES),
)


@given(INSTANCES | NEARLY)
@settings(deadline=None, max_examples=500)
def test_two_implementations_agree(instance: Any) -> None:
    """Oracle: python-jsonschema, Draft 2020-12."""
    check = compile_schema(PLAN)
    errors = list(jsonschema.Draft202012Validator(PLAN).iter_errors(instance))
    assert check.is_valid(instance) == (not errors)
    found = check.violations(instance, "r")
    assert bool(found) == bool(errors)


# instance -> kinds of violation
KINDS: list[tuple[Any, set[str]]] = [
    ({}, {"Required steps.plan/intent", "Required steps.plan/steps"}),
    ({"intent": "a", "steps": [{"type": "x"}, {}]}, {"Enum steps.plan/steps/*/type", "Required steps.plan/steps/*/type"}),
    ({"intent": "a", "steps": [], "secret": 1}, {"AdditionalProperties steps.plan"}),
    ({"intent": "a", "steps": [], "either": 1.5}, {"OneOf steps.plan/either"}),
    ({"intent": "a", "steps": [], "labels": {"k1": 1, "k2": 2}}, {"Type steps.plan/labels/*"}),
    ({"intent": "a", "steps": [], "pair": ["x", "y"]}, {"Type steps.plan/pair/*"}),
    ({"intent": "a", "steps": [{"type": "call", "then": {"type": "call", "then": {}}}]}, {"Required steps.plan/steps/*/then/then/type"}),
    ({"intent": "zzzzz", "steps": []}, {"MaxLength steps.plan/intent", "Pattern steps.plan/intent"}),
    ([], {"Type steps.plan"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("instance", "kinds"),
    KINDS,
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_violations_are_countable_kinds(instance: Any, kinds: set[str]) -> None:
    assert {violation.kind for violation in compile_schema(PLAN).violations(instance, "steps.plan")} == kinds


def test_a_property_called_like_a_keyword_is_a_property() -> None:
    schema = {"properties": {"items": {"items": {"properties": {"properties": {"type": "string"}}}}}}
    (violation,) = compile_schema(schema).violations({"items": [{"properties": 1}]}, "input")
    assert violation.kind == "Type input/items/*/properties"


def test_violations_do_not_repeat_the_value() -> None:
    """Values may be personal; violations are stored and shown."""
    value = {"intent": "my-secret-text", "steps": [{"type": "my-secret-type"}], "either": 0.123456}
    found = compile_schema(PLAN).violations(value, "r")
    assert found
    assert not any("secret" in violation.message or "0.123456" in violation.message for violation in found)


def test_violations_are_bounded() -> None:
    schema = {"items": {"type": "object", "additionalProperties": False}, "type": "array"}
    assert len(compile_schema(schema).violations(list(range(10_000)), "r")) == 1
    many = {"properties": {f"p{number}": False for number in range(500)}}
    assert len(compile_schema(many).violations({f"p{number}": 1 for number in range(500)}, "r")) == 100


def test_anything_is_valid_without_a_contract() -> None:
    anything: list[Any] = [True, {}]
    for schema in anything:
        check = compile_schema(schema)
        assert check.is_valid(object())
        assert check.violations(object(), "r") == ()


def test_formats_are_asserted() -> None:
    check = compile_schema({"format": "date-time"})
    assert check.is_valid("2026-01-31T10:00:00Z")
    assert not check.is_valid("yesterday")


def test_large_and_deep_values_are_judged() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert compile_schema({"type": "array"}).is_valid(deep)
    assert not compile_schema({"type": "object"}).is_valid(deep)
    assert not compile_schema({"maximum": 3}).is_valid(2**100)


def test_patterns_run_in_linear_time() -> None:
    """The classic of catastrophic back-tracking: python's re takes minutes for 40 characters."""
    assert not compile_schema({"pattern": "^(a+)+$"}).is_valid("a" * 50_000 + "!")


def test_recursive_schemas_end() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert compile_schema(tree).is_valid({"children": [{"children": [{}]}]})
    assert not compile_schema(tree).is_valid({"children": [{"children": [1]}]})
    loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert "too long" in check_schema(loop, "")[0].message


def test_a_reference_elsewhere_reaches_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in (
            {"$ref": url},
            {"properties": {"a": {"$ref": f"{url}#/x"}}},
            {"$id": url, "$ref": "other.json"},
        ):
            with pytest.raises(Refused):
                compile_schema(schema)
            assert check_schema(schema, "spec")
        with pytest.raises(BlockingIOError):
            server.accept()


GOOD: list[Any] = [
    True,
    False,
    {},
    PLAN,
    {"x-team": "shop", "units": "ms", "examples": [{"requird": 1}], "const": {"propertes": 1}},
    {"properties": {"requird": {}, "items": {}}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
    {"$id": "https://example.com/a", "$defs": {"b": {"$anchor": "b"}}, "$ref": "#b"},
    {"format": "phone"},
]


@pytest.mark.parametrize("schema", GOOD, ids=lambda schema: str(schema)[:60])
def test_good_schemas_have_no_finding(schema: Any) -> None:
    assert check_schema(schema, "spec.contract.input") == ()
    compile_schema(schema)


def test_every_broken_rule_is_told() -> None:
    schema = {"type": "strin", "properties": {"a": {"minimum": "3"}, "b": {"required": "x"}}, "maxLength": -1}
    assert {problem.path for problem in check_schema(schema, "s")} == {
        "s.type", "s.properties.a.minimum", "s.properties.b.required", "s.maxLength",
    }  # fmt: skip


KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "enum",
        "pattern",
        "$ref",
        "required",
        "allOf",
        "not",
        "minimum",
        "format",
        "$schema",
        "if",
    ]
)
SCHEMAS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["string", "#", "#/x", "(", "a", "date", "http://x/y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYWORDS, SCHEMAS, max_size=4))
@settings(deadline=None, max_examples=400)
def test_random_schemas_compile_or_are_explained(schema: dict[str, Any]) -> None:
    problems = check_schema(schema, "s")
    assert all(problem.path.startswith("s") and problem.value and problem.hint for problem in problems), (
        problems
    )
    if problems:
        return
    compile_schema(schema).is_valid({"a": 1})
