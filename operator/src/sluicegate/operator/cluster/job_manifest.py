"""The Job of one look, from what its author may say and nothing else. Pure.

The pod meets the Pod Security Standard "restricted" (https://kubernetes.io/docs/concepts/security/pod-security-standards/): no
token of a service account, nothing of the host, never root, no capability.
"""

from typing import Any, Final

from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.contracts.resources.source import JobSource, JobVariable
from sluicegate.contracts.verification.sources import RESULT_VARIABLE
from sluicegate.operator.ports import Json
from sluicegate.rollout.job_runs import JobRun

CONTAINER: Final = "look"
KEPT_SECONDS: Final = 3600
"""After its end, for people and for an operator that was away."""
_RESULT: Final = "/dev/termination-log"


def manifest(run: JobRun, number: int) -> Json:
    """As created."""
    labels = {
        "app.kubernetes.io/managed-by": "sluicegate",
        "sluicegate.io/rollout": run.key.rollout,
        "sluicegate.io/gate": run.gate,
        "sluicegate.io/stage": run.key.stage.value,
        "sluicegate.io/attempt": str(run.key.attempt),
        "sluicegate.io/arm": run.arm,
        "sluicegate.io/look": str(number),
    }
    owner = {
        "apiVersion": API_VERSION,
        "kind": "WorkflowRollout",
        "name": run.rollout,
        "uid": run.key.rollout,
        "controller": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": run.name(number),
            "namespace": run.namespace,
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": run.template.timeout_seconds,
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {"metadata": {"labels": labels}, "spec": _pod(run.template)},
        },
    }


def _pod(job: JobSource) -> Json:
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": job.run_as_user,
            "runAsGroup": job.run_as_user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(job)],
    }


def _container(job: JobSource) -> Json:
    size = {"cpu": job.resources.cpu, "memory": job.resources.memory}
    made: dict[str, Any] = {
        "name": CONTAINER,
        "image": job.image,
        "command": list(job.command),
        "args": list(job.args),
        "env": [*map(_variable, job.env), {"name": RESULT_VARIABLE, "value": _RESULT}],
        "resources": {"requests": size, "limits": size},
        "terminationMessagePath": _RESULT,
        "terminationMessagePolicy": "File",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {key: value for key, value in made.items() if value != []}


def _variable(one: JobVariable) -> Json:
    if one.secret_key_ref is None:
        return {"name": one.name, "value": one.value or ""}
    reference = {"name": one.secret_key_ref.name, "key": one.secret_key_ref.key}
    return {"name": one.name, "valueFrom": {"secretKeyRef": reference}}
