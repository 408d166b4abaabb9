"""WorkflowRollout: one passage from the stable revision to the candidate."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Condition, Digest, Fraction, Model, Name, Rate, Resource
from sluicegate.contracts.resources.workflow import Approvals, ErrorBudget, Gate, MirrorLimits
from sluicegate.contracts.stages import Action, Outcome, Stage, State


class RevisionRef(Model):
    """A revision by name and digest."""

    name: str
    digest: Digest
    version: str


class PlannedGate(Gate):
    """A gate with its share of the error budget, fixed when the rollout was made."""

    abort_alpha: str  # decimal string; the harm test fails at log e >= ln(1/abort_alpha)
    promote_alpha: str


class PlannedStage(Model):
    """A stage with every default filled in."""

    name: Stage
    share: Fraction
    min_runs: int
    min_duration_seconds: int
    max_duration_seconds: int
    control_share: Fraction
    gates: tuple[PlannedGate, ...]
    approvals: Approvals | None = None
    review_fallbacks: int = 0


class RolloutSpec(Model):
    """Snapshotted and immutable, so that a rollout can be read years later."""

    workflow: Name
    workflow_uid: str
    stable: RevisionRef
    candidate: RevisionRef
    salt: str  # candidate digest
    stages: tuple[PlannedStage, ...]
    error_budget: ErrorBudget = ErrorBudget()
    mirror_budget: MirrorLimits = MirrorLimits()
    outcome_window_seconds: int = 60
    evaluation_interval_seconds: int = 10
    latency_boundary_ms: int | None = None  # the SLA; absent: frozen from stable's first runs
    expected_runs_per_hour: int | None = None
    has_reward: bool = False
    rollback: bool = False
    """An undo to a revision that was stable within the rollback window: no gates, straight to Full."""
    changed_by: str | None = None
    components: tuple[Name, ...] = ()
    """Names of the candidate's components: one fallback question each."""
    workflow_generation: int = 0
    """Of the wish that this rollout follows; an older read of the workflow never supersedes it."""
    rollback_window_seconds: int = 86_400


class GateStatus(Model):
    """A Finding, as kept in status. Numbers are decimal strings."""

    name: str
    signal: str
    component: str | None = None
    verdict: Literal["Pass", "Fail", "Wait", "Inconclusive", "Error"]
    reason: str
    message: str
    candidate: str | None = None
    stable: str | None = None
    have: int = 0
    need: int | None = None
    runs: tuple[str, ...] = ()


class StageRecord(Model):
    """A stage that was left, with the evidence it was left on."""

    stage: Stage
    attempt: int
    started_at: datetime
    ended_at: datetime
    left_by: str  # Pass | Fail | Inconclusive | the decision's action and person
    evidence_digest: str | None = None
    gates: tuple[GateStatus, ...] = ()


class DecisionRecord(Model):
    """A Decision that was counted, used or refused, once."""

    uid: str
    name: str
    action: Action
    decided_by: str
    result: Literal["Applied", "Counted", "Refused", "Expired"]
    message: str = ""
    at: datetime
    stage: Stage | None = None
    attempt: int = 0
    verdict: Literal["Acceptable", "Unacceptable"] | None = None
    subject: str | None = None  # of a review: "<run id>/<component>"


class RolloutStatus(Model):
    """All that must survive a restart; written only when something changed."""

    observed_generation: int = 0
    phase: Literal["Pending", "Progressing", "Paused", "Healthy", "Degraded"] = "Pending"
    state: State = State.PENDING
    stage: Stage | None = None
    attempt: int = 1
    stage_started_at: datetime | None = None
    paused: bool = False
    held: bool = False  # a gate with onFail Hold failed, or an Inconclusive deadline: a person is needed
    hold_reason: str | None = None
    paused_since: datetime | None = None
    paused_seconds: int = 0  # of this stage, before `paused_since`; not counted in its durations
    outcome: Outcome | None = None
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    draining_since: datetime | None = None
    plan_version: int = 0
    programmed_version: int = 0  # what every gateway has acknowledged
    share: Fraction | None = None
    samples: int = 0
    needed: int | None = None
    next_evaluation_at: datetime | None = None
    baseline: dict[str, Rate] = Field(default_factory=dict)
    """Stable's rates as measured before Full, by signal (and component): what Full is judged against."""
    latency_boundary_ms: str | None = None
    """Above this a run counted as slow before Full; Full keeps it."""
    gates: tuple[GateStatus, ...] = ()
    numbers_at: datetime | None = None  # when the numbers of the gates were last written
    evidence_digest: str | None = None
    history: tuple[StageRecord, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    conditions: tuple[Condition, ...] = ()
    estimated_seconds_to_decision: int | None = None


class WorkflowRollout(Resource):
    """One passage stable -> candidate."""

    kind: Literal["WorkflowRollout"] = "WorkflowRollout"
    spec: RolloutSpec
    status: RolloutStatus | None = None
