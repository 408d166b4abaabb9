"""What the checks look at, gathered once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from sluicegate.contracts.compiled import steps_of
from sluicegate.contracts.expressions import Compiled, ExpressionError, compile_expression
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.workflow import AgentWorkflow, Component, Phase, Step, WorkflowSpec

T = TypeVar("T")


class Site(Enum):
    """Where an expression stands, which decides what it may refer to."""

    ROUTING = auto()
    WHEN = auto()
    INPUTS = auto()
    OUTPUT = auto()
    REWARD = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
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
        references = self.compiled.references if self.compiled else ()
        return tuple(dict.fromkeys(path[1] for path in references if path[0] == "steps" and len(path) > 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A workflow, indexed. Where a name is given twice, the first one counts."""

    name: str
    namespace: str
    spec: WorkflowSpec
    components: dict[str, Component]
    steps: tuple[Step, ...]
    position: dict[str, int]  # step name -> index
    uses: tuple[Use, ...]

    def component_of(self, step: str) -> Component | None:
        """The component that a step calls, when both exist."""
        if step not in self.position:
            return None
        return self.components.get(self.steps[self.position[step]].component)

    def phase_of(self, step: str) -> Phase:
        """Of an existing step."""
        return self.steps[self.position[step]].phase


def gather(workflow: AgentWorkflow) -> Facts:
    """Index the workflow and compile its expressions."""
    spec = workflow.spec
    steps = steps_of(spec)
    return Facts(
        name=workflow.metadata.name,
        namespace=workflow.metadata.namespace,
        spec=spec,
        components=_first((component.name, component) for component in spec.components),
        steps=steps,
        position=_first((step.name, number) for number, step in enumerate(steps)),
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
    return Use(path=path, text=text, site=site, step=step, field=field, compiled=compiled, error=error)
