"""What goes in and what comes out: input may only widen, output may only narrow, and every edge still fits.

Callers know the old contracts of the workflow, so these are compared between the versions. Steps change together: a
component's contract that breaks the rule is an error only where an edge of the new workflow is not proven to fit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.analysis.edges import Edge, covered, edges_of
from sluicegate.contracts.compatibility.comparison import CALLERS, NOT_PROVEN, Change, Level
from sluicegate.contracts.compiled import answer_contract, face
from sluicegate.contracts.containment import Budget, Containment, Verdict, covers
from sluicegate.contracts.containment.wording import shortened
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.resources.workflow_component import Component
from sluicegate.contracts.suggestions import closest
from sluicegate.contracts.verification.facts import Facts

_VALUE_WORDS: Final = frozenset(
    {
        "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
        "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "contains", "minContains",
        "maxContains", "minProperties", "maxProperties", "propertyNames", "not", "if", "then", "else",
        "contentEncoding", "contentMediaType",
    }
)  # fmt: skip
_TYPES: Final = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One direction of one contract: who must still be served by what is there now."""

    code: str
    path: str
    takes: Any
    gives: Any
    said: str  # "takes less", "gives more"
    hint: str
    names: Any  # the new schema, for names that are near


def changes(old: Facts, new: Facts, level: Level) -> Iterator[Change]:
    """In the order of the new file: the contract, the components, the edges; all with one budget of steps."""
    budget = Budget()
    for question in _of_callers(old, new):
        change = _asked(question, (CALLERS,), level, budget, severity=Severity.ERROR)
        if change is not None:
            yield change
    yield from _removed_answers(old, new)
    broken = list(_edges(old, new, level, budget))
    for component, consumers, question in _of_components(old, new):
        severity = Severity.ERROR if _is_unproven(component, consumers, new) else Severity.WARNING
        told = consumers if severity is Severity.ERROR else ()
        change = _asked(question, told, level, budget, severity=severity)
        if change is not None:
            yield change
    yield from broken


def _of_callers(old: Facts, new: Facts) -> Iterator[_Question]:
    (was, _), (now, place) = face(old.spec), face(new.spec)
    yield _Question(
        code="InputNarrowed", path=place, takes=now, gives=was, said="takes less than before", names=now,
        hint="input may only widen: take what callers send today, or give the field a default",
    )  # fmt: skip
    (was, _), (now, place) = answer_contract(old.spec), answer_contract(new.spec)
    yield _Question(
        code="OutputWidened", path=place, takes=was, gives=now, said="gives more than before", names=now,
        hint="output may only narrow: keep to what callers know",
    )  # fmt: skip


def _of_components(old: Facts, new: Facts) -> Iterator[tuple[Component, tuple[str, ...], _Question]]:
    for number, component in enumerate(new.spec.components):
        before = old.components.get(component.name)
        if before is None:
            continue
        path = f"spec.components[{number}].contract"
        senders = tuple(f"steps.{step.name}" for step in new.steps if step.component == component.name)
        yield component, senders, _Question(
            code="ComponentInputNarrowed", path=f"{path}.input", takes=component.contract.input,
            gives=before.contract.input, said="takes less than before", names=component.contract.input,
            hint="let it take what it took, or change the steps that call it",
        )  # fmt: skip
        yield component, _readers(new, component.name), _Question(
            code="ComponentOutputWidened", path=f"{path}.output", takes=before.contract.output,
            gives=component.contract.output, said="gives more than before", names=component.contract.output,
            hint="let the steps that read it take what is new",
        )  # fmt: skip


def _readers(facts: Facts, component: str) -> tuple[str, ...]:
    """Steps, and the callers, whose expressions read a step of this component."""
    names = {step.name for step in facts.steps if step.component == component}
    read = [use for use in facts.uses if names.intersection(use.steps())]
    found = [CALLERS if use.step is None else f"steps.{facts.steps[use.step].name}" for use in read]
    return tuple(dict.fromkeys(found))


def _is_unproven(component: Component, consumers: tuple[str, ...], new: Facts) -> bool:
    """Whether some mapping that reads or calls the component is not typed: then the edges do not speak for it."""
    steps = {step.name for step in new.steps if step.component == component.name}
    for use in new.uses:
        who = CALLERS if use.step is None else f"steps.{new.steps[use.step].name}"
        if who in consumers and use.compiled and not use.compiled.is_path and steps.intersection(use.steps()):
            return use.compiled.result_type in {"dyn", "list", "map"} and not use.compiled.guards
    return False


def _asked(
    question: _Question, consumers: tuple[str, ...], level: Level, budget: Budget, *, severity: Severity
) -> Change | None:
    found = covers(_at_level(question.takes, level), _at_level(question.gives, level), budget=budget)
    if found.verdict is Verdict.COMPATIBLE:
        return None
    where = found.where or "its whole"
    is_known = found.verdict is Verdict.BREAKING
    said = question.said if is_known else f"is not proven to keep to what it was ({found.message})"
    return Change(
        diagnostic=Diagnostic(
            code=question.code if is_known else NOT_PROVEN,
            severity=severity,
            path=question.path,
            message=f"{said}, at {where}: {found.message}" if is_known else f"{said}, at {where}",
            witness=_witness(found),
            hint=_renamed(question, found) or question.hint,
        ),
        consumers=consumers,
    )


def _witness(found: Containment) -> str | None:
    if found.verdict is not Verdict.BREAKING:
        return None
    return shortened(json.dumps(found.witness, ensure_ascii=False, sort_keys=True))


def _renamed(question: _Question, found: Containment) -> str | None:
    """A field that is gone, and one that is new and sounds like it."""
    *_, name = found.where.split("/")
    was = _names(question.takes if question.names is question.gives else question.gives)
    now = _names(question.names)
    gone, fresh = [item for item in was if item not in now], [item for item in now if item not in was]
    for missing in ([name] if name in gone else []) + ([name] if name in fresh else []):
        others = fresh if missing in gone else gone
        near = closest(missing, others) or (others[0] if len(gone) == len(fresh) == 1 else None)
        if near is not None:
            pair = (missing, near) if missing in gone else (near, missing)
            return (
                f"did {pair[0]} become {pair[1]}? Keep the old name beside the new one until nobody uses it"
            )
    return None


def _names(schema: Any) -> list[str]:
    found: list[str] = []
    waiting = [schema]
    while waiting and len(found) < 500:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = item.get("properties")
            found += [str(name) for name in fields] if isinstance(fields, dict) else []
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return found


def _removed_answers(old: Facts, new: Facts) -> Iterator[Change]:
    """A field of the answer that the mapping gave, whatever the contract says of it."""
    for name in old.spec.output or {}:
        if new.spec.output is not None and name not in new.spec.output:
            near = closest(name, [item for item in new.spec.output if item not in (old.spec.output or {})])
            yield Change(
                diagnostic=Diagnostic(
                    code="OutputFieldRemoved", severity=Severity.ERROR, path="spec.output",
                    message=f"the answer has no {name} any more", witness=name,
                    hint=f"did {name} become {near}? Give both until nobody reads the old one" if near else "give it until nobody reads it",
                ),
                consumers=(CALLERS,),
            )  # fmt: skip


def _edges(old: Facts, new: Facts, level: Level, budget: Budget) -> Iterator[Change]:
    """Edges of the new workflow that break and did not break before, or cannot be proven and have changed."""
    before = {(edge.consumer, edge.path, _text(edge.takes), _text(edge.gives)) for edge in edges_of(old)}
    for edge in edges_of(new):
        if (edge.consumer, edge.path, _text(edge.takes), _text(edge.gives)) in before:
            continue
        found = covered(_edge_at(edge, level), budget)
        if found.verdict is Verdict.COMPATIBLE:
            continue
        is_known = found.verdict is Verdict.BREAKING
        yield Change(
            diagnostic=Diagnostic(
                code=edge.code if is_known else NOT_PROVEN,
                severity=Severity.ERROR,
                path=edge.path,
                message=f"{edge.who} does not take all that {edge.what} may give now{f', at {found.where}' if found.where else ''}: {found.message}",
                witness=_witness(found),
                hint="change both sides together",
            ),
            consumers=(edge.consumer,),
        )


def _edge_at(edge: Edge, level: Level) -> Edge:
    return edge._replace(takes=_at_level(edge.takes, level), gives=_at_level(edge.gives, level))


def _text(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True, default=str)


def _at_level(schema: Any, level: Level) -> Any:
    """Of Wire only types and fields."""
    return _shape(schema) if level is Level.WIRE else schema


def _shape(schema: Any, depth: int = 0) -> Any:
    if isinstance(schema, list):
        return [_shape(item, depth + 1) for item in schema]
    if not isinstance(schema, dict) or depth > 64:
        return schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _BY_NAME and isinstance(value, dict):
            found[word] = {name: _shape(item, depth + 1) for name, item in value.items()}
        elif word not in _VALUE_WORDS:
            found[word] = value if word in {"required", "type"} else _shape(value, depth + 1)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and "type" not in schema:
        found["type"] = sorted({_TYPES.get(type(value), "object") for value in values})
    return found
