"""A producer's contract, closed: it gives the fields that it lists, and no others.

A schema that lists fields and is silent about others allows any; a producer does not mean that. Closed are objects
that list `properties` and say nothing of additional or unevaluated ones. A schema that is composed (allOf, oneOf, a
condition, a reference with neighbours) is closed as a whole and not inside, since each part sees the fields of the
others; in drafts before 2019-09, which cannot say that, it stays open.
"""

from typing import Any, Final

from sluicegate.contracts.references import target

_COMPOSED: Final = frozenset(
    {"allOf", "oneOf", "if", "then", "else", "dependentSchemas", "not", "$dynamicRef", "$recursiveRef"}
)
_SAID: Final = ("additionalProperties", "unevaluatedProperties")
_BY_NAME: Final = ("properties", "patternProperties")
_LISTS: Final = ("prefixItems",)
_ONE: Final = ("items", "additionalProperties", "additionalItems")
_ALONE: Final = frozenset(
    {
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
        "$comment",
        "$schema",
        "default",
        "examples",
        "deprecated",
    }
)
_UNION: Final = (_ALONE - {"$ref"}) | {"anyOf", "type"}
_SUFFIX: Final = "-closed"
_DEEPEST: Final = 64
_BEFORE_UNEVALUATED: Final = ("draft-04", "draft-06", "draft-07")


def closed(schema: Any) -> Any:
    """The same schema with its objects closed; the same object when there is nothing to close."""
    if not isinstance(schema, dict):
        return schema
    closer = _Closer(schema)
    found = closer.value(schema, 0)
    for group, definitions in closer.made.items():
        found = {**found, group: {**found[group], **definitions}}
    return found


class _Closer:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.sees_through = not any(draft in str(root.get("$schema")) for draft in _BEFORE_UNEVALUATED)
        self.made: dict[str, dict[str, Any]] = {}

    def value(self, schema: Any, depth: int) -> Any:
        """Of a schema that stands for a whole value, alone."""
        if not isinstance(schema, dict) or depth > _DEEPEST or (depth and "$id" in schema):
            return schema
        if "$ref" in schema and schema.keys() <= _ALONE:
            return {**schema, "$ref": self._reference(schema["$ref"], depth)}
        if (
            "$ref" in schema
            or schema.keys() & _COMPOSED
            or ("anyOf" in schema and not schema.keys() <= _UNION)
        ):
            return self._as_a_whole(schema)
        found = self._inside(schema, depth)
        if "anyOf" in schema and isinstance(schema["anyOf"], list):
            found["anyOf"] = [self.value(branch, depth + 1) for branch in schema["anyOf"]]
        if _lists(schema) and not any(word in schema for word in _SAID):
            found["properties"] = {**dict.fromkeys(_needed(schema), True), **found["properties"]}
            found["additionalProperties"] = False
        return found

    def _inside(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        found = dict(schema)
        for word in _BY_NAME:
            if isinstance(schema.get(word), dict):
                found[word] = {name: self.value(item, depth + 1) for name, item in schema[word].items()}
        for word in _LISTS:
            if isinstance(schema.get(word), list):
                found[word] = [self.value(item, depth + 1) for item in schema[word]]
        for word in _ONE:
            if isinstance(schema.get(word), dict):
                found[word] = self.value(schema[word], depth + 1)
        return found

    def _as_a_whole(self, schema: dict[str, Any]) -> dict[str, Any]:
        parts = list(_in_place(schema, self.root, 0))
        lists = any(map(_lists, parts))
        if not self.sees_through or not lists or any(word in part for part in parts for word in _SAID):
            return schema
        names = {name: True for part in parts for name in _needed(part)}
        return {"allOf": [schema], "properties": names, "unevaluatedProperties": False, **_root_of(schema)}

    def _reference(self, reference: Any, depth: int) -> Any:
        """To a closed copy of a definition, which is made when it is first asked for."""
        parts = reference.split("/") if isinstance(reference, str) else []
        if len(parts) != 3 or parts[0] != "#" or parts[1] not in {"$defs", "definitions"}:
            return reference
        name = parts[2].replace("~1", "/").replace("~0", "~")
        definitions = self.root.get(parts[1])
        if not isinstance(definitions, dict) or name not in definitions or f"{name}{_SUFFIX}" in definitions:
            return reference
        made = self.made.setdefault(parts[1], {})
        if f"{name}{_SUFFIX}" not in made:
            made[f"{name}{_SUFFIX}"] = True  # while it is made, for a definition that refers to itself
            made[f"{name}{_SUFFIX}"] = self.value(definitions[name], depth + 1)
        return f"{reference}{_SUFFIX}"


def _lists(schema: dict[str, Any]) -> bool:
    return isinstance(schema.get("properties"), dict) and bool(schema["properties"])


def _needed(schema: dict[str, Any]) -> list[str]:
    """Names that are required without being listed: they are given, too."""
    needed = schema.get("required")
    names = list(needed) if isinstance(needed, list) else []
    dependent = schema.get("dependentRequired")
    for others in dependent.values() if isinstance(dependent, dict) else ():
        names += others if isinstance(others, list) else []
    names += dependent if isinstance(dependent, dict) else []
    return [name for name in names if isinstance(name, str)]


def _root_of(schema: dict[str, Any]) -> dict[str, Any]:
    """What must stay at the root of a document."""
    return {word: schema[word] for word in ("$schema", "$defs", "definitions") if word in schema}


def _in_place(schema: Any, root: Any, depth: int) -> Any:
    """A schema and those that speak of the same value."""
    if not isinstance(schema, dict) or depth > 16:
        return
    yield schema
    for word in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(word) or () if isinstance(schema.get(word), list) else ():
            yield from _in_place(branch, root, depth + 1)
    for word in ("if", "then", "else"):
        yield from _in_place(schema.get(word), root, depth + 1)
    dependent = schema.get("dependentSchemas")
    for branch in dependent.values() if isinstance(dependent, dict) else ():
        yield from _in_place(branch, root, depth + 1)
    if isinstance(schema.get("$ref"), str):
        yield from _in_place(target(schema["$ref"], root), root, depth + 1)
