"""What stands at a place of a workflow's data, as a schema: of the input, of steps' outputs, through semantic domains."""

from typing import Any, Final

from sluicegate.contracts.cel_syntax import ANY_INDEX, Path
from sluicegate.contracts.containment.closing import closed
from sluicegate.contracts.containment.structure import ANNOTATIONS, Document
from sluicegate.contracts.domains import CompiledDomain, compile_domain, normalised
from sluicegate.contracts.paths import EACH
from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.resources.workflow_component import Component
from sluicegate.contracts.verification.facts import Facts

UNKNOWN: Final = object()
"""Nothing is known of the value: nothing can be said against it."""

_OF_RESULT: Final = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "uint": {"type": "integer"},
    "double": {"type": "number"},
    "string": {"type": "string"},
}
_DEEPEST: Final = 24


class Producers:
    """Schemas of what is given, each made once: closed, through its domains; UNKNOWN where nothing is declared."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.domains: dict[str | None, list[CompiledDomain]] = {}
        for domain in facts.spec.contract.semantics:
            try:
                step, compiled = compile_domain(domain)
            except ValueError:
                continue
            if domain.on_unknown in {"Fail", "Map"}:
                self.domains.setdefault(step, []).append(compiled)
        self.input = (
            UNKNOWN if facts.spec.contract.enforcement else self._seen(facts.spec.contract.input, None)
        )
        self.steps: dict[str, list[Any]] = {}
        self.outputs: dict[str, Any] = {}
        self.references: dict[Path, list[Any]] = {}

    def of_step(self, name: str) -> list[Any]:
        """Of each that may answer for the step, in order."""
        if name not in self.steps:
            component = self.facts.component_of(name)
            members = _members(self.facts, component) if component else ()
            self.steps[name] = [
                self._seen(self._closed(member), name)
                for member in members
                if not member.contract.enforcement
            ]
        return self.steps[name]

    def _closed(self, component: Component) -> Any:
        if component.name not in self.outputs:
            self.outputs[component.name] = closed(component.contract.output)
        return self.outputs[component.name]

    def at(self, path: Path) -> list[Any]:
        """What a reference gives, one schema for each who may have made it; none when nothing is known."""
        if path not in self.references:
            self.references[path] = [schema for schema in self._at(path) if schema is not UNKNOWN]
        return self.references[path]

    def _at(self, path: Path) -> list[Any]:
        if path[0] == "input":
            return [part(self.input, path[1:])]
        if path[0] == "steps" and len(path) > 1:
            return [part(schema, path[2:]) for schema in self.of_step(path[1])]
        if path[0] == "run" and len(path) == 2:
            return [given_by("int" if path[1] == "attempt" else "string")]
        return []

    def _seen(self, schema: Any, step: str | None) -> Any:
        if schema is True or schema == {}:
            return UNKNOWN
        for domain in self.domains.get(step, ()):
            schema = _with_values(schema, domain.below, domain)
        return schema


def _members(facts: Facts, component: Component) -> tuple[Component, ...]:
    """The component and its stand-ins; of StableVersion nothing is known but that it kept its own contract."""
    found = [component]
    while found[-1].on_failure.type is FailureStrategy.COMPONENT:
        following = facts.components.get(found[-1].on_failure.component or "")
        if following is None or following in found:
            break
        found.append(following)
    return tuple(found)


def part(schema: Any, path: Path) -> Any:
    """The schema of what stands at a path, alone; UNKNOWN when it is not plainly declared there."""
    if schema is UNKNOWN:
        return UNKNOWN
    document = Document(schema)
    found = schema
    for name in path:
        found = _resolved(found, document)
        if not isinstance(found, dict) or "patternProperties" in found:
            return UNKNOWN
        found = _item(found) if name == ANY_INDEX else _dict(found.get("properties")).get(name, UNKNOWN)
    alone = document.alone(_resolved(found, document)) if found is not UNKNOWN else None
    return UNKNOWN if alone is None or alone is True or not _says_something(alone) else alone


def _resolved(schema: Any, document: Document) -> Any:
    """Behind references that stand alone."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or "$ref" not in schema or schema.keys() - ANNOTATIONS != {"$ref"}:
            return schema
        schema = document.followed(schema["$ref"])
    return UNKNOWN


def _item(schema: dict[str, Any]) -> Any:
    return UNKNOWN if "prefixItems" in schema else schema.get("items", UNKNOWN)


def _says_something(schema: Any) -> bool:
    return schema is False or (isinstance(schema, dict) and bool(schema.keys() - ANNOTATIONS))


def given_by(result_type: str) -> Any:
    """Of an expression with this static type."""
    return _OF_RESULT.get(result_type, UNKNOWN)


def _with_values(schema: Any, below: Path, domain: CompiledDomain) -> Any:
    """The schema with the domain's values at its place; UNKNOWN when the place is not plainly there."""
    if schema is UNKNOWN or not below:
        return schema if schema is UNKNOWN else _values(schema, domain)
    name, rest = below[0], below[1:]
    if not isinstance(schema, dict) or "$ref" in schema:
        return UNKNOWN
    if name == EACH and "items" in schema and "prefixItems" not in schema:
        new = _with_values(schema["items"], rest, domain)
        return UNKNOWN if new is UNKNOWN else {**schema, "items": new}
    fields = _dict(schema.get("properties"))
    if name in fields:
        new = _with_values(fields[name], rest, domain)
        return UNKNOWN if new is UNKNOWN else {**schema, "properties": {**fields, name: new}}
    return UNKNOWN


def _values(schema: Any, domain: CompiledDomain) -> Any:
    """After normalisation there is nothing else; null goes through where the schema lets it."""
    allowed = schema.get("type") if isinstance(schema, dict) else None
    has_null = "null" in allowed if isinstance(allowed, list) else allowed == "null"
    listed = schema.get("enum") if isinstance(schema, dict) else None
    has_null = has_null or (isinstance(listed, list) and None in listed)
    values = sorted(domain.exact)
    if isinstance(listed, list) and domain.root != "input" and domain.replacement is None:
        spoken = {domain.spellings.get(normalised(value)) for value in listed if isinstance(value, str)}
        values = [value for value in values if value in spoken or value in listed]
    return {"enum": [*values, *([None] if has_null else [])]}


def parts_of(schema: Any, names: list[str]) -> dict[str, Any]:
    """What a consumer asks of each field of a mapping, alone; True where that is not plainly said."""
    document = Document(schema)
    found = _resolved(schema, document)
    fields = _dict(found.get("properties")) if isinstance(found, dict) else {}
    asked: dict[str, Any] = {}
    for name in names:
        alone = document.alone(fields[name]) if name in fields else True
        asked[name] = True if alone is None else alone
    return asked


def filled(gives: Any, takes: Any, depth: int = 0) -> Any:
    """The producer's schema with the consumer's where the producer says nothing: no promise, no breach."""
    if gives is True or gives == {} or (isinstance(gives, dict) and not gives.keys() - ANNOTATIONS):
        return takes
    if (
        not isinstance(gives, dict)
        or not isinstance(takes, dict)
        or depth > _DEEPEST
        or "$ref" in gives
        or "$ref" in takes
    ):
        return gives
    found = dict(gives)
    if gives.get("type") == "object" and not gives.keys() & {
        "properties",
        "patternProperties",
        "additionalProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "enum",
        "const",
    }:
        return takes if takes.get("type", "object") == "object" else gives
    fields, asked = _dict(gives.get("properties")), _dict(takes.get("properties"))
    if fields:
        found["properties"] = {
            name: filled(item, asked.get(name, True), depth + 1) for name, item in fields.items()
        }
    if (
        gives.get("type") == "array"
        and "prefixItems" not in gives
        and "prefixItems" not in takes
        and "items" in takes
    ):
        found["items"] = filled(gives.get("items", True), takes["items"], depth + 1)
    return found


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
