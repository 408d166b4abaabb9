"""Small workflows, evidence and decisions for the tests of rollout."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.evidence import EvidenceKey, SignalEvidence, StageEvidence
from sluicegate.contracts.resources import AgentWorkflow, Decision, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.stages import Action, Signal, Stage, State
from sluicegate.rollout import planning, revisions
from sluicegate.rollout.model import RolloutObserved

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STRONG = math.log(1e6)


def workflow_spec(version: str = "1.0.0", *, url: str | None = None, **rollout: Any) -> WorkflowSpec:
    """One component; another version has another address."""
    return WorkflowSpec.model_validate(
        {
            "version": version,
            "expectedRunsPerHour": 36_000,
            "components": [
                {
                    "name": "agent",
                    "version": version,
                    "endpoint": {"protocol": "Http", "url": url or f"http://agent-{version}.local:8080"},
                    "sideEffects": "None",
                }
            ],
            "contract": {"sla": {"maxLatencyMs": 1000}},
            "rollout": rollout,
        }
    )


SHORT: dict[str, Any] = {
    "stages": [
        {"name": "Canary", "minRuns": 100, "maxDurationSeconds": 3600},
        {"name": "Shadow", "minRuns": 200, "maxDurationSeconds": 3600},
        {"name": "Controlled", "minRuns": 200, "minDurationSeconds": 60, "maxDurationSeconds": 3600},
        {"name": "Full", "minRuns": 100, "minDurationSeconds": 60, "maxDurationSeconds": 3600},
    ]
}


def workflow(spec: WorkflowSpec | None = None, **status: Any) -> AgentWorkflow:
    return AgentWorkflow(
        metadata=Metadata(name="bot", uid="wf-1", generation=2, annotations={revisions.CHANGED_BY: "author"}),
        spec=spec or workflow_spec("2.0.0", **SHORT),
        status=WorkflowStatus(**status) if status else None,
    )


def revision(spec: WorkflowSpec, number: int = 1) -> WorkflowRevision:
    owner = workflow(spec)
    made = revisions.new_revision(owner, revision_digest(spec), ())
    return made.model_copy(update={"spec": made.spec.model_copy(update={"number": number})})


STABLE = revision(workflow_spec("1.0.0", **SHORT))


def rollout(candidate: WorkflowSpec | None = None, **status: Any) -> WorkflowRollout:
    """bot-1, from 1.0.0 to `candidate` (2.0.0)."""
    spec = candidate or workflow_spec("2.0.0", **SHORT)
    made = planning.plan_rollout(workflow(spec), STABLE, revision(spec, 2), number=1)
    metadata = made.metadata.model_copy(update={"uid": "ro-1", "generation": 1})
    return made.model_copy(
        update={"metadata": metadata, "status": RolloutStatus(**status) if status else None}
    )


def in_stage(stage: Stage, candidate: WorkflowSpec | None = None, **status: Any) -> WorkflowRollout:
    """A rollout that entered `stage` at T0."""
    given = {
        "observed_generation": 1,
        "state": State(stage.value),
        "stage": stage,
        "stage_started_at": T0,
        "started_at": T0,
        "plan_version": 3,
    }
    return rollout(candidate, **(given | status))


def observed(
    item: WorkflowRollout,
    evidence: StageEvidence | None = None,
    *decisions: Decision,
    wish: AgentWorkflow | None = None,
    plan: RoutePlan | None = None,
    **fields: Any,
) -> RolloutObserved:
    spec = wish.spec if wish is not None else candidate_spec(item)
    return RolloutObserved(
        rollout=item,
        workflow=wish or workflow(spec, rollout="bot-1", stable_revision=STABLE.metadata.name),
        stable=STABLE,
        candidate=revision(candidate_spec(item), 2),
        evidence=evidence,
        decisions=decisions,
        plan=plan,
        **({"programmed": 3, "live_gateways": 1} | fields),
    )


_SPECS: dict[str, WorkflowSpec] = {}


def candidate_spec(item: WorkflowRollout) -> WorkflowSpec:
    """The candidate's body, by its version."""
    return _SPECS.get(item.spec.candidate.digest) or workflow_spec(item.spec.candidate.version, **SHORT)


def remember(spec: WorkflowSpec) -> WorkflowSpec:
    """Let `observed` find the body of a candidate with its own strategy."""
    _SPECS[revision_digest(spec)] = spec
    return spec


def signal(name: Signal, **changes: Any) -> SignalEvidence:
    """Clearly safe, unless changed."""
    component = "agent" if name is Signal.FALLBACK_RATE_MAX else None
    values: dict[str, Any] = {
        "signal": name,
        "component": component,
        "units": 500,
        "candidate": 0.95,
        "stable": 0.95,
        "harm_log_e": -3.0,
        "safe_log_e": STRONG,
        "margin": 0.05,
        "boundary": 1000.0,
        "growth": 0.01,
        "witnesses": ("run-1",),
    }
    return SignalEvidence(**(values | changes))


def good_evidence(item: WorkflowRollout, at: datetime = T0, **changes: Any) -> StageEvidence:
    """Enough and clearly safe, for the rollout's present stage and attempt."""
    status = item.status
    assert status is not None
    assert status.stage is not None
    asked = planning.stage_of(item.spec, status.stage).gates
    values: dict[str, Any] = {
        "key": EvidenceKey("ro-1", status.stage, status.attempt),
        "cursor": 500,
        "units": 500,
        "stable_units": 500,
        "first_at": T0,
        "last_at": at,
        "units_per_hour": 3600.0,
        "signals": tuple(signal(gate.signal) for gate in asked),
    }
    return StageEvidence(**(values | changes))


def with_signal(evidence: StageEvidence, name: Signal, **changes: Any) -> StageEvidence:
    """`evidence` with one signal changed."""
    from dataclasses import replace

    changed = tuple(replace(item, **changes) if item.signal is name else item for item in evidence.signals)
    return replace(evidence, signals=changed)


def decision(
    action: Action, item: WorkflowRollout, *, by: str = "alice", name: str | None = None, **spec: Any
) -> Decision:
    """By alice, expecting what is there now."""
    status = item.status or RolloutStatus()
    expected = {"candidate": item.spec.candidate.digest, "attempt": status.attempt}
    if status.stage is not None:
        expected["stage"] = status.stage.value
    label = name or f"{action.value.lower()}-{by}"
    return Decision.model_validate(
        {
            "metadata": {"name": label, "uid": f"uid-{label}", "creationTimestamp": T0},
            "spec": {
                "action": action.value,
                "target": {"name": "bot-1", "uid": "ro-1"},
                "expected": expected,
                "decided_by": by,
                "reason": "because",
            }
            | spec,
        }
    )


def later(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)
