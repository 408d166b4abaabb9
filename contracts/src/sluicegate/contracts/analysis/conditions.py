"""Conditions that decide nothing, by the values that contracts and semantic domains allow."""

import math
from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.analysis.branches import allowed
from sluicegate.contracts.analysis.guards import Guard, guards, never_hold, possible, variables
from sluicegate.contracts.analysis.ranges import Ranges, Variable, ranges_of
from sluicegate.contracts.analysis.values import ANYTHING, Comparison, Values, some
from sluicegate.contracts.cel_tree import Reference, Scalar
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts

_SWITCH: Final = 2
"""Steps that divide one field between them."""


def conditions_decide(facts: Facts) -> Iterator[Diagnostic]:
    """A condition gives true or false, and can give both."""
    ranges, dead = ranges_of(facts), never_hold(facts)
    for guard in guards(facts):
        if not any((*guard.holds, *guard.fails)):
            continue  # about no variable: `verification` tells constants
        finding = _not_bool(guard, ranges)
        if finding is None:
            finding = _never(guard, ranges) if guard.step in dead else _always(guard, ranges)
        if finding is not None:
            yield finding


def _not_bool(guard: Guard, ranges: Ranges) -> Diagnostic | None:
    node = guard.node
    if not isinstance(node, Reference) or node.tested:
        return None
    values = ranges.of(Variable(node.keys))
    if values is ANYTHING or any(values.has(one) for one in (True, False)):
        return None
    return Diagnostic(
        code="ConditionNotBool",
        severity=Severity.ERROR,
        path=guard.path,
        message=f"{guard.text} gives {_told(values)}, a condition gives true or false: the step fails in every run",
        witness=f"{guard.text} is {_told(values)}",
        hint=f"compare it with something: {guard.text} == {_example(values)}",
    )


def _never(guard: Guard, ranges: Ranges) -> Diagnostic:
    variable, tests = _culprit(guard, ranges)
    values = ranges.of(variable)
    wanted = [constant for test in tests if test.operator == "==" for constant in test.constants]
    near = None
    if values.members and len(wanted) == 1 and isinstance(wanted[0], str):
        near = did_you_mean(wanted[0], [one for one in values.members if isinstance(one, str)])
    return Diagnostic(
        code="ConditionNeverTrue",
        severity=Severity.ERROR,
        path=guard.path,
        message=f"the condition never holds: {variable} is {_told(values)}",
        witness=f"{variable} is {_told(values)}; needed {_needed(tests)}",
        hint=near or "correct the value, or the contract that bounds it",
    )


def _always(guard: Guard, ranges: Ranges) -> Diagnostic | None:
    if not guard.fails or possible(guard.fails, ranges):
        return None
    witness = "; ".join(f"{name} is {_told(ranges.of(name))}" for name in variables(guard.fails))
    return Diagnostic(
        code="ConditionAlwaysTrue",
        severity=Severity.WARNING,
        path=guard.path,
        message="the condition always holds, so that it decides nothing",
        witness=witness,
        hint="remove it, or correct the value",
    )


def _culprit(guard: Guard, ranges: Ranges) -> tuple[Variable, tuple[Comparison, ...]]:
    """A variable that no value can satisfy, of the first alternative."""
    return next((name, tests) for name, tests in guard.holds[0].items() if not some(ranges.of(name), tests))


def switches_are_exhaustive(facts: Facts) -> Iterator[Diagnostic]:
    """Steps that divide the values of one field between them leave none out."""
    ranges = ranges_of(facts)
    found: dict[Variable, list[tuple[Guard, tuple[Scalar, ...] | None]]] = {}
    for guard in guards(facts):
        for variable in variables(guard.holds):
            if variable.what == "value" and ranges.of(variable).members is not None:
                found.setdefault(variable, []).append((guard, allowed(guard, variable, ranges)))
    for variable, steps in found.items():
        taken = [values for _, values in steps if values is not None]
        if len(taken) < max(_SWITCH, len(steps)):
            continue  # one of them may run with any value
        missing = [
            one for one in ranges.of(variable).members or () if not any(one in values for values in taken)
        ]
        if missing and missing != [None]:
            yield _gap(facts, variable, [guard for guard, _ in steps], missing)


def _gap(facts: Facts, variable: Variable, steps: list[Guard], missing: list[Scalar]) -> Diagnostic:
    told = [one for one in missing if one is not None]
    names = listed(facts.steps[guard.step].name for guard in steps)
    return Diagnostic(
        code="NotExhaustive",
        severity=Severity.WARNING,
        path=steps[-1].path,
        message=f"{names} divide the values of {variable}, and none of them runs for {listed(map(shown, told))}",
        witness=f"{variable} = {listed(map(shown, told))}",
        hint=f"add a step for {'it' if len(told) == 1 else 'them'}, or one that takes the rest",
    )


def _told(values: Values) -> str:
    """A set of values in words."""
    if values.members is not None:
        members: list[Scalar] = [one for one in values.members if one is not None] or list(values.members)
        if len(members) == 1:
            return shown(members[0])
        return f"one of {listed(map(shown, members), limit=12)}" if members else "nothing"
    if values.kinds != {"number"}:
        return f"of type {' or '.join(sorted(values.kinds))}"
    low = "" if values.low == -math.inf else f" {'above' if values.low_open else 'from'} {values.low:g}"
    high = "" if values.high == math.inf else f" {'below' if values.high_open else 'to'} {values.high:g}"
    return f"a {'whole ' if values.whole else ''}number{low}{high}"


def _needed(tests: tuple[Comparison, ...]) -> str:
    return " and ".join(f"{test.operator} {' or '.join(map(shown, test.constants))}" for test in tests)


def _example(values: Values) -> str:
    member = next((one for one in values.members or () if one is not None), None)
    if member is not None:
        return shown(member)
    return {"number": "1", "string": '"…"'}.get(next(iter(sorted(values.kinds))), "…")
