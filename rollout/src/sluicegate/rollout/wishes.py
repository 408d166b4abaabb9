"""What one look at a workflow sees, and what it decides."""

from dataclasses import dataclass
from datetime import datetime

from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.rollout import revisions
from sluicegate.rollout.model import Act, WorkflowObserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The workflow as one look meets it. `status` already knows of a rollout that has ended."""

    observed: WorkflowObserved
    status: WorkflowStatus
    digest: str
    problems: str  # why the wish is not valid; empty when it is
    now: datetime

    @property
    def workflow(self) -> AgentWorkflow:
        """The wish."""
        return self.observed.workflow

    @property
    def stable(self) -> WorkflowRevision | None:
        """The stable revision, when it is known and there."""
        return revisions.named(self.observed.revisions, self.status.stable_revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a look decides: changes of the status, actions, and why nothing starts when nothing does.

    stable: who answers everybody; None while a rollout routes. obstacle: (reason, message) of Stalled.
    """

    status: WorkflowStatus
    acts: tuple[Act, ...] = ()
    stable: WorkflowRevision | None = None
    running: WorkflowRollout | None = None
    obstacle: tuple[str, str] | None = None
