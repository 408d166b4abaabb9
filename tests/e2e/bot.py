"""A workflow of three components with a promise, and users whose words say what goes wrong in their run."""

import http.client
import json
from typing import Any

from sluicegate.contracts.resources.base import API_VERSION
from tests.e2e.life import NEVER
from tests.operator.up import Up

NAME = "bot"
PROMISED_MS = 150


def workflow(version: str, url: str) -> dict[str, Any]:
    """lookup (twice, may fail) -> check (may fail) -> agent (may not) -> answer -> judge (after it, may fail).

    The words of a user: `lookup`, `agent`, `judge`: that one fails; `slow`: the agent takes longer than promised. The reward
    falls without lookup and without check, in 2.0.0 less so. The kind that the agent gives is `buy` in 2.0.0 at any word,
    in 1.0.0 at `lookup` alone.
    """
    is_new = version == "2.0.0"
    kind = "size(input.words) > 0 ? 'buy' : 'ask'" if is_new else "'lookup' in input.words ? 'buy' : 'ask'"
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentWorkflow",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "version": version,
            "components": [
                _component("lookup", version, url, {"type": "Value", "value": {"echo": {}, "path": "none"}}),
                _component("check", version, url, {"type": "Value", "value": {"echo": {}, "path": "none"}}),
                _component("agent", version, url, {"type": "Fail"}) | {"contract": {"output": _KINDS}},
                _component("judge", version, url, {"type": "Skip"}),
            ],
            "steps": [
                _step("find", "lookup", fail="'lookup' in input.words"),
                _step("find_more", "lookup", fail="'lookup' in input.words"),
                _step("test", "check", fail="false"),
                _step("act", "agent", fail="'agent' in input.words", seconds=_SLOW, kind=kind),
                _step("score", "judge", fail="'judge' in input.words") | {"phase": "AfterAnswer"},
            ],
            "output": {"path": "steps.act.path"},
            "reward": f"('slow' in input.words ? 0.1 : 0.3) + (steps.find.path == 'none' ? 0.0 : 0.4) "
            f"+ (steps.test.path == 'none' ? 0.0 : {0.1 if is_new else 0.25})",
            "contract": {
                "input": {
                    "type": "object",
                    "required": ["words"],
                    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
                },
                "sla": {"maxLatencyMs": PROMISED_MS, "minSuccessRate": "0.9", "maxFallbackRate": "0.3"},
            },
            "rollout": {
                "evaluationIntervalSeconds": 1,
                "outcomeWindowSeconds": 0,
                "stages": [
                    {
                        "name": "Canary",
                        "share": {"numerator": 1, "denominator": 1},
                        "minRuns": NEVER,
                        "controlShare": {"numerator": 1, "denominator": 2},
                        "ablationShare": {"numerator": 1, "denominator": 1},
                        "gates": [
                            {"name": "success", "signal": "WorkflowSuccessRate", "margin": "0.4"},
                            {"name": "drift", "signal": "ComponentDrift", "required": False},
                            {
                                "name": "contributions",
                                "signal": "RewardShapleyVariance",
                                "delta": "0.01",
                                "required": False,
                            },
                        ],
                    }
                ],
            },
        },
    }


_KINDS = {
    "type": "object",
    "properties": {"echo": {"type": "object", "properties": {"kind": {"enum": ["ask", "buy", "sell"]}}}},
}
_SLOW = f"'slow' in input.words ? {PROMISED_MS / 1000 + 0.02} : 0.0"


def _component(name: str, version: str, url: str, on_failure: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "endpoint": {"protocol": "Http", "url": f"{url}/{version}/{name}"},
        "sideEffects": "None",
        "onFailure": on_failure,
    }


def _step(name: str, component: str, **inputs: str) -> dict[str, Any]:
    return {"name": name, "component": component, "inputs": inputs}


def ask(up: Up, *words: str, body: Any = None) -> tuple[int, str]:
    """One run of a user: the status and the run's id."""
    return _post(up, f"/v1/workflows/{NAME}/runs", {"words": words} if body is None else body)


def say(up: Up, run_id: str, outcome: str) -> None:
    """What the business says of a run."""
    status, _ = _post(up, f"/v1/runs/{run_id}/outcome", {"outcome": outcome})
    assert status == 202


def _post(up: Up, path: str, body: Any) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=60)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        return answer.status, answer.headers["Sluicegate-Run-Id"] or json.loads(said or b"{}").get(
            "runId", ""
        )
    finally:
        connection.close()
