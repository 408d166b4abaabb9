"""Decisions about a workflow. (Skeleton: the happy path.)"""

from datetime import datetime

from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.rollout.model import Plan, WorkflowObserved


def reconcile_workflow(observed: WorkflowObserved, now: datetime) -> Plan[WorkflowStatus]:
    """What has to be true of the workflow, and what to do for it."""
    raise NotImplementedError
