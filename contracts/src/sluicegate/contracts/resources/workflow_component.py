"""A component of a workflow: where it is, what it promises, what happens when it does not."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue

from sluicegate.contracts.resources.base import (
    Digest,
    Flag,
    Free,
    Model,
    Name,
    Number,
    Rate,
    Schema,
    Text,
    VersionText,
)
from sluicegate.contracts.resources.enforcement import Enforcement
from sluicegate.contracts.runs import Failure


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
    """A ConfigMap; needs a cluster, refused in local mode."""
    key: Text = "prompt"
    """Key in it."""
    digest: Digest | None = None
    """Of the prompt's text, so that a revision names one text."""


class SecretKey(Model):
    """A key of a Secret in the workflow's namespace."""

    name: Name
    """Of the Secret."""
    key: Text
    """In it."""


class CredentialRef(Model):
    """Where the component's bearer token is: an environment variable of the gateway (local mode) or a Secret."""

    env: Annotated[str, Field(strict=True, max_length=256, pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    """Environment variable of the gateway that holds the token."""
    secret_key_ref: SecretKey | None = None
    """Needs a cluster, refused in local mode."""


class ServiceRef(Model):
    """A Kubernetes Service in the workflow's namespace, called over plain HTTP."""

    name: Name
    """Of the Service."""
    port: Annotated[int, Field(strict=True, ge=1, le=65_535)] = 80
    """Of the Service."""
    path: Annotated[str, Field(strict=True, max_length=1024, pattern=r"^/[^\s]*$")] = "/"
    """Where it listens; for OpenAI the base, to which `/chat/completions` is added."""

    def __str__(self) -> str:
        """For people: ``planner:8080/run``."""
        return f"{self.name}:{self.port}{self.path}"


class Endpoint(Model):
    """Where and how a component is reached."""

    protocol: Protocol = Protocol.HTTP
    """How it is called; MCP and A2A are refused by this version."""
    url: Annotated[str, Field(strict=True, max_length=2048, pattern=r"^https?://[^\s]+$")] | None = None
    """Where it listens; for OpenAI the base, to which `/chat/completions` is added."""
    service_ref: ServiceRef | None = None
    """A Service, instead of `url`; needs a cluster, refused in local mode."""
    model: Text | None = None
    """OpenAI: the model's name."""
    prompt: Annotated[str, Field(strict=True, max_length=65536)] | None = None
    """OpenAI: the system message."""
    prompt_ref: PromptRef | None = None
    """OpenAI: a prompt kept elsewhere, instead of `prompt`."""
    parameters: Free = Field(default_factory=dict)
    """OpenAI: temperature, max_tokens and the like, sent as they are."""
    headers: Annotated[dict[str, Annotated[str, Field(max_length=8192)]], Field(max_length=64)] = Field(
        default_factory=dict
    )
    """Sent with every call; no secrets here, use `credentialRef`."""
    credential_ref: CredentialRef | None = None
    """Where the bearer token is."""


class MessageContract(Model):
    """JSON Schemas of both sides of a component."""

    input: Schema = True
    """JSON Schema of what the component takes; `true` allows anything."""
    output: Schema = True
    """JSON Schema of what it must answer; anything else is the failure InvalidOutput."""
    enforcement: Enforcement = ()
    """What happens to fields that break it. Absent: the call fails."""


class Sla(Model):
    """What a component promises."""

    max_latency_ms: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None
    """Promised latency. Of a component: also the time of one attempt when `timeoutMs` is absent. Of the workflow: the boundary of the latency gate, and a run may take four times as long."""
    min_success_rate: Rate | None = None
    """Promised share of runs that succeed; `lint` estimates with it."""
    max_fallback_rate: Rate | None = None
    """Promised greatest share of runs with a fallback; `lint` estimates with it."""


class Backoff(Model):
    """Full-jitter back-off between attempts."""

    base_ms: Annotated[int, Field(strict=True, ge=0, le=60_000)] = 20
    """Upper bound of the first wait; doubled each time."""
    max_ms: Annotated[int, Field(strict=True, ge=0, le=600_000)] = 1000
    """Upper bound of every wait."""


class Retry(Model):
    """Attempts of one call. Only idempotent components may have more than one."""

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=10)] = 1
    """The first included; counts only when the component is `idempotent`."""
    retry_on: Annotated[tuple[Failure, ...], Field(max_length=8)] = (
        Failure.TIMEOUT,
        Failure.UNAVAILABLE,
        Failure.RATE_LIMITED,
    )
    """Failures that are tried again."""
    backoff: Backoff = Backoff()
    """Waits between attempts."""
    budget_ratio: Rate = "0.1"
    """Retries per call to this destination, on average."""
    attempts_below: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """Attempts that the component's own client makes of each call (of a model, of a tool): its SDK retries as well. Absent: 1. For the checks, which multiply."""


class CircuitBreaker(Model):
    """Stop calling a destination that fails."""

    failure_rate: Rate = "0.5"
    """Share of failed calls from which it opens."""
    min_calls: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 20
    """Of the last 10 to 20 seconds; fewer never open it."""
    open_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 10
    """Then one call is let through as a probe."""


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
    """What answers instead."""
    value: JsonValue = None
    """Of `Value`: the output; must meet the output contract."""
    component: Name | None = None
    """Of `Component`: who is asked instead."""


class Cost(Model):
    """What a component may spend, in the currency of the whole workflow."""

    max_per_call: Number
    """Of one call that it makes itself (of a model, of a tool), at most; with `maxRounds` of each round."""


class MirrorStub(Model):
    """What a mirrored run gets instead of a Live component: a fixed value or another endpoint."""

    value: JsonValue = None
    """Taken as the output."""
    endpoint: Endpoint | None = None
    """Called instead."""


class Component(Model):
    """One component of the workflow."""

    name: Name
    """Unique in the workflow."""
    role: Role = Role.EXECUTOR
    """What it is for."""
    version: VersionText
    """Of this component; a new one with the same endpoint is refused, since the same process would answer."""
    endpoint: Endpoint
    """Where it is and how it is called."""
    side_effects: SideEffects
    """What a call changes outside."""
    idempotent: Flag = False
    """The same call twice does no more than once; only then may it be retried."""
    contract: MessageContract = MessageContract()
    """What goes in and what must come out."""
    sla: Sla = Sla()
    """What the component promises."""
    timeout_ms: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None
    """Of one attempt; the component's SLA latency when absent, else what is left of the run's deadline."""
    retry: Retry = Retry()
    """Attempts of one call."""
    max_rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    """Rounds of its own loop in one call at most (replan, reflect, one tool after another). Absent: 1. For the checks; nothing enforces it."""
    cost: Cost | None = None
    """What it may spend. For the checks; nothing enforces it."""
    circuit_breaker: CircuitBreaker | None = None
    """Absent: every call is made."""
    on_failure: OnFailure = OnFailure()
    """What answers when the component does not."""
    mirror_stub: MirrorStub | None = None
    """What a mirrored run gets instead of a Live component."""
