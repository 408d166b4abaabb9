"""Which steps exclude one another, so that what only one of them does is not added up."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sluicegate.contracts.analysis.guards import Guard, guards, variables
from sluicegate.contracts.analysis.ranges import Ranges, Variable, ranges_of
from sluicegate.contracts.analysis.values import kind
from sluicegate.contracts.cel_tree import Scalar
from sluicegate.contracts.verification.facts import Facts

_Choice = tuple[Variable, frozenset[tuple[str, Scalar]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """choices: of a step that runs only for some values of one variable, the variable and these values."""

    choices: Mapping[int, _Choice]

    def heaviest(self, weights: Mapping[int, float]) -> tuple[int, ...]:
        """Of these steps some that may run in one run, so that no run has a larger sum of weights."""
        kept = [step for step in weights if step not in self.choices]
        for by_value in self._switches(weights).values():
            kept += max(by_value.values(), key=lambda steps: sum(weights[step] for step in steps))
        return tuple(sorted(kept))

    def _switches(self, weights: Mapping[int, float]) -> dict[Variable, dict[tuple[str, Scalar], list[int]]]:
        found: dict[Variable, dict[tuple[str, Scalar], list[int]]] = {}
        for step in weights:
            if step in self.choices:
                variable, values = self.choices[step]
                by_value = found.setdefault(variable, {})
                for value in values:
                    by_value.setdefault(value, []).append(step)
        return found


@lru_cache(maxsize=2)
def branches(facts: Facts) -> Branches:
    """Of steps whose conditions pin a variable."""
    ranges = ranges_of(facts)
    found = {guard.step: _choice(guard, ranges) for guard in guards(facts)}
    return Branches(choices={step: choice for step, choice in found.items() if choice is not None})


def _choice(guard: Guard, ranges: Ranges) -> _Choice | None:
    """The first variable that every alternative pins to some values."""
    for variable in variables(guard.holds):
        values = allowed(guard, variable, ranges)
        if values is not None:
            return variable, frozenset((kind(value), value) for value in values)
    return None


def allowed(guard: Guard, variable: Variable, ranges: Ranges) -> tuple[Scalar, ...] | None:
    """The values of a variable with which the step may run; None when they cannot be listed, or when it makes no difference."""
    members = ranges.of(variable).members
    found: dict[tuple[str, Scalar], Scalar] = {}
    for alternative in guard.holds:
        tests = alternative.get(variable)
        if tests is None:
            return None
        pinned = members or next((test.constants for test in tests if test.operator == "=="), None)
        if pinned is None:
            return None
        for test in tests:
            pinned = tuple(value for value in pinned if test.passes(value))
        found.update(((kind(value), value), value) for value in pinned)
    if not found or (members is not None and len(found) == len(members)):
        return None
    return tuple(found.values())
