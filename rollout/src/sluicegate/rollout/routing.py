"""The routing plan: who answers whom. Pure, derived from a rollout's state on every look."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluicegate.contracts.resources import WorkflowRevision
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.rollout import PlannedStage, RolloutSpec
from sluicegate.contracts.resources.workflow import MirrorLimits, WorkflowSpec
from sluicegate.contracts.routes import (
    DrillBody,
    MirrorBudget,
    RevisionBody,
    RoutePlan,
    RuleSetBody,
    Share,
    TrafficMode,
)
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage

LEASE = timedelta(seconds=60)
"""How long a gateway that hears nothing goes on giving the candidate traffic."""

RENEW_WITHIN = timedelta(seconds=40)
"""A lease with less than this left is renewed at the next look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A candidate in a stage, for the plan."""

    rollout: str  # uid
    spec: RolloutSpec
    stage: PlannedStage
    attempt: int
    candidate: RevisionBody


def body_of(revision: WorkflowRevision, workflow: WorkflowSpec | None = None) -> RevisionBody:
    """The runnable body of `revision`.

    What the digest leaves out and the gateway needs (lineage, routing, a Service's route) follows the workflow as it is now.
    """
    body = revision.spec.body
    if workflow is not None:
        body = body.model_copy(update={"lineage": workflow.lineage, "routing": workflow.routing})
    if workflow is not None and workflow.service is not None and body.service is not None:
        service = body.service.model_copy(update={"route": workflow.service.route})
        body = body.model_copy(update={"service": service})
    return RevisionBody(
        name=revision.metadata.name,
        digest=revision.spec.digest,
        version=revision.spec.version,
        spec=body.to_json(),
    )


def mode_of(stage: Stage) -> TrafficMode:
    """Mirror while the user is answered by stable, else split."""
    return TrafficMode.MIRROR if stage in MIRRORED_STAGES else TrafficMode.SPLIT


def route(
    revision: WorkflowRevision,
    stable: RevisionBody,
    *,
    passage: Passage | None = None,
    now: datetime | None = None,
    rule_sets: tuple[RuleSetBody, ...] = (),
    drill: DrillBody | None = None,
) -> RoutePlan:
    """The plan, version 0: `revision` names the workflow; without a passage stable answers everybody. rule_sets: `fallbacks.carried`.
    drill: `drills.of_plan`.
    """
    plan = RoutePlan(
        namespace=revision.metadata.namespace,
        workflow=revision.spec.workflow,
        version=0,
        stable=stable,
        outcome_window_seconds=float(revision.spec.body.rollout.outcome_window_seconds),
        rule_sets=rule_sets,
        drill=drill,
    )
    if passage is None:
        return plan
    return replace(
        plan,
        candidate=passage.candidate,
        rollout=passage.rollout,
        stage=passage.stage.name,
        attempt=passage.attempt,
        mode=mode_of(passage.stage.name),
        share=share_of(passage.stage.share),
        control=share_of(passage.stage.control_share),
        ablation=share_of(passage.stage.ablation_share),
        ablates_stable=ablates_stable(passage.stage),
        versions=share_of(passage.stage.version_share),
        salt=passage.spec.salt,
        lease_until=now + LEASE if now is not None else None,
        mirror_budget=budget_of(passage.spec.mirror_budget),
        outcome_window_seconds=float(passage.spec.outcome_window_seconds),
    )


def ablates_stable(stage: PlannedStage) -> bool:
    """Whether stable is ablated as the candidate is: only where a gate compares the two, since it costs mirrors."""
    return any(gate.signal is Signal.SHAPLEY_VARIANCE for gate in stage.gates)


def share_of(fraction: Fraction) -> Share:
    """The same number, as the gateway reads it."""
    return Share(fraction.numerator, fraction.denominator)


def budget_of(limits: MirrorLimits) -> MirrorBudget:
    """The same limits, as the gateway reads them."""
    seconds, cost = limits.max_seconds_per_minute, limits.max_cost_per_hour
    return MirrorBudget(
        max_concurrency=limits.max_concurrency,
        max_seconds_per_minute=None if seconds is None else float(seconds),
        max_cost_per_hour=None if cost is None else float(cost),
    )


def is_same_route(left: RoutePlan | None, right: RoutePlan) -> bool:
    """Equal but for the version and the lease."""
    return left is not None and replace(left, version=0, lease_until=None) == replace(
        right, version=0, lease_until=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Programming:
    """What to do about a wanted plan. version: of the wanted plan. plan: to be routed; None: all is well."""

    version: int
    plan: RoutePlan | None


def program(
    wanted: RoutePlan, stored: RoutePlan | None, *, known: int, moved: bool, now: datetime
) -> Programming:
    """Compare `wanted` with what is stored.

    known: the version in the status as read. moved: this look changed the state, so that a version that the
    status promised earlier was for something else. Another content gets a version above both, which changes
    the status, so that a stale read ends in a Conflict and never in traffic.
    """
    held = stored.version if stored is not None else 0
    if stored is not None and is_same_route(stored, wanted):
        # More than a whole lease ahead is another clock's.
        due = stored.lease_until is not None and not RENEW_WITHIN <= stored.lease_until - now <= LEASE
        renewal = replace(wanted, version=held) if due else None
        return Programming(version=held, plan=renewal)
    version = known if known > held and not moved else max(known, held) + 1
    return Programming(version=version, plan=replace(wanted, version=version))
