"""What the gateway notes of components' outputs, for ComponentDrift."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pytest

from sluicegate.contracts.evidence import MOST_NUMBERS, VECTOR, Observation
from sluicegate.contracts.observed import ObservedField
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import Share, TrafficMode
from sluicegate.contracts.stages import Stage, Verdict
from sluicegate.gateway import outputs
from sluicegate.gateway.outputs import projected
from sluicegate.lineage import entries
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, planning
from sluicegate.rollout.judging import View
from tests.gateway.components import component, harness, rolling, serving, spec_of, status
from tests.rollout.samples import revision as made
from tests.rollout.samples import workflow

OUTPUT = {
    "type": "object",
    "properties": {
        "intent": {"enum": ["order", "refund", None]},
        "sure": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "steps": {
            "type": "array",
            "items": {"type": "object", "properties": {"type": {"enum": ["call", "reply"]}}},
        },
        "tool_calls": {"type": "array"},
        "embedding": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
    },
}
STRATEGY = {
    "stages": [
        {
            "name": "Shadow",
            "gates": [
                {"name": "success", "signal": "WorkflowSuccessRate"},
                {"name": "drift", "signal": "ComponentDrift"},
            ],
        }
    ]
}
ANSWER = {
    "intent": "refund",
    "sure": True,
    "score": 0.25,
    "steps": [{"type": "call"}, {"type": "call"}, {"type": "reply"}, {}],
    "tool_calls": [{"function": {"name": "pay"}}, {"name": "look"}, {"name": "look"}],
    "text": "not observed",
}


def _workflow(url: str, version: str, **more: Any) -> dict[str, Any]:
    planner = component(
        f"{url}/{version}", name="planner", contract={"output": OUTPUT}, **more.pop("planner", {})
    )
    return spec_of(planner, version=version, **more)


async def _observed(answer: Any, mode: TrafficMode = TrafficMode.MIRROR, **more: Any) -> list[dict[str, Any]]:
    async with serving(answer) as server:
        plan = rolling(
            _workflow(server.url, "1", **more), _workflow(server.url, "2", **more), mode, control=Share(1, 1)
        )
        async with harness(plan) as gate:
            await gate.run_whole({"tier": "gold", "q": 1})
            return gate.spool.of("obs")


async def test_every_arm_brings_what_its_components_gave() -> None:
    (seen,) = await _observed(lambda _: ANSWER)
    for arm in ("stable", "candidate", "control"):
        assert seen[arm]["choices"] == {
            "planner.intent": {"refund": 1.0},
            "planner.sure": {"true": 1.0},
            "planner.steps[*].type": {"call": pytest.approx(2 / 3), "reply": pytest.approx(1 / 3)},
            "planner.tool_calls": {"look": pytest.approx(2 / 3), "pay": pytest.approx(1 / 3)},
        }
        assert seen[arm]["numbers"] == {"planner.score": [0.25]}


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        ([0.5, -1, 2.0], [0.5, -1.0, 2.0, *[0.0] * 13]),
        ([0.5, -1], None),
        ([0.5, None, 2.0], None),
        ([0.5, True, 2.0], None),
        ([0.5, 1e300, 2.0], None),
        ("0.5 -1 2", None),
    ],
    ids=["whole", "too short", "a hole", "a truth", "without distances", "text"],
)
async def test_a_vector_is_noted_whole_or_not_at_all(given: Any, noted: Any) -> None:
    (seen,) = await _observed(lambda _: {**ANSWER, "embedding": given})
    assert seen["candidate"]["numbers"].get("planner.embedding") == noted


def test_a_long_vector_is_projected_so_that_distances_stay_on_average() -> None:
    """Johnson and Lindenstrauss: of sums with random signs the mean squared length is that of the vector."""
    generator = np.random.default_rng(1)
    ratios = []
    for _ in range(200):
        vector = generator.standard_normal(768)
        found = projected(vector.tolist())
        ratios.append(math.fsum(value * value for value in found) / float(vector @ vector))
    assert len(found) == VECTOR
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)
    assert projected(vector.tolist()) == found
    assert projected((2.0 * vector).tolist()) == pytest.approx([2.0 * value for value in found], rel=1e-5)


def test_of_many_vectors_no_more_are_read_than_are_kept() -> None:
    class Read(list[float]):
        times = 0

        def __iter__(self) -> Iterator[float]:
            Read.times += 1
            return super().__iter__()

    once = Read([0.5] * 64)
    field = ObservedField(component="planner", output="embedding", keys=((),), numeric=True, length=64)
    assert len(outputs._projected([once], field)) == VECTOR
    for_one, Read.times = Read.times, 0
    assert len(outputs._projected([once] * 200, field)) == MOST_NUMBERS
    assert Read.times == for_one * MOST_NUMBERS // VECTOR


async def test_what_is_absent_is_a_value_of_its_own() -> None:
    (seen,) = await _observed(lambda _: {"intent": None, "steps": []})
    choices = seen["candidate"]["choices"]
    assert choices["planner.intent"] == {"null": 1.0}
    assert {
        choices[name]["(none)"] for name in ("planner.sure", "planner.steps[*].type", "planner.tool_calls")
    } == {1.0}
    assert seen["candidate"]["numbers"] == {}


async def test_a_fallback_is_not_what_the_component_gave() -> None:
    value = {"onFailure": {"type": "Value", "value": {"intent": "order"}}}
    (seen,) = await _observed(lambda _: status(500), planner=value)
    assert seen["candidate"]["fallbacks"] == {"planner": 1.0}
    assert (seen["candidate"]["choices"], seen["candidate"]["numbers"]) == ({}, {})


async def test_a_stub_says_nothing_of_a_live_component() -> None:
    live = {"sideEffects": "Live", "mirrorStub": {"value": {"intent": "order"}}}
    (seen,) = await _observed(lambda _: ANSWER, planner=live)
    assert seen["candidate"]["choices"] == {}
    assert seen["stable"]["choices"]["planner.intent"] == {"refund": 1.0}


async def test_each_unit_of_controlled_brings_its_own_arms() -> None:
    (seen,) = await _observed(lambda _: ANSWER, TrafficMode.SPLIT)
    assert (seen["candidate"] or seen["stable"])["choices"]["planner.intent"] == {"refund": 1.0}


async def test_many_tools_are_bounded_and_long_names_cut() -> None:
    calls = [{"name": f"{'x' * 100}"}, *({"name": f"tool-{n}"} for n in range(100))]
    (seen,) = await _observed(lambda _: {"tool_calls": calls})
    shares = seen["candidate"]["choices"]["planner.tool_calls"]
    assert len(shares) == 32
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(map(len, shares)) <= 64


@pytest.mark.parametrize("path", ["steps.planner.output.intent", "steps.*.output", "steps.planner"])
async def test_a_redacted_output_is_not_observed(path: str) -> None:
    (seen,) = await _observed(lambda _: ANSWER, lineage={"redact": [path]})
    assert "planner.intent" not in seen["candidate"]["choices"]


async def test_no_copy_of_a_redacted_input_stands_in_the_evidence() -> None:
    """The planner repeats what the run document hides as a copy of input.secret."""
    redacted = {"lineage": {"redact": ["input.secret"]}}

    def repeats(body: Any) -> dict[str, Any]:
        given = body["secret"] if isinstance(body, dict) and "secret" in body else "?"
        return {"tool_calls": [{"name": f"call-{given}"}]}

    async with serving(repeats) as server:
        plan = rolling(
            _workflow(server.url, "1", **redacted), _workflow(server.url, "2", **redacted), TrafficMode.MIRROR
        )
        async with harness(plan) as gate:
            await gate.run_whole({"secret": "hunter2-hunter2"})
            lines = gate.spool.lines
    assert b"hunter2" not in orjson.dumps(lines)
    (seen,) = [line for line in lines if line["t"] == "obs"]
    assert seen["candidate"]["choices"]["planner.tool_calls"] == {"call-[redacted]": 1.0}


async def test_without_a_rollout_nothing_is_noted() -> None:
    async with serving(lambda _: ANSWER) as server:
        from tests.gateway.components import stable_plan

        async with harness(stable_plan(_workflow(server.url, "1"))) as gate:
            await gate.run_whole({})
            assert gate.spool.of("obs") == []


async def test_a_candidate_that_chooses_otherwise_fails_the_gate_from_the_gateway_to_the_finding() -> None:
    """Requests through real servers; the observations as the store reads them; the fold and the gate of the plan."""

    async with (
        serving(lambda body: {"intent": "refund" if body["q"] % 2 else "order"}) as old,
        serving(lambda body: {"intent": "refund" if body["q"] % 2 else None}) as new,
    ):
        specs = [
            _workflow(url, version, rollout=STRATEGY) for url, version in ((old.url, "1"), (new.url, "2"))
        ]
        async with harness(rolling(specs[0], specs[1], TrafficMode.MIRROR)) as gate:
            for number in range(120):
                await gate.run_whole({"q": number})
            lines = gate.spool.of("obs")
    first, second = (made(WorkflowSpec.model_validate(spec)) for spec in specs)
    plan = planning.plan_rollout(workflow(second.spec.body), first, second, number=1).spec
    stage = planning.stage_of(plan, Stage.SHADOW)
    seen = [entries.raw_observation_from(orjson.loads(orjson.dumps(line))) for line in lines]
    fold = Fold(seen[0].key, planning.questions(plan, Stage.SHADOW, {}))
    for number, raw in enumerate(seen, start=1):
        fold.add(
            Observation(
                sequence=number,
                key=raw.key,
                unit=raw.unit,
                runs=(raw.run_id,),
                at=raw.at,
                stable=raw.stable,
                candidate=raw.candidate,
                control=raw.control,
            )
        )
    view = View(spec=plan, stage=stage, evidence=fold.evidence(), now=seen[-1].at)
    (drift,) = [found for found in gates.judge_all(view) if found.gate == "drift"]
    assert (drift.verdict, drift.reason, drift.component) == (Verdict.FAIL, "UnseenValue", "planner")
    assert "gave intent = null in 50.0 % of 120 units, stable's in 0.0 %" in drift.message
    assert set(drift.runs) <= {raw.run_id for raw in seen}
