"""The words of a rollout: stages, states, verdicts, outcomes, actions."""

from enum import StrEnum


class Stage(StrEnum):
    """Where a candidate stands; the order is the order of passage."""

    CANARY = "Canary"
    SHADOW = "Shadow"
    CONTROLLED = "Controlled"
    FULL = "Full"


class State(StrEnum):
    """State of a rollout. Paused and held are flags beside it, not states."""

    PENDING = "Pending"
    CANARY = "Canary"
    SHADOW = "Shadow"
    CONTROLLED = "Controlled"
    FULL = "Full"
    DRAINING = "Draining"  # traffic is on its way to the healthy arm; `status.outcome` is already fixed
    DONE = "Done"


class Verdict(StrEnum):
    """What a gate says. Only a positive Pass of every required gate promotes."""

    PASS = "Pass"  # noqa: S105 - a verdict
    FAIL = "Fail"
    WAIT = "Wait"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"


class Outcome(StrEnum):
    """How a rollout ended."""

    PROMOTED = "Promoted"
    FAST_PROMOTED = "FastPromoted"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"
    ROLLED_BACK = "RolledBack"
    FAST_ROLLED_BACK = "FastRolledBack"
    REJECTED = "Rejected"
    EXPIRED = "Expired"


class Action(StrEnum):
    """What a person can do to a rollout, by a Decision object."""

    PROMOTE = "Promote"
    ABORT = "Abort"
    PAUSE = "Pause"
    RESUME = "Resume"
    RETRY = "Retry"
    APPROVE = "Approve"
    REJECT = "Reject"
    REVIEW = "Review"
    OVERRIDE = "Override"
    UNDO = "Undo"


class Signal(StrEnum):
    """What a gate looks at."""

    SUCCESS_RATE = "WorkflowSuccessRate"
    P95_LATENCY = "WorkflowP95Latency"
    FALLBACK_RATE_MAX = "ComponentFallbackRateMax"
    CONTRACT_VIOLATIONS = "ContractViolations"
    DISAGREEMENT = "ResponseDisagreement"
    REWARD = "WorkflowReward"
    SHAPLEY_VARIANCE = "RewardShapleyVariance"
    DRIFT = "ComponentDrift"
    EXTERNAL = "External"


class Check(StrEnum):
    """What is looked at in every stage besides the gates; nobody asks for it, and nobody can leave it out."""

    ROUTING = "RoutingShares"
    IMPROVEMENT = "RewardDivergence"


MIRRORED_STAGES = frozenset({Stage.CANARY, Stage.SHADOW})
"""Stages in which the candidate runs on a copy and its answer never reaches the user."""
