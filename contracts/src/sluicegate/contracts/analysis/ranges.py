"""What a reference may give, by the contracts and semantic domains that the gateway enforces."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.analysis.values import ANYTHING, KINDS, Values, kind, union
from sluicegate.contracts.cel_tree import Keys, Scalar
from sluicegate.contracts.paths import EACH, field_pattern
from sluicegate.contracts.references import resolved
from sluicegate.contracts.resources.workflow import (
    Component,
    FailureStrategy,
    SemanticDomain,
)
from sluicegate.contracts.verification.facts import Facts
from sluicegate.contracts.verification.shapes import required_names

_SCALARS: Final = (str, int, float, bool, type(None))
_FINITE: Final[Mapping[str, tuple[Scalar, ...]]] = {"boolean": (False, True), "null": (None,)}
_SIZES: Final = {
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "object": ("minProperties", "maxProperties"),
}
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Variable:
    """What a condition looks at: a reference's value, its `size`, or whether it is there (`has`)."""

    keys: Keys
    what: str = "value"

    def __str__(self) -> str:
        """As in an expression."""
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.keys)[1:]
        return text if self.what == "value" else f"{self.what}({text})"


class Ranges:
    """Of one workflow; looks each variable up once."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[Variable, Values] = {}
        self._domains = dict(_domains(facts))

    def of(self, variable: Variable) -> Values:
        """All values that it may have; ANYTHING when that is not known."""
        if variable not in self._known:
            self._known[variable] = self._look_up(variable)
        return self._known[variable]

    def is_given(self, step: str) -> bool:
        """Whether the step always has an output, once it was its turn and the run goes on."""
        component = self._facts.component_of(step)
        if component is None or self._facts.steps[self._facts.position[step]].when is not None:
            return False
        return chain(self._facts, component)[-1].on_failure.type is not FailureStrategy.SKIP

    def _look_up(self, variable: Variable) -> Values:
        if variable.what == "has":
            return Values(members=(True,) if self._is_there(variable.keys) else (False, True))
        root, *below = variable.keys
        if root == "input":
            contract = self._facts.spec.contract
            lax = bool(contract.enforcement)
            return ANYTHING if lax else self._seen(variable, values_at(contract.input, tuple(below)))
        component = self._facts.component_of(str(below[0])) if root == "steps" and below else None
        if component is None or (variable.what == "size" and not below[1:]):
            return ANYTHING
        return self._of_step(variable, component, tuple(below[1:]))

    def _is_there(self, keys: Keys) -> bool:
        if len(keys) != 2:
            return False
        if keys[0] == "steps":
            return self.is_given(str(keys[1]))
        return keys[0] == "input" and keys[1] in required_names(self._facts.spec.contract.input)

    def _of_step(self, variable: Variable, component: Component, below: Keys) -> Values:
        """Of whoever may answer for the step."""
        parts: list[Values] = []
        read = sizes_at if variable.what == "size" else values_at
        members = chain(self._facts, component)
        for one in members:
            if one.contract.enforcement:
                return ANYTHING
            is_stable = one.on_failure.type is FailureStrategy.STABLE_VERSION
            parts.append(ANYTHING if is_stable else read(one.contract.output, below))
        found = self._seen(variable, union(parts))
        rule = members[-1].on_failure
        if rule.type is not FailureStrategy.VALUE:
            return found
        value = _part(rule.value, below)  # given as it is, without its domain
        if value is _MISSING or variable.what == "size" or found is ANYTHING:
            return found
        return union((found, Values(members=(value,)))) if isinstance(value, _SCALARS) else ANYTHING

    def _seen(self, variable: Variable, values: Values) -> Values:
        """Through the semantic domain, if there is one: then nothing else goes through."""
        domain = self._domains.get(tuple(EACH if isinstance(key, int) else key for key in variable.keys))
        if domain is None or variable.what != "value":
            return values
        words: tuple[Scalar, ...] = (*(item.value for item in domain.values), None)
        if variable.keys[0] == "input":  # its contract saw the spelling of the caller
            return Values(members=words)
        return Values(members=tuple(word for word in words if values.has(word)))


@lru_cache(maxsize=2)
def ranges_of(facts: Facts) -> Ranges:
    """Of this workflow."""
    return Ranges(facts)


def _domains(facts: Facts) -> Iterator[tuple[tuple[str, ...], SemanticDomain]]:
    for domain in facts.spec.contract.semantics:
        if domain.on_unknown in {"Fail", "Map"}:
            try:
                yield field_pattern(domain.field), domain
            except ValueError:
                continue


def _part(value: Any, keys: Keys) -> Any:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def values_at(schema: Any, keys: Keys) -> Values:
    """The values that a JSON Schema allows at a path: never fewer than it does, as keywords only ever take away."""
    found = _below(schema, keys)
    return ANYTHING if found is None else _values(found, schema)


def sizes_at(schema: Any, keys: Keys) -> Values:
    """The same for `size()` of what is there."""
    found = _below(schema, keys)
    names = _SIZES.get(str(found.get("type"))) if found else None
    low, high = ((found or {}).get(name) for name in names or ("", ""))
    return Values(
        kinds=frozenset({"number"}),
        low=low if isinstance(low, int) else 0,
        high=high if isinstance(high, int) else math.inf,
        whole=True,
    )


def _below(schema: Any, keys: Keys) -> dict[str, Any] | None:
    """The schema of a field, or None when nothing is known of it."""
    root = schema
    for key in (*keys, None):
        schema = resolved(schema, root)
        if not isinstance(schema, dict):
            return None
        if key is not None:
            schema = _item(schema, key) if isinstance(key, int) else _field(schema, key)
    return schema if isinstance(schema, dict) else None


def _field(schema: dict[str, Any], name: str) -> Any:
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return None if "patternProperties" in schema else schema.get("additionalProperties")


def _item(schema: dict[str, Any], index: int) -> Any:
    first = schema.get("prefixItems")
    if isinstance(first, list) and index < len(first):
        return first[index]
    return schema.get("items")


def _values(schema: dict[str, Any], root: Any) -> Values:
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else None
    types = None if names is None else {name for name in names if isinstance(name, str)}
    kinds = KINDS if types is None else frozenset("number" if one == "integer" else one for one in types)
    if isinstance(listed, list) and all(isinstance(one, _SCALARS) for one in listed):
        return Values(members=tuple(one for one in listed if kind(one) in kinds))
    if listed is None and kinds <= set(_FINITE):
        return Values(members=tuple(value for one in sorted(kinds) for value in _FINITE[one]))
    branches = schema.get("anyOf") or schema.get("oneOf")
    if listed is None and types is None and isinstance(branches, list):
        parts = [resolved(one, root) for one in branches]
        return union(_values(one, root) if isinstance(one, dict) else ANYTHING for one in parts)
    bounds = {name: value for name, value in schema.items() if _is_number(value)}
    low, low_open = _bound(bounds, "minimum", "exclusiveMinimum", 1)
    high, high_open = _bound(bounds, "maximum", "exclusiveMaximum", -1)
    whole = types is not None and "integer" in types and "number" not in types
    return Values(kinds=kinds, low=low, high=high, low_open=low_open, high_open=high_open, whole=whole)


def _bound(bounds: Mapping[str, float], closed: str, opened: str, sign: int) -> tuple[float, bool]:
    """The tighter of the two, and whether it is excluded."""
    first, second = bounds.get(closed, -sign * math.inf), bounds.get(opened, -sign * math.inf)
    return (second, True) if sign * second >= sign * first and opened in bounds else (first, False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
