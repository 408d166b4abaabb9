"""What the checks look at, gathered once."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import NamedTuple, TypeVar

from sluicegate.contracts.compiled import steps_of
from sluicegate.contracts.expressions import Compiled, ExpressionError, compile_expression
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.workflow import AgentWorkflow, Component, Phase, Step, WorkflowSpec

T = TypeVar("T")


class Site(IntEnum):
    """Where an expression stands, which decides what it may refer to."""

    ROUTING = auto()
    WHEN = auto()
    INPUTS = auto()
    OUTPUT = auto()
    REWARD = auto()


class Use(NamedTuple):
    """One expression, compiled or with the reason why not. step: index of the step it belongs to. field: that a mapping fills."""

    path: str
    text: str
    site: Site
    step: int | None = None
    field: str | None = None
    compiled: Compiled | None = None
    error: ExpressionError | None = None

    def steps(self) -> tuple[str, ...]:
        """Names of the steps that it refers to, in order."""
        return self.compiled.steps if self.compiled else ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """A workflow, indexed. Where a name is given twice, the first one counts. Only equal to itself."""

    name: str
    namespace: str
    spec: WorkflowSpec
    components: dict[str, Component]
    steps: tuple[Step, ...]
    position: dict[str, int]  # step name -> index
    called: dict[str, Component]  # step name -> the component that it calls, when both exist
    uses: tuple[Use, ...]

    def component_of(self, step: str) -> Component | None:
        """The component that a step calls, when both exist."""
        return self.called.get(step)

    def phase_of(self, step: str) -> Phase:
        """Of an existing step."""
        return self.steps[self.position[step]].phase


class _Latest(threading.local):
    """What was gathered last in this thread: `verify` and `analyse` ask one after the other."""

    workflow: AgentWorkflow | None = None
    facts: Facts | None = None


_latest = _Latest()


def gather(workflow: AgentWorkflow) -> Facts:
    """Index the workflow and compile its expressions; asked again for the same object, which is immutable, once."""
    if _latest.workflow is not workflow or _latest.facts is None:
        _latest.facts, _latest.workflow = _gather(workflow), workflow
    return _latest.facts


def _gather(workflow: AgentWorkflow) -> Facts:
    spec = workflow.spec
    steps = steps_of(spec)
    components = _first((component.name, component) for component in spec.components)
    called = _first((step.name, components.get(step.component)) for step in steps)
    return Facts(
        name=workflow.metadata.name,
        namespace=workflow.metadata.namespace,
        spec=spec,
        components=components,
        steps=steps,
        position=_first((step.name, number) for number, step in enumerate(steps)),
        called={name: component for name, component in called.items() if component is not None},
        uses=tuple(_uses(spec, steps)),
    )


def _first(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def _uses(spec: WorkflowSpec, steps: tuple[Step, ...]) -> Iterator[Use]:
    if spec.routing is not None:
        yield _use("spec.routing.key", spec.routing.key, Site.ROUTING)
    for number, step in enumerate(steps):
        path = f"spec.steps[{number}]"
        if step.when is not None:
            yield _use(f"{path}.when", step.when, Site.WHEN, number)
        for name, text in (step.inputs or {}).items():
            yield _use(child(f"{path}.inputs", name), text, Site.INPUTS, number, name)
    for name, text in (spec.output or {}).items():
        yield _use(child("spec.output", name), text, Site.OUTPUT, field=name)
    if spec.reward is not None:
        yield _use("spec.reward", spec.reward, Site.REWARD)


def _use(path: str, text: str, site: Site, step: int | None = None, field: str | None = None) -> Use:
    compiled, error = None, None
    try:
        compiled = compile_expression(text)
    except ExpressionError as found:
        error = found
    return Use(path, text, site, step, field, compiled, error)
