"""Schemas that are small to write and much to compare: a family grows with n, each compared with its neighbour of n - 1."""

from collections.abc import Callable, Iterator
from typing import Any

Family = Callable[[int], Any]


def _range(n: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(number) for number in range(n)]


def _named(n: int, make: Callable[[int], Any], prefix: str = "p") -> dict[str, Any]:
    return {f"{prefix}{number}": make(number) for number in range(n)}


def _wrapped(n: int, make: Callable[[Any, int], Any]) -> Any:
    schema: Any = {"type": "string"}
    for number in range(n):
        schema = make(schema, number)
    return schema


def _chained(n: int, make: Callable[[Any, int], Any]) -> Any:
    definitions = {f"d{at}": make({"$ref": f"#/$defs/d{at + 1}"}, at) for at in range(n)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{n}": {"type": "string"}}}


def _either(at: int) -> dict[str, Any]:
    return {
        "anyOf": [{"properties": {f"a{at}": {"const": 1}}}, {"properties": {f"b{at}": {"type": "string"}}}]
    }


def _when(at: int) -> dict[str, Any]:
    return {"if": {"properties": {"k": {"const": at}}, "required": ["k"]}, "then": {"required": [f"x{at}"]}}


FAMILIES: dict[str, tuple[Family, tuple[int, ...]]] = {
    "allOf of anyOf": (lambda n: {"allOf": _range(n, _either)}, (5, 6, 8, 40)),
    "conditions": (lambda n: {"allOf": _range(n, _when)}, (3, 4, 8, 64)),
    "oneOf of objects": (lambda n: {"oneOf": _range(n, lambda at: {"properties": {f"a{at}": {"const": 1}}, "required": [f"a{at}"]})}, (8, 12, 40, 300)),
    "anyOf of objects": (lambda n: {"anyOf": _range(n, lambda at: {"type": "object", "properties": {f"a{at}": {"const": 1}}, "required": [f"a{at}"]})}, (32, 64, 128)),
    "nested anyOf": (lambda n: _wrapped(n, lambda s, at: {"anyOf": [{"type": "object", "required": ["x"], "properties": {"x": s, "y": {"const": at}}}, {"type": "array", "items": s, "minItems": at}]}), (4, 6, 8, 10)),
    "nested oneOf": (lambda n: _wrapped(n, lambda s, at: {"oneOf": [s, {"type": "object", "properties": {"x": s}}, {"minLength": at}]}), (2, 3, 4, 6)),
    "nested not": (lambda n: _wrapped(n, lambda s, _: {"not": {"properties": {"x": s}, "required": ["x"]}}), (10, 19, 50)),
    "deep fields": (lambda n: _wrapped(n, lambda s, _: {"type": "object", "properties": {"x": s}, "required": ["x"]}), (10, 28, 60, 500)),
    "many fields": (lambda n: {"type": "object", "properties": _named(n, lambda at: {"type": "string", "maxLength": at}), "required": list(_named(n, str))}, (50, 300, 900, 20_000)),
    "many open fields": (lambda n: {"type": "object", "additionalProperties": True, "properties": _named(n, lambda at: {"enum": [at, str(at)]})}, (50, 300, 700)),
    "pattern fields": (lambda n: {"patternProperties": {f"^p{at}.*x{at}$": {"type": "string", "maxLength": at} for at in range(n)}, "additionalProperties": False}, (16, 64, 400)),
    "huge enum": (lambda n: {"enum": _range(n, lambda at: f"v{at}")}, (1_000, 3_000, 200_000)),
    "huge enum in a field": (lambda n: {"type": "object", "properties": {"a": {"enum": _range(n, lambda at: f"v{at}")}}}, (1_000, 3_000)),
    "enum of objects": (lambda n: {"enum": _range(n, lambda at: {"a": at, "b": [at] * 3})}, (300, 560)),
    "patterns together": (lambda n: {"type": "string", "allOf": _range(n, lambda at: {"pattern": f"^(a|b)*{at}(c|d){{1,{at + 1}}}$"})}, (8, 32, 300)),
    "nested repetitions": (lambda n: {"type": "string", "pattern": "^" + "(" * n + "a" + "{0,9})" * n + "$"}, (4, 5, 6)),
    "many repetitions": (lambda n: {"anyOf": _range(n, lambda at: {"pattern": f"^((\\w{{1,40}}){{1,40}}){at}$"})}, (8, 24, 200)),
    "contains": (lambda n: {"type": "array", "allOf": _range(n, lambda at: {"contains": {"type": "integer", "multipleOf": at + 2}})}, (8, 32, 200)),
    "prefix": (lambda n: {"type": "array", "prefixItems": _range(n, lambda at: {"anyOf": [{"type": "string"}, {"minimum": at}]})}, (64, 256)),
    "dependent names": (lambda n: {"dependentRequired": {f"d{at}": [f"e{at}"] for at in range(n)}}, (5, 6, 16, 200)),
    "dependent schemas": (lambda n: {"dependentSchemas": {f"d{at}": {"required": [f"e{at}"]} for at in range(n)}}, (5, 6, 16)),
    "far apart": (lambda n: {"type": "array", "minItems": 10**n, "items": {"type": "number", "multipleOf": 10**-n}}, (3, 9, 15)),
    "tree of references": (lambda n: _chained(n, lambda below, _: {"properties": {"l": below, "r": below}}), (8, 20, 60)),
    "union of references": (lambda n: _chained(n, lambda below, _: {"anyOf": [below, {"items": below}]}), (4, 8, 20)),
    "all of references": (lambda n: _chained(n, lambda below, _: {"allOf": [below, below]}), (8, 25, 60)),
    "recursive and wide": (lambda n: {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": _named(n, lambda _: {"$ref": "#/$defs/n"})}}}, (2, 16, 400)),
    "unevaluated": (lambda n: {"anyOf": _range(n, lambda at: {"properties": {f"a{at}": {"type": "string"}}}), "unevaluatedProperties": False}, (4, 6, 8, 60)),
    "overlapping oneOf": (lambda n: {"oneOf": _range(n, lambda at: {"type": "integer", "minimum": at, "maximum": at + 5})}, (16, 30, 200)),
    "refused unions in fields": (lambda n: {"properties": _named(n, lambda at: {"not": _either(at)}), "minProperties": 1}, (4, 8, 30)),
    "fields of unions": (lambda n: {"type": "object", "properties": _named(n, lambda at: {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": _either(at)}}]})}, (4, 8, 30)),
}  # fmt: skip


def bombs() -> Iterator[tuple[str, Any, Any]]:
    """(name, consumer, producer), both ways."""
    for name, (family, sizes) in FAMILIES.items():
        for n in sizes:
            yield f"{name}, {n} beside {n - 1}", family(n), family(n - 1)
            yield f"{name}, {n - 1} beside {n}", family(n - 1), family(n)
