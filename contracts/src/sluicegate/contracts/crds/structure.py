"""From a pydantic model to a structural schema: the part of JSON Schema that Kubernetes takes.

No references, no unions: null is absence, and what may be of several types (a JSON Schema, a stub's value) is a
free-form leaf. Everything is bounded, since the API server prices rules by what they might meet. Defaults are those
of scalars in spec: they equal the model's, so an object reads and digests the same with and without them.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from sluicegate.contracts.crds.lists import LISTS
from sluicegate.contracts.crds.record_rules import RECORDS
from sluicegate.contracts.crds.rules import Guard
from sluicegate.contracts.crds.workflow_rules import NAMED, WORKFLOW
from sluicegate.contracts.resources.base import EXACT_PATTERNS, Resource

Schema = dict[str, Any]

BY_MODEL: Final[dict[str, Guard]] = {**WORKFLOW, **RECORDS}
FREE: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
_REFERENCE: Final = "#/$defs/"
_KEPT: Final[tuple[str, ...]] = (
    "format",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
)
_STATUS_BOUNDS: Final = {"maxLength": 32_768, "maxItems": 1024, "maxProperties": 1024}
"""Of what only the control loop writes. Above all that it writes: a refused status would be tried for ever."""
_TOP: Final[Schema] = {
    "apiVersion": {"type": "string", "description": "Group and version: sluicegate.io/v1alpha1."},
    "kind": {"type": "string", "description": "The kind of this object."},
    "metadata": {"type": "object"},
}


class UnboundedError(LookupError):
    """A field of spec without bound, or without a word on what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where in a kind: `path` for errors. status: of the control loop. snapshot: verified when it was a wish."""

    definitions: Schema
    path: str
    status: bool = False
    snapshot: bool = False

    def below(self, name: str) -> "_Place":
        """A field, or the items when `name` is []."""
        return replace(self, path=f"{self.path}.{name}")


def structural(model: type[Resource]) -> Schema:
    """The schema of a kind. UnboundedError when a field lacks its bound or its description."""
    whole = model.model_json_schema(by_alias=True, mode="validation")
    place = _Place(definitions=whole.get("$defs", {}), path=model.__name__)
    found = _object(whole, model.__name__, place, skip=frozenset(_TOP))
    found["properties"] = {**_TOP, **found["properties"]}
    if model.__name__ in NAMED:
        found["properties"]["metadata"] = {"type": "object", "properties": {"name": NAMED[model.__name__]}}
    found["required"] = ["spec"]
    return found


def _converted(node: Schema, place: _Place) -> Schema:
    """A schema node; its own words go before those of what it refers to."""
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        own = {key: value for key, value in node.items() if key != "anyOf"}
        return _converted({**options[0], **own}, place)
    described = {"description": _words(node)} if node.get("description") else {}
    if options or not _is_typed(node):
        return {**described, **FREE}
    if "$ref" in node:
        name = node["$ref"].removeprefix(_REFERENCE)
        own = {key: value for key, value in node.items() if key != "$ref"}
        target = place.definitions[name]
        if not described and target.get("description"):
            described = {"description": _words(target)}
        if not _is_typed(target):
            return {**described, **FREE}
        return {**_named(target, own, name, place), **described}
    return {**_named(node, node, "", place), **described}


def _is_typed(node: Schema) -> bool:
    return bool({"$ref", "type", "const", "enum", "anyOf"} & set(node))


def _named(node: Schema, own: Schema, name: str, place: _Place) -> Schema:
    """own: what the field says itself, its default among it."""
    kind = node.get("type", "string")
    if kind == "object":
        return _object(node, name, place) if "properties" in node else _map(node, place)
    if kind == "array":
        return _list(node, place)
    return _scalar(node, own, kind, place)


def _object(node: Schema, name: str, place: _Place, *, skip: frozenset[str] = frozenset()) -> Schema:
    properties: Schema = {}
    for field, part in node["properties"].items():
        if field in skip:
            continue
        inside = replace(
            place.below(field),
            status=place.status or field == "status",
            snapshot=place.snapshot or (name, field) == ("RevisionSpec", "body"),
        )
        made = _converted(part, inside)
        if not made.get("description"):
            raise UnboundedError(f"{inside.path} has no description")
        types = LISTS.get((name, field))
        if types is not None:
            made |= types
        properties[field] = made
    found: Schema = {"type": "object", "description": _words(node), "properties": properties}
    required = [field for field in node.get("required", ()) if field in properties]
    if required:
        found["required"] = required
    model = BY_MODEL.get(name)
    if model is not None and not place.status and not place.snapshot:
        found |= model.shape
        if model.rules:
            found["x-kubernetes-validations"] = [rule.to_json() for rule in model.rules]
    return found


def _map(node: Schema, place: _Place) -> Schema:
    values = node.get("additionalProperties", True)
    made = _converted(values, place.below("*")) if isinstance(values, dict) else FREE
    inside: Schema = FREE if made == FREE else {"additionalProperties": made}
    return {"type": "object", **_bounds(node, "maxProperties", place), **inside}


def _list(node: Schema, place: _Place) -> Schema:
    return {
        "type": "array",
        **_bounds(node, "maxItems", place),
        "items": _converted(node["items"], place.below("[]")),
        "x-kubernetes-list-type": "atomic",
    }


def _scalar(node: Schema, own: Schema, kind: str, place: _Place) -> Schema:
    if kind == "number":
        raise UnboundedError(f"{place.path} is a float")
    found: Schema = {"type": kind}
    if "const" in node:
        found["enum"] = [node["const"]]
    if "pattern" in node:
        found["pattern"] = EXACT_PATTERNS.get(node["pattern"], node["pattern"])
    if kind == "string" and not {"enum", "const", "format"} & set(node):
        found |= _bounds(node, "maxLength", place)
    elif kind == "integer":
        found["format"] = "int64"
    found |= {key: node[key] for key in _KEPT if key in node}
    default = own.get("default")
    if default is not None and default != "" and not place.status:
        found["default"] = default
    return found


def _bounds(node: Schema, keyword: str, place: _Place) -> Schema:
    found: Schema = {key: node[key] for key in _KEPT if key in node}
    if keyword not in found:
        if not place.status:
            raise UnboundedError(f"{place.path} has no {keyword}")
        found[keyword] = _STATUS_BOUNDS[keyword]
    return found


def _words(node: Schema) -> str:
    """The first paragraph, in one line."""
    return " ".join(str(node.get("description", "")).split("\n\n")[0].split())
