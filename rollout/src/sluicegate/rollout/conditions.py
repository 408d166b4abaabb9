"""Conditions: metav1.Condition lists whose transition times move only on change.

`Reconciling` and `Stalled` are abnormal-true, as kstatus reads them: absent when all is well.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Outcome, State, Verdict
from sluicegate.rollout.model import RolloutObserved, WorkflowObserved

Truth = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A condition: when it is True, and the reasons that it gives."""

    type: str
    meaning: str
    reasons: tuple[str, ...]


_STATES: Final = tuple(State)
_OUTCOMES: Final = tuple(Outcome)
ABNORMAL: Final = frozenset({"Reconciling", "Stalled"})
"""Present while they are True, else absent."""

WAITS: Final = ("AwaitingApproval", "AwaitingReview", "AwaitingPromotion", "AwaitingDrill", "PausedByPerson")
"""Reasons of `Reconciling` that wait for people, or for a drill."""

TROUBLES: Final[dict[str, str]] = {
    "TrafficContested": "Another field manager keeps changing the rule of the HTTPRoute; the message names it.",
    "RouteMissing": "The HTTPRoute, or its rule, is not there.",
    "RoutesNotServed": "The API server does not serve HTTPRoutes: the Gateway API is not installed, or no more.",
    "RouteAmbiguous": "It is not certain which rule of the HTTPRoute is meant, or the rule leads to backends of others.",
    "RouteTaken": "Another workflow has this rule of the HTTPRoute.",
    "RouteRefused": "The API server does not take the change of the HTTPRoute.",
    "MirrorUnsupported": "The GatewayClass does not say that it can mirror a share of the requests.",
    "BackendNotReady": "The candidate's Service has no ready endpoint; it gets no traffic before.",
    "NoParents": "No gateway has taken the HTTPRoute up.",
    "NotAccepted": "A gateway does not accept the HTTPRoute, or cannot resolve what it refers to.",
}
"""Why a Service's plan is not followed: reasons of TrafficProgrammed."""

_TRAFFIC: Final = ("Programmed", "Programming", "NoGateways", *TROUBLES)
_OBSTACLES: Final = (
    "ContractInvalid",
    "VersionReused",
    "StableMissing",
    "SharedEndpoint",
    "Latched",
    "Held",
    "RuntimeChanged",
    *(Outcome.ABORTED, Outcome.REJECTED, Outcome.EXPIRED, Outcome.ROLLED_BACK),
)

OF_WORKFLOW: Final = (
    Definition(
        "Ready",
        "The wish is stable and every gateway follows. False: it cannot become so by itself. Unknown: on its way.",
        ("Stable", "Pending", "RolloutRunning", "Deleting", *_TRAFFIC, *_OBSTACLES),
    ),
    Definition(
        "Reconciling",
        "The control loop is at work on it, or waits for people as planned. Absent otherwise.",
        ("Pending", "RolloutRunning", "Deleting", *WAITS, *_TRAFFIC),
    ),
    Definition("Stalled", "Nothing moves until a person acts. Absent otherwise.", (*_OBSTACLES, *TROUBLES)),
    Definition("ContractValid", "Static verification found nothing.", ("Verified", "ContractInvalid")),
    Definition("TrafficProgrammed", "Every gateway follows the last routing plan.", _TRAFFIC),
    Definition(
        "RewardDecaying",
        "Shown: the stable version earns less than in its first units, or a component of it falls back more often. It stays True "
        "until another version is stable or `spec.watch` changes. Unknown: not known (yet). Absent while nothing was ever watched.",
        ("RewardFell", "FallbacksRose", "Steady", "Learning", "NoData", "NotWatched"),
    ),
    Definition(
        "OutputsDrifting",
        "Shown: the share of a value in an observed output of the stable version is another than in its frozen baseline. It stays "
        "True until another version is stable or `spec.watch` changes. Unknown: not known (yet). Absent while no output is watched.",
        ("OutputMoved", "Steady", "Learning", "NoData", "NotWatched"),
    ),
    Definition(
        "SlaBreached",
        "Shown: the stable version breaks a promise of `contract.sla`, until it is shown to keep it again. False: every promise is shown "
        "to be kept. Unknown: not known (yet). Absent while nothing was ever promised and watched.",
        ("PromiseBroken", "PromisesKept", "Undecided", "NoData", "NotWatched"),
    ),
    Definition(
        "FallbackReady",
        "The rule set of `businessFallback` is proved and part of the plan. False: what answered before goes on, or the static answer. "
        "Unknown: its first table is being proved. Absent without a `businessFallback`.",
        ("RuleSetReady", "RuleSetMissing", "RuleSetProving", "RuleSetInvalid", "RuleSetUnreadable"),
    ),
    Definition(
        "DrillsPassing",
        "The last drill of the business fallback passed, and not too long ago. False: it failed, or none passed for `overdueAfterSeconds`. "
        "Unknown: there was none yet. Absent without drills.",
        ("DrillPassed", "DrillFailed", "DrillOverdue", "DrillPending", "ScheduleUnreadable"),
    ),
)
"""Conditions of an AgentWorkflow."""

OF_ROLLOUT: Final = (
    Definition(
        "Ready",
        "It has ended: its candidate is stable, or another wish took its place. False: it ended without its candidate, "
        "or a person is needed. Unknown: on its way.",
        (*_STATES, *_OUTCOMES),
    ),
    Definition(
        "Reconciling",
        "The control loop is at work on it, or waits for people as planned. Absent otherwise.",
        (*_STATES, *WAITS),
    ),
    Definition(
        "Stalled",
        "A person is needed, or it ended without its candidate. Absent otherwise.",
        ("Held", "SharedEndpoint", *TROUBLES, *_OUTCOMES),
    ),
    Definition("TrafficProgrammed", "Every gateway follows the last routing plan.", _TRAFFIC),
    Definition(
        "EvidenceSufficient",
        "The required gates of the stage are decided. Absent outside the stages, and where a stage has no gate.",
        ("Sufficient", "NeedsMore"),
    ),
    Definition(
        "AnalysisPassed",
        "Every required gate of the stage passes; False: one fails; Unknown: not decided.",
        tuple(Verdict),
    ),
    Definition("AwaitingApproval", "People have to approve.", ("ApprovalsMissing", "NotWaiting")),
    Definition("AwaitingReview", "People have to judge fallbacks.", ("ReviewsMissing", "NotWaiting")),
    Definition("Paused", "A person paused it.", ("PausedByPerson", "NotPaused")),
    Definition(
        "Aborted", "It ended Aborted, or is about to.", ("NotAborted", Outcome.ABORTED, State.DRAINING)
    ),
    Definition("Completed", "It has ended.", (*_STATES, *_OUTCOMES)),
)
"""Conditions of a WorkflowRollout."""

_REFUSALS: Final = ("RuleSetInvalid", "VersionReused", "ProofFailed")

OF_RULE_SET: Final = (
    Definition(
        "Ready",
        "The table is proved, and every gateway has the plans with it, or no plan has it. False: it is not used, and what answered before "
        "goes on. Unknown: on its way to the gateways.",
        ("Serving", "Unused", "Programming", *_REFUSALS),
    ),
    Definition("Reconciling", "Gateways do not have it yet. Absent otherwise.", ("Programming",)),
    Definition("Stalled", "It is not used until a person changes it. Absent otherwise.", _REFUSALS),
    Definition(
        "Proven",
        "The table answers every input as its hit policy says, keeps its contract, passes its examples, and its version names no other "
        "table. False: the message has the first findings, each with an input that shows it.",
        ("Proved", *_REFUSALS),
    ),
)
"""Conditions of a FallbackRuleSet."""

REASONS: Final[dict[str, str]] = {
    "AwaitingApproval": "All that the stage lacks are approvals.",
    "AwaitingDrill": "All that the stage lacks is a drill of the business fallback that passes (`drill.blocksPromotion`).",
    "AwaitingPromotion": "Runtime Service: the stage had its time; a person promotes or aborts.",
    "AwaitingReview": "All that the stage lacks are judgements of fallbacks.",
    "ApprovalsMissing": "Fewer people approved than the stage asks for.",
    "ContractInvalid": "Static verification found problems; stable goes on.",
    "Deleting": "Deletion was asked for; traffic goes back to stable first.",
    "DrillFailed": "A run of the last drill got no valid answer of the rules; the message names one.",
    "DrillOverdue": "No drill has passed for longer than `overdueAfterSeconds`.",
    "DrillPassed": "The rules answered every run of the last drill, and no answer broke a contract.",
    "DrillPending": "No drill has taken place yet.",
    "FallbacksRose": "A component falls back more often than in the version's first units, and the reward is not shown to have fallen.",
    "Held": "A gate with `onFail: Hold` failed, the arms did not receive their declared shares, an improvement was not confirmed, the stage ended inconclusive, or a fallback was judged unacceptable.",
    "Latched": "The version did not pass before; it is not tried again until a retry or a new version.",
    "Learning": "The version's first units are counted; they become its baseline.",
    "NeedsMore": "A required gate is not decided, or samples, time or people are missing.",
    "NoGateways": "No gateway is alive.",
    "NoData": "No reward is known, or none came with the last 500 units; or no observed output was given.",
    "NotAborted": "It was not aborted.",
    "NotPaused": "It is not paused.",
    "NotWaiting": "Nobody is waited for.",
    "NotWatched": "`spec.watch.enabled` is false.",
    "OutputMoved": "The share of a value moved from the frozen baseline by more than the tolerance.",
    "PausedByPerson": "`pause`; `resume` goes on.",
    "Programmed": "Every gateway follows.",
    "PromiseBroken": "More units than `contract.sla` allows were too slow, failed, or fell back; the message says which promise, and since when.",
    "PromisesKept": "No more units than `contract.sla` allows are too slow, fail, or fall back.",
    "Programming": "Not every gateway follows yet.",
    "ReviewsMissing": "Fewer fallbacks were judged than the stage asks for.",
    "RewardFell": "The reward fell below that of the version's first units by more than the tolerance.",
    "ProofFailed": "The proof itself failed, which says nothing of the table; it is tried again every minute, and the log has the details.",
    "Proved": "The proof holds; it is made once for each generation.",
    "RuleSetInvalid": "The rule set does not compile, or its proof fails; the message has the first findings.",
    "RuleSetMissing": "There is no FallbackRuleSet of this name in the namespace.",
    "RuleSetProving": "There is no proof of this generation yet; the workflow waits for nothing, and is looked at again with it.",
    "RuleSetReady": "It is proved, and part of the plan.",
    "RuleSetUnreadable": "The rule set could not be read this time.",
    "RolloutRunning": "A rollout is on its way.",
    "RuntimeChanged": "The wish has another runtime than stable; that takes another workflow.",
    "ScheduleUnreadable": "The drill's schedule or time zone is none here.",
    "SharedEndpoint": "A component, or a Service, has a new version but would be answered by the same process as before.",
    "Stable": "The wish is stable.",
    "StableMissing": "The stable revision is not found; the last plan goes on.",
    "Serving": "Every gateway has the plan with it.",
    "Steady": "Neither a fall of the reward nor a rise of a fallback rate is shown; or no move of an output.",
    "Sufficient": "Every required gate is decided.",
    "Undecided": "Of a promise neither is shown, that it is broken or that it is kept.",
    "Unused": "No workflow names it, or no plan has it yet.",
    "Verified": "No problem.",
    "VersionReused": "The version is already the name of another body, or of another table.",
    **dict.fromkeys((*_STATES, *_OUTCOMES), "A state or outcome of the rollout, in its own words."),
    **TROUBLES,
    **dict.fromkeys(Verdict, "The worst verdict of the required gates."),
}
"""What each reason means."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition as it should be. `truth` None: Unknown."""

    type: str
    truth: bool | None
    reason: str
    message: str = ""


def is_true(type: str, reason: str, message: str = "") -> Wanted:
    """It holds."""
    return Wanted(type, truth=True, reason=reason, message=message)


def is_false(type: str, reason: str, message: str = "") -> Wanted:
    """It does not hold."""
    return Wanted(type, truth=False, reason=reason, message=message)


def traffic(observed: WorkflowObserved | RolloutObserved, version: int) -> Wanted:
    """TrafficProgrammed: whether every live gateway follows plan `version`."""
    if observed.trouble is not None:
        return is_false("TrafficProgrammed", observed.trouble.reason, observed.trouble.message)
    if observed.live_gateways == 0:
        return is_false("TrafficProgrammed", "NoGateways", "no gateway is alive")
    stored = observed.plan.version if observed.plan is not None else 0
    followed = min(stored, observed.programmed) >= version
    said = f"every gateway follows plan {version}"
    if not followed:
        said = f"waits until every gateway follows plan {version}; all follow plan {min(stored, observed.programmed)}"
    return Wanted("TrafficProgrammed", followed, "Programmed" if followed else "Programming", said)


def settle(
    old: tuple[Condition, ...], wanted: Iterable[Wanted], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """`wanted` in its order; a condition whose status stays keeps its time, others that were there are kept.

    What is abnormal-true and not True is left out.
    """
    before = {condition.type: condition for condition in old}
    wanted = tuple(wanted)
    settled = tuple(
        _settled(before.get(item.type), item, generation, now)
        for item in wanted
        if item.truth or item.type not in ABNORMAL
    )
    told = {item.type for item in wanted}
    return (*settled, *(item for item in old if item.type not in told))


def _settled(old: Condition | None, wanted: Wanted, generation: int, now: datetime) -> Condition:
    status = _truth(wanted.truth)
    at = old.last_transition_time if old is not None and old.status == status else now
    return Condition(
        type=wanted.type,
        status=status,
        reason=wanted.reason,
        message=wanted.message,
        observed_generation=generation,
        last_transition_time=at,
    )


def _truth(truth: bool | None) -> Truth:
    if truth is None:
        return "Unknown"
    return "True" if truth else "False"


def find(conditions: tuple[Condition, ...], type: str) -> Condition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == type), None)


def outline(conditions: tuple[Condition, ...]) -> tuple[tuple[str, str, str, int], ...]:
    """What makes a status worth writing at once: not the messages, whose numbers move."""
    return tuple((item.type, item.status, item.reason, item.observed_generation) for item in conditions)


def has_moved(observed: WorkflowObserved, status: WorkflowStatus) -> bool:
    """Another version is stable than before this look."""
    old = observed.workflow.status
    return old is None or old.stable_revision != status.stable_revision
