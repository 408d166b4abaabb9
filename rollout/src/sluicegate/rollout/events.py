"""Every event of the control loop: reasons, messages, keys. Reasons are a closed set."""

from typing import Final

from sluicegate.contracts.stages import Outcome
from sluicegate.rollout.model import Emit, Event, ObjectRef, Severity

REASONS: Final = (
    "FirstRevision",
    "RevisionCreated",
    "RolloutCreated",
    "RolloutRefused",
    "StageEntered",
    "StageHeld",
    "Draining",
    "Completed",
    "DecisionApplied",
    "DecisionCounted",
    "DecisionRefused",
    "DecisionExpired",
    "StableChanged",
    "RouteRepaired",
)

_BAD_OUTCOMES: Final = frozenset({Outcome.ABORTED, Outcome.REJECTED, Outcome.EXPIRED})


def emit(about: ObjectRef, reason: str, message: str, *, key: str, bad: bool = False) -> Emit:
    """An event; `key` makes a repeated one the same."""
    severity = Severity.WARNING if bad else Severity.NORMAL
    return Emit(Event(about=about, reason=reason, message=message, severity=severity, key=f"{reason}/{key}"))


def is_bad(outcome: Outcome | None) -> bool:
    """Whether people should look."""
    return outcome in _BAD_OUTCOMES
