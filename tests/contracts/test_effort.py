"""What a schema makes of one value is known, and bounded, before anything is validated."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.effort import ENDLESS, MAX_EFFORT, effort_of, is_deeper
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.limits import MAX_DEPTH
from sluicegate.contracts.schemas import TOO_DEEP, check_schema, compile_schema

Schema = dict[str, Any]


def chain(levels: int, word: str, *, times: int = 2) -> Schema:
    """Each definition refers to the next one so many times."""
    definitions: Schema = {
        f"d{number}": {word: [{"$ref": f"#/$defs/d{number + 1}"}] * times} for number in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def by_anchor(levels: int) -> Schema:
    found: Schema = {
        f"d{number}": {"$anchor": f"a{number}", "allOf": [{"$ref": f"#a{number + 1}"}] * 2}
        for number in range(levels)
    }
    return {"$ref": "#a0", "$defs": {**found, "last": {"$anchor": f"a{levels}"}}}


def by_id(levels: int) -> Schema:
    found: Schema = {
        f"d{number}": {"$id": f"r{number}", "allOf": [{"$ref": f"r{number + 1}"}] * 2}
        for number in range(levels)
    }
    found["last"] = {"$id": f"r{levels}"}
    return {"$id": "http://shop.example/", "$ref": "r0", "$defs": found}


def nested(levels: int, word: str) -> Schema:
    found: Schema = {"properties": {"a": {"type": "string"}}}
    for _ in range(levels):
        found = {word: [found], "unevaluatedProperties": False}
    return found


def tree(kinds: int) -> Schema:
    """Expressions with so many operators, as they are written: told apart by one field."""
    operators = [
        {
            "type": "object",
            "properties": {
                "op": {"const": f"op{kind}"},
                "args": {"type": "array", "items": {"$ref": "#/$defs/e"}},
            },
            "required": ["op", "args"],
        }
        for kind in range(kinds)
    ]
    return {"$ref": "#/$defs/e", "$defs": {"e": {"oneOf": [*operators, {"type": "number"}]}}}


def expression(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = {"op": "op0", "args": [leaf]}
    return leaf


TWICE: Schema = {"properties": {"x": {"$ref": "#/$defs/a"}}}
HOSTILE: dict[str, Schema] = {
    "allOf by references": chain(25, "allOf"),
    "anyOf by references": chain(25, "anyOf"),
    "oneOf by references, three at a time": chain(12, "oneOf", times=3),
    "by anchors": by_anchor(25),
    "by ids": by_id(25),
    "unevaluatedProperties in unevaluatedProperties": nested(20, "allOf"),
    "the same in alternatives": nested(20, "anyOf"),
    "unevaluatedProperties beside what doubles": {**chain(12, "allOf"), "unevaluatedProperties": False},
    "fields of the same value": {"$defs": chain(25, "allOf")["$defs"], "properties": {"a": {"$ref": "#/$defs/d0"}}},
    "itself, for the same value": {"$ref": "#"},
}  # fmt: skip
USUAL: dict[str, Schema] = {
    "fields": {"properties": {f"f{number}": {"type": "string", "minLength": 1} for number in range(1_000)}},
    "one definition for many fields": {
        "properties": {f"f{number}": {"$ref": "#/$defs/a"} for number in range(100)},
        "$defs": {"a": {"properties": {name: {"type": "string"} for name in "abcdefghijklmno"}}},
    },
    "a base that is extended": {
        "allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": True}}], "unevaluatedProperties": False,
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/c"}], "unevaluatedItems": False}, "c": {"type": "object"}},
    },
    "a tree": {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"type": "number"}}},
    "any JSON": {"anyOf": [{"items": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}, {"type": "string"}]},
    "expressions": tree(20),
    "sixty types of sixty fields": {"$ref": "#/$defs/n", "$defs": {"n": {"oneOf": [
        {"properties": {"type": {"const": f"t{kind}"}, **{f"f{at}": {"$ref": "#/$defs/n"} for at in range(60)}}}
        for kind in range(60)]}}},
    "a long enum for many fields": {
        "properties": {f"f{number}": {"$ref": "#/$defs/a"} for number in range(40)},
        "$defs": {"a": {"enum": [f"value {number}" for number in range(600)]}},
    },
    "a very long enum": {"enum": list(range(20_500))},
    "thirty fields of thirty fields of thirty": {
        "properties": {f"f{number}": {"$ref": "#/$defs/a"} for number in range(30)},
        "$defs": {
            "a": {"properties": {f"f{number}": {"$ref": "#/$defs/b"} for number in range(30)}},
            "b": {"properties": {f"f{number}": {"type": "string"} for number in range(30)}},
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_multiplies_is_refused(name: str) -> None:
    (problem,) = check_schema(HOSTILE[name], "spec.contract.input")
    assert problem.path == "spec.contract.input"
    assert "too long" in problem.message
    assert (problem.value, problem.allowed, problem.hint) != (None, None, None)


@pytest.mark.parametrize("name", USUAL)
def test_what_people_write_is_not(name: str) -> None:
    assert check_schema(USUAL[name], "") == ()


def test_references_double() -> None:
    """A schema and its keyword are 2, its two references 2 each: x(n) = 6 + 2 x(n + 1), and 2 at the end, 3 for the root."""
    assert effort_of(chain(25, "allOf")).most == 3 + 8 * 2**25 - 6


def test_nested_unevaluated_grows_as_measured() -> None:
    """a(n) = 2 a(n - 1) + e(n - 1), e(n) = a(n - 1) + e(n - 1): by (3 + √5)/2; jsonschema-rs took 2.6 times as long a level."""
    last, before = (effort_of(nested(levels, "allOf")).most for levels in (20, 19))
    assert last / before == pytest.approx((3 + 5**0.5) / 2, abs=1e-3)


def test_a_tree_costs_as_much_as_it_is_deep() -> None:
    assert effort_of(USUAL["a tree"]).told == effort_of(USUAL["any JSON"]).told == MAX_DEPTH
    assert effort_of({"$ref": "#"}).most == ENDLESS


@st.composite
def acyclic(draw: st.DrawFn) -> Schema:
    """Definitions that refer to later ones only, in every way that speaks of the same value or of a field."""
    count = draw(st.integers(1, 6))
    definitions: Schema = {}
    for number in range(count):
        later = [{"$ref": f"#/$defs/d{other}"} for other in range(number + 1, count)]
        parts = draw(st.lists(st.sampled_from(later), max_size=3)) if later else []
        word = draw(st.sampled_from(["allOf", "anyOf", "properties", "prefixItems"]))
        value = {f"f{at}": part for at, part in enumerate(parts)} if word == "properties" else parts
        definitions[f"d{number}"] = {word: value} if parts else {"type": "string"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def walked(schema: Schema, root: Schema) -> tuple[int, int, int]:
    """The same by going every way: of the value, of its dearest field, of its dearest item."""
    same = [item for word in ("allOf", "anyOf") for item in schema.get(word, ())]
    if "$ref" in schema:
        same.append(root["$defs"][schema["$ref"].rpartition("/")[2]])
    parts = [walked(part, root) for part in same]
    fields = [cost(part, root) for part in schema.get("properties", {}).values()]
    items = [cost(part, root) for part in schema.get("prefixItems", ())]
    return (
        1 + len(schema) + len(schema.get("properties", ())) + sum(part[0] for part in parts),
        max(fields, default=0) + sum(part[1] for part in parts),
        max(items, default=0) + sum(part[2] for part in parts),
    )


def cost(schema: Schema, root: Schema) -> int:
    own, field, item = walked(schema, root)
    return own + max(field, item)


@given(acyclic())
def test_it_is_what_going_every_way_counts(schema: Schema) -> None:
    assert effort_of(schema).most == cost(schema, schema)


def test_a_deep_value_is_valid_or_told_without_going_every_way() -> None:
    """Twelve operators, ten levels: 12^10 ways to refuse it."""
    check = compile_schema(tree(12))
    assert check.is_valid(expression(10, 1))
    assert check.violations(expression(10, 1), "input") == ()
    assert not check.is_valid(expression(10, "no number"))
    (violation,) = check.violations(expression(10, "no number"), "input")
    assert (violation.code, violation.path) == (TOO_DEEP, "input")


def test_a_document_of_twenty_types_may_nest_eight_deep() -> None:
    check = compile_schema(tree(20))
    assert check.is_valid(expression(8, 1))
    assert not check.is_valid(expression(8, "no number"))


@pytest.mark.parametrize(
    "schema", [chain(20, "allOf"), nested(14, "allOf")], ids=["references", "unevaluated"]
)
def test_what_is_in_use_stays_usable_though_new_it_would_be_refused(schema: Schema) -> None:
    assert check_schema(schema, "")
    compile_schema(schema)


@pytest.mark.parametrize("name", ["allOf by references", "itself, for the same value"])
def test_what_would_not_end_is_never_used(name: str) -> None:
    with pytest.raises(Refused):
        compile_schema(HOSTILE[name])


def test_a_value_of_some_levels_is_told_in_full() -> None:
    check = compile_schema(tree(5))
    assert check.is_valid(expression(5, 1))
    (violation,) = check.violations(expression(2, "no number"), "input")
    assert violation.code == "OneOf"
    (deeper,) = check.violations(expression(5, "no number"), "input")
    assert deeper.code == TOO_DEEP
    assert check.violations(expression(5, 1), "input") == ()


@pytest.mark.parametrize(
    ("value", "depth"), [(1, 0), ([], 0), ([1], 1), ({"a": [1]}, 2), ({"a": {"b": []}}, 2)]
)
def test_levels_of_a_value(value: Any, depth: int) -> None:
    assert not is_deeper(value, depth)
    assert depth == 0 or is_deeper(value, depth - 1)


def test_large_and_plain_is_not_refused_for_its_size() -> None:
    schema = {"properties": {f"field{number}": {"type": "string"} for number in range(3_000)}}
    assert effort_of(schema).most < MAX_EFFORT
    assert check_schema(schema, "") == ()
