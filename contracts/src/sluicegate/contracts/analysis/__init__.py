"""What a workflow's numbers and conditions add up to, before anything runs: retries, budgets, branches, costs.

``verification`` refuses what is no workflow; these checks look at workflows that could run and say where that would end.
An error is certain: it happens in every such run, or breaks a limit that the workflow sets itself. A warning may happen.
A check is ``(Facts) -> diagnostics``, linear in steps, components and edges; what it cannot tell, it does not tell.
Comparing contracts has a budget of steps for the whole workflow (`containment.budget`); what is beyond is told as not compared.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sluicegate.contracts.analysis import (
    absence,
    amplification,
    availability,
    conditions,
    cost,
    edges,
    fallback,
    graph,
    idempotency,
    latency,
    stand_ins,
)
from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.verification.facts import Facts, gather

Check = Callable[[Facts], Iterable[Diagnostic]]

CHECKS: tuple[Check, ...] = (
    amplification.retries_multiply,
    latency.promises_fit,
    latency.retries_can_run,
    availability.successes_multiply,
    fallback.fallbacks_add_up,
    fallback.stand_ins_answer,
    stand_ins.values_are_read,
    graph.steps_can_run,
    graph.outputs_are_used,
    graph.sessions_stay_together,
    graph.runs_begin_no_runs,
    absence.absent_steps_are_tested,
    conditions.conditions_decide,
    conditions.switches_are_exhaustive,
    idempotency.effects_happen_once,
    idempotency.mirrors_stay_away,
    cost.costs_stay_within,
    edges.edges_cover,
)


def analyse(workflow: AgentWorkflow) -> tuple[Diagnostic, ...]:
    """All findings, in the order of the checks; never raises, also for what `verification.verify` refuses. Pure."""
    facts = gather(workflow)
    subject = f"{workflow.kind}/{workflow.metadata.name}"
    return tuple(replace(item, subject=subject) for check in CHECKS for item in check(facts))
