"""What is asked of the stored runs of a drill, and what is answered."""

from dataclasses import dataclass

from sluicegate.contracts.schedules import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillLook:
    """The drill of a workflow in a window."""

    namespace: str
    workflow: str
    window: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillCounts:
    """Its runs as they are stored now; fields as in `DrillReport`."""

    look: DrillLook
    runs: int = 0
    answered: int = 0
    invalid: int = 0
    failed_run: str | None = None
