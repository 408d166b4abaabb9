"""AgentWorkflow: the wish of a team."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from sluicegate.contracts.resources.base import (
    Condition,
    Digest,
    Expression,
    Flag,
    Fraction,
    Int,
    Model,
    Name,
    Number,
    Rate,
    Resource,
    Schema,
    Text,
    VersionText,
)
from sluicegate.contracts.runs import Failure
from sluicegate.contracts.stages import Signal, Stage


class Runtime(StrEnum):
    """Who runs the steps."""

    MANAGED = "Managed"  # the gateway
    SERVICE = "Service"  # each revision is an opaque HTTP service


class Role(StrEnum):
    """What a component is for; informs displays and defaults, never routing."""

    PLANNER = "Planner"
    EXECUTOR = "Executor"
    MEMORY = "Memory"
    EVALUATOR = "Evaluator"
    TOOL = "Tool"
    ROUTER = "Router"
    GUARDRAIL = "Guardrail"


class Protocol(StrEnum):
    """How a component is called."""

    NATIVE = "Native"
    OPENAI = "OpenAI"
    HTTP = "Http"
    MCP = "MCP"
    A2A = "A2A"


class SideEffects(StrEnum):
    """What a call changes outside. A mirrored run never calls a Live component."""

    NONE = "None"
    SANDBOXED = "Sandboxed"
    LIVE = "Live"


class PromptRef(Model):
    """A prompt kept elsewhere; its content is part of the revision's digest."""

    config_map: Name | None = None
    key: Text = "prompt"
    digest: Digest | None = None


class SecretKey(Model):
    """A key of a Secret in the workflow's namespace."""

    name: Name
    key: Text


class CredentialRef(Model):
    """Where the component's bearer token is: an environment variable of the gateway (local mode) or a Secret."""

    env: Annotated[str, Field(strict=True, pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    secret_key_ref: SecretKey | None = None


class Endpoint(Model):
    """Where and how a component is reached."""

    protocol: Protocol = Protocol.HTTP
    url: Annotated[str, Field(strict=True, max_length=2048, pattern=r"^https?://[^\s]+$")] | None = None
    service_ref: Name | None = None
    model: Text | None = None
    prompt: Annotated[str, Field(strict=True, max_length=65536)] | None = None
    prompt_ref: PromptRef | None = None
    parameters: dict[str, JsonValue] = Field(default_factory=dict)  # OpenAI: temperature, max_tokens…
    headers: dict[str, str] = Field(default_factory=dict)
    credential_ref: CredentialRef | None = None


class MessageContract(Model):
    """JSON Schemas of both sides of a component."""

    input: Schema = True
    output: Schema = True


class Sla(Model):
    """What a component promises."""

    max_latency_ms: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None
    min_success_rate: Rate | None = None
    max_fallback_rate: Rate | None = None


class Backoff(Model):
    """Full-jitter back-off between attempts."""

    base_ms: Annotated[int, Field(strict=True, ge=0, le=60_000)] = 20
    max_ms: Annotated[int, Field(strict=True, ge=0, le=600_000)] = 1000


class Retry(Model):
    """Attempts of one call. Only idempotent components may have more than one."""

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=10)] = 1
    retry_on: Annotated[tuple[Failure, ...], Field(max_length=8)] = (
        Failure.TIMEOUT,
        Failure.UNAVAILABLE,
        Failure.RATE_LIMITED,
    )
    backoff: Backoff = Backoff()
    budget_ratio: Rate = "0.1"  # retries per call to this destination


class CircuitBreaker(Model):
    """Stop calling a destination that fails."""

    failure_rate: Rate = "0.5"
    min_calls: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 20
    open_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 10


class FailureStrategy(StrEnum):
    """What answers when a component's patience is over."""

    SKIP = "Skip"  # the step is absent
    VALUE = "Value"
    COMPONENT = "Component"
    STABLE_VERSION = "StableVersion"  # the stable revision's version of this component
    FAIL = "Fail"


class OnFailure(Model):
    """Declared degradation of a component."""

    type: FailureStrategy = FailureStrategy.FAIL
    value: JsonValue = None
    component: Name | None = None


class MirrorStub(Model):
    """What a mirrored run gets instead of a Live component: a fixed value or another endpoint."""

    value: JsonValue = None
    endpoint: Endpoint | None = None


class Component(Model):
    """One component of the workflow."""

    name: Name
    role: Role = Role.EXECUTOR
    version: VersionText
    endpoint: Endpoint
    side_effects: SideEffects
    idempotent: Flag = False
    contract: MessageContract = MessageContract()
    sla: Sla = Sla()
    timeout_ms: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None
    """Of one attempt; the component's SLA latency when absent, else what is left of the run's deadline."""
    retry: Retry = Retry()
    circuit_breaker: CircuitBreaker | None = None
    on_failure: OnFailure = OnFailure()
    mirror_stub: MirrorStub | None = None


class Phase(StrEnum):
    """When a step runs."""

    IN_REQUEST = "InRequest"
    AFTER_ANSWER = "AfterAnswer"  # outside the user's latency


class Step(Model):
    """One step; steps run in order.

    inputs: component input field -> CEL over input, steps.<name> and run; absent: the whole workflow input.
    """

    name: Annotated[str, Field(strict=True, min_length=1, max_length=63, pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
    component: Name
    when: Expression | None = None
    inputs: dict[str, Expression] | None = None
    phase: Phase = Phase.IN_REQUEST


class SemanticValue(Model):
    """One value of a semantic domain."""

    value: Text
    aliases: tuple[Text, ...] = ()
    means: Text | None = None


class SemanticDomain(Model):
    """What the values of a field mean."""

    field: Text
    definition: Text | None = None
    values: Annotated[tuple[SemanticValue, ...], Field(min_length=1, max_length=256)]
    on_unknown: Literal["Fail", "Map"] = "Fail"
    map_to: Text | None = None


class WorkflowSla(Sla):
    """What the workflow promises its callers."""

    latency_quantile: Rate = "0.95"
    max_amplification: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None


class WorkflowContract(Model):
    """The contract with the callers."""

    input: Schema = True
    output: Schema = True
    sla: WorkflowSla = WorkflowSla()
    semantics: Annotated[tuple[SemanticDomain, ...], Field(max_length=64)] = ()


class Gate(Model):
    """One question that a stage must answer.

    margin: how much worse still counts as not worse, absolute on rates. on_fail: Abort, or Hold for a person.
    delta: of RewardShapleyVariance.
    """

    name: Name
    signal: Signal
    margin: Rate | None = None
    delta: Rate | None = None
    on_fail: Literal["Abort", "Hold"] = "Abort"
    required: Flag = True


class Approvals(Model):
    """People who must agree before the stage is left."""

    required: Annotated[int, Field(strict=True, ge=1, le=20)] = 1
    expires_after_seconds: Annotated[int, Field(strict=True, ge=60)] = 604_800
    allow_author: Flag = False  # may the one who changed the workflow approve it


class StageSpec(Model):
    """A stage; what is absent comes from the defaults of that stage."""

    name: Stage
    share: Fraction | None = None
    min_runs: Annotated[int, Field(strict=True, ge=1, le=100_000_000)] | None = None
    min_duration_seconds: Annotated[int, Field(strict=True, ge=0)] | None = None
    max_duration_seconds: Annotated[int, Field(strict=True, ge=1)] | None = None
    ablation_share: Fraction | None = None
    control_share: Fraction | None = None
    gates: Annotated[tuple[Gate, ...], Field(max_length=32)] | None = None
    approvals: Approvals | None = None
    review_fallbacks: Annotated[int, Field(strict=True, ge=0, le=50)] | None = None


class ErrorBudget(Model):
    """Chance, over the whole rollout, to abort a candidate that is not worse, and to promote one that is."""

    abort: Rate = "0.05"
    promote: Rate = "0.05"


class MirrorLimits(Model):
    """What mirrors may use; beyond it they are dropped, counted, and in the end NoData."""

    max_concurrency: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 32
    max_seconds_per_minute: Annotated[int, Field(strict=True, ge=1)] | None = None
    max_cost_per_hour: Number | None = None


class Strategy(Model):
    """How a new revision reaches the users."""

    stages: Annotated[tuple[StageSpec, ...], Field(max_length=4)] = ()
    skip_stages: Annotated[tuple[Stage, ...], Field(max_length=3)] = ()
    error_budget: ErrorBudget = ErrorBudget()
    mirror_budget: MirrorLimits = MirrorLimits()
    outcome_window_seconds: Annotated[int, Field(strict=True, ge=0, le=2_592_000)] = 60
    evaluation_interval_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 10
    rollback_window_seconds: Annotated[int, Field(strict=True, ge=0, le=31_536_000)] = 86_400
    """How long after a promotion the stable before it may come back without stages."""


class Drill(Model):
    """A rehearsal of the fallback."""

    schedule: Text
    share: Fraction


class BusinessFallback(Model):
    """The rule set that answers when the workflow fails again and again."""

    rule_set: Name
    after_consecutive_failures: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    drill: Drill | None = None


class RetrainingTrigger(Model):
    """When to retrain a component."""

    component: Name
    when: dict[str, JsonValue]
    backend: dict[str, JsonValue]
    cooldown_seconds: Annotated[int, Field(strict=True, ge=0)] = 86_400


class Lineage(Model):
    """What of a run is kept, and for how long."""

    hot_days: Annotated[int, Field(strict=True, ge=1, le=3650)] = 7
    cold_days: Annotated[int, Field(strict=True, ge=0, le=36500)] = 90
    redact: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    sample_bodies: Fraction = Fraction(numerator=1, denominator=1)


class Routing(Model):
    """What keeps a session in one arm: CEL over `input` and `headers`; the run id when absent."""

    key: Expression


class WorkflowSpec(Model):
    """The wish."""

    version: VersionText
    runtime: Runtime = Runtime.MANAGED
    expected_runs_per_hour: Annotated[int, Field(strict=True, ge=1)] | None = None
    routing: Routing | None = None
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=64)]
    steps: Annotated[tuple[Step, ...], Field(max_length=128)] = ()
    output: dict[str, Expression] | None = None
    reward: Expression | None = None
    contract: WorkflowContract = WorkflowContract()
    rollout: Strategy = Strategy()
    business_fallback: BusinessFallback | None = None
    retraining: Annotated[tuple[RetrainingTrigger, ...], Field(max_length=64)] = ()
    lineage: Lineage = Lineage()
    change_reason: Text | None = None


class WorkflowStatus(Model):
    """What is true of the workflow now."""

    observed_generation: Int = 0
    phase: Literal["Pending", "Progressing", "Paused", "Healthy", "Degraded"] = "Pending"
    stable_revision: str | None = None
    candidate_revision: str | None = None
    rollout: str | None = None
    stage: str | None = None  # Stable when idle
    traffic: Fraction | None = None
    plan_version: int = 0
    latched_digests: tuple[str, ...] = ()
    """Candidates that were aborted or rejected; not tried again until a retry or a new digest."""
    changed_by: str | None = None
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    last_change: datetime | None = None


class AgentWorkflow(Resource):
    """A graph of components with a contract, rolled out with evidence."""

    kind: Literal["AgentWorkflow"] = "AgentWorkflow"
    spec: WorkflowSpec
    status: WorkflowStatus | None = None


def stage_defaults() -> dict[Stage, dict[str, Any]]:
    """Defaults of the four stages (ARCHITECTURE section 4), as StageSpec fields."""
    day = 86_400
    return {
        Stage.CANARY: {
            "share": Fraction(numerator=1, denominator=100),
            "min_runs": 200,
            "min_duration_seconds": 0,
            "max_duration_seconds": 14 * day,
        },
        Stage.SHADOW: {
            "share": Fraction(numerator=5, denominator=100),
            "min_runs": 1000,
            "min_duration_seconds": 0,
            "max_duration_seconds": 14 * day,
            "control_share": Fraction(numerator=1, denominator=2),
        },
        Stage.CONTROLLED: {
            "share": Fraction(numerator=20, denominator=100),
            "min_runs": 1000,
            "min_duration_seconds": 2 * day,
            "max_duration_seconds": 14 * day,
        },
        Stage.FULL: {
            "share": Fraction(numerator=1, denominator=1),
            "min_runs": 100,
            "min_duration_seconds": day,
            "max_duration_seconds": 7 * day,
        },
    }
