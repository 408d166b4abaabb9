"""A workflow ready to run: defaults resolved, expressions and schemas compiled once."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluicegate.contracts.comparing import Hint, compile_hints
from sluicegate.contracts.domains import CompiledDomain, compile_domain
from sluicegate.contracts.enforcing import FieldRule, Side, field_rule, side_of
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.expressions import Compiled, ExpressionError, Scope, compile_expression
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.enforcement import Enforcement
from sluicegate.contracts.resources.workflow import Component, Phase, Step, WorkflowSpec
from sluicegate.contracts.runs import Violation
from sluicegate.contracts.schemas import Schema, SchemaCheck, compile_schema
from sluicegate.contracts.suggestions import did_you_mean, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledComponent:
    """A component and the checks of both sides. `spec` has its endpoint, retry, onFailure and stub."""

    spec: Component
    input: Side
    output: Side

    @property
    def name(self) -> str:
        """Of the component."""
        return self.spec.name


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledStep:
    """A step. inputs None: the component gets the whole workflow input."""

    name: str
    component: CompiledComponent
    phase: Phase
    when: Compiled | None
    inputs: Mapping[str, Compiled] | None
    domains: tuple[CompiledDomain, ...]

    def is_due(self, scope: Scope) -> bool:
        """Whether its condition holds. ExpressionError when it cannot be told."""
        if self.when is None:
            return True
        holds = self.when.evaluate(scope)
        if isinstance(holds, bool):
            return holds
        raise ExpressionError(f"{self.when.text}: gives {shown(holds)}, a condition must give true or false")

    def component_input(self, scope: Scope) -> Any:
        """What the component gets. ExpressionError when a mapping cannot be evaluated."""
        if self.inputs is None:
            return scope["input"]
        return {name: mapping.evaluate(scope) for name, mapping in self.inputs.items()}

    def normalised(self, output: Any) -> tuple[Any, tuple[Violation, ...]]:
        """The output in the words of its semantic domains, and the values that no domain knows."""
        return _through(self.domains, output)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledWorkflow:
    """All that the gateway evaluates in a run. Immutable; may be shared by threads and runs.

    A scope is ``{"input": …, "steps": {name: output}, "run": {"id", "attempt"}, "headers": {lower-case name: text}}``;
    a skipped step is absent from `steps`.
    """

    spec: WorkflowSpec
    components: Mapping[str, CompiledComponent]
    steps: tuple[CompiledStep, ...]  # InRequest, in order
    after_answer: tuple[CompiledStep, ...]
    input: Side
    output: Side
    input_domains: tuple[CompiledDomain, ...]
    output_mapping: Mapping[str, Compiled] | None
    reward: Compiled | None
    routing_key: Compiled | None
    hints: Hint = field(compare=False)  # how answers are compared

    def evaluate_output(self, scope: Scope) -> Any:
        """The answer, not yet checked: the declared mapping, or the output of the last step of the request."""
        if self.output_mapping is not None:
            return {name: mapping.evaluate(scope) for name, mapping in self.output_mapping.items()}
        last = self.steps[-1].name
        if last in scope["steps"]:
            return scope["steps"][last]
        raise ExpressionError(f"there is no output: the last step, {last}, was skipped")

    def evaluate_reward(self, scope: Scope) -> float | None:
        """In [0, 1]; None without a reward expression. ExpressionError when it gives anything else."""
        if self.reward is None:
            return None
        value = self.reward.evaluate(scope)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and 0 <= value <= 1
        ):
            return float(value)
        raise ExpressionError(f"{self.reward.text}: gives {shown(value)}, a reward lies in [0, 1]")

    def evaluate_routing_key(self, scope: Scope) -> str | None:
        """What keeps a session in one arm; None when there is none, or when this caller gives none."""
        if self.routing_key is None:
            return None
        try:
            value = self.routing_key.evaluate(scope)
        except ExpressionError:
            return None
        return (
            str(value)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != ""
            else None
        )

    def normalised_input(self, value: Any) -> tuple[Any, tuple[Violation, ...]]:
        """The input in the words of its semantic domains, and the values that no domain knows."""
        return _through(self.input_domains, value)


def _through(domains: tuple[CompiledDomain, ...], value: Any) -> tuple[Any, tuple[Violation, ...]]:
    violations: tuple[Violation, ...] = ()
    for domain in domains:
        value, unknown = domain.apply(value)
        violations += unknown
    return value, violations


def steps_of(spec: WorkflowSpec) -> tuple[Step, ...]:
    """The steps, or the default: a workflow of one component has one step, which gets the whole input."""
    if spec.steps or len(spec.components) != 1:
        return spec.steps
    return (Step(name=step_name(spec.components[0].name), component=spec.components[0].name),)


def step_name(component: str) -> str:
    """A component's name as the name of a step: usable as steps.<name>."""
    name = component.replace("-", "_")
    return f"_{name}" if name[0].isdigit() else name


def face(spec: WorkflowSpec) -> tuple[Schema, str]:
    """The callers' input contract and where it stands: of a sole component that gets the whole input, its own."""
    if spec.contract.input is True and not spec.steps and len(spec.components) == 1:
        return spec.components[0].contract.input, "spec.components[0].contract.input"
    return spec.contract.input, "spec.contract.input"


def answer_contract(spec: WorkflowSpec) -> tuple[Schema, str]:
    """The contract of the answer and where it stands: of the last step's component where its output is the answer and the workflow says no more."""
    steps = [step for step in steps_of(spec) if step.phase is Phase.IN_REQUEST]
    if spec.contract.output is True and spec.output is None and steps:
        for number, component in enumerate(spec.components):
            if component.name == steps[-1].component:
                return component.contract.output, f"spec.components[{number}].contract.output"
    return spec.contract.output, "spec.contract.output"


def compile_workflow(spec: WorkflowSpec) -> CompiledWorkflow:
    """Raises Refused with every problem that stands in the way; `verification.verify` finds more than these."""
    compiler = _Compiler()
    components = {
        component.name: compiler.component(component, f"spec.components[{number}].contract")
        for number, component in enumerate(spec.components)
    }
    rules = compiler.rules(spec.contract.enforcement, "spec.contract")
    domains = compiler.domains(spec)
    steps = [
        compiler.step(step, f"spec.steps[{number}]", components, domains.get(step.name, ()))
        for number, step in enumerate(steps_of(spec))
    ]
    compiled = CompiledWorkflow(
        spec=spec,
        components=components,
        steps=tuple(step for step in steps if step and step.phase is Phase.IN_REQUEST),
        after_answer=tuple(step for step in steps if step and step.phase is Phase.AFTER_ANSWER),
        input=side_of(compiler.schema(*face(spec)), rules["input"]),
        output=side_of(compiler.schema(spec.contract.output, "spec.contract.output"), rules["output"]),
        input_domains=domains.get(None, ()),
        output_mapping=compiler.mapping(spec.output, "spec.output"),
        reward=compiler.expression(spec.reward, "spec.reward"),
        routing_key=compiler.expression(spec.routing.key if spec.routing else None, "spec.routing.key"),
        hints=compile_hints(answer_contract(spec)[0]),
    )
    if not compiled.steps:
        compiler.problems.append(
            Problem(path="spec.steps", message="no step answers the request", value="none", hint="add a step")
        )
    if compiler.problems:
        raise Refused(tuple(compiler.problems))
    return compiled


class _Compiler:
    """Compiles parts and keeps what went wrong."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def expression(self, text: str | None, path: str) -> Compiled | None:
        return None if text is None else self._try(lambda: compile_expression(text), text, path)

    def mapping(self, texts: Mapping[str, str] | None, path: str) -> Mapping[str, Compiled] | None:
        if texts is None:
            return None
        compiled = {name: self.expression(text, child(path, name)) for name, text in texts.items()}
        return {name: expression for name, expression in compiled.items() if expression is not None}

    def schema(self, schema: Schema, path: str) -> SchemaCheck:
        try:
            return compile_schema(schema)
        except Refused as refused:
            self.problems.extend(_moved(problem, path) for problem in refused.problems)
            return compile_schema({})

    def component(self, component: Component, path: str) -> CompiledComponent:
        contract = component.contract
        rules = self.rules(contract.enforcement, path)
        return CompiledComponent(
            spec=component,
            input=side_of(self.schema(contract.input, f"{path}.input"), rules["input"]),
            output=side_of(self.schema(contract.output, f"{path}.output"), rules["output"]),
        )

    def rules(self, items: Enforcement, path: str) -> dict[str, tuple[FieldRule, ...]]:
        found: dict[str, tuple[FieldRule, ...]] = {"input": (), "output": ()}
        for number, item in enumerate(items):
            try:
                rule = field_rule(item)
            except ValueError as error:
                where = f"{path}.enforcement[{number}].field"
                self.problems.append(Problem(path=where, message=str(error), value=shown(item.field)))
                continue
            found[rule.side] = (*found[rule.side], rule)
        return found

    def step(
        self,
        step: Step,
        path: str,
        components: Mapping[str, CompiledComponent],
        domains: tuple[CompiledDomain, ...],
    ) -> CompiledStep | None:
        when = self.expression(step.when, f"{path}.when")
        inputs = self.mapping(step.inputs, f"{path}.inputs")
        if step.component not in components:
            self.problems.append(
                Problem(
                    path=f"{path}.component",
                    message="unknown component",
                    value=shown(step.component),
                    allowed=", ".join(components),
                    hint=did_you_mean(step.component, components),
                )
            )
            return None
        component = components[step.component]
        return CompiledStep(
            name=step.name, component=component, phase=step.phase, when=when, inputs=inputs, domains=domains
        )

    def domains(self, spec: WorkflowSpec) -> dict[str | None, tuple[CompiledDomain, ...]]:
        found: dict[str | None, tuple[CompiledDomain, ...]] = {}
        for number, domain in enumerate(spec.contract.semantics):
            try:
                step, compiled = compile_domain(domain)
            except ValueError as error:
                path = f"spec.contract.semantics[{number}].field"
                self.problems.append(Problem(path=path, message=str(error), value=shown(domain.field)))
                continue
            found[step] = (*found.get(step, ()), compiled)
        return found

    def _try(self, make: Callable[[], Compiled], text: str, path: str) -> Compiled | None:
        try:
            return make()
        except ExpressionError as error:
            self.problems.append(
                Problem(path=path, message=error.message, value=shown(text), hint=error.hint)
            )
            return None


def _moved(problem: Problem, path: str) -> Problem:
    """A problem found inside a schema, at the schema's place in the resource."""
    separator = "" if not problem.path or problem.path.startswith("[") else "."
    return Problem(
        path=f"{path}{separator}{problem.path}", message=problem.message, value=problem.value,
        allowed=problem.allowed, hint=problem.hint,
    )  # fmt: skip
