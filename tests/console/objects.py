"""Objects as the control loop writes them."""

from copy import deepcopy
from typing import Any

Json = dict[str, Any]
STABLE, CANDIDATE = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def workflow(name: str = "support-bot", *, namespace: str = "default", version: str = "2.4.0") -> Json:
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "AgentWorkflow",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "version": version,
            "components": [
                {
                    "name": "agent",
                    "version": "v1",
                    "endpoint": {"protocol": "Http", "url": "http://127.0.0.1:9000"},
                    "sideEffects": "None",
                }
            ],
        },
    }


def with_status(item: Json, **status: Any) -> Json:
    return {**deepcopy(item), "status": {**deepcopy(item.get("status", {})), **status}}


def running_workflow(
    name: str = "support-bot", *, rollout: str | None = "support-bot-2", **status: Any
) -> Json:
    facts = {
        "observedGeneration": 1,
        "phase": "Progressing",
        "stage": "Shadow",
        "stableRevision": f"{name}-1",
        "candidateRevision": f"{name}-2",
        "traffic": {"numerator": 5, "denominator": 100},
        "rollout": rollout,
        "conditions": [condition("Ready", "False", "Progressing", "candidate 2.4.0 is in Shadow")],
        **status,
    }
    return with_status(workflow(name), **{key: value for key, value in facts.items() if value is not None})


def condition(type: str, status: str, reason: str, message: str = "") -> Json:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-03-01T11:55:00Z",
    }


def gate(name: str, signal: str, verdict: str, **facts: Any) -> Json:
    return {
        "name": name,
        "signal": signal,
        "verdict": verdict,
        "reason": {"Pass": "NotWorse", "Fail": "Worse"}.get(verdict, "NeedsMore"),
        "message": f"{name} in one sentence",
        "candidate": "0.981",
        "stable": "0.974",
        "have": 412,
        "need": 1000,
        "runs": [],
        **facts,
    }


def planned_stage(name: str, percent: int, **facts: Any) -> Json:
    return {
        "name": name,
        "share": {"numerator": percent, "denominator": 100},
        "minRuns": 1000,
        "minDurationSeconds": 0,
        "maxDurationSeconds": 1_209_600,
        "controlShare": {"numerator": 0, "denominator": 1},
        "gates": [
            {
                "name": "success",
                "signal": "WorkflowSuccessRate",
                "margin": "0.02",
                "onFail": "Abort",
                "required": True,
                "abortAlpha": "0.0025",
                "promoteAlpha": "0.05",
            }
        ],
        "reviewFallbacks": 0,
        **facts,
    }


STAGES = (("Canary", 1), ("Shadow", 5), ("Controlled", 20), ("Full", 100))


_STATUS: Json = {
    "observedGeneration": 1,
    "phase": "Progressing",
    "state": "Shadow",
    "stage": "Shadow",
    "attempt": 1,
    "stageStartedAt": "2026-03-01T11:56:48Z",
    "startedAt": "2026-03-01T11:50:00Z",
    "share": {"numerator": 5, "denominator": 100},
    "samples": 412,
    "needed": 1000,
    "planVersion": 3,
    "programmedVersion": 3,
    "estimatedSecondsToDecision": 260,
    "nextEvaluationAt": "2026-03-01T12:00:07Z",
    "evidenceDigest": "sha256:" + "e" * 64,
    "gates": [
        gate("success", "WorkflowSuccessRate", "Pass"),
        gate("p95", "WorkflowP95Latency", "Wait", candidate="0.031", stable="0.05", need=None),
        gate("reward", "WorkflowReward", "Inconclusive", candidate="0.8125", stable=None),
        gate("fallback", "ComponentFallbackRateMax", "Fail", component="planner", runs=["run-1", "run-2"]),
    ],
    "history": [
        {
            "stage": "Canary",
            "attempt": 1,
            "startedAt": "2026-03-01T11:50:00Z",
            "endedAt": "2026-03-01T11:56:48Z",
            "leftBy": "Pass",
            "gates": [gate("success", "WorkflowSuccessRate", "Pass")],
        }
    ],
    "decisions": [],
    "conditions": [condition("TrafficProgrammed", "True", "Programmed")],
}


def rollout(name: str = "support-bot-2", **status: Any) -> Json:
    facts = {**deepcopy(_STATUS), **status}
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "WorkflowRollout",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "workflow": name.rsplit("-", 1)[0],
            "workflowUid": "w",
            "stable": {"name": "support-bot-1", "digest": STABLE, "version": "2.3.0"},
            "candidate": {"name": "support-bot-2", "digest": CANDIDATE, "version": "2.4.0"},
            "salt": CANDIDATE,
            "stages": [planned_stage(stage, percent) for stage, percent in STAGES],
            "errorBudget": {"abort": "0.05", "promote": "0.05"},
            "changedBy": "alice",
        },
        "status": {key: value for key, value in facts.items() if value is not None},
    }


def record(decision: Json, result: str, message: str, **facts: Any) -> Json:
    return {
        "uid": decision["metadata"]["uid"],
        "name": decision["metadata"]["name"],
        "action": decision["spec"]["action"],
        "decidedBy": decision["spec"]["decidedBy"],
        "result": result,
        "message": message,
        "at": "2026-03-01T12:00:00Z",
        **facts,
    }


def run_summary(run_id: str = "01957a00-0000-7000-8000-000000000001", **facts: Any) -> Json:
    return {
        "run_id": run_id,
        "arm": "stable",
        "serving": True,
        "namespace": "default",
        "workflow": "support-bot",
        "revision": "support-bot-1",
        "version": "2.3.0",
        "stage": "Shadow",
        "started_at": "2026-03-01T11:59:30Z",
        "latency_ms": 41.234,
        "outcome": "Succeeded",
        "reward": 0.8,
        "fallback": False,
        "violated": False,
        "disagrees": False,
        **facts,
    }


_STEPS: list[Json] = [
    {
        "name": "plan",
        "component": "planner",
        "version": "v1",
        "outcome": "Ok",
        "started_ms": 0.1,
        "latency_ms": 12.0,
        "request": {"user_query": "where is my parcel"},
        "response": {"intent": "track_order"},
        "attempts": [
            {
                "number": 1,
                "started_ms": 0.1,
                "service_ms": 9.0,
                "queue_ms": 2.5,
                "status": 503,
                "failure": "Unavailable",
                "message": "busy",
            },
            {"number": 2, "started_ms": 10.0, "service_ms": 2.0, "queue_ms": 0.5, "status": 200},
        ],
        "violations": [],
    },
    {
        "name": "execute",
        "component": "orders",
        "version": "v3",
        "outcome": "Fallback",
        "started_ms": 12.1,
        "latency_ms": 29.0,
        "attempts": [{"number": 1, "started_ms": 12.1, "service_ms": 29.0, "failure": "Timeout"}],
        "fallback": {"strategy": "Value", "reason": "Timeout", "forced": False},
        "violations": [{"code": "Enum", "path": "steps.execute.status", "message": "'lost' is not one of"}],
    },
]


def run_document(arm: str = "stable", **facts: Any) -> Json:
    return {
        **run_summary(),
        "arm": arm,
        "serving": arm == "stable",
        "attempt": 1,
        "reward_source": "Evaluator",
        "input": {"query": "where is my parcel"},
        "output": {"response": "on its way"},
        "violations": [],
        "bodies": "Kept",
        "steps": deepcopy(_STEPS),
        **facts,
    }
