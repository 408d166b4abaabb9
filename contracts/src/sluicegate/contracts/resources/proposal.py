"""ChangeProposal: a decision that is larger than one rollout, with options, evidence and votes."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import (
    Condition,
    Decimals,
    Digest,
    Int,
    Model,
    Name,
    ObjectName,
    Person,
    Rate,
    Resource,
    Status,
    Text,
    Uid,
)
from sluicegate.contracts.resources.governance import ChangeClass


class Subject(Model):
    """An object that the proposal is about."""

    kind: Literal["AgentWorkflow", "AgentComponent", "FallbackRuleSet", "GovernancePolicy"]
    """Of the object."""
    name: ObjectName
    """Of the object, in the proposal's namespace unless its kind is cluster scoped."""


class QuantifiedEvidence(Model):
    """One number for or against an option, and where it is from."""

    name: Name
    """Unique in the option."""
    type: Name | None = None
    """As policies name it: `sla-test`, `shadow-comparison`, for instance."""
    value: Decimals
    """Measured or estimated."""
    low: Decimals | None = None
    """Of its interval."""
    high: Decimals | None = None
    """Of its interval."""
    confidence: Rate | None = None
    """Of the interval."""
    unit: Annotated[str, Field(strict=True, max_length=32)] | None = None
    """Of the value: `ms`, `USD/month`, `rate`."""
    samples: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Comparable units that it rests on."""
    source: Annotated[str, Field(strict=True, max_length=2048)] | None = None
    """Where it can be looked up."""
    digest: Digest | None = None
    """Of what it was computed from."""
    produced_by: Person | None = None
    """Who or what made it."""
    produced_at: datetime | None = None
    """When."""


class ProposalOption(Model):
    """One way to decide."""

    name: Name
    """Unique in the proposal; votes name it."""
    summary: Text
    """What would be done."""
    rollback: Text | None = None
    """How it would be undone."""
    evidence: Annotated[tuple[QuantifiedEvidence, ...], Field(max_length=64)] = ()
    """What speaks for and against it, in numbers."""


class ProposalSpec(Model):
    """What is to be decided. A vote holds for the generation that it was cast on."""

    title: Annotated[str, Field(strict=True, min_length=1, max_length=256)]
    """In a line."""
    change_class: ChangeClass
    """Which rules of the policies bind."""
    proposed_by: Person
    """Who proposes it; stays so."""
    reason: Text = ""
    """Why now."""
    subjects: Annotated[tuple[Subject, ...], Field(max_length=64)] = ()
    """What it is about."""
    options: Annotated[tuple[ProposalOption, ...], Field(min_length=1, max_length=16)]
    """Ways to decide; doing nothing may be one."""
    recommended: Name | None = None
    """The option that who proposes would take."""
    closes_at: datetime | None = None
    """Votes after it do not count; undecided then is Expired."""


class Vote(Model):
    """A Decision about the proposal, counted or not."""

    uid: Uid
    """Of the Decision."""
    name: ObjectName
    """Of the Decision."""
    by: Person
    """Who voted."""
    action: Literal["Approve", "Reject"]
    """For the option, or against the proposal."""
    option: Name | None = None
    """Of Approve."""
    roles: tuple[Name, ...] = ()
    """In which the person spoke."""
    generation: Int = 0
    """Of the proposal as the person saw it."""
    counted: bool = True
    """Whether it counts."""
    message: str = ""
    """Why not."""
    at: datetime
    """When it was read."""


class ProposalStatus(Status):
    """How far it is."""

    state: Literal["Open", "Approved", "Rejected", "Expired", "Withdrawn"] = "Open"
    """Where it stands."""
    chosen: Name | None = None
    """The option that was approved."""
    votes: tuple[Vote, ...] = ()
    """Each read once; the newest 50."""
    tally: str = ""
    """Votes there are and votes needed, for lists: `2/3`."""
    missing: tuple[str, ...] = ()
    """What is still needed, in sentences."""
    decided_at: datetime | None = None
    """When."""
    message: str = ""
    """Why, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""


class ChangeProposal(Resource):
    """Options with quantified evidence that people vote on."""

    kind: Literal["ChangeProposal"] = "ChangeProposal"
    """Always this."""
    spec: ProposalSpec
    """What is to be decided."""
    status: ProposalStatus | None = None
    """Written by the control loop only."""
