"""Which outputs of components are observed, for ComponentDrift: what a contract bounds to a few values or to a range.

Observed are, in the order of the contract: fields with an `enum` of two values or more, booleans, numbers with a minimum
and a maximum, vectors (lists of 2 to 4,096 numbers, as `minItems` and `maxItems` say alike), and the names of the tools in
`tool_calls`. Free texts and unbounded numbers (ids, times, counters) are not, nor is what `lineage.redact` hides.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.compiled import steps_of
from sluicegate.contracts.paths import EACH, join, run_path
from sluicegate.contracts.references import resolved
from sluicegate.contracts.resources.workflow import Component, Protocol, SideEffects, WorkflowSpec

MOST: Final = 32
"""Fields observed in a workflow; further ones are left out."""

TOOLS: Final = "tool_calls"
"""An output of this name holds calls of tools, each with `name` or `function.name`."""

NOTHING: Final = "(none)"
"""The value where a field is absent, or its list is empty."""

Keys = tuple[str, ...]
_TOOL_NAMES: Final[tuple[Keys, ...]] = ((TOOLS, EACH, "function", "name"), (TOOLS, EACH, "name"))
_MAX_DEPTH: Final = 6
_LONGEST: Final = 256
_LONGEST_VECTOR: Final = 4096
_MOST_PLACES: Final = 1000
_MOST_ALTERNATIVES: Final = 8
_FEW: Final[dict[Any, tuple[Any, ...]]] = {"boolean": (False, True), "null": (None,)}
_NUMBERS: Final = ({"integer"}, {"number"}, {"integer", "number"})
_SIDES: Final = {"output", "response"}
_INPUT_SIDES: Final = {"input", "request"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedField:
    """A field of a component's output. keys: the ways to it, `*` for each item; only names of tools have two.

    numeric: it holds numbers; length: and these are vectors of so many. live: mirrored runs do not call the component, so that
    there it is not observed.
    """

    component: str
    output: str
    keys: tuple[Keys, ...]
    numeric: bool = False
    length: int = 0
    live: bool = False

    @property
    def key(self) -> str:
        """As in ArmFacts."""
        return f"{self.component}.{self.output}"


def observed_fields(spec: WorkflowSpec) -> tuple[ObservedField, ...]:
    """Of every component, at most 32."""
    found = [field for component in spec.components for field in _fields(component)]
    hidden = tuple(_hidden(spec))
    kept = (
        field
        for field in found
        if not any(
            field.component in components and _overlap(path, keys)
            for components, path in hidden
            for keys in field.keys
        )
    )
    return tuple(kept)[:MOST]


def _fields(component: Component) -> Iterator[ObservedField]:
    schema = component.contract.output
    live = component.side_effects is SideEffects.LIVE
    places = [place for place in _places(schema) if len(_named(place[0])) <= _LONGEST]
    if component.endpoint.protocol is Protocol.OPENAI and not isinstance(schema, dict):
        places = [((TOOLS,), None)]
    for keys, length in dict.fromkeys(places):
        tools = keys == (TOOLS,)
        yield ObservedField(
            component=component.name,
            output=_named(keys),
            keys=_TOOL_NAMES if tools else (keys,),
            numeric=length is not None,
            length=length or 0,
            live=live,
        )


def _named(keys: Keys) -> str:
    return join("", keys).replace(f".{EACH}", "[*]").replace('["*"]', "[*]") if keys else "output"


def _places(root: Any) -> Iterator[tuple[Keys, int | None]]:
    """Ways to observed fields; of numbers with 0, of vectors with their length. The nearest first, also in a schema that contains itself."""
    queue: deque[tuple[Any, Keys]] = deque([(root, ())])
    for _ in range(_MOST_PLACES):
        if not queue:
            return
        found, keys = queue.popleft()
        schema = resolved(found, root)
        if keys == (TOOLS,) and (schema is True or _is_list(schema)):
            yield keys, None
        if not isinstance(schema, dict) or keys == (TOOLS,) or len(keys) > _MAX_DEPTH:
            continue
        if len(_values(schema, root)) > 1:
            yield keys, None
        elif _is_bounded(schema, root):
            yield keys, 0
        elif length := _length(schema, root):
            yield keys, length
        else:
            queue.extend(_below(schema, keys))


def _below(schema: dict[str, Any], keys: Keys) -> Iterator[tuple[Any, Keys]]:
    properties = schema.get("properties")
    for name, below in properties.items() if isinstance(properties, dict) else ():
        if name != EACH:
            yield below, (*keys, name)
    if "items" in schema and "prefixItems" not in schema:
        yield schema["items"], (*keys, EACH)


def _values(schema: dict[str, Any], root: Any, depth: int = 0) -> tuple[Any, ...]:
    """The few values that a schema allows; empty when there are others."""
    if "const" in schema:
        return (schema["const"],) if _is_scalar(schema["const"]) else ()
    if isinstance(schema.get("enum"), list):
        return tuple(schema["enum"]) if all(map(_is_scalar, schema["enum"])) else ()
    if isinstance(schema.get("type"), str) and schema["type"] in _FEW:
        return _FEW[schema["type"]]
    found: list[Any] = []
    for below in _alternatives(schema, root, depth):
        values = _values(below, root, depth + 1) if isinstance(below, dict) else ()
        if not values:
            return ()
        found += values
    return tuple(found)


def _is_bounded(schema: dict[str, Any], root: Any, depth: int = 0) -> bool:
    others = [below for below in _alternatives(schema, root, depth) if below != {"type": "null"}]
    if others:
        return all(isinstance(below, dict) and _is_bounded(below, root, depth + 1) for below in others)
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(types) if isinstance(types, list) else set()
    low = "minimum" in schema or "exclusiveMinimum" in schema
    high = "maximum" in schema or "exclusiveMaximum" in schema
    return named - {"null"} in _NUMBERS and low and high


def _length(schema: dict[str, Any], root: Any) -> int:
    """Of a list of so many numbers; 0 of others, and of bounded numbers, which are observed one by one."""
    length, items = schema.get("minItems"), resolved(schema.get("items"), root)
    if not isinstance(items, dict) or length != schema.get("maxItems") or not isinstance(length, int):
        return 0
    numbers = _is_list(schema) and items.get("type") in ("integer", "number") and not _is_bounded(items, root)
    return length if numbers and 2 <= length <= _LONGEST_VECTOR else 0


def _alternatives(schema: dict[str, Any], root: Any, depth: int) -> list[Any]:
    found = schema.get("anyOf", schema.get("oneOf"))
    if not isinstance(found, list) or depth >= _MAX_DEPTH:
        return []
    return [resolved(below, root) for below in found[:_MOST_ALTERNATIVES]]


def _is_list(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type", "array") == "array"


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _hidden(spec: WorkflowSpec) -> Iterator[tuple[frozenset[str], Keys]]:
    """Components whose outputs `lineage.redact` touches, and where."""
    for text in spec.lineage.redact:
        try:
            path = run_path(text)
        except ValueError:
            continue  # told by verification
        if path[0] != "steps":
            continue
        rest = tuple(map(str, path[2:]))
        if rest and rest[0] in _INPUT_SIDES:
            continue
        names = frozenset(step.component for step in steps_of(spec) if path[1] in (EACH, step.name))
        yield names, rest[1:] if rest and rest[0] in _SIDES else rest


def _overlap(path: Keys, keys: Keys) -> bool:
    """Whether one lies within the other; a number and `*` may be the same item."""
    return all(one == other or EACH in (one, other) for one, other in zip(path, keys, strict=False))
