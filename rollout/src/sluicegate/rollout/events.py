"""Every event: reasons, messages, keys. Reasons are a closed set."""

from typing import Final

from sluicegate.contracts.stages import Outcome
from sluicegate.rollout.model import Emit, Event, Ref, Severity

REASONS: Final = {
    "FirstRevision": "The first verified revision of a workflow is stable, without stages.",
    "RolloutCreated": "A rollout towards a new version begins, or an earlier version comes back.",
    "StageEntered": "A rollout is in a stage.",
    "StageHeld": "A rollout needs a person: override, retry or abort.",
    "UnseenValue": "Three units of the candidate gave an output that stable, seen as often, never gave; see the gate on ComponentDrift.",
    "Draining": "A rollout has its outcome, and traffic moves to the revision that remains.",
    "Completed": "A rollout has ended; every gateway follows.",
    "StableChanged": "Another revision is stable.",
    "RewardDecayed": "The stable version earns less than it did, or a component of it falls back more often; once for each alarm.",
    "OutputsDrifted": "What the stable version gives in an observed output has moved from its frozen baseline; once for each output.",
    "UnseenOutput": "The stable version gave a value that no unit of its frozen baseline did; the first time.",
    "DrillFailed": "The rules of business had no valid answer to a run of a drill; once for each drill.",
    "DrillOverdue": "No drill of the business fallback has passed for too long; once.",
    "SlaBreached": "The stable version is shown to break a promise of its SLA; once for each breach.",
    "SlaKept": "It is shown to keep that promise again; once for each breach.",
    "DecisionApplied": "A person's act was done.",
    "DecisionCounted": "A person's act is one of those that the stage waits for.",
    "DecisionRefused": "A person's act did not fit; the message says why.",
    "DecisionExpired": "A person's act came too late.",
    "RuleSetRefused": "A rule set is not used: its proof does not hold, or its version was the name of another table.",
    "RuleSetServing": "Every gateway has the plan with another table of a rule set.",
    "GatewayWorkerDied": "A gateway worker ended unasked and is started again.",
}
"""What each reason means; docs/reference/conditions.md is made of it."""

_BAD_OUTCOMES: Final = frozenset({Outcome.ABORTED, Outcome.REJECTED, Outcome.EXPIRED})


def emit(about: Ref, reason: str, message: str, *, key: str, bad: bool = False) -> Emit:
    """An event; `key` makes a repeated one the same."""
    severity = Severity.WARNING if bad else Severity.NORMAL
    return Emit(Event(about=about, reason=reason, message=message, severity=severity, key=f"{reason}/{key}"))


def is_bad(outcome: Outcome | None) -> bool:
    """Whether people should look."""
    return outcome in _BAD_OUTCOMES
