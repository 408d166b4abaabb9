"""What a workflow's numbers and conditions add up to, before anything runs: retries, budgets, branches, costs.

``verification`` refuses what is no workflow; these checks look at workflows that could run and say where that would end.
An error is certain: it happens in every such run, or breaks a limit that the workflow sets itself. A warning may happen.
A check is ``(Facts) -> diagnostics``, linear in steps, components and edges; what it cannot tell, it does not tell.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sluicegate.contracts.analysis import amplification
from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.verification.facts import Facts, gather

Check = Callable[[Facts], Iterable[Diagnostic]]

CHECKS: tuple[Check, ...] = (amplification.retries_multiply,)


def analyse(workflow: AgentWorkflow) -> tuple[Diagnostic, ...]:
    """All findings, in the order of the checks; never raises, also for what `verification.verify` refuses. Pure."""
    facts = gather(workflow)
    subject = f"{workflow.kind}/{workflow.metadata.name}"
    return tuple(replace(item, subject=subject) for check in CHECKS for item in check(facts))
