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
    fields = _Fields(facts)
    for use in facts.uses if values else ():
        step = _only_step(use) if use.site in _MAPPINGS else None
        contract = None if step not in values else fields.of(use)
        if step is None or contract is None or use.field is None:
            continue
        said = _told(use.text, step, values[step], contract, use.field)
        condition = conditions.get(use.step) if said is not None and use.site is Site.INPUTS else None
        if said is not None:
            yield from _finding(facts, use, step, orjson.loads(values[step]), said, condition)


def _values(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """Of steps that may end in a declared value, the value as JSON."""
    ends = {name: chain(facts, component)[-1].on_failure for name, component in facts.components.items()}
    values = {name: _carried(rule.value) for name, rule in ends.items() if rule.type is FailureStrategy.VALUE}
    for step in facts.steps:
        value = values.get(step.component)
        if value is not None:
            yield step.name, value


def _carried(value: Any) -> bytes | None:
    try:
        return None if value is None else orjson.dumps(value)
    except TypeError:  # whole numbers beyond 64 bits
        return None


def _only_step(use: Use) -> str | None:
    """The step that it reads, when it reads that one and nothing else."""
    compiled = use.compiled
    if compiled is None or len(compiled.steps) != 1:
        return None
    only = all(path[0] == "steps" and len(path) > 1 for path in compiled.references)
    return compiled.steps[0] if only else None


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


class _Fields:
    """The contracts of single fields, as JSON; each is made once."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[tuple[str | None, str], bytes | None] = {}

    def of(self, use: Use) -> bytes | None:
        """Of the field that a mapping fills; None: there is no contract, or it is not always enforced."""
        component = None if use.step is None else self._facts.steps[use.step].component
        if use.field is None or (component is not None and component not in self._facts.components):
            return None
        key = (component, use.field)
        if key not in self._known:
            self._known[key] = self._made(component, use.field)
        return self._known[key]

    def _made(self, component: str | None, name: str) -> bytes | None:
        contract: MessageContract | WorkflowContract = self._facts.spec.contract
        schema = contract.output
        if component is not None:
            contract = self._facts.components[component].contract
            schema = contract.input
        if contract.enforcement or not isinstance(schema, dict):
            return None
        properties = schema.get("properties")
        field = properties.get(name, True) if isinstance(properties, dict) else True
        shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        try:
            return orjson.dumps({"properties": {name: field}, **shared})
        except TypeError:  # whole numbers beyond 64 bits
            return None


def _finding(
    facts: Facts, use: Use, step: str, value: Any, said: str, condition: Use | None
) -> Iterator[Diagnostic]:
    runs = _runs(condition, step, value)
    if runs is False:
        return
    reader = None if use.step is None else facts.components.get(facts.steps[use.step].component)
    ends = runs is True and (reader is None or reader.on_failure.type not in _ENDS)
    component = facts.component_of(step)
    name = component.name if component else step
    yield Diagnostic(
        code="FallbackInvalid",
        severity=Severity.ERROR if ends else Severity.WARNING,
        path=use.path,
        message=f"when {name} falls back, its value goes here and {said}",
        witness=f"steps.{step} = {shown(value)}",
        hint="let the fallback value have what is read here, or test for it with has()",
    )
