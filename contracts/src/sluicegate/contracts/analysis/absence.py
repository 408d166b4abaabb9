"""Expressions that read a step which may have been skipped."""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.analysis.guards import Alternative, Guard, guards, variables
from sluicegate.contracts.analysis.ranges import ranges_of
from sluicegate.contracts.cel_tree import Items, Node, Operation, Unknown
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.expressions import Compiled, tree
from sluicegate.contracts.resources.workflow import FailureStrategy, Phase
from sluicegate.contracts.verification.facts import Facts, Site, Use

_LAZY: Final = frozenset({"_?_:_", "_&&_", "_||_"})
_ENDS: Final = frozenset({FailureStrategy.SKIP, FailureStrategy.VALUE})


def absent_steps_are_tested(facts: Facts) -> Iterator[Diagnostic]:
    """A step that may be absent is read under `has()`, or by a step that runs only when it has run.

    Outputs that are plain paths are `verification`'s.
    """
    ranges = ranges_of(facts)
    maybe = frozenset(
        step.name for step in facts.steps if facts.component_of(step.name) and not ranges.is_given(step.name)
    )
    conditions = {guard.step: guard for guard in guards(facts)} if maybe else {}
    for use in facts.uses:
        if use.compiled is None or maybe.isdisjoint(use.compiled.steps):
            continue
        for step in _read(use, use.compiled):
            if step in maybe and not _is_covered(facts, use, step, conditions):
                yield _finding(facts, use, step)


def _read(use: Use, compiled: Compiled) -> tuple[str, ...]:
    """The steps of which it certainly reads something, untested."""
    if use.site in {Site.REWARD, Site.ROUTING} or (compiled.is_path and use.site is Site.OUTPUT):
        return ()
    tested = {path[1] for path in compiled.guards if len(path) > 1}
    found = tuple(name for name in compiled.steps if name not in tested)
    return found if found and _is_strict(compiled) else ()


def _is_strict(compiled: Compiled) -> bool:
    """Whether all of the expression is evaluated, whatever the values are."""
    return _strict(tree(compiled))


def _strict(node: Node) -> bool:
    match node:
        case Operation(function, arguments):
            return function not in _LAZY and all(map(_strict, arguments))
        case Items(nodes):
            return all(map(_strict, nodes))
    return not isinstance(node, Unknown)


def _is_covered(facts: Facts, use: Use, step: str, conditions: dict[int, Guard]) -> bool:
    """Whether the reader runs only when the step has an output. What a condition reads itself is told there."""
    if use.step is None or facts.position[step] >= use.step:
        return use.step is not None
    reader, producer = conditions.get(use.step), conditions.get(facts.position[step])
    if use.site is Site.WHEN or reader is None:
        return False
    if any(name.keys[:2] == ("steps", step) for name in variables(reader.holds)):
        return True
    component = facts.component_of(step)
    may_fail = component is not None and component.on_failure.type is FailureStrategy.SKIP
    return producer is not None and not may_fail and _implies(reader, producer)


def _implies(reader: Guard, producer: Guard) -> bool:
    """Whether each case of the reader is one of the producer."""
    return all(any(_is_within(one, case) for case in producer.holds) for one in reader.holds)


def _is_within(one: Alternative, case: Alternative) -> bool:
    return all(set(tests) <= set(one.get(name, ())) for name, tests in case.items())


def _finding(facts: Facts, use: Use, step: str) -> Diagnostic:
    producer, reader = facts.steps[facts.position[step]], None if use.step is None else facts.steps[use.step]
    component = facts.components.get(reader.component) if reader else None
    ends = reader is None or (
        reader.phase is Phase.IN_REQUEST
        and (reader.when is None or use.site is Site.WHEN)
        and (component is None or component.on_failure.type not in _ENDS)
    )
    why = (
        f"its condition is false: {producer.when}"
        if producer.when
        else "its component fails (onFailure: Skip)"
    )
    where = "the answer" if reader is None else f"step {reader.name}"
    return Diagnostic(
        code="SkippedDependency",
        severity=Severity.ERROR if ends else Severity.WARNING,
        path=use.path,
        message=f"{where} reads steps.{step}, which is absent when {why}",
        witness=f"{step} skipped → {use.text} cannot be read",
        hint=f"has(steps.{step}) ? {use.text} : …"
        if reader is None or reader.when
        else f"has(steps.{step}) ? {use.text} : …, or when: has(steps.{step})",
    )
