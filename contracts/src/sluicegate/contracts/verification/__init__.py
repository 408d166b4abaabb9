"""Static verification of a workflow: an ordered list of small pure checks, all of which are told at once.

A check is ``(Facts) -> problems``. Facts are gathered once; expressions in them are compiled already.
"""

from collections.abc import Callable, Iterable

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.workflow import AgentWorkflow, Runtime
from sluicegate.contracts.verification import (
    endpoints,
    enforcement,
    escalation,
    expressions,
    gates,
    graph,
    names,
    schemas,
    services,
    sources,
)
from sluicegate.contracts.verification.facts import Facts, gather

Check = Callable[[Facts], Iterable[Problem]]

CHECKS: tuple[Check, ...] = (
    *names.CHECKS,
    *graph.CHECKS,
    *expressions.CHECKS,
    *schemas.CHECKS,
    *enforcement.CHECKS,
    *escalation.CHECKS,
    *endpoints.CHECKS,
    *gates.CHECKS,
    *sources.CHECKS,
    services.belongs,
)
"""Of runtime Managed."""

SERVICE_CHECKS: tuple[Check, ...] = (
    names.workflow_name,
    names.duplicates,
    gates.passage,
    gates.shares,
    gates.misplaced,
    gates.durations,
    gates.error_budget,
    *sources.CHECKS,
    *services.CHECKS,
)
"""Of runtime Service: what the gateway would do cannot be asked for."""


def verify(workflow: AgentWorkflow) -> tuple[Problem, ...]:
    """Everything that is wrong with the workflow, in the order of the checks; empty when it may run."""
    facts = gather(workflow)
    checks = SERVICE_CHECKS if workflow.spec.runtime is Runtime.SERVICE else CHECKS
    return tuple(problem for check in checks for problem in check(facts))
