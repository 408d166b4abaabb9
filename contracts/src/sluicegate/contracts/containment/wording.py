"""Small schemas in a few words: "one of a, b", "numbers above 0.9, at most 1"."""

import json
from typing import Any, Final

_MAX_VALUES: Final = 8
_LIMITS: Final = (
    ("exclusiveMinimum", "above {}"),
    ("minimum", "at least {}"),
    ("exclusiveMaximum", "below {}"),
    ("maximum", "at most {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "of at least {} characters"),
    ("maxLength", "of at most {} characters"),
    ("pattern", "that match {}"),
    ("format", "of format {}"),
    ("minItems", "with at least {} items"),
    ("maxItems", "with at most {} items"),
)
_PLURAL: Final = {
    "integer": "whole numbers",
    "number": "numbers",
    "string": "texts",
    "array": "lists",
    "object": "objects",
    "boolean": "true and false",
    "null": "null",
}
_SILENT: Final = frozenset(
    {"$schema", "title", "description", "type", "default", "examples", "$defs", "definitions", "$comment"}
)


def described(schema: Any) -> str | None:
    """None when a few words do not say all of it."""
    if schema is True or schema == {}:
        return "anything"
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return f"only {shortened(_json(schema['const']))}"
    if isinstance(schema.get("enum"), list):
        return _listed(schema["enum"])
    names = schema.get("type")
    words = [
        dict(_LIMITS)[name].format(_json(value) if name != "format" else value)
        for name, value in schema.items()
        if name in dict(_LIMITS)
    ]
    rest = schema.keys() - _SILENT - dict(_LIMITS).keys()
    if rest or names is None:
        return None
    kinds = " or ".join(
        _PLURAL.get(str(name), str(name)) for name in (names if isinstance(names, list) else [names])
    )
    return f"{kinds} {', '.join(words)}".strip()


def _listed(values: list[Any]) -> str:
    shown = ", ".join(shortened(_json(value), 40) for value in values[:_MAX_VALUES])
    return f"one of {shown}" + (f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def shortened(text: str, limit: int = 200) -> str:
    """At most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
