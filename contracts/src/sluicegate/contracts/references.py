"""Local references of a JSON Schema."""

from typing import Any, Final

_MAX_REFERENCES: Final = 32


def resolved(schema: Any, root: Any) -> Any:
    """The schema behind local references; True when one cannot be followed."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = target(schema["$ref"], root)
    return True


def target(reference: str, root: Any) -> Any:
    """The schema that one local reference names; True when it cannot be followed."""
    if not reference.startswith("#"):
        return True
    found = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return True
        found = found[name]
    return found
