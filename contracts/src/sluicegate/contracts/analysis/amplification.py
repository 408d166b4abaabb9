"""Retries in several layers multiply."""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.calls import Calls, address, calls
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.verification.facts import Facts

WARNING_ABOVE: Final = 4
"""Calls at one destination per user request, with retries. Google's SRE book allows a request three attempts, in one layer (chapter 21, Handling Overload)."""
ERROR_ABOVE: Final = 10
"""Of each planned call."""


def retries_multiply(facts: Facts) -> Iterator[Diagnostic]:
    """How often one user request may call each destination, all layers together."""
    by_address: dict[str, list[Calls]] = {}
    for one in calls(facts):
        by_address.setdefault(address(one.component.endpoint), []).append(one)
    known = branches(facts)
    for destination, found in by_address.items():
        weights: dict[int, float] = {}
        for one in found:
            weights[one.step] = weights.get(one.step, 0) + one.most
        path = set(known.heaviest(weights))
        together = [one for one in found if one.step in path]
        severity = _severity(facts, together)
        if severity is not None:
            yield _finding(facts, destination, together, severity)


def _severity(facts: Facts, found: list[Calls]) -> Severity | None:
    most, planned = sum(one.most for one in found), sum(one.planned for one in found)
    declared = facts.spec.contract.sla.max_amplification
    if most <= planned:  # nothing is tried twice
        return None
    if declared is not None:
        return Severity.ERROR if most > declared else None
    if most > ERROR_ABOVE * max(planned, 1):
        return Severity.ERROR
    return Severity.WARNING if most > WARNING_ABOVE else None


def _finding(facts: Facts, destination: str, found: list[Calls], severity: Severity) -> Diagnostic:
    most, planned = sum(one.most for one in found), sum(one.planned for one in found)
    worst = max(found, key=lambda one: one.most)
    declared = facts.spec.contract.sla.max_amplification
    limit = declared or (WARNING_ABOVE if severity is Severity.WARNING else ERROR_ABOVE * max(planned, 1))
    return Diagnostic(
        code="RetryAmplification",
        severity=severity,
        path=f"spec.components[{facts.spec.components.index(worst.component)}].retry",
        message=f"one user request may cause {most} calls at {destination}, {'allowed are' if declared else 'the limit is'} {limit}",
        witness=_sum(facts, found, most),
        hint=_remedy(worst),
    )


def _sum(facts: Facts, found: list[Calls], most: int) -> str:
    """``callers 2 × planner retry 3 = 6``, or the steps one after the other."""
    if len(found) == 1:
        return f"{found[0]} = {most}"
    return f"{' + '.join(f'{facts.steps[one.step].name}: {one}' for one in found)} = {most}"


def _remedy(worst: Calls) -> str:
    if not worst.factors:
        return f"{worst.component.name} is its own stand-in"
    name, number = max(worst.factors, key=lambda factor: factor[1])
    return f"retry in one layer only: {name} {number} is the largest factor"
