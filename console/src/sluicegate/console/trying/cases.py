"""What is sent to which component, and what has to come back. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.console.contracting.samples import Sample
from sluicegate.console.loading import inputs
from sluicegate.console.trying.codes import NOTHING, OUTSIDE
from sluicegate.contracts.compiled import CompiledComponent, CompiledStep, CompiledWorkflow
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.domains import CompiledDomain, compile_domain
from sluicegate.contracts.resources.workflow import SemanticDomain
from sluicegate.contracts.suggestions import shown

RECORDED, MADE, ALIAS = "recorded", "made", "alias"
_TOLD: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a phrase has to be understood as: `value` at the field of the domain."""

    phrase: str
    value: str
    domain: CompiledDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call. origin: where the input comes from, RECORDED, MADE or ALIAS. step: whose domains its output is read with."""

    component: CompiledComponent
    step: CompiledStep | None
    inputs: Any
    origin: str
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """most: inputs of each kind and component. ask: the input field that takes a phrase; None: the first free text that is required."""

    components: tuple[str, ...] = ()
    most: int = 20
    ask: str | None = None


def cases(
    workflow: CompiledWorkflow, recorded: Mapping[str, Sequence[Sample]], wanted: Wanted
) -> tuple[tuple[Case, ...], tuple[Diagnostic, ...]]:
    """All calls, component by component, and what is wrong before any is made."""
    found: list[Case] = []
    told: list[Diagnostic] = []
    names = wanted.components or tuple(workflow.components)
    for number, spec in enumerate(workflow.spec.components):
        if spec.name not in names:
            continue
        component = workflow.components[spec.name]
        step = _step_of(workflow, spec.name)
        path = f"spec.components[{number}].contract.input"
        given, outside = _recorded(component, recorded.get(spec.name, ())[: wanted.most], path)
        told += outside
        own = [Case(component=component, step=step, inputs=value, origin=RECORDED) for value in given]
        made = inputs.made(spec.contract.input, component.input)[: wanted.most]
        own += [Case(component=component, step=step, inputs=value, origin=MADE) for value in made]
        if step is not None and (made or given):
            own += _phrases(workflow, step, (*made, *given)[0], wanted)
        if not own:
            told.append(_nothing(path, spec.name))
        found += own
    return tuple(found), tuple(told)


def _step_of(workflow: CompiledWorkflow, component: str) -> CompiledStep | None:
    steps = (*workflow.steps, *workflow.after_answer)
    return next((step for step in steps if step.component.name == component), None)


def _recorded(
    component: CompiledComponent, samples: Sequence[Sample], path: str
) -> tuple[list[Any], list[Diagnostic]]:
    given, told = [], []
    for sample in samples:
        if component.input.is_valid(sample.input):
            given.append(sample.input)
            continue
        broken = component.input.violations(sample.input, "input")
        told.append(
            Diagnostic(
                code=OUTSIDE,
                severity=Severity.ERROR,
                path=path,
                message=f"a recorded input of {component.name} is refused: {broken[0].path}: {broken[0].message}",
                witness=shown(sample.input),
                hint="widen the contract, or correct the caller",
            )
        )
    return given, told[:_TOLD]


def _phrases(workflow: CompiledWorkflow, step: CompiledStep, like: Any, wanted: Wanted) -> Iterator[Case]:
    """Every spelling of every value that a domain of the step's output lists, in an input that is otherwise `like` another."""
    field = wanted.ask or _text_field(step.component)
    if field is None or not isinstance(like, dict):
        return
    for domain in workflow.spec.contract.semantics:
        yield from _of_domain(domain, step, like, field)


def _of_domain(
    domain: SemanticDomain, step: CompiledStep, like: dict[str, Any], field: str
) -> Iterator[Case]:
    name, compiled = compile_domain(domain)
    if name != step.name:
        return
    for value in domain.values:
        for phrase in value.aliases:
            given = like | {field: phrase}
            if step.component.input.is_valid(given):
                meaning = Meaning(phrase=phrase, value=value.value, domain=compiled)
                yield Case(component=step.component, step=step, inputs=given, origin=ALIAS, meaning=meaning)


def _text_field(component: CompiledComponent) -> str | None:
    """Where a user's words go: the first required field that may be any text."""
    schema = component.spec.contract.input
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties", {})
    free = (
        name
        for name in schema.get("required", ())
        if isinstance(properties.get(name), dict)
        and properties[name].get("type") == "string"
        and not {"enum", "const", "pattern", "format"} & properties[name].keys()
    )
    return next(free, None)


def _nothing(path: str, component: str) -> Diagnostic:
    return Diagnostic(
        code=NOTHING,
        severity=Severity.ERROR,
        path=path,
        message=f"nothing can be sent to {component}",
        hint="add `examples` to the input contract, or give recorded runs with --recorded",
    )
