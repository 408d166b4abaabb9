"""What verification lets pass; what it refuses is in test_broken_files."""

from typing import Any

import pytest

from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification import CHECKS, verify
from sluicegate.contracts.verification.shapes import impossible
from tests.contracts.files import component, example, minimal
from tests.contracts.test_broken_files import SAFE, gate, stage, steps


def findings(data: dict[str, Any]) -> list[str]:
    workflow = parse_data(data)
    assert isinstance(workflow, AgentWorkflow)
    return [str(problem) for problem in verify(workflow)]


CLOSED = {"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": False}

FINE: dict[str, dict[str, Any]] = {
    "the example": example(),
    "the smallest workflow": minimal(),
    "a field below an open object of a closed contract": minimal(contract={"input": CLOSED}, output={"x": "input.a.b"}),
    "a field of an open contract": minimal(contract={"input": {"properties": {"a": {}}}}, output={"x": "input.b"}),
    "an index into a list": example(("output.response", "steps.plan.steps[0].type")),
    "a skipped step that is tested": example(("output.response", 'has(steps.execute) ? steps.execute.status : "none"')),
    "a reward from after the answer": example(("reward", "steps.judge.reward / 2.0")),
    "headers in the routing key": minimal(routing={"key": 'headers["x-session"]'}),
    "the id of the run": minimal(steps=steps({"name": "a", "inputs": {"id": "run.id", "try": "run.attempt"}})),
    "a Live component when no stage is mirrored": minimal(
        components=[component(sideEffects="Live")], rollout={"skipStages": ["Canary", "Shadow"]}
    ),
    "a Live component with another endpoint for mirrors": minimal(
        components=[component(sideEffects="Live", mirrorStub={"endpoint": {"url": "http://sandbox"}})]
    ),
    "retries of an idempotent component": minimal(components=[component(idempotent=True, retry={"maxAttempts": 3})]),
    "a component that only stands in for another": minimal(
        components=[component(onFailure={"type": "Component", "component": "spare"}), component("spare")], steps=steps({"name": "a"})
    ),
    "a slow evaluator after the answer": example(("components.3.sla.maxLatencyMs", 60_000)),
    "a gate without a margin": minimal(rollout=stage(gates=[gate()])),
    "a reward gate on outcomes that callers send": minimal(rollout=stage("Controlled", gates=[SAFE, gate("WorkflowReward")])),
    "a fallback value that its domain knows under another name": example(("components.0.onFailure.value.intent", "Where is my parcel")),
    "traffic that is just enough": minimal(
        expectedRunsPerHour=100,
        rollout=stage(share={"numerator": 1, "denominator": 1}, minRuns=200, maxDurationSeconds=7200)
        | {"skipStages": ["Canary", "Controlled"]},
    ),
    "two steps of one component": minimal(steps=steps({"name": "a"}, {"name": "b", "inputs": {"x": "steps.a.x"}})),
    "redaction of every step": example(("lineage.redact", ["steps.*.input.token", "output.card", "input.a[*].b"])),
}  # fmt: skip


@pytest.mark.parametrize("sentence", FINE)
def test_nothing_is_found_in(sentence: str) -> None:
    assert findings(FINE[sentence]) == []


def test_every_check_says_what_it_promises() -> None:
    assert all(check.__doc__ for check in CHECKS)
    assert len(set(CHECKS)) == len(CHECKS)


def test_traffic_that_misses_by_one_run_is_refused_with_the_numbers() -> None:
    data = FINE["traffic that is just enough"] | {}
    data["spec"] = data["spec"] | {
        "rollout": {
            **data["spec"]["rollout"],
            "stages": [data["spec"]["rollout"]["stages"][0] | {"minRuns": 201}],
        }
    }
    (finding,) = findings(data)
    assert "Shadow needs 201 runs, but 100 runs per hour × share 1/1 give about 200 in its 2 hours" in finding


def test_default_stages_are_judged_at_the_declared_traffic() -> None:
    """200 runs at 1 % of 10 runs per hour take 2,000 hours; Canary has 336."""
    (first, *_) = findings(minimal(expectedRunsPerHour=10))
    assert first.startswith("spec.expectedRunsPerHour: Canary needs 200 runs")


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "open": {"type": "object"},
        "list": {"type": "array", "items": CLOSED},
        "text": {"type": ["string", "null"]},
        "ref": {"$ref": "#/$defs/closed"},
        "loop": {"$ref": "#/properties/loop"},
        "either": {"anyOf": [CLOSED, {"type": "string"}]},
        "map": {"additionalProperties": CLOSED},
        "named": {"patternProperties": {"^x": {}}, "additionalProperties": False},
        "tuple": {"prefixItems": [{"type": "string"}]},
    },
    "additionalProperties": False,
    "$defs": {"closed": CLOSED},
}

# path -> the part that no conforming value has
PATHS = {
    "nope": "nope", "open.x.y": None, "list.[].a": None, "list.[].b": "b", "list.a": "a", "text.a": "a", "text.[]": "[]",
    "ref.a": None, "ref.b": "b", "loop.x.y": None, "either.b": None, "map.k.a": None, "map.k.b": "b", "map.[].b": None,
    "named.x1": None, "tuple.[].x": None, "open": None, "ref.a.c": None,
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_fields_that_a_contract_rules_out(path: str) -> None:
    missing = impossible(SCHEMA, tuple(path.split(".")))
    assert (missing.name if missing else None) == PATHS[path]
