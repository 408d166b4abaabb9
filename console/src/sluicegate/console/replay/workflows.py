"""The AgentWorkflow that calls a replay server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIGNALS = {
    "success": "WorkflowSuccessRate",
    "contract": "ContractViolations",
    "fallback": "ComponentFallbackRateMax",
    "reward": "WorkflowReward",
}
_DISAGREEMENT = {"disagreement": "ResponseDisagreement"}
MARGIN = "0.2"
ABORT_ALPHA = "0.01"

_HEAD = """\
# Written by `sluicegate replay`: {what}.
# There is no latency gate, since recordings carry no times. The margins are wide, since one recorded task in three or
# four ends differently from trial to trial and there are few tasks.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayWorkflow:
    """One workflow over the server at `base`. selection: whose runs answer; floor: the second copy of stable."""

    base: str
    selection: str
    floor: str | None = None
    name: str = "replay"
    version: str = "1.0.0"
    min_runs: int = 100

    def document(self) -> dict[str, Any]:
        """The resource as JSON."""
        return {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": "AgentWorkflow",
            "metadata": {"name": self.name},
            "spec": {
                "version": self.version,
                "changeReason": f"recorded runs: {self.selection}",
                "components": [self._agent(), self._evaluator()],
                "steps": [
                    {"name": "agent", "component": "agent", "inputs": {"task_id": "input.task_id"}},
                    {
                        "name": "judge",
                        "component": "evaluator",
                        "phase": "AfterAnswer",
                        "inputs": {"task_id": "input.task_id", "trial": "steps.agent.trial"},
                    },
                ],
                "output": {"answer": "steps.agent.answer", "actions": "steps.agent.actions"},
                "reward": "steps.judge.reward",
                "contract": {"input": _fields(task_id={"type": "string"}), "output": _ANSWER},
                "rollout": self._strategy(),
            },
        }

    def write(self, path: Path) -> None:
        """As YAML with a comment."""
        import yaml

        text = yaml.safe_dump(self.document(), sort_keys=False, width=110, allow_unicode=True)
        path.write_text(_HEAD.format(what=f"version {self.version} answers with {self.selection}") + text)

    def _agent(self) -> dict[str, Any]:
        floor = f"/floor/{self.floor}" if self.floor else ""
        return {
            "name": "agent",
            "role": "Executor",
            "version": self.selection,
            "endpoint": {"protocol": "Native", "url": f"{self.base}/agent/{self.selection}{floor}"},
            "sideEffects": "Sandboxed",  # a recording changes nothing
            "idempotent": True,
            "contract": {"input": _fields(task_id={"type": "string"}), "output": _AGENT},
            "timeoutMs": 10_000,
        }

    def _evaluator(self) -> dict[str, Any]:
        return {
            "name": "evaluator",
            "role": "Evaluator",
            "version": "recorded",
            "endpoint": {"protocol": "Native", "url": f"{self.base}/evaluator"},
            "sideEffects": "None",
            "idempotent": True,
            "contract": {"output": _fields(reward={"type": "number", "minimum": 0, "maximum": 1})},
            "timeoutMs": 10_000,
            "onFailure": {"type": "Skip"},
        }

    def _strategy(self) -> dict[str, Any]:
        none, every, half = ({"numerator": top, "denominator": low} for top, low in ((0, 1), (1, 1), (1, 2)))
        common = {"minRuns": self.min_runs, "minDurationSeconds": 0, "maxDurationSeconds": 3600}
        return {
            "errorBudget": {"abort": ABORT_ALPHA},
            "evaluationIntervalSeconds": 1,
            "outcomeWindowSeconds": 5,
            "stages": [
                {"name": "Canary", "share": every, **common, "gates": _gates(_SIGNALS)},
                {"name": "Shadow", "share": every, "controlShare": every, "ablationShare": none, **common}
                | {"gates": _gates(_SIGNALS | _DISAGREEMENT)},
                {"name": "Controlled", "share": half, **common, "gates": _gates(_SIGNALS)},
                {"name": "Full", **common, "gates": _gates(_SIGNALS)},
            ],
        }


def _gates(signals: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "signal": signal, "margin": MARGIN} for name, signal in signals.items()]


def _fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": sorted(properties), "properties": properties}


_ACTION = _fields(name={"type": "string"}, arguments={"type": "object"})
_ANSWER = _fields(answer={"type": "string", "minLength": 1}, actions={"type": "array", "items": _ACTION})
_AGENT = _fields(
    answer={"type": "string", "minLength": 1},
    actions={"type": "array", "items": _ACTION},
    tool_calls={"type": "array", "items": _fields(name={"type": "string"})},
    trial={"type": "integer"},
)
