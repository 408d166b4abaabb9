"""Conditions and mappings refer to what is there when they are evaluated."""

from collections.abc import Iterator
from typing import Any

from sluicegate.contracts.cel_syntax import Path
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.workflow import FailureStrategy, Phase
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts, Site, Use
from sluicegate.contracts.verification.shapes import Impossible, closed_names, impossible, required_names

RUN_FIELDS = ("id", "attempt")
_ROOTS_OF = {
    Site.ROUTING: ("input", "headers"),
    Site.WHEN: ("input", "steps", "run"),
    Site.INPUTS: ("input", "steps", "run"),
    Site.OUTPUT: ("input", "steps", "run"),
    Site.REWARD: ("input", "steps", "run"),
}


def well_formed(facts: Facts) -> Iterator[Problem]:
    """Every expression compiles."""
    for use in facts.uses:
        if use.error is not None:
            at = f" (column {use.error.column})" if use.error.column else ""
            yield Problem(
                path=use.path,
                message=f"is not a valid expression: {use.error.message}{at}",
                value=shown(use.text),
                allowed="a path such as input.text, or CEL",
                hint=use.error.hint
                or f"see column {use.error.column or 1}; a text literal needs quotes of its own",
            )


def conditions_are_boolean(facts: Facts) -> Iterator[Problem]:
    """`when` gives true or false."""
    for use in facts.uses:
        if use.site is Site.WHEN and use.compiled and use.compiled.result_type not in {"bool", "dyn"}:
            yield Problem(
                path=use.path,
                message=f"gives {use.compiled.result_type}, a condition gives true or false",
                value=shown(use.text),
                allowed="bool",
                hint="compare it with something, for instance with ==",
            )


def allowed_roots(facts: Facts) -> Iterator[Problem]:
    """Only the routing key sees headers, and it sees nothing of the steps; `run` has an id and an attempt."""
    for use in facts.uses:
        allowed = _ROOTS_OF[use.site]
        for path in _references(use):
            if path[0] not in allowed:
                yield Problem(
                    path=use.path,
                    message=f"{path[0]} cannot be used here",
                    value=shown(use.text),
                    allowed=", ".join(allowed),
                    hint="pass it in the input" if path[0] == "headers" else "use what the caller sent",
                )
            elif path[0] == "run" and len(path) > 1 and path[1] not in RUN_FIELDS:
                yield Problem(
                    path=use.path,
                    message=f"run has no {path[1]}",
                    value=shown(use.text),
                    allowed=", ".join(f"run.{name}" for name in RUN_FIELDS),
                    hint=did_you_mean(path[1], RUN_FIELDS) or "a run does not know its stage or arm",
                )


def known_steps(facts: Facts) -> Iterator[Problem]:
    """`steps.<name>` names a step."""
    for use in facts.uses:
        for name in use.steps():
            if name not in facts.position:
                yield Problem(
                    path=use.path,
                    message=f"unknown step {name}",
                    value=shown(use.text),
                    allowed=listed(facts.position),
                    hint=did_you_mean(name, facts.position) or "name a step that runs before",
                )


def no_cycles(facts: Facts) -> Iterator[Problem]:
    """Steps run in order: a step sees only those before it."""
    needs: dict[str, list[str]] = {}
    for use in facts.uses:
        if use.step is None:
            continue
        for name in use.steps():
            if facts.position.get(name, -1) >= use.step:
                needs = needs or _needs(facts)
                step = facts.steps[use.step].name
                yield _cycle(use, step, name, _way(needs, name, step))


def _needs(facts: Facts) -> dict[str, list[str]]:
    """The steps that each step refers to."""
    found: dict[str, list[str]] = {}
    for use in facts.uses:
        if use.step is not None:
            found.setdefault(facts.steps[use.step].name, []).extend(use.steps())
    return found


def _cycle(use: Use, step: str, later: str, way: list[str]) -> Problem:
    chain = " → ".join([step, *way]) if way else f"{step} → {later} (runs after {step})"
    return Problem(
        path=use.path,
        message=f"cycle: {chain}",
        value=shown(use.text),
        allowed="steps that stand before this one",
        hint="a step cannot use its own output" if step == later else f"move {later} before {step}",
    )


def _way(needs: dict[str, list[str]], start: str, end: str) -> list[str]:
    """The shortest chain of needs from `start` to `end`, or nothing."""
    ways = [[start]]
    seen = {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == end:
            return way
        for name in needs.get(way[-1], ()):
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


def answer_does_not_wait(facts: Facts) -> Iterator[Problem]:
    """The output uses nothing that runs after the answer."""
    for use in facts.uses:
        if use.site is not Site.OUTPUT:
            continue
        for name in use.steps():
            if name in facts.position and facts.phase_of(name) is Phase.AFTER_ANSWER:
                yield Problem(
                    path=use.path,
                    message=f"{name} runs after the answer, so the answer cannot use it",
                    value=shown(use.text),
                    allowed=listed(step.name for step in facts.steps if step.phase is Phase.IN_REQUEST),
                    hint=f"remove `phase: AfterAnswer` from {name}; only the reward may wait for it",
                )


def absent_steps_are_tested(facts: Facts) -> Iterator[Problem]:
    """The output does not rely on a step that may be absent."""
    for use in facts.uses:
        if use.site is not Site.OUTPUT or use.compiled is None or not use.compiled.is_path:
            continue
        for name in use.steps():
            why = _may_be_absent(facts, name)
            if why:
                yield Problem(
                    path=use.path,
                    message=f"{name} may be absent: {why}",
                    value=shown(use.text),
                    allowed="a step that always has an output, or a test with has()",
                    hint=f"has(steps.{name}) ? {use.text} : …",
                )


def _may_be_absent(facts: Facts, name: str) -> str | None:
    component = facts.component_of(name)
    if name not in facts.position or facts.phase_of(name) is Phase.AFTER_ANSWER:
        return None
    if facts.steps[facts.position[name]].when is not None:
        return "it has a condition"
    skips = component is not None and component.on_failure.type is FailureStrategy.SKIP
    return "its component is skipped when it fails (onFailure: Skip)" if skips else None


def possible_fields(facts: Facts) -> Iterator[Problem]:
    """A closed contract of the producer has the field."""
    known: dict[tuple[int, Path], Impossible | None] = {}  # by contract and the path in it
    for use in facts.uses:
        for path in _references(use):
            contract, below = _producer(facts, path)
            question = id(contract), below
            if question not in known:
                known[question] = impossible(contract, below)
            missing = known[question]
            if missing is None:
                continue
            where = ".".join((*path[: len(path) - len(below)], *below[: missing.depth])).replace(".[]", "[]")
            said = (
                f"{where} is {missing.is_a}, it has no" if missing.is_a else f"the contract of {where} has no"
            )
            yield Problem(
                path=use.path,
                message=f"{said} {missing.name}",
                value=shown(use.text),
                allowed=listed(missing.allowed) or None,
                hint=did_you_mean(missing.name, missing.allowed) or "add it to the producer's contract",
            )


def _producer(facts: Facts, path: Path) -> tuple[Any, Path]:
    """The contract that a reference reads, and the path in it."""
    if path[0] == "input":
        return facts.spec.contract.input, path[1:]
    if path[0] == "steps" and len(path) > 1:
        component = facts.component_of(path[1])
        return (component.contract.output if component else True), path[2:]
    return True, ()


def mapped_inputs(facts: Facts) -> Iterator[Problem]:
    """A step's mapping gives what the component's contract needs, and nothing that it refuses."""
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        if component is not None and step.inputs is not None:
            path = f"spec.steps[{number}].inputs"
            yield from _mapping(
                path, tuple(step.inputs), component.contract.input, f"component {component.name}"
            )


def mapped_output(facts: Facts) -> Iterator[Problem]:
    """The output mapping gives what the workflow's contract promises."""
    if facts.spec.output is not None:
        yield from _mapping(
            "spec.output", tuple(facts.spec.output), facts.spec.contract.output, "spec.contract.output"
        )


def _mapping(path: str, given: tuple[str, ...], schema: Any, whose: str) -> Iterator[Problem]:
    closed = closed_names(schema)
    for name in given:
        if closed is not None and name not in closed:
            yield Problem(
                path=child(path, name),
                message=f"{whose} takes no {name}",
                value=shown(name),
                allowed=listed(closed) or "no fields",
                hint=did_you_mean(name, closed) or "remove it",
            )
    for name in required_names(schema):
        if name not in given:
            yield Problem(
                path=child(path, name),
                message=f"{whose} requires {name}, the mapping does not give it",
                value="nothing",
                allowed="an expression",
                hint=f"add {name}",
            )


def _references(use: Use) -> tuple[Path, ...]:
    return use.compiled.references if use.compiled else ()


CHECKS = (
    well_formed,
    conditions_are_boolean,
    allowed_roots,
    known_steps,
    no_cycles,
    answer_does_not_wait,
    absent_steps_are_tested,
    possible_fields,
    mapped_inputs,
    mapped_output,
)
