"""Objects for the tests of this part."""

from typing import Any

from sluicegate.contracts.resources.base import API_VERSION

Json = dict[str, Any]


def workflow(
    name: str = "echo", *, namespace: str = "default", version: str = "1.0.0", url: str = "http://127.0.0.1:9"
) -> Json:
    """The smallest workflow: one component behind one URL."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentWorkflow",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "version": version,
            "components": [
                {
                    "name": "agent",
                    "version": version,
                    "endpoint": {"protocol": "Http", "url": url},
                    "sideEffects": "None",
                }
            ],
        },
    }


def component(name: str = "planner", *, owner: str = "team-a", **metadata: Any) -> Json:
    """An object without any control loop: for the store and the API."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentComponent",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"owner": owner},
    }


def owned(name: str, owner: Json, **metadata: Any) -> Json:
    """A component that belongs to `owner`."""
    reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return component(name, ownerReferences=[reference], **metadata)


_STAGES = ("Canary", "Shadow", "Controlled", "Full")


def staged(
    version: str,
    url: str,
    *,
    needs: dict[str, int] | None = None,
    name: str = "echo",
    namespace: str = "default",
) -> Json:
    """A workflow whose stages need 20 runs and one gate each; `needs`: other numbers, by stage."""
    made = workflow(name, namespace=namespace, version=version, url=f"{url}/{version}")
    gates = [{"name": "success", "signal": "WorkflowSuccessRate", "margin": "0.4"}]
    made["spec"]["rollout"] = {
        "evaluationIntervalSeconds": 1,
        "outcomeWindowSeconds": 0,
        "stages": [
            {
                "name": stage,
                "share": {"numerator": 1, "denominator": 2 if stage == "Controlled" else 1},
                "minRuns": (needs or {}).get(stage, 20),
                "minDurationSeconds": 0,
                "gates": gates,
            }
            for stage in _STAGES
        ],
    }
    return made


def decision(name: str, action: str, rollout: Json, **spec: Any) -> Json:
    """A person's act on a rollout as it stands."""
    status = rollout["status"]
    target = {
        "kind": "WorkflowRollout",
        "name": rollout["metadata"]["name"],
        "uid": rollout["metadata"]["uid"],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Decision",
        "metadata": {
            "name": name,
            "namespace": rollout["metadata"]["namespace"],
            "ownerReferences": [target],
        },
        "spec": {
            "action": action,
            "target": target,
            "expected": {
                "candidate": rollout["spec"]["candidate"]["digest"],
                "stage": status["stage"],
                "attempt": status["attempt"],
            },
            "reason": "a test",
            **spec,
        },
    }
