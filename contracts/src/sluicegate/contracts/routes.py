"""The routing plan: all that a gateway needs to know about one workflow."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from sluicegate.contracts.schedules import Schedule
from sluicegate.contracts.stages import Stage

PLACES = 1 << 64
"""Places that a unit can hash to. Whole numbers only: a unit never leaves a share that grows, no rounding decides."""


def digest_of(salt: str, key: str) -> bytes:
    """The hash that decides a unit's arm."""
    return sha256(f"{salt}{key}".encode("utf-8", "surrogatepass")).digest()


def place_of(salt: str, key: str) -> int:
    """A unit's place in [0, 2^64): the first eight bytes of its hash."""
    return int.from_bytes(digest_of(salt, key)[:8], "big")


class TrafficMode(StrEnum):
    """What happens to a unit inside the candidate's share."""

    STABLE_ONLY = "StableOnly"
    MIRROR = "Mirror"  # stable answers; the candidate runs on a copy
    SPLIT = "Split"  # the candidate answers


@dataclass(frozen=True, slots=True)
class Share:
    """A fraction of traffic; exact, never a float."""

    numerator: int
    denominator: int = 1

    def __float__(self) -> float:
        """As a number in [0, 1]."""
        return self.numerator / self.denominator

    def holds(self, place: int) -> bool:
        """Whether a unit at `place` is inside: place/2^64 below the share. A larger share holds all that a smaller holds."""
        return place * self.denominator < self.numerator * PLACES


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionBody:
    """A runnable revision: `spec` is the AgentWorkflow spec as JSON, whose digest is `digest`."""

    name: str
    digest: str
    version: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSetBody:
    """A rule set that may answer: `spec` is the FallbackRuleSet spec as JSON, whose digest is `digest`."""

    name: str
    version: str
    digest: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillBody:
    """When the rules are rehearsed, and for which share of the runs. mirrored: users still get the workflow's answer."""

    schedule: Schedule
    share: Share
    mirrored: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorBudget:
    """What mirrors may use, per worker; beyond it they are dropped and counted.

    max_concurrency: mirrored arms at a time. max_seconds_per_minute: component time. max_cost_per_hour: in
    the unit that components report as usage.cost; None: no limit.
    """

    max_concurrency: int = 32
    max_seconds_per_minute: float | None = None
    max_cost_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePlan:
    """Made by `rollout.routing`, applied by gateways, never edited by hand.

    version grows with every change of content. lease_until: until when the candidate may get traffic
    without the control plane; a gateway that sees it passed serves stable only. control: share of the
    mirrored units for which stable runs a second time. ablation: share of them for which the candidate does, with
    components forced onto their fallbacks; ablates_stable: and stable as well, with the same ones. versions: share of
    them for which the candidate runs with some components in stable's version. rule_sets: those that the revisions'
    `businessFallback` names, as far as there are any. drill: of them.
    """

    namespace: str
    workflow: str
    version: int
    stable: RevisionBody
    candidate: RevisionBody | None = None
    rollout: str | None = None
    stage: Stage | None = None
    attempt: int = 0
    mode: TrafficMode = TrafficMode.STABLE_ONLY
    share: Share = Share(0, 1)
    control: Share = Share(0, 1)
    ablation: Share = Share(0, 1)
    ablates_stable: bool = False
    versions: Share = Share(0, 1)
    salt: str = ""
    lease_until: datetime | None = None
    mirror_budget: MirrorBudget = MirrorBudget()
    outcome_window_seconds: float = 0.0
    rule_sets: tuple[RuleSetBody, ...] = ()
    drill: DrillBody | None = None
