"""Decisions about a rollout. (Skeleton.)"""

from datetime import datetime

from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.rollout.model import Plan, RolloutObserved


def reconcile_rollout(observed: RolloutObserved, now: datetime) -> Plan[RolloutStatus]:
    """One look at a rollout."""
    raise NotImplementedError
