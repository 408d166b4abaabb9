"""Which writes are accepted. (Skeleton.)"""

from sluicegate.contracts.resources import Resource
from sluicegate.rollout.model import Admission, AdmissionContext


def admit(old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext) -> Admission:
    """Whether `caller` may turn `old` (None: create) into `new` (None: delete)."""
    return Admission()
