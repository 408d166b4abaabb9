"""What a step gets is what its component takes: containment of schemas on every edge, after the mapping.

A producer's contract, seen through the semantic domains of its fields, against the consumer's. Nothing is told where the
producer's contract says nothing (``true``, ``{}``, a list without items): that is no promise that could break. An error
is a contradiction of what both say (types, values, fields); a warning is a value that only one of them rules out.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.analysis.producers import UNKNOWN, Producers, filled, given_by, parts_of
from sluicegate.contracts.containment import Budget, Containment, Verdict, covers
from sluicegate.contracts.containment.wording import shortened
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.workflow import Component, Phase
from sluicegate.contracts.suggestions import shown
from sluicegate.contracts.verification.facts import Facts, Use

_COMPOSED: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if"})
_FIELDS_OF_TYPE: Final = {
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "array": frozenset({"minItems", "maxItems", "uniqueItems", "contains"}),
}


class Edge(NamedTuple):
    """One thing that is given, and the contract that must take it; both say something."""

    code: str
    path: str
    takes: Any
    gives: Any
    who: str  # who takes it
    what: str  # what is given
    consumer: str  # ``callers`` or ``steps.<name>``
    is_guarded: bool = False  # the step has a condition, which may keep the value away


def edges_cover(facts: Facts) -> Iterator[Diagnostic]:
    """Every input of a step, of its stand-ins, and the answer; what is beyond the steps of a workflow is told as not compared."""
    budget = Budget()
    known: dict[tuple[int, int], tuple[Edge, Containment]] = {}  # one schema is often read by many
    for edge in edges_of(facts):
        if budget.is_spent:
            yield _not_compared(edge, budget)
            return
        budget.spend(1)
        pair = id(edge.takes), id(edge.gives)
        if pair not in known:
            known[pair] = edge, covered(edge, budget)
        found = known[pair][1]
        if found.verdict is Verdict.BREAKING:
            yield _finding(edge, found)


def edges_of(facts: Facts) -> Iterator[Edge]:
    """Those where both sides say something, in the order of the steps, the answer last."""
    return _edges(facts, Producers(facts))


def covered(edge: Edge, budget: Budget | None = None) -> Containment:
    """Whether all that is given is taken."""
    return covers(edge.takes, filled(edge.gives, edge.takes), is_closed=False, budget=budget)


def _not_compared(edge: Edge, budget: Budget) -> Diagnostic:
    return Diagnostic(
        code="EdgesNotCompared",
        severity=Severity.WARNING,
        path=edge.path,
        message=f"whether contracts fit is not known from here on: comparing those before took all of {budget.steps:.0f} steps",
        witness=f"{edge.what} → {edge.who}",
        hint="make the contracts smaller, or divide the workflow",
    )


def _finding(edge: Edge, found: Containment) -> Diagnostic:
    where = f" at {found.where}" if found.where else ""
    return Diagnostic(
        code=edge.code,
        severity=Severity.ERROR if _contradicts(edge, found) else Severity.WARNING,
        path=edge.path,
        message=f"{edge.who} does not take all that {edge.what} may give{where}: {found.message}",
        witness=shortened(_text(found.witness)),
        hint="let the producer's contract say that it never gives that, or the consumer's that it takes it",
    )


def _contradicts(edge: Edge, found: Containment) -> bool:
    """Whether both contracts plainly speak of the matter, so that a run is bound to break. What cannot be told so is a warning."""
    gives, takes = _at(edge.gives, found.where), _at(edge.takes, found.where)
    if edge.is_guarded:
        return False
    if takes is False:
        return gives is not None
    if not isinstance(gives, dict) or not isinstance(takes, dict):
        return False
    if _types(gives) and _types(takes) and not _types(gives) <= _types(takes):
        return True
    if (gives.keys() | takes.keys()) & _COMPOSED or _only_unlisted(gives, takes):
        return False
    if gives.keys() & {"enum", "const"}:
        return True
    if takes.keys() & {"enum", "const"}:
        return not _is_type_only(gives, takes)
    broad = any(takes.keys() & words for words in _FIELDS_OF_TYPE.values())
    return not broad or not _is_type_only(gives, takes)


def _types(schema: dict[str, Any]) -> frozenset[str]:
    """The types that a schema names; a number may be whole."""
    named = schema.get("type", [])
    found = {named} if isinstance(named, str) else {one for one in named if isinstance(one, str)}
    return frozenset(found | {"integer"} if "number" in found else found)


def _only_unlisted(gives: dict[str, Any], takes: dict[str, Any]) -> bool:
    """Whether all that may break is a field that the producer does not list, to a consumer that takes listed ones only."""
    is_closed = takes.get("additionalProperties") is False or takes.get("unevaluatedProperties") is False
    return (
        is_closed
        and "additionalProperties" not in gives
        and "patternProperties" not in gives
        and set(gives.get("properties", ())) <= set(takes.get("properties", ()))
        and set(takes.get("required", ())) <= set(gives.get("required", ()))
    )


def _is_type_only(gives: dict[str, Any], takes: dict[str, Any]) -> bool:
    """The producer says the type, which the consumer takes, and nothing of the values."""
    spoken = any(gives.keys() & words for words in _FIELDS_OF_TYPE.values())
    names = gives.get("type")
    allowed = takes.get("type", names)
    return not spoken and (
        names == allowed or (names == "integer" and allowed == "number") or _has(names, takes)
    )


def _has(name: Any, takes: dict[str, Any]) -> bool:
    """Whether some value of the type is among those that are taken."""
    kinds = {
        "string": str,
        "integer": int,
        "number": int | float,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    values = [takes["const"]] if "const" in takes else takes.get("enum", ())
    kind = kinds.get(name) if isinstance(name, str) else None
    return kind is not None and any(
        isinstance(value, kind) and (name == "boolean" or not isinstance(value, bool)) for value in values
    )


def _at(schema: Any, pointer: str) -> Any:
    """The part of a schema at a place of its values, as far as it is plainly there."""
    for step in pointer.split("/")[1:]:
        if not isinstance(schema, dict):
            return schema
        name = step.replace("~1", "/").replace("~0", "~")
        fields = schema.get("properties")
        below = fields.get(name) if isinstance(fields, dict) else None
        if below is None and step.isdecimal():
            below = schema.get("items")
        if below is None:
            return None
        schema = below
    return schema


def _edges(facts: Facts, producers: Producers) -> Iterator[Edge]:
    mapped: dict[int | None, list[Use]] = {}
    for use in facts.uses:
        if use.field is not None:
            mapped.setdefault(use.step, []).append(use)
    asked: dict[tuple[str, ...], dict[str, Any]] = {}  # by component and fields of a mapping
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        for member in chain(facts, component) if component else ():
            if member.contract.enforcement:
                continue
            told = (
                "InputNotCovered" if member.name == step.component else "StandInNotCovered",
                f"the input contract of {member.name}",
                f"steps.{step.name}",
            )
            if step.inputs is None:
                yield from _whole(producers, number, member, told, step.when is not None)
                continue
            uses = mapped.get(number, [])
            key = member.name, *step.inputs
            if key not in asked:
                asked[key] = parts_of(member.contract.input, list(step.inputs))
            yield from _fields(producers, uses, asked[key], told, step.when is not None)
    if not facts.spec.contract.enforcement:
        yield from _answer(facts, producers, mapped.get(None, []))


def _whole(
    producers: Producers, number: int, member: Component, told: tuple[str, str, str], is_guarded: bool
) -> Iterator[Edge]:
    takes = member.contract.input
    if producers.input is not UNKNOWN and _is_said(takes):
        path = f"spec.steps[{number}]"
        yield Edge(
            told[0], path, takes, producers.input, told[1], "the workflow's input", told[2], is_guarded
        )


def _is_said(takes: Any) -> bool:
    return takes is not True and takes != {}


def _fields(
    producers: Producers,
    uses: list[Use],
    fields: dict[str, Any],
    told: tuple[str, str, str],
    is_guarded: bool = False,
) -> Iterator[Edge]:
    """One edge for each field of a mapping and each who may have made its value."""
    code, who, consumer = told
    for use in uses:
        takes = fields[use.field or ""]
        for gives in _given(producers, use) if _is_said(takes) else ():
            if gives is not UNKNOWN:
                yield Edge(code, use.path, takes, gives, who, use.text, consumer, is_guarded)


def _given(producers: Producers, use: Use) -> list[Any]:
    if use.compiled is None:
        return []
    if use.compiled.is_constant:
        try:
            return [{"const": use.compiled.evaluate({})}]
        except ExpressionError:
            return []
    return (
        producers.at(use.compiled.references[0])
        if use.compiled.is_path
        else [given_by(use.compiled.result_type)]
    )


def _answer(facts: Facts, producers: Producers, uses: list[Use]) -> Iterator[Edge]:
    takes = facts.spec.contract.output
    told = "OutputNotCovered", "spec.contract.output", "callers"
    if facts.spec.output is not None:
        yield from _fields(producers, uses, parts_of(takes, list(facts.spec.output)), told)
        return
    steps = [step for step in facts.steps if step.phase is Phase.IN_REQUEST]
    for gives in producers.of_step(steps[-1].name) if steps and _is_said(takes) else ():
        if gives is not UNKNOWN:
            code, who, consumer = told
            yield Edge(
                code, child("spec.contract", "output"), takes, gives, who, f"steps.{steps[-1].name}", consumer
            )


def _text(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False, sort_keys=True)
        if isinstance(value, dict | list)
        else shown(value)
    )
