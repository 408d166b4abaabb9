"""Schemas taken apart: a document with its references, and a schema as parts that must all hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import orjson

Place = tuple[str | int, ...]

ANNOTATIONS: Final = frozenset(
    {
        "title", "description", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
        "$schema", "$defs", "definitions",
    }
)  # fmt: skip
SIMPLE: Final = frozenset(
    {
        "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema",
        "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
    }
)  # fmt: skip
_GROUPS: Final = (
    SIMPLE,
    frozenset({"required"}),
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"items", "prefixItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
_ELSEWHERE: Final = frozenset(
    {
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
        "id",
    }
)
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_KEYWORDS: Final = frozenset().union(*_GROUPS) | {
    "allOf", "anyOf", "oneOf", "not", "$ref", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The first place where containment is not proven, with both schemas where these can stand alone, else None."""

    place: Place
    consumer: Any
    producer: Any


class Document:
    """A root schema. What is known of the whole is found out when it is asked for."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._parts: dict[int, tuple[Any, list[Any]]] = {}

    @cached_property
    def _keys(self) -> frozenset[str]:
        return keys_in(self.root)

    @cached_property
    def _all_references(self) -> tuple[str, ...]:
        return tuple(_references(self.root)) if self.has_references else ()

    @property
    def is_local(self) -> bool:
        """Whether its parts can be looked at one by one: no identifiers, dialect 2020-12."""
        is_old = isinstance(self.root, dict) and "2020-12" not in str(self.root.get("$schema", "2020-12"))
        return not is_old and not self._keys & _ELSEWHERE

    @property
    def has_references(self) -> bool:
        """Whether anything in it may be a `$ref`."""
        return "$ref" in self._keys

    @cached_property
    def nodes(self) -> int:
        """Objects in it."""
        return sum(1 for _ in _objects(self.root))

    @cached_property
    def refers_to_definitions(self) -> bool:
        """Whether all its references stay right beside other schemas."""
        return all(one.startswith(("#/$defs/", "#/definitions/")) for one in self._all_references)

    @property
    def unrolling(self) -> int:
        """How often references are followed, so that the result stays small."""
        return sum(len(self._all_references) <= most for most in _UNROLLED)

    @property
    def definitions(self) -> dict[str, Any]:
        """What references may point to."""
        root = self.root if isinstance(self.root, dict) else {}
        return {key: root[key] for key in ("$defs", "definitions") if key in root}

    def alone(self, schema: Any) -> Any:
        """The part as a schema of its own; None when its references would point elsewhere."""
        if schema is self.root or not isinstance(schema, dict) or not self.has_references:
            return schema
        keys = keys_in({key: value for key, value in schema.items() if key not in {"$defs", "definitions"}})
        if "$ref" not in keys:
            return schema
        return {**self.definitions, **schema} if self.refers_to_definitions else None

    def followed(self, reference: Any) -> Any:
        """What a local reference names; None when it cannot be followed here."""
        found = self.root
        parts = reference.split("/") if isinstance(reference, str) else [""]
        for part in parts[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                return None
            found = found[name]
        return found if parts[0] == "#" and isinstance(found, dict | bool) else None

    def parts(self, schema: dict[str, Any]) -> list[Any]:
        """Schemas that hold together where this one does; itself when it cannot be taken apart. Always the same objects."""
        known = self._parts.get(id(schema))
        if known is None:
            known = self._parts[id(schema)] = (schema, self._taken_apart(schema))
        return known[1]

    def _taken_apart(self, schema: dict[str, Any]) -> list[Any]:
        words = schema.keys() & _KEYWORDS
        if schema.keys() & _UNEVALUATED:
            return [schema]
        parts: list[Any] = []
        if "$ref" in words:
            below = self.followed(schema["$ref"])
            parts.append({"$ref": schema["$ref"]} if below is None else below)
        parts += schema["allOf"] if "allOf" in words else []
        for group in _GROUPS:
            if words & group:
                parts.append({word: value for word, value in schema.items() if word in group})
        rest = words - frozenset({"$ref", "allOf"}).union(*_GROUPS)
        parts += [{word: schema[word]} for word in schema if word in rest]
        if len(parts) == 1 and "$ref" not in words and "allOf" not in words:
            return [schema]
        return parts


_UNROLLED: Final = (30, 6)
"""References of a document up to which they are followed once, and twice."""
_MAPS: Final = ("properties", "patternProperties")
_LISTS: Final = ("allOf", "anyOf", "prefixItems")
_INSIDE: Final = ("items", "additionalProperties", "contains")
_KEPT: Final = SIMPLE | {"required", "dependentRequired", "minContains"}


def unrolled(schema: Any, document: Document, depth: int | None = None) -> Any:
    """A schema without references that admits at least as much: these are followed `depth` times, then anything goes."""
    depth = document.unrolling if depth is None else depth
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    refers = "$ref" in keys_in(schema)
    for word, value in schema.items():
        if word in _MAPS and isinstance(value, dict):
            found[word] = {name: unrolled(item, document, depth) for name, item in value.items()}
        elif word in _LISTS and isinstance(value, list):
            found[word] = [unrolled(item, document, depth) for item in value]
        elif word in _INSIDE:
            found[word] = unrolled(value, document, depth)
        elif word in _KEPT or (not refers and word not in ANNOTATIONS):
            found[word] = value
    below = document.followed(schema["$ref"]) if "$ref" in schema and depth else None
    if below is not None:
        found["allOf"] = [*found.get("allOf", []), unrolled(below, document, depth - 1)]
    return found


def keys_in(value: Any) -> frozenset[str]:
    """Every key at any depth; a field named like a keyword counts, too, which only makes answers careful."""
    found: set[str] = set()
    for item in _objects(value):
        found.update(item)
    return frozenset(found)


def _references(value: Any) -> Iterator[str]:
    for item in _objects(value):
        if isinstance(item.get("$ref"), str):
            yield item["$ref"]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def text_of(schema: Any) -> bytes | None:
    """The same for the same schema, whatever the order of keys; 1, 1.0 and true differ."""
    try:
        return orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return None
