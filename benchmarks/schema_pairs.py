"""Random pairs of JSON Schemas and a pool of values, seeded: what containment must not be wrong about."""

import copy
import random  # noqa: TID251 - seeded
from collections.abc import Callable, Iterator
from typing import Any

NAMES = ("a", "b", "c", "xy")
TEXTS = ("", "a", "b", "ab", "abc", "A1", "aa", "zz", "0", "2026-01-31", "é")
NUMBERS = (-2, -1, 0, 1, 2, 3, 4, 5, 6, 10, 0.5, 1.5, 2.5, -0.5, 0.1)
PATTERNS = ("^a", "b$", "^[a-c]+$", "^.{2}$", "^[A-Z][0-9]$", "^(a|zz)$", "0", "^$")
SCALARS: tuple[Any, ...] = (None, True, False, *TEXTS, *NUMBERS)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
Draw = random.Random


def pool(size: int, seed: int = 7) -> list[Any]:
    """All scalars, then lists and objects of them and of each other."""
    draw = Draw(seed)
    found: list[Any] = [*SCALARS, [], {}]
    while len(found) < size:
        if draw.random() < 0.4:
            found.append([draw.choice(found) for _ in range(draw.randint(1, 4))])
        else:
            names = draw.sample((*NAMES, "k", "A1"), draw.randint(1, 4))
            found.append({name: draw.choice(found[:60]) for name in names})
    return found


def pairs(count: int, seed: int, first: int = 0) -> Iterator[tuple[Any, Any]]:
    """(consumer, producer): unrelated, or one changed from the other, or one wrapped around the other."""
    for number in range(first, first + count):
        draw = Draw(f"{seed}/{number}")
        producer = rooted(draw, 2)
        relation = draw.random()
        if relation < 0.35:
            yield rooted(draw, 2), producer
        elif relation < 0.7:
            yield changed(draw, producer), producer
        elif relation < 0.85:
            yield producer, changed(draw, producer)
        else:
            word = draw.choice(("anyOf", "allOf", "oneOf"))
            definitions = (
                {"$defs": producer["$defs"]} if isinstance(producer, dict) and "$defs" in producer else {}
            )
            yield {**definitions, word: [producer, schema(draw, 2)]}, producer


def rooted(draw: Draw, depth: int) -> Any:
    """A schema, sometimes with a definition that refers to itself."""
    found = schema(draw, depth)
    if isinstance(found, dict) and draw.random() < 0.15:
        below = {"$ref": "#/$defs/n"}
        tree: Any = {"type": "object", "properties": {"a": schema(draw, 1), draw.choice(NAMES): below}}
        if draw.random() < 0.5:
            tree = draw.choice(
                ({"anyOf": [schema(draw, 1), {"type": "array", "items": below}]}, schema(draw, 2))
            )
        if draw.random() < 0.5:
            found = {"$ref": "#/$defs/n", **(found if draw.random() < 0.4 else {})}
        else:
            found.setdefault("properties", {})[draw.choice(NAMES)] = below
        found["$defs"] = {"n": tree}
    return found


def schema(draw: Draw, depth: int) -> Any:
    """One of every kind of keyword; deeper ones only while `depth` lasts."""
    if draw.random() < 0.04:
        return draw.choice((True, False, {}))
    kinds = SIMPLE if depth <= 0 else SIMPLE + NESTED
    found: dict[str, Any] = {}
    for _ in range(draw.choice((1, 1, 1, 2))):
        found |= draw.choice(kinds)(draw, depth - 1)
    return found


def _typed(draw: Draw, _depth: int) -> dict[str, Any]:
    types = draw.sample(TYPES, draw.choice((1, 1, 1, 2, 3)))
    return {"type": types[0] if len(types) == 1 else types}


def _enum(draw: Draw, _depth: int) -> dict[str, Any]:
    return {"enum": [copy.deepcopy(value) for value in draw.sample(SCALARS, draw.randint(1, 5))]}


def _const(draw: Draw, _depth: int) -> dict[str, Any]:
    return {"const": draw.choice((*SCALARS, {"a": 1}, [1, 2]))}


def _number(draw: Draw, _depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": draw.choice(("integer", "number"))}
    low, high = sorted(draw.sample((-1, 0, 0.5, 1, 2, 3, 5, 10), 2))
    found |= draw.choice(({"minimum": low}, {"exclusiveMinimum": low}, {}))
    found |= draw.choice(({"maximum": high}, {"exclusiveMaximum": high}, {}))
    return found | ({"multipleOf": draw.choice((1, 2, 3, 0.5))} if draw.random() < 0.25 else {})


def _string(draw: Draw, _depth: int) -> dict[str, Any]:
    low, high = sorted(draw.sample(range(6), 2))
    found: dict[str, Any] = {"type": "string"}
    found |= draw.choice(({"minLength": low}, {"maxLength": high}, {"minLength": low, "maxLength": high}, {}))
    return found | ({"pattern": draw.choice(PATTERNS)} if draw.random() < 0.35 else {})


def _array(draw: Draw, depth: int) -> dict[str, Any]:
    low, high = sorted(draw.sample(range(5), 2))
    found: dict[str, Any] = {"type": "array"} if draw.random() < 0.8 else {}
    found |= draw.choice(({"minItems": low}, {"maxItems": high}, {"minItems": low, "maxItems": high}, {}))
    if draw.random() < 0.6:
        found["items"] = schema(draw, depth)
    if draw.random() < 0.25:
        found["prefixItems"] = [schema(draw, depth) for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.15:
        found |= {
            "contains": schema(draw, depth),
            **draw.choice(({}, {"minContains": 2}, {"maxContains": 1})),
        }
    return found | draw.choice(({}, {}, {}, {"uniqueItems": True}))


def _object(draw: Draw, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"} if draw.random() < 0.8 else {}
    found["properties"] = {name: schema(draw, depth) for name in draw.sample(NAMES, draw.randint(1, 3))}
    if draw.random() < 0.6:
        found["required"] = draw.sample(NAMES, draw.randint(1, 2))
    found |= draw.choice(
        ({}, {}, {"additionalProperties": False}, {"additionalProperties": schema(draw, depth)})
    )
    if draw.random() < 0.12:
        found["patternProperties"] = {draw.choice(PATTERNS[:3]): schema(draw, depth)}
    if draw.random() < 0.1:
        found |= draw.choice(
            ({"minProperties": 1}, {"maxProperties": 2}, {"propertyNames": {"maxLength": 1}})
        )
    if draw.random() < 0.06:
        found["dependentRequired"] = {"a": ["b"]}
    return found


def _union(draw: Draw, depth: int) -> dict[str, Any]:
    word = draw.choice(("anyOf", "anyOf", "allOf", "oneOf"))
    found: dict[str, Any] = {word: [schema(draw, depth) for _ in range(draw.randint(1, 3))]}
    return found | ({"unevaluatedProperties": False} if draw.random() < 0.15 else {})


def _not(draw: Draw, depth: int) -> dict[str, Any]:
    return {"not": schema(draw, depth)}


def _condition(draw: Draw, depth: int) -> dict[str, Any]:
    return {
        "if": schema(draw, depth),
        "then": schema(draw, depth),
        **draw.choice(({}, {"else": schema(draw, depth)})),
    }


Kind = Callable[[Draw, int], dict[str, Any]]
SIMPLE: tuple[Kind, ...] = (_typed, _enum, _const, _number, _string)
NESTED: tuple[Kind, ...] = (_array, _object, _object, _union, _not, _condition)


def changed(draw: Draw, old: Any) -> Any:
    """The schema with one keyword somewhere dropped, replaced or added."""
    new = copy.deepcopy(old)
    places = [item for item in _objects(new) if item]
    if not places:
        return schema(draw, 2)
    place = draw.choice(places)
    kind = draw.random()
    words = [word for word in place if word not in {"$defs", "$ref", "n", "if", "type"}]
    if kind < 0.35 and words:
        del place[draw.choice(words)]
    elif kind < 0.7:
        place |= draw.choice(SIMPLE)(draw, 0)
    else:
        place |= draw.choice(SIMPLE + NESTED)(draw, 1)
    return new


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Schemas among the values: not the maps of names to schemas, nor values of const and enum."""
    if isinstance(value, dict):
        yield value
        for word, below in value.items():
            if word in {"properties", "patternProperties", "$defs"}:
                for item in below.values():
                    yield from _objects(item)
            elif word not in {"const", "enum", "dependentRequired"}:
                yield from _objects(below)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)
