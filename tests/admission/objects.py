"""The objects that the cases are about, as JSON: as a person would send them."""

from collections.abc import Mapping
from typing import Any

from sluicegate.contracts.resources import Resource, WorkflowRollout
from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, Outcome, Stage, State
from sluicegate.rollout.model import FINALIZER
from tests.rollout.samples import SHORT, STABLE, T0, in_stage, remember, rollout, workflow_spec

Json = dict[str, Any]
_LEFT_OUT = ("uid", "generation", "resourceVersion", "creationTimestamp", "ownerReferences")


def sent(resource: Resource) -> Json:
    """Without what only the API server knows, and without owners that are not there."""
    item = resource.to_json()
    metadata = {key: value for key, value in item["metadata"].items() if key not in _LEFT_OUT and value}
    return {**item, "metadata": metadata}


def _approvals() -> WorkflowSpec:
    stages = [dict(stage) for stage in SHORT["stages"]]
    stages[0]["approvals"] = {"required": 2}
    return remember(workflow_spec("2.0.0", stages=stages))


WORLDS: Mapping[str, WorkflowRollout] = {
    "canary": in_stage(Stage.CANARY),
    "approvals": in_stage(Stage.CANARY, _approvals()),
    "done": rollout(
        observed_generation=1, state=State.DONE, stage=Stage.FULL, outcome=Outcome.PROMOTED, ended_at=T0
    ),
}
"""The one rollout there is, bot-1: in Canary; in Canary and waiting for two people; promoted. author made the change."""

REVISION = sent(STABLE)
REVIEW = {"runId": "run-1", "component": "agent", "verdict": "Acceptable"}


def wish(by: str | None = None, *, version: str = "2.0.0", spec: Json | None = None, **metadata: Any) -> Json:
    """The AgentWorkflow bot, in the name of `by`."""
    annotations = {**metadata.pop("annotations", {}), **({CHANGED_BY: by} if by else {})}
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "AgentWorkflow",
        "metadata": {"name": "bot", "annotations": annotations, "finalizers": [FINALIZER]} | metadata,
        "spec": workflow_spec(version, **SHORT).to_json() | (spec or {}),
    }


def decision(about: Json, action: Action = Action.PROMOTE, *, by: str | None = "alice", **spec: Any) -> Json:
    """`about`, a rollout, as it is now; None: not said by whom. metadata: more of it."""
    metadata = spec.pop("metadata", {})
    status = about["status"]
    expected = {
        "candidate": about["spec"]["candidate"]["digest"],
        "stage": status["stage"],
        "attempt": status["attempt"],
    }
    body: Json = {
        "action": action.value,
        "target": {"kind": "WorkflowRollout", "name": "bot-1", "uid": about["metadata"]["uid"]},
        "expected": expected,
        "reason": "because",
    }
    if by is not None:
        body["decidedBy"] = by
    if action is Action.REVIEW:
        body["review"] = REVIEW
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "Decision",
        "metadata": {"name": "act"} | metadata,
        "spec": body | spec,
    }


def owner(target: Json, **changes: Any) -> Json:
    """The owner reference to `target`."""
    metadata = target["metadata"]
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "WorkflowRollout",
        "name": metadata["name"],
        "uid": metadata["uid"],
    } | changes


def changed(item: Json, **metadata: Any) -> Json:
    """The same with other metadata."""
    return {**item, "metadata": {**item["metadata"], **metadata}}


def with_spec(item: Json, **spec: Any) -> Json:
    """The same with another spec."""
    return {**item, "spec": {**item["spec"], **spec}}
