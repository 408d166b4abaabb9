"""Steps, components and declared degradation form a graph that can run."""

from collections.abc import Iterator

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.resources.workflow import FailureStrategy, OnFailure, Phase
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts, Site

_BELONGS_TO = {"value": FailureStrategy.VALUE, "component": FailureStrategy.COMPONENT}


def steps_exist(facts: Facts) -> Iterator[Problem]:
    """Something answers the request."""
    if not facts.components:
        yield Problem(
            path="spec.components",
            message="nothing answers the request",
            value="no components",
            allowed="at least 1 component, at most 64",
            hint="name what the workflow is made of",
        )
    elif not facts.steps:
        yield Problem(
            path="spec.steps",
            message="a workflow of several components says in which order they run",
            value="no steps",
            allowed="at least one step",
            hint=f"- {{name: first, component: {facts.spec.components[0].name}}}",
        )
    elif all(step.phase is Phase.AFTER_ANSWER for step in facts.steps):
        yield Problem(
            path="spec.steps",
            message="no step answers the request, all run after the answer",
            value=listed(step.name for step in facts.steps),
            allowed="at least one step of phase InRequest",
            hint="remove `phase: AfterAnswer` from the step that answers",
        )


def known_components(facts: Facts) -> Iterator[Problem]:
    """A step calls a declared component."""
    for number, step in enumerate(facts.steps):
        if step.component not in facts.components:
            yield _unknown_component(f"spec.steps[{number}].component", step.component, facts)


def _unknown_component(path: str, name: str, facts: Facts) -> Problem:
    return Problem(
        path=path,
        message="unknown component",
        value=shown(name),
        allowed=listed(facts.components),
        hint=did_you_mean(name, facts.components) or "declare it under spec.components",
    )


def after_answer_last(facts: Facts) -> Iterator[Problem]:
    """Steps run in order, so those after the answer stand at the end."""
    seen: str | None = None
    for number, step in enumerate(facts.steps):
        if step.phase is Phase.AFTER_ANSWER:
            seen = step.name
        elif seen is not None:
            yield Problem(
                path=f"spec.steps[{number}].phase",
                message=f"runs in the request but stands after {seen}, which runs after the answer",
                value=shown(step.phase.value),
                allowed="steps of phase AfterAnswer come last",
                hint=f"move {step.name} before {seen}",
            )


def degradation(facts: Facts) -> Iterator[Problem]:
    """onFailure says exactly what its type needs, and its components exist and end."""
    for number, component in enumerate(facts.spec.components):
        on_failure, path = component.on_failure, f"spec.components[{number}].onFailure"
        yield from _fields_of_type(on_failure, path)
        if on_failure.type is not FailureStrategy.COMPONENT or on_failure.component is None:
            continue
        if on_failure.component not in facts.components:
            yield _unknown_component(f"{path}.component", on_failure.component, facts)
            continue
        chain = _fallback_chain(facts, component.name)
        if chain[-1] == component.name:
            yield Problem(
                path=f"{path}.component",
                message="cycle: the components replace each other",
                value=" → ".join(chain),
                allowed="a chain that ends",
                hint="let the last one answer with `type: Value` or `type: Fail`",
            )


def _fields_of_type(on_failure: OnFailure, path: str) -> Iterator[Problem]:
    for field, strategy in _BELONGS_TO.items():
        given = getattr(on_failure, field) is not None
        if given and on_failure.type is not strategy:
            yield Problem(
                path=f"{path}.{field}",
                message=f"{field} has no meaning with type {on_failure.type.value}",
                value=shown(getattr(on_failure, field)),
                allowed=f"only with `type: {strategy.value}`",
                hint=f"write `type: {strategy.value}`, or remove {field}",
            )
        elif not given and on_failure.type is strategy:
            yield Problem(
                path=f"{path}.{field}",
                message=f"is required with type {strategy.value}",
                value="nothing",
                allowed="a value, not null, that fits the component's output contract"
                if field == "value"
                else "a component",
                hint=f"add {field}",
            )


def _fallback_chain(facts: Facts, start: str) -> list[str]:
    """Names from `start` on, until the chain ends or comes back to a name in it."""
    chain = [start]
    while True:
        component = facts.components.get(chain[-1])
        following = component.on_failure.component if component else None
        if following is None:
            return chain
        if following in chain:
            return [*chain, following]
        chain.append(following)


def reachable_components(facts: Facts) -> Iterator[Problem]:
    """A component is called by a step, or stands in for one that is."""
    used = {name for step in facts.steps for name in _fallback_chain(facts, step.component)}
    for number, component in enumerate(facts.spec.components):
        if facts.steps and component.name not in used:
            yield Problem(
                path=f"spec.components[{number}]",
                message="unreachable: no step calls this component",
                value=shown(component.name),
                allowed="components that a step calls, or that stand in for one",
                hint="add a step for it, or remove it",
            )


def reachable_steps(facts: Facts) -> Iterator[Problem]:
    """A condition can hold."""
    for use in facts.uses:
        if use.site is not Site.WHEN or use.compiled is None or not use.compiled.is_constant:
            continue
        try:
            holds = use.compiled.evaluate({})
        except ExpressionError:
            continue
        if holds is False:
            yield Problem(
                path=use.path,
                message="unreachable: the condition is always false",
                value=shown(use.text),
                allowed="a condition over input or earlier steps",
                hint="remove the step, or correct its condition",
            )


CHECKS = (
    steps_exist,
    known_components,
    after_answer_last,
    degradation,
    reachable_components,
    reachable_steps,
)
