"""One full object of every kind, with nearly every field of its spec said."""

from typing import Any

from tests.contracts.files import example

DIGEST = "sha256:" + "0" * 64
_REVISION = {"name": "agent-1", "digest": DIGEST, "version": "1.0.0"}
_GATE = {
    "name": "success", "signal": "WorkflowSuccessRate", "margin": "0.05", "abortAlpha": "0.01", "promoteAlpha": "0.05",
}  # fmt: skip

SPECS: dict[str, dict[str, Any]] = {
    "AgentWorkflow": example()["spec"],
    "WorkflowRevision": {
        "workflow": "agent", "workflowUid": "u", "number": 1, "version": "1.0.0", "digest": DIGEST, "body": example()["spec"],
        "changedBy": "ada", "reason": "faster",
    },
    "WorkflowRollout": {
        "workflow": "agent", "workflowUid": "u", "stable": _REVISION, "candidate": _REVISION | {"name": "agent-2"}, "salt": DIGEST,
        "stages": [
            {
                "name": "Canary", "share": {"numerator": 1, "denominator": 100}, "minRuns": 200, "minDurationSeconds": 0,
                "maxDurationSeconds": 3600, "controlShare": {"numerator": 0, "denominator": 1}, "gates": [_GATE],
                "approvals": {"required": 2},
            }
        ],
        "components": ["planner", "orders"], "changedBy": "ada",
    },
    "Decision": {
        "action": "Promote", "target": {"name": "agent-1", "uid": "u"}, "decidedBy": "ada", "reason": "looks good",
        "expected": {"candidate": DIGEST, "stage": "Canary", "attempt": 1}, "expiresAt": "2026-01-31T12:00:00Z",
        "evidenceDigest": DIGEST,
    },
    "AgentComponent": {
        "owner": "shop", "role": "Tool", "protocol": "Native", "description": "asks for orders",
        "versions": [
            {
                "version": "1", "lifecycle": "Approved", "digest": DIGEST, "endpoint": {"url": "http://a"},
                "contract": {"input": {"type": "object"}, "output": False},
            }
        ],
    },
    "ChangeProposal": {
        "title": "vLLM 0.20 for all planners", "changeClass": "FrameworkUpgrade", "proposedBy": "ada", "reason": "half the latency",
        "subjects": [{"kind": "AgentWorkflow", "name": "agent"}, {"kind": "AgentComponent", "name": "agent"}],
        "options": [
            {
                "name": "upgrade", "summary": "all at once", "rollback": "the old image stays",
                "evidence": [
                    {
                        "name": "p95", "type": "sla-test", "value": "-120.5", "low": "-150", "high": "-90", "confidence": "0.95",
                        "unit": "ms", "samples": 4000, "source": "https://ci/42", "digest": DIGEST, "producedBy": "ci",
                        "producedAt": "2026-01-01T00:00:00Z",
                    }
                ],
            },
            {"name": "wait", "summary": "until spring"},
        ],
        "recommended": "upgrade", "closesAt": "2026-02-01T00:00:00Z",
    },
    "FallbackRuleSet": {
        "version": "7", "owner": "support", "description": "what we say without a model", "hitPolicy": "First",
        "columns": [
            {"name": "intent", "value": "input.intent", "type": "Enum", "values": ["track", "cancel"], "description": "asked for"},
            {"name": "total", "value": "input.total", "type": "Number", "minimum": "0", "maximum": "1000.5", "mayBeAbsent": True},
        ],
        "rules": [
            {
                "id": "small", "when": {"intent": {"oneOf": ["cancel"]}, "total": {"atLeast": "0", "below": "50"}},
                "guard": "total < 40.0", "priority": 2, "answer": {"status": "cancelled", "note": None}, "reason": "cheaper so",
            },
            {"id": "unknown", "when": {"total": {"absent": True}}, "answerFrom": {"status": "intent"}},
        ],
        "default": {"status": "unknown"},
        "contract": {"type": "object", "required": ["status"]},
        "examples": [{"name": "small-one", "input": {"intent": "cancel", "total": 12}, "rule": "small", "answer": {"status": "cancelled"}}],
        "drill": {
            "schedule": "0 9 1 * *", "timeZone": "Europe/Berlin", "share": {"numerator": 1, "denominator": 100},
            "durationSeconds": 600, "mirrored": False, "overdueAfterSeconds": 3_000_000,
        },
        "changeReason": "new law",
    },
    "RetrainingRun": {
        "workflow": "agent",
        "trigger": {"type": "Manual", "message": "p = 0.0004", "evidenceDigest": DIGEST, "requestedBy": "ada"},
        "components": [
            {"name": "planner", "registry": "planner", "baseVersion": "v1", "baseDigest": DIGEST, "version": "v2"},
            {"name": "writer", "baseVersion": "v6", "version": "v7"},
        ],
        "data": {
            "fromTime": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z", "revisions": [DIGEST], "grades": ["A"],
            "minReward": "0.7", "minRuns": 1000, "maxRuns": 20000, "holdout": {"numerator": 1, "denominator": 5}, "datasetDigest": DIGEST,
        },
        "backend": {
            "type": "TRL", "workload": "TrainJob", "algorithm": "DPO", "image": f"trainer@{DIGEST}", "workers": 2,
            "resources": {"cpu": "8", "memory": "64Gi", "gpus": 1, "sharedMemory": "16Gi"}, "queue": "gpu", "priorityClass": "low",
            "scheduler": "default-scheduler", "seed": 7, "parameters": {"beta": 0.1, "lora": {"r": 16}, "warmup": None},
        },
        "limits": {
            "deadlineSeconds": 7200, "preRunningDeadlineSeconds": 3600, "heartbeatSeconds": 600, "maxAttempts": 2, "maxCost": "40",
        },
        "approvals": {"required": 1}, "registerAs": "Approved", "rollOut": True,
    },
    "GovernancePolicy": {
        "enforcement": "Warn", "description": "two people", "scope": {"namespaces": ["shop"], "matchLabels": {"env": "prod"}},
        "roles": [{"name": "risk", "users": ["ada"], "groups": ["board"]}],
        "rules": [
            {
                "name": "four-eyes", "changeClasses": ["Workflow"], "stages": ["Controlled"], "quorum": [{"role": "risk", "count": 2}],
                "allowAuthor": False, "expiresAfterSeconds": 3600, "enforcement": "Enforce",
                "evidence": [{"type": "sla-test", "maxAgeSeconds": 86400, "producers": ["ci"]}],
            }
        ],
        "freezes": [
            {"name": "holidays", "startsAt": "2026-12-20T00:00:00Z", "endsAt": "2027-01-03T00:00:00Z", "reason": "nobody is here"},
            {"name": "weekend", "schedule": "0 18 * * 5", "durationSeconds": 216000, "timeZone": "Europe/Berlin", "actions": ["Promote"]},
        ],
        "breakGlass": {"roles": ["risk"], "secondPersonWithinSeconds": 3600, "ticketRequired": False},
        "exceptions": [
            {
                "name": "pilot", "rules": ["four-eyes"], "namespaces": ["lab"], "workflows": ["agent"], "owner": "ada", "reason": "a pilot",
                "ticket": "R-7", "expiresAt": "2026-06-01T00:00:00Z",
            }
        ],
        "slaBounds": {"maxLatencyMs": 5000, "minSuccessRate": "0.9", "maxFallbackRate": "0.1", "maxDrillAgeSeconds": 3_000_000},
    },
}  # fmt: skip

_NOW = "2026-01-02T03:04:05.678901Z"
_CONDITION = {
    "type": "Ready", "status": "False", "reason": "Waiting", "message": "m", "observedGeneration": 1, "lastTransitionTime": _NOW,
}  # fmt: skip
_SHARE = {"numerator": 1, "denominator": 100}
_FOUND = {
    "name": "success", "signal": "WorkflowSuccessRate", "component": "planner", "verdict": "Wait", "reason": "NeedsMore", "message": "m",
    "candidate": "0.9", "stable": "0.91", "have": 41, "need": 100, "runs": ["r"],
}  # fmt: skip

STATUSES: dict[str, dict[str, Any]] = {
    "AgentWorkflow": {
        "observedGeneration": 1, "epoch": 3, "phase": "Progressing", "stableRevision": "agent-1", "stableVersion": "1.0.0",
        "candidateRevision": "agent-2", "rollout": "agent-1", "stage": "Canary", "traffic": _SHARE, "planVersion": 2,
        "progress": {
            "candidate": "2.0.0", "traffic": "1 % mirrored", "gate": "Wait 0/1", "samples": "41/100", "decisionIn": "1 min", "attempt": 1,
            "nextEvaluationAt": _NOW, "numbersAt": _NOW,
        },
        "lastDrill": {"startedAt": _NOW, "runs": 2, "answered": 2}, "lastPassedDrillAt": _NOW, "nextDrillAt": _NOW,
        "latchedDigests": [DIGEST], "changedBy": "ada", "message": "m", "conditions": [_CONDITION], "lastChange": _NOW,
    },
    "WorkflowRollout": {
        "observedGeneration": 1, "epoch": 3, "phase": "Progressing", "state": "Canary", "stage": "Canary", "attempt": 1,
        "stageStartedAt": _NOW, "paused": True, "held": True, "holdReason": "r", "pausedSince": _NOW, "pausedSeconds": 3,
        "outcome": "Aborted", "message": "m", "startedAt": _NOW, "endedAt": _NOW, "drainingSince": _NOW, "planVersion": 2,
        "programmedVersion": 2, "share": _SHARE, "samples": 41, "needed": 100, "nextEvaluationAt": _NOW, "baseline": {"a": "0.9"},
        "latencyBoundaryMs": "120.5", "gates": [_FOUND], "numbersAt": _NOW, "evidenceDigest": DIGEST,
        "summary": {"traffic": "1 % mirrored", "gate": "Wait 0/1", "samples": "41/100", "decisionIn": "1 min"},
        "history": [
            {
                "stage": "Canary", "attempt": 1, "startedAt": _NOW, "endedAt": _NOW, "leftBy": "Pass", "evidenceDigest": DIGEST,
                "gates": [_FOUND],
            }
        ],
        "decisions": [
            {
                "uid": "u", "name": "d", "action": "Review", "decidedBy": "bob", "result": "Counted", "message": "m", "at": _NOW,
                "stage": "Canary", "attempt": 1, "verdict": "Acceptable", "subject": "r/planner",
            }
        ],
        "conditions": [_CONDITION], "estimatedSecondsToDecision": 60,
    },
    "ChangeProposal": {
        "observedGeneration": 1, "epoch": 3, "phase": "Progressing", "state": "Open", "chosen": "wait", "tally": "1/2",
        "votes": [
            {
                "uid": "u", "name": "d", "by": "bob", "action": "Approve", "option": "wait", "roles": ["risk"], "generation": 1,
                "counted": True, "message": "", "at": _NOW,
            }
        ],
        "missing": ["one of risk"], "decidedAt": _NOW, "message": "m", "conditions": [_CONDITION],
    },
    "FallbackRuleSet": {
        "observedGeneration": 1, "epoch": 3, "phase": "Healthy", "digest": DIGEST, "servingVersion": "6", "servingDigest": DIGEST,
        "versions": [{"version": "6", "digest": DIGEST, "provedAt": _NOW}], "users": 1, "usedBy": ["agent"],
        "proof": {
            "complete": False, "gaps": 1, "overlaps": 2, "shadowed": ["small"], "witness": {"intent": "track", "total": None},
            "failedExamples": ["small-one"],
        },
        "lastDrill": {"startedAt": _NOW, "endedAt": _NOW, "runs": 9, "answered": 9, "invalid": 1, "passed": False, "failedRun": "r"},
        "lastPassedDrillAt": _NOW, "nextDrillAt": _NOW, "message": "m", "conditions": [_CONDITION],
    },
    "RetrainingRun": {
        "observedGeneration": 1, "epoch": 3, "phase": "Healthy", "state": "Done", "outcome": "Succeeded", "attempt": 2,
        "preemptions": 1, "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"},
        "dataset": {"digest": DIGEST, "runs": 1200, "holdout": 240, "grades": {"A": 1200}}, "progress": "1", "heartbeatAt": _NOW,
        "honoured": {"beta": 0.1}, "metrics": {"loss": "0.3"},
        "artifacts": [
            {
                "component": "planner", "version": "v2", "digest": DIGEST, "location": "s3://b/k", "registered": True,
                "before": {"reward": "0.7"}, "after": {"reward": "0.8"},
            }
        ],
        "approvedBy": ["bob"], "decisions": ["u"], "startedAt": _NOW, "runningSince": _NOW, "endedAt": _NOW, "message": "m",
        "conditions": [_CONDITION],
    },
    "GovernancePolicy": {
        "observedGeneration": 1, "epoch": 3, "phase": "Healthy", "workflows": 4, "blocked": 1, "wouldBlock": 2,
        "activeFreezes": ["weekend"], "expiredExceptions": ["pilot"], "message": "m", "conditions": [_CONDITION],
    },
}  # fmt: skip
"""Of the kinds that have one, every field said."""


def full(kind: str, **named: str) -> dict[str, Any]:
    """The object of a kind with its status."""
    found = of(kind, **named)
    return found | {"status": STATUSES[kind]} if kind in STATUSES else found


def of(kind: str, *, name: str = "agent", namespace: str = "default") -> dict[str, Any]:
    """The object of a kind."""
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": SPECS[kind],
    }
