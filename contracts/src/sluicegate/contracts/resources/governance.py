"""GovernancePolicy: what a board asks for before a change reaches the users. Cluster scoped."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import (
    Condition,
    Flag,
    Int,
    Model,
    Name,
    Person,
    Rate,
    Resource,
    Status,
    Text,
)
from sluicegate.contracts.stages import Action, Stage


class ChangeClass(StrEnum):
    """What kind of change is decided about."""

    WORKFLOW = "Workflow"
    COMPONENT_VERSION = "ComponentVersion"
    NEW_COMPONENT = "NewComponent"
    FRAMEWORK_UPGRADE = "FrameworkUpgrade"
    SLA_CHANGE = "SlaChange"
    RULE_SET = "RuleSet"
    RETRAINING = "Retraining"
    RETIREMENT = "Retirement"


class Enforcement(StrEnum):
    """What happens to what breaks a rule."""

    OFF = "Off"
    AUDIT = "Audit"  # recorded: would have been blocked
    WARN = "Warn"  # told to who writes, and recorded
    ENFORCE = "Enforce"


class GovernanceRole(Model):
    """People who speak in one capacity. A person in several counts once."""

    name: Name
    """Unique in the policy."""
    users: Annotated[tuple[Person, ...], Field(max_length=256)] = ()
    """By user name."""
    groups: Annotated[tuple[Person, ...], Field(max_length=64)] = ()
    """By group, as the API server knows it."""


class Quorum(Model):
    """So many distinct people of a role."""

    role: Name
    """One of the policy's."""
    count: Annotated[int, Field(strict=True, ge=1, le=20)] = 1
    """Distinct people."""


class RequiredEvidence(Model):
    """Evidence that must be there, and fresh."""

    type: Name
    """Of the evidence: `sla-test`, `semantic-test`, `static-verification`, `shadow-comparison`, for instance."""
    max_age_seconds: Annotated[int, Field(strict=True, ge=1, le=31_536_000)] | None = None
    """Older counts as missing. Absent: any age."""
    producers: Annotated[tuple[Person, ...], Field(max_length=16)] = ()
    """Who may have made it. Absent: anybody."""


class GovernanceRule(Model):
    """What some changes need."""

    name: Name
    """Unique in the policy."""
    change_classes: Annotated[tuple[ChangeClass, ...], Field(max_length=16)] = ()
    """Of these changes. Absent: of all."""
    stages: Annotated[tuple[Stage, ...], Field(max_length=4)] = ()
    """Before these stages are left. Absent: before the change takes effect at all."""
    quorum: Annotated[tuple[Quorum, ...], Field(max_length=8)] = ()
    """All of these."""
    allow_author: Flag = False
    """Whether who made the change counts."""
    expires_after_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] = 604_800
    """An approval counts so long."""
    evidence: Annotated[tuple[RequiredEvidence, ...], Field(max_length=16)] = ()
    """All of these."""
    enforcement: Enforcement | None = None
    """Absent: as the policy."""


class Freeze(Model):
    """A time in which nothing is promoted: once (`startsAt`, `endsAt`), or again and again (`schedule`). Rolling back is always allowed."""

    name: Name
    """Unique in the policy."""
    starts_at: datetime | None = None
    """Of a single one."""
    ends_at: datetime | None = None
    """Of a single one."""
    schedule: Annotated[str, Field(strict=True, min_length=9, max_length=256)] | None = None
    """Cron, of a recurring one: when it begins."""
    duration_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] | None = None
    """Of a recurring one."""
    time_zone: Annotated[str, Field(strict=True, max_length=64)] = "Etc/UTC"
    """Of the schedule, by its name in the tz database."""
    actions: Annotated[tuple[Action, ...], Field(max_length=16)] = ()
    """What is frozen. Absent: Promote, Override and Approve."""
    reason: Text | None = None
    """Told to who is refused."""


class BreakGlass(Model):
    """Acting against the policy, loudly."""

    roles: Annotated[tuple[Name, ...], Field(min_length=1, max_length=8)]
    """Who may."""
    second_person_within_seconds: Annotated[int, Field(strict=True, ge=60, le=604_800)] = 14_400
    """Else what was done is rolled back."""
    ticket_required: Flag = True
    """Whether the reason has to name a ticket."""


class PolicyException(Model):
    """A rule that does not bind here for a while. It is still evaluated, and shown as excepted."""

    name: Name
    """Unique in the policy."""
    rules: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    """Of this policy."""
    namespaces: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """Where. Absent: everywhere."""
    workflows: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """Which. Absent: all of those namespaces."""
    owner: Person
    """Who answers for it."""
    reason: Annotated[str, Field(strict=True, min_length=1, max_length=4096)]
    """Why."""
    ticket: Annotated[str, Field(strict=True, max_length=256)] | None = None
    """Where it is tracked."""
    expires_at: datetime
    """From then on the rule binds again."""


class SlaBounds(Model):
    """What no workflow's contract may promise less than."""

    max_latency_ms: Annotated[int, Field(strict=True, ge=1, le=86_400_000)] | None = None
    """The largest `sla.maxLatencyMs`."""
    min_success_rate: Rate | None = None
    """The smallest `sla.minSuccessRate`."""
    max_fallback_rate: Rate | None = None
    """The largest `sla.maxFallbackRate`."""
    max_drill_age_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] | None = None
    """How long ago the last passed drill of the fallback may be."""


class Scope(Model):
    """Which namespaces a policy binds: those named, and those with all of the labels. Absent: all."""

    namespaces: Annotated[tuple[Name, ...], Field(max_length=256)] = ()
    """By name."""
    match_labels: Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=16)] = Field(
        default_factory=dict
    )
    """By the namespace's labels."""


class GovernanceSpec(Model):
    """Who must agree to what."""

    enforcement: Enforcement = Enforcement.ENFORCE
    """Of every rule that does not say otherwise."""
    scope: Scope = Scope()
    """Which namespaces are bound. Absent: all."""
    roles: Annotated[tuple[GovernanceRole, ...], Field(max_length=64)] = ()
    """Who speaks as what."""
    rules: Annotated[tuple[GovernanceRule, ...], Field(max_length=64)] = ()
    """What changes need; all that fit a change bind it."""
    freezes: Annotated[tuple[Freeze, ...], Field(max_length=64)] = ()
    """When nothing is promoted."""
    break_glass: BreakGlass | None = None
    """Absent: nobody may."""
    exceptions: Annotated[tuple[PolicyException, ...], Field(max_length=64)] = ()
    """Where rules do not bind, until when."""
    sla_bounds: SlaBounds = SlaBounds()
    """What contracts may not promise less than."""
    description: Text | None = None
    """For people."""


class GovernanceStatus(Status):
    """What the policy does."""

    workflows: Int = 0
    """Bound by it."""
    blocked: Int = 0
    """Changes that wait because of it."""
    would_block: Int = 0
    """Changes that would wait if everything were enforced."""
    active_freezes: tuple[Name, ...] = ()
    """By name."""
    expired_exceptions: tuple[Name, ...] = ()
    """By name."""
    message: str = ""
    """Why, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""


class GovernancePolicy(Resource):
    """Roles, quorums, evidence, freezes and bounds that changes must keep; of the whole cluster."""

    kind: Literal["GovernancePolicy"] = "GovernancePolicy"
    """Always this."""
    spec: GovernanceSpec
    """What the board asks for."""
    status: GovernanceStatus | None = None
    """Written by the control loop only."""
