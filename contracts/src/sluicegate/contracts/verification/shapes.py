"""What a JSON Schema says about one path: whether a value that keeps the contract can have that field."""

from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.cel_syntax import ANY_INDEX, Path
from sluicegate.contracts.references import resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """The first part of a path that no conforming value has. depth: its position in the path."""

    depth: int
    name: str
    allowed: tuple[str, ...]
    is_a: str | None = None  # the type found where an object or list would be needed


def impossible(schema: Any, path: Path) -> Impossible | None:
    """None when some conforming value has `path`, or when that cannot be told."""
    root = schema
    for depth, name in enumerate(path):
        schema = resolved(schema, root)
        if not isinstance(schema, dict):
            return None
        types = _types(schema)
        if types and not types & ({"object", "array"} if name == ANY_INDEX else {"object"}):
            return Impossible(depth=depth, name=name, allowed=(), is_a=" or ".join(sorted(types)))
        below = _item(schema) if name == ANY_INDEX else _field(schema, name)
        if below is False:
            return Impossible(depth=depth, name=name, allowed=tuple(schema.get("properties", ())))
        schema = below
    return None


def closed_names(schema: Any) -> tuple[str, ...] | None:
    """The only fields that an object may have, or None when others are allowed or it cannot be told."""
    schema = resolved(schema, schema)
    if (
        not isinstance(schema, dict)
        or schema.get("additionalProperties") is not False
        or "patternProperties" in schema
    ):
        return None
    names = schema.get("properties", {})
    return tuple(names) if isinstance(names, dict) else None


def required_names(schema: Any) -> tuple[str, ...]:
    """The fields that an object must have, as far as the schema says so at its top."""
    schema = resolved(schema, schema)
    names = schema.get("required", ()) if isinstance(schema, dict) else ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _types(schema: dict[str, Any]) -> set[str]:
    found = schema.get("type")
    if isinstance(found, str):
        return {found}
    return {item for item in found if isinstance(item, str)} if isinstance(found, list) else set()


def _field(schema: dict[str, Any], name: str) -> Any:
    """Schema of a field: False when there cannot be one, True when nothing is known of it."""
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    if "patternProperties" in schema:
        return True
    return schema.get("additionalProperties", True)


def _item(schema: dict[str, Any]) -> Any:
    return True if "prefixItems" in schema or "properties" in schema else schema.get("items", True)
