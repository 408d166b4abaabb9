"""A fallback value goes to the steps that read it: they must be able to."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import orjson

from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.expressions import ExpressionError, compile_expression
from sluicegate.contracts.resources.workflow import FailureStrategy, MessageContract, WorkflowContract
from sluicegate.contracts.schemas import compile_schema
from sluicegate.contracts.suggestions import shown
from sluicegate.contracts.verification.facts import Facts, Site, Use

_ENDS: Final = frozenset({FailureStrategy.SKIP, FailureStrategy.VALUE})
_MAPPINGS: Final = frozenset({Site.INPUTS, Site.OUTPUT})


def values_are_read(facts: Facts) -> Iterator[Diagnostic]:
    """Every mapping that reads only a step with a fallback value can read that value, and its contract takes what comes out."""
    values = dict(_values(facts))
    conditions = {use.step: use for use in facts.uses if use.site is Site.WHEN}
    for use in facts.uses:
        step = _only_step(use) if use.site in _MAPPINGS else None
        if step is None or step not in values:
            continue
        said = _trouble(facts, use, step, values[step])
        condition = conditions.get(use.step) if said is not None and use.site is Site.INPUTS else None
        runs = _runs(condition, step, values[step])
        if said is not None and runs is not False:
            yield _finding(facts, use, step, values[step], said, is_certain=runs is True)


def _values(facts: Facts) -> Iterator[tuple[str, Any]]:
    """Of steps that may end in a declared value."""
    for step in facts.steps:
        component = facts.components.get(step.component)
        last = None if component is None else chain(facts, component)[-1].on_failure
        if last is not None and last.type is FailureStrategy.VALUE and last.value is not None:
            yield step.name, last.value


def _only_step(use: Use) -> str | None:
    """The step that it reads, when it reads that one and nothing else."""
    references = use.compiled.references if use.compiled else ()
    steps = use.steps()
    return (
        steps[0]
        if len(steps) == 1 and all(path[:1] == ("steps",) and len(path) > 1 for path in references)
        else None
    )


def _runs(condition: Use | None, step: str, value: Any) -> bool | None:
    """Whether the reading step runs with that value; None: that depends on more."""
    if condition is None:
        return True
    if condition.compiled is None or _only_step(condition) != step:
        return None
    try:
        return condition.compiled.evaluate({"steps": {step: value}}) is True
    except ExpressionError:
        return None


def _trouble(facts: Facts, use: Use, step: str, value: Any) -> str | None:
    """Why the mapping or the contract refuses the value."""
    contract, name = _target(facts, use)
    if use.compiled is None or contract is None:
        return None
    try:
        return _told(use.text, step, orjson.dumps(value), orjson.dumps(contract), name)
    except TypeError:  # whole numbers beyond 64 bits: nothing is known
        return None


@lru_cache(maxsize=8192)
def _told(text: str, step: str, value: bytes, contract: bytes, name: str) -> str | None:
    """value, contract: JSON, so that the same question is asked once."""
    try:
        found = {name: compile_expression(text).evaluate({"steps": {step: orjson.loads(value)}})}
    except ExpressionError as error:
        return f"cannot be read: {error.message}"
    try:
        check = compile_schema(orjson.loads(contract))
    except Refused:
        return None
    broken = () if check.is_valid(found) else check.violations(found, "")
    return f"{shown(found[name])} is refused: {broken[0].message}" if broken else None


def _target(facts: Facts, use: Use) -> tuple[dict[str, Any] | None, str]:
    """The contract of the one field that the mapping fills, and its name; None: there is none, or it is not always enforced."""
    contract: MessageContract | WorkflowContract = facts.spec.contract
    schema = facts.spec.contract.output
    if use.step is not None:
        component = facts.components.get(facts.steps[use.step].component)
        if component is None:
            return None, ""
        contract, schema = component.contract, component.contract.input
    if getattr(contract, "enforcement", ()) or use.field is None or not isinstance(schema, dict):
        return None, ""
    properties = schema.get("properties")
    field = properties.get(use.field, True) if isinstance(properties, dict) else True
    shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"properties": {use.field: field}, **shared}, use.field


def _finding(facts: Facts, use: Use, step: str, value: Any, said: str, *, is_certain: bool) -> Diagnostic:
    reader = None if use.step is None else facts.components.get(facts.steps[use.step].component)
    ends = is_certain and (reader is None or reader.on_failure.type not in _ENDS)
    component = facts.component_of(step)
    name = component.name if component else step
    return Diagnostic(
        code="FallbackInvalid",
        severity=Severity.ERROR if ends else Severity.WARNING,
        path=use.path,
        message=f"when {name} falls back, its value goes here and {said}",
        witness=f"steps.{step} = {shown(value)}",
        hint="let the fallback value have what is read here, or test for it with has()",
    )
