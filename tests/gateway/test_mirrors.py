"""Mirrors: side-effect safe, bounded, recorded exactly once, and never in the user's way."""

import asyncio
from typing import Any

import orjson
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.comparing import KEYWORD
from sluicegate.contracts.routes import MirrorBudget, RoutePlan, Share, TrafficMode
from sluicegate.gateway.mirrors import MirrorAllowance, MirrorAllowances
from tests.gateway.components import Harness, component, harness, rolling, serving, spec_of, status


def _plan(stable: str, candidate: str, *, part: dict[str, Any] | None = None, **more: Any) -> RoutePlan:
    part = part or {}
    return rolling(
        spec_of(component(stable, **part)),
        spec_of(component(candidate, **part), version="2"),
        TrafficMode.MIRROR,
        **more,
    )


def _arms(gate: Harness) -> dict[str, dict[str, Any]]:
    return {run["arm"]: run for run in gate.spool.of("run")}


async def test_the_candidate_runs_on_a_copy_and_is_compared() -> None:
    async with (
        serving(lambda _: {"answer": 1}) as old,
        serving(lambda _: {"answer": 2}) as new,
        harness(_plan(old.url, new.url, control=Share(1, 1))) as gate,
    ):
        response = await gate.run_whole({"q": 1})
        arms, observations = _arms(gate), gate.spool.of("obs")
    assert orjson.loads(response.body) == {"answer": 1}
    assert dict(response.headers)[b"sluicegate-revision"] == b"stable"
    assert set(arms) == {"stable", "candidate", "control"}
    assert {run["run_id"] for run in arms.values()} == {arms["stable"]["run_id"]}
    assert [arms[name]["serving"] for name in ("stable", "candidate", "control")] == [True, False, False]
    assert arms["candidate"]["comparison"]["differences"] == ["output.answer: 1 | 2"]
    assert arms["control"]["comparison"]["agrees"]
    assert arms["control"]["revision"] == "stable"
    assert len(observations) == 1
    facts = observations[0]
    assert (facts["candidate"]["disagrees"], facts["control"]["disagrees"], facts["stable"]["disagrees"]) == (
        1.0,
        0.0,
        None,
    )
    assert (facts["dropped"], facts["key"]) == (0, ["uid-1", "Shadow", 1])
    dry = {server.headers["sluicegate-dry-run"] for server in new.calls}
    assert (dry, [call.headers["sluicegate-dry-run"] for call in old.calls]) == ({"true"}, ["false", "true"])
    assert new.calls[0].headers["idempotency-key"].endswith(":candidate")


async def test_facts_are_judged_at_once_and_the_words_are_left_to_the_floor() -> None:
    said = {"reply": "Your order 4512 ships on Monday.", "trace": "t-1"}
    reworded = {"reply": "On Monday your order 4512 will ship.", "trace": "t-2"}
    wrong = {"reply": "Your order 4513 ships on Monday.", "trace": "t-3"}
    hints = {"properties": {"trace": {KEYWORD: "Ignore"}}}
    answers = iter([reworded, wrong, said])
    async with serving(lambda _: said) as old, serving(lambda _: next(answers)) as new:
        plan = rolling(
            spec_of(component(old.url)),
            spec_of(component(new.url), version="2", contract={"input": True, "output": hints}),
            TrafficMode.MIRROR,
            control=Share(1, 1),
        )
        async with harness(plan) as gate:
            for _ in range(3):
                await gate.run_whole({})
            found = [(seen["candidate"], seen["control"]) for seen in gate.spool.of("obs")]
            similar = [r["comparison"]["similarity"] for r in gate.spool.of("run") if r["arm"] == "candidate"]
    assert [(candidate["disagrees"], candidate["texts"]) for candidate, _ in found] == [
        (0.0, [similar[0]]),
        (1.0, [None]),
        (0.0, [1.0]),
    ]
    assert [candidate["similarity"] for candidate, _ in found] == similar
    assert all((control["disagrees"], control["texts"]) == (0.0, [1.0]) for _, control in found)


async def test_a_better_reward_is_not_a_disagreement() -> None:
    async with serving(lambda _: {"a": 1, "r": 0.2}) as old, serving(lambda _: {"a": 2, "r": 0.9}) as new:
        plan = rolling(
            spec_of(component(old.url), reward="steps.agent.r"),
            spec_of(component(new.url), reward="steps.agent.r", version="2"),
            TrafficMode.MIRROR,
        )
        async with harness(plan) as gate:
            await gate.run_whole({})
            facts = gate.spool.of("obs")[0]
    assert (facts["candidate"]["disagrees"], facts["candidate"]["reward"], facts["stable"]["reward"]) == (
        0.0,
        0.9,
        0.2,
    )


async def test_units_outside_the_share_are_not_mirrored_and_are_no_evidence() -> None:
    async with (
        serving(lambda _: 1) as old,
        serving(lambda _: 1) as new,
        harness(_plan(old.url, new.url, share=Share(0, 1))) as gate,
    ):
        await gate.run_whole({})
        assert _arms(gate)["stable"]["stage"] is None
    assert (new.calls, gate.spool.of("obs")) == ([], [])


async def _hang(_: Any) -> None:
    await asyncio.Event().wait()


def _crash(_: Any) -> Any:
    raise web.HTTPInternalServerError


BAD = [
    ("hangs", _hang, "Timeout"),
    ("crashes", _crash, "Fault"),
    ("answers 100 MB", lambda _: web.Response(body=b"1" * 100_000_000), "Fault"),
    ("answers nonsense", lambda _: web.Response(body=b"<html>"), "Fault"),
    ("nests deep", lambda _: web.Response(body=b"[" * 100_000), "Fault"),
]


@pytest.mark.parametrize(("why", "behaviour", "failure"), BAD)
async def test_the_user_never_feels_a_bad_candidate(why: str, behaviour: Any, failure: str) -> None:
    async with (
        serving(lambda _: {"answer": 1}) as old,
        serving(behaviour) as new,
        harness(_plan(old.url, new.url, part={"timeoutMs": 300 if failure == "Timeout" else 20_000})) as gate,
    ):
        response = await gate.run({})
        assert (response.status, orjson.loads(response.body)) == (200, {"answer": 1}), why
        assert new.calls == []  # the mirror starts after the answer is made
        await gate.settled()
        candidate, observations = _arms(gate)["candidate"], gate.spool.of("obs")
    assert candidate["steps"][0]["attempts"][0]["failure"] == failure
    assert len(observations) == 1
    assert (observations[0]["candidate"]["success"], observations[0]["candidate"]["disagrees"]) == (0.0, 1.0)
    assert observations[0]["stable"]["success"] == 1.0


async def test_no_copy_is_slowed_by_its_sibling_or_by_the_steps_after_the_answer() -> None:
    """All of them call the same component, which would answer two calls at a time more slowly."""
    at_once, most, order = 0, 0, []

    async def crowded(_: Any) -> dict[str, float]:
        nonlocal at_once, most
        order.append(server.calls[-1].headers["idempotency-key"].rpartition(":")[2])
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return {"reward": 0.5}

    async with serving(crowded) as server:
        more: dict[str, Any] = {
            "steps": [
                {"name": "say", "component": "agent"},
                {"name": "judge", "component": "judge", "phase": "AfterAnswer"},
            ],
            "reward": "steps.judge.reward",
        }
        spec = spec_of(component(server.url), component(server.url, name="judge"), **more)
        plan = rolling(spec, spec | {"version": "2"}, TrafficMode.MIRROR, control=Share(1, 1))
        async with harness(plan) as gate:
            for _ in range(20):
                await gate.run_whole({})
    assert most == 1
    runs = {tuple(order[start : start + 6]) for start in range(0, len(order), 6)}
    served, candidate, control = ["stable"] * 2, ["candidate"] * 2, ["control"] * 2
    # The chance that 20 coins fall alike is 2e-6.
    assert runs == {(*served, *candidate, *control), (*served, *control, *candidate)}


async def test_when_stable_fails_there_is_nothing_to_compare() -> None:
    async with (
        serving(lambda _: status(500, {})) as old,
        serving(lambda _: {"answer": 1}) as new,
        harness(_plan(old.url, new.url)) as gate,
    ):
        assert (await gate.run_whole({})).status == 502
        facts = gate.spool.of("obs")[0]
    assert (facts["stable"]["success"], facts["candidate"]["success"], facts["candidate"]["disagrees"]) == (
        0.0,
        1.0,
        None,
    )


async def test_a_full_budget_drops_the_mirror_and_says_so() -> None:
    release = asyncio.Event()

    async def slow(_: Any) -> int:
        await release.wait()
        return 1

    async with (
        serving(lambda _: 1) as old,
        serving(slow) as new,
        harness(_plan(old.url, new.url, mirror_budget=MirrorBudget(max_concurrency=2))) as gate,
    ):
        responses = [await gate.run({}) for _ in range(5)]
        release.set()
        await gate.settled()
        observations = gate.spool.of("obs")
        await gate.run_whole({})  # the places are free again
        assert len(new.calls) == 3
    assert {response.status for response in responses} == {200}
    assert sorted(item["dropped"] for item in observations) == [0, 0, 1, 1, 1]
    assert len({item["run_id"] for item in observations}) == 5
    assert all(item["stable"] is item["candidate"] is None for item in observations if item["dropped"])


async def test_cost_beyond_the_budget_stops_mirrors() -> None:
    answer = {"status": "ok", "output": 1, "usage": {"cost": 0.6}}
    async with serving(lambda _: answer) as server:
        plan = _plan(
            server.url,
            server.url,
            part={"protocol": "Native"},
            mirror_budget=MirrorBudget(max_cost_per_hour=1.0),
        )
        async with harness(plan) as gate:
            for _ in range(4):
                await gate.run_whole({})
            assert [item["dropped"] for item in gate.spool.of("obs")] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("stub", "calls", "outcome", "failure"),
    [
        ({"value": {"done": "stub"}}, 0, "Ok", None),
        (None, 0, "Failed", None),
    ],
)
async def test_a_mirror_never_calls_a_live_component(
    stub: Any, calls: int, outcome: str, failure: Any
) -> None:
    async with serving(lambda _: {"done": "really"}) as live:
        part: dict[str, Any] = {"sideEffects": "Live"} | ({"mirrorStub": stub} if stub else {})
        async with harness(_plan(live.url, live.url, part=part, control=Share(1, 1))) as gate:
            response = await gate.run_whole({})
            arms, facts = _arms(gate), gate.spool.of("obs")[0]
    assert orjson.loads(response.body) == {"done": "really"}
    assert len(live.calls) == 1
    assert (arms["stable"]["steps"][0]["stubbed"], arms["candidate"]["steps"][0]["stubbed"]) == (False, True)
    assert arms["candidate"]["steps"][0]["outcome"] == outcome
    assert facts["candidate"]["fallbacks"] == {}


async def test_a_stub_may_be_another_endpoint() -> None:
    async with (
        serving(lambda _: {"done": "really"}) as live,
        serving(lambda _: {"done": "sandbox"}) as sandbox,
    ):
        part = {"sideEffects": "Live", "mirrorStub": {"endpoint": {"protocol": "Http", "url": sandbox.url}}}
        async with harness(_plan(live.url, live.url, part=part)) as gate:
            await gate.run_whole({})
            step = _arms(gate)["candidate"]["steps"][0]
    assert (len(live.calls), len(sandbox.calls)) == (1, 1)
    assert (step["stubbed"], step["response"], len(step["attempts"])) == (True, {"done": "sandbox"}, 1)


async def test_a_stand_in_of_a_mirror_is_not_called_live_either() -> None:
    async with serving(lambda _: status(500, {})) as broken, serving(lambda _: 1) as live:
        spec = spec_of(
            component(broken.url, onFailure={"type": "Component", "component": "spare"}),
            component(live.url, name="spare", sideEffects="Live"),
            steps=[{"name": "one", "component": "agent"}],
        )
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.MIRROR)) as gate:
            await gate.run_whole({})
    assert len(live.calls) == 1  # the serving run's


async def test_mirrors_share_no_breaker_and_no_retry_budget_with_users() -> None:
    part = {"circuitBreaker": {"minCalls": 2, "failureRate": "0.1", "openSeconds": 600}}

    def only_users(_: Any) -> Any:
        return status(503, {}) if server.calls[-1].headers["sluicegate-dry-run"] == "true" else 1

    async with serving(only_users) as server, harness(_plan(server.url, server.url, part=part)) as gate:
        responses = [await gate.run_whole({}) for _ in range(6)]
        failures = [run["steps"][0]["attempts"] for run in gate.spool.of("run") if run["arm"] == "candidate"]
    assert {response.status for response in responses} == {200}
    assert failures[-1] == []  # the mirrors' own breaker is open


async def test_the_observation_waits_for_the_reward_of_every_arm() -> None:
    async with serving(lambda _: "a") as agent, serving(lambda _: {"reward": 0.75}) as judge:
        more: dict[str, Any] = {
            "steps": [
                {"name": "say", "component": "agent"},
                {"name": "judge", "component": "judge", "phase": "AfterAnswer"},
            ],
            "reward": "steps.judge.reward",
        }
        spec = spec_of(component(agent.url), component(judge.url, name="judge"), **more)
        async with harness(
            rolling(spec, spec | {"version": "2"}, TrafficMode.MIRROR, control=Share(1, 1))
        ) as gate:
            await gate.run_whole({})
            facts, arms = gate.spool.of("obs"), _arms(gate)
    assert [facts[0][arm]["reward"] for arm in ("stable", "candidate", "control")] == [0.75] * 3
    assert [step["name"] for step in arms["candidate"]["steps"]] == ["say", "judge"]
    assert len(gate.spool.of("after")) == 1


async def test_a_worker_that_stops_counts_its_mirrors_as_dropped() -> None:
    called = asyncio.Event()

    async def hang(_: Any) -> None:
        called.set()
        await asyncio.Event().wait()

    async with (
        serving(lambda _: 1) as old,
        serving(hang) as new,
        harness(_plan(old.url, new.url)) as gate,
    ):
        await gate.run({})
        await asyncio.wait_for(called.wait(), 60)
        gate.afters[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await gate.afters[0]
        assert [item["dropped"] for item in gate.spool.of("obs")] == [1]


async def test_a_split_run_is_observed_although_its_reward_never_came() -> None:
    called = asyncio.Event()

    async def hang(_: Any) -> None:
        called.set()
        await asyncio.Event().wait()

    async with serving(lambda _: "a") as agent, serving(hang) as judge:
        more: dict[str, Any] = {
            "steps": [
                {"name": "say", "component": "agent"},
                {"name": "judge", "component": "judge", "phase": "AfterAnswer"},
            ],
            "reward": "steps.judge.reward",
        }
        spec = spec_of(component(agent.url), component(judge.url, name="judge"), **more)
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.SPLIT)) as gate:
            await gate.run({})
            await asyncio.wait_for(called.wait(), 60)
            gate.afters[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await gate.afters[0]
            [observed] = gate.spool.of("obs")
    assert (observed["candidate"]["success"], observed["candidate"]["reward"]) == (1.0, None)
    assert (observed["dropped"], observed["expects_reward"]) == (0, True)


async def test_a_worker_that_stops_ends_mirrors_and_keeps_users() -> None:
    called = asyncio.Event()

    async def hang(_: Any) -> None:
        called.set()
        await asyncio.Event().wait()

    async with (
        serving(lambda _: 1) as old,
        serving(hang) as new,
        harness(_plan(old.url, new.url)) as gate,
    ):
        await gate.run({})
        await asyncio.wait_for(called.wait(), 60)
        gate.service.drop_mirrors()
        await gate.settled()
        assert (await gate.run_whole({})).status == 200
        assert [item["dropped"] for item in gate.spool.of("obs")] == [1, 1]
        assert [run["arm"] for run in gate.spool.of("run")] == ["stable", "stable"]
        assert (len(new.calls), gate.service.mirrors) == (1, set())


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5))
def test_never_more_arms_than_the_budget_and_all_places_come_back(starts: list[bool], limit: int) -> None:
    allowance, running = MirrorAllowance(MirrorBudget(max_concurrency=limit)), 0
    for start in starts:
        if start:
            running += allowance.take(0.0)
        elif running:
            allowance.give_back(seconds=0.0, cost=0.0)
            running -= 1
        assert allowance.running == running <= limit
    for _ in range(running):
        allowance.give_back(seconds=0.0, cost=0.0)
    assert allowance.running == 0


def test_seconds_refill_over_a_minute() -> None:
    allowance = MirrorAllowance(MirrorBudget(max_seconds_per_minute=6.0))
    assert allowance.take(0.0)
    allowance.give_back(seconds=7.0, cost=0.0)
    assert not allowance.take(5.0)
    assert allowance.take(10.1)  # 7 s used, 6 s allowed, 0.1 s per second come back


def test_a_changed_budget_keeps_what_is_running() -> None:
    allowances = MirrorAllowances()
    allowances.of("ns", "bot", MirrorBudget(max_concurrency=1)).take(0.0)
    changed = allowances.of("ns", "bot", MirrorBudget(max_concurrency=2))
    assert (changed.running, changed.take(0.0), changed.take(0.0)) == (1, True, False)
