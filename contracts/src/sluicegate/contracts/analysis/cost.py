"""What a run may cost when everything that can be tried again is."""

from collections.abc import Iterator
from decimal import Decimal

from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.calls import Calls, calls
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.verification.facts import Facts


def costs_stay_within(facts: Facts) -> Iterator[Diagnostic]:
    """Calls × what each may cost, over the steps that may run together."""
    allowed = facts.spec.contract.sla.max_cost_per_run
    if allowed is None:
        return
    priced: dict[int, list[Calls]] = {}
    for one in calls(facts, per_run=True):
        if one.component.cost is not None:
            priced.setdefault(one.step, []).append(one)
    costs = {step: sum((_cost(one) for one in found), Decimal(0)) for step, found in priced.items()}
    path = branches(facts).heaviest({step: float(cost) for step, cost in costs.items()})
    total = sum((costs[step] for step in path), Decimal(0))
    if total <= Decimal(allowed):
        return
    dearest = max(path, key=lambda step: costs[step])
    yield Diagnostic(
        code="CostBudget",
        severity=Severity.ERROR,
        path="spec.contract.sla.maxCostPerRun",
        message=f"a run may cost {total}, allowed are {allowed}",
        witness=f"{' + '.join(_told(one) for step in path for one in priced[step])} = {total}",
        hint=f"{facts.steps[dearest].name} is the dearest step with {costs[dearest]}",
    )


def _cost(one: Calls) -> Decimal:
    return one.most * Decimal(one.component.cost.max_per_call) if one.component.cost else Decimal(0)


def _told(one: Calls) -> str:
    price = one.component.cost.max_per_call if one.component.cost else "0"
    return f"{one} × {price}"
