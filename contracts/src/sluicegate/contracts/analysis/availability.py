"""Success rates along the path: a series, with retries and stand-ins that share causes of failure."""

import math
from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.analysis.latency import awaited
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.patience import attempts
from sluicegate.contracts.resources.workflow import Component, FailureStrategy
from sluicegate.contracts.verification.facts import Facts

COMMON_CAUSE: Final = 0.2
"""Share β of failures that a second attempt shares with the first (the beta-factor model of IEC 61508-6, annex D, where it is 0.01 to 0.1 for
separate hardware; attempts at one model with one prompt share far more)."""
_ENDS: Final = frozenset({FailureStrategy.SKIP, FailureStrategy.VALUE})
_EXACT: Final = 1e-9


def successes_multiply(facts: Facts) -> Iterator[Diagnostic]:
    """The promised success rates of the steps multiply to what the workflow promises."""
    promised = facts.spec.contract.sla.min_success_rate
    if promised is None:
        return
    shared = {number: success_rate(chain(facts, one), COMMON_CAUSE) for number, _, one in awaited(facts)}
    path = branches(facts).heaviest({number: _weight(rate) for number, rate in shared.items() if rate < 1.0})
    together = math.prod(shared[number] for number in path)
    if together >= float(promised) - _EXACT:
        return
    alone = {number: success_rate(chain(facts, one), 0.0) for number, _, one in awaited(facts)}
    independent = math.prod(alone[number] for number in path)
    yield Diagnostic(
        code="AvailabilityBudget",
        severity=Severity.WARNING,
        path="spec.contract.sla.minSuccessRate",
        message=f"the steps promise success of {together:.5f} together ({independent:.5f} if failures of retries were independent), the workflow promises {promised}",
        witness=f"{' × '.join(f'{facts.steps[number].name} {shared[number]:.5f}' for number in path)} = {together:.5f}",
        hint=f"{facts.steps[min(path, key=lambda number: shared[number])].name} is the weakest: give it a fallback or a better promise",
    )


def success_rate(members: tuple[Component, ...], beta: float) -> float:
    """Of a step whose component and stand-ins are these: 1 when the last one ends in a value or a skip; 1 also for what promises nothing.

    A failure is shared by the next attempt or stand-in with probability beta, else independent: of r further attempts with
    failure f each, f·(β + (1 - β)·f^r).
    """
    if members[-1].on_failure.type in _ENDS:
        return 1.0
    first, *others = members
    failing = _failing(first, beta)
    for one in others:
        failing *= beta + (1.0 - beta) * _failing(one, beta)
    return 1.0 - failing


def _failing(component: Component, beta: float) -> float:
    once = 1.0 - float(component.sla.min_success_rate or 1)
    again = attempts(component) - 1
    return once * (beta + (1.0 - beta) * once**again) if again else once


def _weight(rate: float) -> float:
    return -math.log(rate) if rate > 0.0 else math.inf
