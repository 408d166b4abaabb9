"""What a user got reaches the watch: from the gateway's document to a unit of the store, without a second line."""

from datetime import timedelta
from pathlib import Path

import orjson

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import TrafficMode
from sluicegate.contracts.watch import Watched
from sluicegate.lineage.store import LineageStore
from tests.gateway.components import component, harness, rolling, serving, spec_of, stable_plan


async def test_a_run_outside_a_rollout_is_a_unit_with_the_reward_that_came_after(tmp_path: Path) -> None:
    async with serving(lambda _: {"a": 1}) as agent, serving(lambda _: {"reward": 0.75}) as judge:
        spec = spec_of(
            component(agent.url),
            component(judge.url, name="judge", role="Evaluator"),
            steps=[
                {"name": "answer", "component": "agent"},
                {"name": "judge", "component": "judge", "phase": "AfterAnswer"},
            ],
            reward="steps.judge.reward",
        )
        async with harness(stable_plan(spec, outcome_window_seconds=60.0)) as gate:
            await gate.run_whole({})
            lines = [orjson.dumps(line) for line in gate.spool.lines]
            assert gate.spool.of("obs") == []
            revision = gate.spool.of("run")[0]["revision"]
    store = LineageStore(tmp_path / "l.db")
    store.ingest(lines, now=system.now() + timedelta(seconds=5))
    [unit] = store.observations(Watched("default", "bot", revision).key, after=0)
    assert unit.stable is not None
    assert (unit.stable.success, unit.stable.reward, unit.stable.fallbacks) == (1.0, 0.75, {"agent": 0.0})


async def test_what_components_gave_in_bounded_fields_is_in_the_document_and_in_the_unit(
    tmp_path: Path,
) -> None:
    bounded = {"properties": {"a": {"enum": ["x", "y"]}, "n": {"type": "number", "minimum": 0, "maximum": 9}}}
    async with serving(lambda _: {"a": "y", "n": 2.5, "text": "free"}) as agent:
        spec = spec_of(component(agent.url, contract={"output": {"type": "object"} | bounded}))
        async with harness(stable_plan(spec, outcome_window_seconds=0.0)) as gate:
            await gate.run_whole({})
            lines = [orjson.dumps(line) for line in gate.spool.lines]
            (run,) = gate.spool.of("run")
    assert (run["choices"], run["numbers"]) == ({"agent.a": {"y": 1.0}}, {"agent.n": [2.5]})
    store = LineageStore(tmp_path / "l.db")
    store.ingest(lines, now=system.now() + timedelta(seconds=5))
    [unit] = store.observations(Watched("default", "bot", run["revision"]).key, after=0)
    assert unit.stable is not None
    assert (unit.stable.choices, unit.stable.numbers) == ({"agent.a": {"y": 1.0}}, {"agent.n": (2.5,)})


async def test_copies_are_not_watched_and_a_candidate_that_answers_is() -> None:
    async with serving(lambda _: 1) as old, serving(lambda _: 1) as new:
        specs = spec_of(component(old.url)), spec_of(component(new.url), version="2")
        for mode in (TrafficMode.MIRROR, TrafficMode.SPLIT):
            async with harness(rolling(*specs, mode, outcome_window_seconds=9.0)) as gate:
                await gate.run_whole({})
                found = {run["arm"]: run["window_seconds"] for run in gate.spool.of("run")}
            mirrored = {"stable": 9.0, "candidate": None}
            assert found == (mirrored if mode is TrafficMode.MIRROR else {"candidate": 9.0})
