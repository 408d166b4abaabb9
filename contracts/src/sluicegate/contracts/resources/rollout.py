"""WorkflowRollout: one passage from the stable revision to the candidate."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import (
    Condition,
    Digest,
    Fraction,
    Model,
    Name,
    ObjectName,
    Person,
    Rate,
    Resource,
    Status,
    Uid,
)
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.workflow import Approvals, ErrorBudget, Gate, MirrorLimits
from sluicegate.contracts.stages import Action, Outcome, Stage, State


class RevisionRef(Model):
    """A revision by name and digest."""

    name: ObjectName
    """Of the WorkflowRevision."""
    digest: Digest
    """Of its body."""
    version: Annotated[str, Field(max_length=128)]
    """`spec.version`."""


class PlannedGate(Gate):
    """A gate with its share of the error budget, fixed when the rollout was made."""

    abort_alpha: Annotated[str, Field(max_length=64)]
    """Decimal string; the harm test fails at log e ≥ ln(1/α)."""
    promote_alpha: Annotated[str, Field(max_length=64)]
    """Decimal string; the safety test passes at log e ≥ ln(1/α)."""


class PlannedStage(Model):
    """A stage with every default filled in."""

    name: Stage
    """Of the stage."""
    share: Fraction
    """As in the strategy."""
    min_runs: int
    """As in the strategy."""
    min_duration_seconds: int
    """As in the strategy."""
    max_duration_seconds: int
    """As in the strategy."""
    control_share: Fraction
    """0 in Controlled and Full."""
    ablation_share: Fraction = Fraction(numerator=0, denominator=1)
    """0 where nothing is mirrored or no reward is declared."""
    version_share: Fraction = Fraction(numerator=0, denominator=1)
    """0 where nothing is mirrored or no reward is declared."""
    gates: Annotated[tuple[PlannedGate, ...], Field(max_length=32)]
    """With margins and error budgets filled in."""
    approvals: Approvals | None = None
    """As in the strategy."""
    review_fallbacks: int = 0
    """As in the strategy."""


class ObservedOutput(Model):
    """A field of a component's output that both revisions observe, for ComponentDrift."""

    component: Name
    """Of both revisions."""
    output: Annotated[str, Field(max_length=256)]
    """Path in its output: `intent`, `steps[*].type`, `tool_calls`."""
    numeric: bool = False
    """Its numbers are compared by stable's deciles, else its values."""
    length: Annotated[int, Field(ge=0, le=4096)] = 0
    """Its numbers are vectors of so many, compared by regions and by permutation; 0: single numbers."""
    live: bool = False
    """Not observed where runs are mirrored, since those do not call the component."""


class RolloutSpec(Model):
    """Snapshotted and immutable, so that a rollout can be read years later."""

    workflow: Name
    """Name of the workflow."""
    workflow_uid: Uid
    """Of exactly this workflow."""
    stable: RevisionRef
    """Where it starts."""
    candidate: RevisionRef
    """Where it leads."""
    salt: Annotated[str, Field(max_length=128)]
    """Of the hash that chooses units: the candidate's digest."""
    stages: Annotated[tuple[PlannedStage, ...], Field(max_length=4)]
    """In order; skipped ones are absent."""
    error_budget: ErrorBudget = ErrorBudget()
    """As in the strategy."""
    mirror_budget: MirrorLimits = MirrorLimits()
    """As in the strategy."""
    outcome_window_seconds: int = 60
    """As in the strategy."""
    evaluation_interval_seconds: int = 10
    """As in the strategy."""
    latency_boundary_ms: int | None = None
    """The workflow's `sla.maxLatencyMs`. Absent: set from stable's first runs."""
    expected_runs_per_hour: int | None = None
    """As in the workflow."""
    has_reward: bool = False
    """Whether the candidate computes a reward."""
    rollback: bool = False
    """An undo to a revision that was stable within the rollback window; it comes back without stages."""
    changed_by: Person | None = None
    """Who made the candidate; may not approve it unless allowed."""
    components: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    """Names of the candidate's components: one fallback question each."""
    observed: Annotated[tuple[ObservedOutput, ...], Field(max_length=32)] = ()
    """Outputs of components: one drift question each."""
    workflow_generation: int = 0
    """Of the wish that this rollout follows; an older read of the workflow never supersedes it."""
    rollback_window_seconds: int = 86_400
    """As in the strategy."""


class GateStatus(Model):
    """A Finding, as kept in status. Numbers are decimal strings."""

    name: str
    """Of the gate."""
    signal: str
    """What it looks at."""
    component: str | None = None
    """Of ComponentFallbackRateMax: the worst component."""
    verdict: Literal["Pass", "Fail", "Wait", "Inconclusive", "Error"]
    """Only Pass of every required gate lets a stage be left."""
    reason: str
    """See [gates](gates.md)."""
    message: str
    """One sentence with both numbers and n."""
    candidate: str | None = None
    """Measured of the candidate."""
    stable: str | None = None
    """Measured of stable."""
    have: int = 0
    """Comparable units so far."""
    need: int | None = None
    """Units needed, estimated."""
    runs: tuple[str, ...] = ()
    """Run ids that show it."""


class StageRecord(Model):
    """A stage that was left, with the evidence it was left on."""

    stage: Stage
    """Which."""
    attempt: int
    """Of the rollout."""
    started_at: datetime
    """When it was entered."""
    ended_at: datetime
    """When it was left."""
    left_by: str
    """Pass, Fail, Inconclusive, or the act and the person."""
    evidence_digest: str | None = None
    """Of the evidence it was left on."""
    gates: tuple[GateStatus, ...] = ()
    """As they stood."""


class DecisionRecord(Model):
    """A Decision that was counted, used or refused, once."""

    uid: str
    """Of the Decision."""
    name: str
    """Of the Decision."""
    action: Action
    """What was wanted."""
    decided_by: str
    """By whom."""
    result: Literal["Applied", "Counted", "Refused", "Expired"]
    """Counted: one of several that are needed."""
    message: str = ""
    """Why."""
    at: datetime
    """When it was read."""
    stage: Stage | None = None
    """In which stage."""
    attempt: int = 0
    """In which attempt."""
    verdict: Literal["Acceptable", "Unacceptable"] | None = None
    """Of a review."""
    subject: str | None = None
    """Of a review: `<run id>/<component>`."""


class Summary(Model):
    """What lists show, as text."""

    traffic: str | None = None
    """`5 % mirrored`, of which users see nothing, or `20 %` that the candidate answers."""
    gate: str | None = None
    """The worst verdict and how many gates passed: `Wait 3/5`; of a failure which it is: `Fail success`."""
    samples: str | None = None
    """Units there are and units needed: `412/1000`."""
    decision_in: str | None = None
    """`estimatedSecondsToDecision` in words: `3.33 min`."""


class RolloutStatus(Status):
    """All that must survive a restart; written only when something changed."""

    state: State = State.PENDING
    """Where it stands."""
    stage: Stage | None = None
    """The present or last stage."""
    attempt: int = 1
    """One higher with every retry; evidence is never shared between attempts."""
    stage_started_at: datetime | None = None
    """When the stage was entered."""
    paused: bool = False
    """By a person: shares stay, nothing advances, clocks stand."""
    held: bool = False
    """A gate with `onFail: Hold` failed, a stage ended inconclusive, or a fallback was judged unacceptable: a person is needed."""
    hold_reason: str | None = None
    """Why it is held."""
    paused_since: datetime | None = None
    """When the pause began."""
    paused_seconds: int = 0
    """Of this stage, before `pausedSince`; not counted in its durations."""
    outcome: Outcome | None = None
    """How it ended, fixed on the way out."""
    message: str = ""
    """Why, in a sentence."""
    started_at: datetime | None = None
    """When the first stage was entered."""
    ended_at: datetime | None = None
    """When it was done."""
    draining_since: datetime | None = None
    """When traffic began to move to the arm that remains."""
    plan_version: int = 0
    """Of the routing plan."""
    programmed_version: int = 0
    """The plan that every gateway follows."""
    share: Fraction | None = None
    """Of the present stage."""
    samples: int = 0
    """Units of the candidate in this stage."""
    needed: int | None = None
    """Units needed, estimated."""
    next_evaluation_at: datetime | None = None
    """When the gates are looked at next."""
    baseline: dict[str, Rate] = Field(default_factory=dict)
    """Stable's rates as measured before Full, by signal (and component): what Full is judged against."""
    latency_boundary_ms: str | None = None
    """Above this a run counted as slow before Full; Full keeps it."""
    gates: tuple[GateStatus, ...] = ()
    """As they stand."""
    measured: tuple[Measured, ...] = ()
    """Of the gates with a `source`, in this stage and attempt."""
    summary: Summary | None = None
    """The same in short, for lists."""
    numbers_at: datetime | None = None
    """When the numbers of the gates were last written."""
    evidence_digest: str | None = None
    """Of the evidence of this stage."""
    history: tuple[StageRecord, ...] = ()
    """Stages that were left."""
    decisions: tuple[DecisionRecord, ...] = ()
    """Acts of people, each read once; the newest 50."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""
    estimated_seconds_to_decision: int | None = None
    """Until the stage has its units, its time and the slowest of its required gates, at the rates measured in it. Absent when one of them does not say."""


class WorkflowRollout(Resource):
    """One passage stable -> candidate."""

    kind: Literal["WorkflowRollout"] = "WorkflowRollout"
    """Always this."""
    spec: RolloutSpec
    """The plan; immutable."""
    status: RolloutStatus | None = None
    """Written by the control loop only."""
