"""Every field of every kind, from the JSON Schemas that editors use."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from sluicegate.console.reference.markdown import page, table
from sluicegate.contracts.export import json_schemas
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import Digest, Name, Number, Rate, VersionText

Schema = dict[str, Any]
_DEFINITIONS = "#/$defs/"

_SCALARS: dict[str, tuple[Any, str]] = {
    "Name": (Name, "Lower-case letters, digits and `-`, at most 63; begins and ends with a letter or digit."),
    "Version": (VersionText, "Letters, digits and `. _ + -`, at most 128; begins with a letter or digit."),
    "Rate": (Rate, 'A number in [0, 1] as text: `"0.995"`. Never a float.'),
    "Number": (Number, "A non-negative number as text."),
    "Digest": (Digest, "`sha256:` and 64 hexadecimal digits."),
}
_PATTERNS = {TypeAdapter(kind).json_schema()["pattern"]: name for name, (kind, _) in _SCALARS.items()}
_BOUNDS = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "`{}`",
}


def resources_page() -> str:
    """A section per kind and per type, in the order in which they are met."""
    seen: set[str] = set()
    parts = [part for kind, schema in json_schemas().items() for part in _kind(kind, schema, seen)]
    return page(
        "Resources",
        "Group `sluicegate.io`, version `v1alpha1`. Made from the JSON Schemas that `sluicegate schema KIND` prints for editors. "
        "Fields without a default are required, unless they are marked *optional*; unknown fields are refused. "
        "Files are YAML 1.2 or JSON, at most 1 MiB, with one or several documents.",
        table(
            ("kind", "short", "plural", "applied by people"),
            (
                (
                    f"[{kind.name}](#{kind.name.lower()})",
                    kind.short,
                    kind.plural,
                    "yes" if kind.applied_by_people else "no",
                )
                for kind in KINDS.values()
            ),
        ),
        "## Scalars",
        table(("type", "what it is"), ((name, text) for name, (_, text) in _SCALARS.items())),
        *parts,
    )


def _kind(kind: str, schema: Schema, seen: set[str]) -> Iterator[str]:
    yield from _section("##", kind, schema)
    waiting = list(_referred(schema))
    while waiting:
        name = waiting.pop(0)
        part = schema["$defs"][name]
        if name in seen or "properties" not in part:
            continue
        seen.add(name)
        yield from _section("###", name, part)
        waiting = [*_referred(part), *waiting]


def _section(level: str, name: str, schema: Schema) -> Iterator[str]:
    description = schema.get("description")
    if not description:
        raise LookupError(f"{name} has no docstring")
    yield f"{level} {name}"
    yield str(description).split("\n\n")[0]
    required = set(schema.get("required", ()))
    yield table(
        ("field", "type", "default", "bounds", "meaning"),
        (_row(name, field, part, required) for field, part in schema["properties"].items()),
    )


def _row(name: str, field: str, part: Schema, required: set[str]) -> tuple[str, ...]:
    meaning = part.get("description") or _KNOWN.get(field)
    if not meaning:
        raise LookupError(f"{name}.{field} has no description")
    bounds = "; ".join(text.format(value) for text, value in _bounds(part))
    return f"`{field}`", _type(part), _default(part, is_required=field in required), bounds, meaning


_KNOWN = {"apiVersion": "Always this.", "kind": "Always this."}
"""Fields whose schema `contracts.export` replaces by a constant."""


def _default(part: Schema, *, is_required: bool) -> str:
    if is_required:
        return ""
    default = part.get("default")
    if default is None:
        return "*optional*"
    return f"`{json.dumps(default, ensure_ascii=False)}`" if not isinstance(default, dict) else "its defaults"


def _options(part: Schema) -> list[Schema]:
    """What it may be, without null."""
    return [option for option in part.get("anyOf", [part]) if option.get("type") != "null"]


def _type(part: Schema) -> str:
    return " or ".join(_one_type(option) for option in _options(part))


def _one_type(part: Schema) -> str:
    if "$ref" in part:
        name = part["$ref"].removeprefix(_DEFINITIONS)
        return _WORDS.get(name) or f"[{name}](#{name.lower()})"
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return " ".join(f"`{word}`" for word in part["enum"])
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}))}"
    if part.get("type") == "object":
        values = part.get("additionalProperties")
        return f"map of {_type(values)}" if isinstance(values, dict) and values else "object"
    scalar = _PATTERNS.get(part.get("pattern", ""))
    return scalar or part.get("format") or part.get("type") or "any JSON"


def _bounds(part: Schema) -> Iterator[tuple[str, Any]]:
    for option in _options(part):
        if option.get("pattern") in _PATTERNS:
            continue
        for keyword, text in _BOUNDS.items():
            if keyword in option:
                yield text, option[keyword]


def _referred(part: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to, in its order."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value.removeprefix(_DEFINITIONS)
            elif key != "$defs":
                yield from _referred(value)
    elif isinstance(part, list):
        for value in part:
            yield from _referred(value)


def _enumerations() -> dict[str, str]:
    """Definitions that are a list of words, or anything, shown where they are used."""
    found = {"JsonValue": "any JSON"}
    for schema in json_schemas().values():
        for name, part in schema.get("$defs", {}).items():
            if "enum" in part:
                found[name] = " ".join(f"`{word}`" for word in part["enum"])
    return found


_WORDS = _enumerations()
