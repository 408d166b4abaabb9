"""A person's decision: made of what the person saw, sent, and followed until it was used."""

from dataclasses import dataclass
from typing import Any

from sluicegate.console import output, program
from sluicegate.console.client import DECISIONS, ROLLOUTS, Client, Object
from sluicegate.console.targets import Target
from sluicegate.console.waiting import until
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Conflict, Problem, Refused, SluicegateError
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.contracts.stages import Action

USED_SECONDS = 15.0
PATIENT_SECONDS = 3.0
"""After which it is said what is waited for."""
NEEDS_STAGE = frozenset({Action.PROMOTE, Action.APPROVE, Action.OVERRIDE, Action.REVIEW})

_ERRORS: dict[str, type[SluicegateError]] = {"Expired": Conflict}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a person wants. review: run id, component and verdict of a Review."""

    action: Action
    reason: str = ""
    full: bool = False
    review: Object | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What became of it: the record in the rollout's status, and the rollout then. record None: not used yet."""

    decision: Object
    record: Object | None
    rollout: Object


def document(act: Act, rollout: Object) -> Object:
    """The Decision object: it counts only while candidate, stage, attempt and evidence are as in `rollout`."""
    metadata, status = rollout["metadata"], rollout.get("status") or {}
    expected = {
        "candidate": rollout["spec"]["candidate"]["digest"],
        "stage": status.get("stage"),
        "attempt": status.get("attempt"),
    }
    spec: dict[str, Any] = {
        "action": act.action.value,
        "target": {"kind": "WorkflowRollout", "name": metadata["name"], "uid": metadata["uid"]},
        "expected": {key: value for key, value in expected.items() if value is not None},
        "reason": act.reason,
    }
    optional = {
        "evidenceDigest": status.get("evidenceDigest"),
        "review": act.review,
        "full": act.full or None,
    }
    spec |= {key: value for key, value in optional.items() if value is not None}
    tail = system.new_uid()[:8]
    return {
        "apiVersion": API_VERSION,
        "kind": "Decision",
        "metadata": {
            "name": f"{metadata['name'][:200]}-{act.action.lower()}-{tail}",
            "namespace": metadata["namespace"],
        },
        "spec": spec,
    }


def decide(client: Client, target: Target, act: Act, *, wait: float = USED_SECONDS) -> Used:
    """Send the decision about the target's rollout and wait until the control loop used it, at most `wait` s.

    Raises Refused when there is nothing to decide, or when the loop refused it; Conflict when it came too
    late (expired); and what the API says.
    """
    rollout = target.rollout
    if rollout is None:
        name = target.workflow["metadata"]["name"]
        hint = "a rollout begins when a changed spec is applied"
        raise Refused(
            (Problem(path=name, message=f"there is no rollout to {act.action.lower()}", hint=hint),)
        )
    if act.action in NEEDS_STAGE and not (rollout.get("status") or {}).get("stage"):
        path, text = (
            rollout["metadata"]["name"],
            f"it has not entered a stage yet, nothing to {act.action.lower()}",
        )
        raise Refused((Problem(path=path, message=text, hint=program.line(f"rollout status {path} -w")),))
    decision = client.create(DECISIONS, document(act, rollout))
    namespace, name = rollout["metadata"]["namespace"], rollout["metadata"]["name"]
    latest: list[Object] = [rollout]

    def record() -> Object | None:
        latest[0] = client.get(ROLLOUTS, namespace, name)
        records = (latest[0].get("status") or {}).get("decisions", ())
        return next((one for one in records if one["uid"] == decision["metadata"]["uid"]), None)

    found = until(record, min(wait, PATIENT_SECONDS))
    if found is None and wait > PATIENT_SECONDS:
        output.note(f"{decision['metadata']['name']} is stored; waiting until the control loop uses it")
        found = until(record, wait - PATIENT_SECONDS)
    if found is not None and found["result"] in {"Refused", "Expired"}:
        _refuse(act, rollout, found)
    return Used(decision=decision, record=found, rollout=latest[0])


def _refuse(act: Act, rollout: Object, record: Object) -> None:
    text = record.get("message") or "the control loop gave no reason"
    kind = _ERRORS.get(record["result"])
    if kind is not None:
        raise kind(f"{act.action} of {rollout['metadata']['name']}: {record['result'].lower()}: {text}")
    raise Refused((Problem(path=f"{act.action} {rollout['metadata']['name']}", message=text),))
