"""AgentWorkflow: the wish of a team."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import (
    Condition,
    Expression,
    Fraction,
    Free,
    Model,
    Name,
    Number,
    Rate,
    Resource,
    Schema,
    Status,
    Text,
    VersionText,
)
from sluicegate.contracts.resources.enforcement import Enforcement, FieldPolicy
from sluicegate.contracts.resources.escalation import (
    BusinessFallback,
    Drill,
    FailureWindow,
    Probe,
    StaticAnswer,
)
from sluicegate.contracts.resources.fallback import DrillReport
from sluicegate.contracts.resources.service import ServiceBackend, ServiceRoute, ServiceRuntime
from sluicegate.contracts.resources.strategy import (
    Approvals,
    ErrorBudget,
    Gate,
    MirrorLimits,
    StageSpec,
    Strategy,
    stages_passed,
)
from sluicegate.contracts.resources.watch import Watch
from sluicegate.contracts.resources.workflow_component import (
    Backoff,
    CircuitBreaker,
    Component,
    Cost,
    CredentialRef,
    Endpoint,
    FailureStrategy,
    MessageContract,
    MirrorStub,
    OnFailure,
    PromptRef,
    Protocol,
    Retry,
    Role,
    SecretKey,
    SideEffects,
    Sla,
)

__all__ = [
    "AgentWorkflow",
    "Approvals",
    "Backoff",
    "BusinessFallback",
    "CircuitBreaker",
    "Component",
    "Cost",
    "CredentialRef",
    "Drill",
    "Endpoint",
    "ErrorBudget",
    "FailureStrategy",
    "FailureWindow",
    "FieldPolicy",
    "Gate",
    "Lineage",
    "MessageContract",
    "MirrorLimits",
    "MirrorStub",
    "OnFailure",
    "Phase",
    "Probe",
    "Progress",
    "PromptRef",
    "Protocol",
    "RetrainingTrigger",
    "Retry",
    "Role",
    "Routing",
    "Runtime",
    "SecretKey",
    "SemanticDomain",
    "SemanticValue",
    "ServiceBackend",
    "ServiceRoute",
    "ServiceRuntime",
    "SideEffects",
    "Sla",
    "StageSpec",
    "StaticAnswer",
    "Step",
    "Strategy",
    "WorkflowContract",
    "WorkflowSla",
    "WorkflowSpec",
    "WorkflowStatus",
    "stages_passed",
]


Expressions = Annotated[dict[str, Expression], Field(max_length=256)]
"""Field -> CEL."""


Spelling = Annotated[str, Field(strict=True, max_length=256)]
"""Of a value of a semantic domain."""


class Runtime(StrEnum):
    """Who runs the steps."""

    MANAGED = "Managed"  # the gateway
    SERVICE = "Service"  # each revision is an opaque HTTP service


class Phase(StrEnum):
    """When a step runs."""

    IN_REQUEST = "InRequest"
    AFTER_ANSWER = "AfterAnswer"  # outside the user's latency


class Step(Model):
    """One step; steps run in order.

    inputs: component input field -> CEL over input, steps.<name> and run; absent: the whole workflow input.
    """

    name: Annotated[str, Field(strict=True, min_length=1, max_length=63, pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
    """Unique in the workflow; expressions say `steps.<name>`."""
    component: Name
    """Which component runs."""
    when: Expression | None = None
    """CEL; false: the step is skipped and absent from `steps`."""
    inputs: Expressions | None = None
    """Component input field → CEL. Absent: the whole workflow input."""
    phase: Phase = Phase.IN_REQUEST
    """AfterAnswer: outside the user's waiting time, for evaluators."""


class SemanticValue(Model):
    """One value of a semantic domain."""

    value: Spelling
    """The word that components and gates see."""
    aliases: Annotated[tuple[Spelling, ...], Field(max_length=64)] = ()
    """Other spellings; they become `value` (case and outer spaces do not count)."""
    means: Text | None = None
    """For people."""


class SemanticDomain(Model):
    """What the values of a field mean."""

    field: Text
    """`input.<path>` or `steps.<name>.<path>`; `[*]` is every item."""
    definition: Text | None = None
    """What the field says, for people."""
    values: Annotated[tuple[SemanticValue, ...], Field(min_length=1, max_length=256)]
    """All values there are."""
    on_unknown: Literal["Fail", "Map", "Warn"] = "Fail"
    """Another value is a contract violation; with Map it becomes `mapTo`, with Warn it goes on."""
    map_to: Spelling | None = None
    """One of the values."""


class WorkflowSla(Sla):
    """What the workflow promises its callers."""

    latency_quantile: Rate = "0.95"
    """Share of runs that keep `maxLatencyMs`; `lint` estimates with it."""
    max_amplification: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None
    """Calls that one user request may cause at one destination at most, all retries together: `RetryAmplification`. Absent: a warning above 4, refused above 10 for each planned call."""
    caller_attempts: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """Attempts that callers, and what stands before the gateway, make of one user request. Absent: 1. For the checks, which multiply."""
    max_cost_per_run: Number | None = None
    """What a run may cost at most: `CostBudget`. In the currency of the components' `cost`."""


class WorkflowContract(Model):
    """The contract with the callers."""

    input: Schema = True
    """JSON Schema of a run's input; what does not meet it is answered with 422."""
    output: Schema = True
    """JSON Schema of the answer."""
    sla: WorkflowSla = WorkflowSla()
    """What callers are promised."""
    semantics: Annotated[tuple[SemanticDomain, ...], Field(max_length=64)] = ()
    """What the values of fields mean."""
    enforcement: Enforcement = ()
    """What happens to fields of the input or the answer that break it. Absent: the run is refused or fails."""


class RetrainingTrigger(Model):
    """When to retrain a component."""

    component: Name
    """Which one."""
    when: Free
    """Signals and bounds."""
    backend: Free
    """What trains."""
    cooldown_seconds: Annotated[int, Field(strict=True, ge=0)] = 86_400
    """Between two trainings."""


class Lineage(Model):
    """What of a run is kept, and for how long."""

    hot_days: Annotated[int, Field(strict=True, ge=1, le=3650)] = 7
    """In the database."""
    cold_days: Annotated[int, Field(strict=True, ge=0, le=36500)] = 90
    """Since the run; in compressed segments once it is no longer hot. At most `hotDays`: no cold tier."""
    redact: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    """Paths whose values are replaced before anything is written: `input.history[*].phone`, `output.card`, `steps.<name>.input.token`."""
    sample_bodies: Fraction = Fraction(numerator=1, denominator=1)
    """Share of runs whose inputs, outputs and steps' bodies are kept; facts are kept of all."""


class Routing(Model):
    """What keeps a session in one arm: CEL over `input` and `headers`; the run id when absent."""

    key: Expression
    """Its value is the session."""


class WorkflowSpec(Model):
    """The wish."""

    version: VersionText
    """One version names one body; raise it with every change of what a run depends on."""
    runtime: Runtime = Runtime.MANAGED
    """Service needs a cluster with the Gateway API; its runs are not seen, so that gates need a `source`, or people promote. Never changes."""
    service: ServiceRuntime | None = None
    """Of runtime Service, and only of it."""
    expected_runs_per_hour: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Planned traffic, for the estimates of `lint`."""
    routing: Routing | None = None
    """What keeps a session in one arm. Absent: each run for itself."""
    components: Annotated[tuple[Component, ...], Field(max_length=64)] = ()
    """What the workflow is made of: at least one, with runtime Service none."""
    steps: Annotated[tuple[Step, ...], Field(max_length=128)] = ()
    """In order. Absent: with one component, one step that gets the whole input."""
    output: Expressions | None = None
    """Answer field → CEL. Absent: the output of the last step before the answer."""
    reward: Expression | None = None
    """CEL whose value in [0, 1] says how good the run was; often `steps.<evaluator>.reward`."""
    contract: WorkflowContract = WorkflowContract()
    """What callers send, get and are promised."""
    rollout: Strategy = Strategy()
    """How a change reaches the users."""
    watch: Watch = Watch()
    """Whether the version that answers everybody gets worse: condition [RewardDecaying](conditions.md)."""
    business_fallback: BusinessFallback | None = None
    """What answers when the workflow fails again and again. Absent: the error."""
    retraining: Annotated[tuple[RetrainingTrigger, ...], Field(max_length=64)] = ()
    """Kept and not acted on by this version."""
    lineage: Lineage = Lineage()
    """What is kept of runs."""
    change_reason: Text | None = None
    """Why this version; shown in the history."""


class Progress(Model):
    """Where the rollout stands, for lists; its own status says it in full."""

    candidate: str
    """Version on its way."""
    traffic: str | None = None
    """`5 % mirrored`, of which users see nothing, or `20 %` that the candidate answers."""
    gate: str | None = None
    """The worst verdict and how many gates passed: `Wait 3/5`; of a failure which it is: `Fail success`."""
    samples: str | None = None
    """Units there are and units needed: `412/1000`; at most a minute old."""
    decision_in: str | None = None
    """Estimated time until the stage is decided: `3.33 min`, as of `numbersAt`."""
    attempt: int = 1
    """Of the rollout."""
    next_evaluation_at: datetime | None = None
    """When the gates are looked at next, as of `numbersAt`."""
    numbers_at: datetime | None = None
    """When `samples` was true."""


class WorkflowStatus(Status):
    """What is true of the workflow now."""

    stable_revision: str | None = None
    """The revision that users get."""
    stable_version: str | None = None
    """Its version."""
    candidate_revision: str | None = None
    """The revision on its way."""
    rollout: str | None = None
    """The rollout that is followed."""
    stage: str | None = None
    """Stage or state of the rollout; `Stable` when none runs."""
    traffic: Fraction | None = None
    """Share of the rollout's present stage."""
    progress: Progress | None = None
    """Of the rollout that runs; absent when none does."""
    plan_version: int = 0
    """Of the routing plan."""
    latched_digests: tuple[str, ...] = ()
    """Candidates that were aborted or rejected; not tried again until a retry or a new digest."""
    changed_by: str | None = None
    """Who made the present spec."""
    last_drill: DrillReport | None = None
    """The newest drill of the business fallback that rehearsed a run."""
    last_passed_drill_at: datetime | None = None
    """When one passed last."""
    next_drill_at: datetime | None = None
    """When the next begins."""
    message: str = ""
    """Why, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""
    last_change: datetime | None = None
    """When stable or the followed rollout changed."""


class AgentWorkflow(Resource):
    """A graph of components with a contract, rolled out with evidence."""

    kind: Literal["AgentWorkflow"] = "AgentWorkflow"
    """Always this."""
    spec: WorkflowSpec
    """What the team wishes."""
    status: WorkflowStatus | None = None
    """Written by the control loop only."""
