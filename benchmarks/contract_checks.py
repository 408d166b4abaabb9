"""`verify` and `analyse` on a workflow of 1,000 steps: `python -m benchmarks.contract_checks [--steps N] [--readme]`.

Cold: the first time in a new process, the libraries imported, every schema and expression compiled. Warm: again, as in a webhook or an
editor, where little has changed. CPU time of one thread; cold the best of five processes, warm the best of sixty rounds. The
resource allows 128 steps, so the workflow is put together past that bound.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any, Final

from benchmarks.run import HERE, conditions, publish, section
from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.workflow import Step
from sluicegate.contracts.verification import verify

COMPONENTS: Final = 64
COLD_PROCESSES: Final = 5
WARM_ROUNDS: Final = 60
AIMS_MS: Final = {"cold": 2000.0, "warm": 100.0}
_INTENTS: Final = ("ask", "buy", "cancel", "complain", "refund", "return", "track", "other")


def workflow(steps: int) -> AgentWorkflow:
    """Steps over 64 components: one in four has a condition, each reads the input and two steps before it; no finding."""
    data = {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "AgentWorkflow",
        "metadata": {"name": "large"},
        "spec": {
            "version": "1.0.0",
            "routing": {"key": "input.session"},
            "components": [_component(number) for number in range(COMPONENTS)],
            "steps": [_step(number) for number in range(COMPONENTS)],
            "output": {"text": f"steps.s{steps - 1}.text"},
            "contract": {
                "input": {
                    "type": "object",
                    "required": ["session"],
                    "properties": {"session": {"type": "string"}},
                },
                "semantics": [{"field": "steps.s0.intent", "values": [{"value": word} for word in _INTENTS]}],
                "sla": {"maxAmplification": 64, "minSuccessRate": "0.9", "maxFallbackRate": "1"},
            },
        },
    }
    small = parse_data({**data, "spec": {**data["spec"], "output": {"text": "steps.s63.text"}}})  # type: ignore[dict-item]
    if not isinstance(small, AgentWorkflow):
        raise TypeError(small.kind)
    many = tuple(Step.model_validate(_step(number)) for number in range(steps))
    spec = small.spec.model_copy(update={"steps": many, "output": {"text": f"steps.s{steps - 1}.text"}})
    return small.model_copy(update={"spec": spec})


def _component(number: int) -> dict[str, Any]:
    answer = {
        "type": "object",
        "required": ["text", "intent", "score"],
        "properties": {
            "text": {"type": "string", "maxLength": 1000 + number},
            "intent": {"enum": list(_INTENTS)},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "notes": {"type": "array", "maxItems": 8, "items": {"type": "string"}},
        },
    }
    return {
        "name": f"c{number}",
        "version": "1",
        "endpoint": {"url": f"http://c{number}"},
        "sideEffects": "None",
        "idempotent": True,
        "timeoutMs": 20,
        "contract": {
            "input": {
                "type": "object",
                "required": ["session"],
                "properties": {name: {"type": "string"} for name in ("session", "before1", "before2")},
            },
            "output": answer,
        },
        "sla": {"minSuccessRate": "0.9999", "maxFallbackRate": "0.0001"},
        "onFailure": {"type": "Value", "value": {"text": "", "intent": "other", "score": 0}},
    }


def _step(number: int) -> dict[str, Any]:
    """The step reads its two predecessors, tested where they may be absent."""
    inputs = {"session": "input.session"}
    for back in (1, 2):
        name = f"steps.s{number - back}"
        if number >= back:
            inputs[f"before{back}"] = f'has({name}) ? {name}.text : "{number}"'
    step: dict[str, Any] = {"name": f"s{number}", "component": f"c{number % COMPONENTS}", "inputs": inputs}
    if number % 4 == 1:
        word = _INTENTS[number // 4 % len(_INTENTS)]
        step["when"] = (
            f'steps.s0.intent != "{word}" && steps.s{number - 1}.score > {number % 90 / 100 + 0.01}'
        )
    return step


def once(large: AgentWorkflow) -> tuple[float, float, int]:
    """Milliseconds of CPU of `verify` and of `analyse` of a new object, and how many problems and findings there are."""
    large = large.model_copy()
    started = time.thread_time()
    problems = verify(large)
    between = time.thread_time()
    findings = analyse(large)
    ended = time.thread_time()
    return (between - started) * 1000.0, (ended - between) * 1000.0, len(problems) + len(findings)


def contract_checks(steps: int) -> dict[str, Any]:
    """Cold and warm, with the part of each."""
    command = [sys.executable, "-m", "benchmarks.contract_checks", "--cold", "--steps", str(steps)]
    rounds = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(COLD_PROCESSES)
    ]
    cold = min(rounds, key=lambda found: found[0] + found[1])
    large = workflow(steps)
    once(large)
    warm = min((once(large) for _ in range(WARM_ROUNDS)), key=lambda found: found[0] + found[1])
    return {
        "steps": steps,
        "expressions": sum(len(step.inputs or {}) + (step.when is not None) for step in large.spec.steps),
        "findings": warm[2],
        "cold_ms": round(cold[0] + cold[1], 1),
        "cold_verify_ms": round(cold[0], 1),
        "cold_analyse_ms": round(cold[1], 1),
        "warm_ms": round(warm[0] + warm[1], 1),
        "warm_verify_ms": round(warm[0], 1),
        "warm_analyse_ms": round(warm[1], 1),
        "aim_cold_ms": AIMS_MS["cold"],
        "aim_warm_ms": AIMS_MS["warm"],
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--cold", action="store_true", help="print one cold round and end")
    parser.add_argument(
        "--readme", action="store_true", help="put the latest tables into benchmarks/README.md"
    )
    asked = parser.parse_args()
    if asked.cold:
        print(json.dumps(once(workflow(asked.steps))))
        return
    before = conditions()
    found = contract_checks(asked.steps)
    kept = {"conditions": before, "results": found}
    (HERE / "results" / "contract_checks.json").write_text(json.dumps(kept, indent=2) + "\n")
    print(section("contract_checks"))
    if asked.readme:
        publish()


if __name__ == "__main__":
    main()
