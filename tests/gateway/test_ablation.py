"""Ablated mirrors: who can be left out, that nobody pays for it, and that it is no evidence of an arm."""

from collections import Counter
from dataclasses import replace
from typing import Any

import orjson
import pytest

from sluicegate.contracts.routes import RoutePlan, Share, TrafficMode
from sluicegate.contracts.runs import Arm
from sluicegate.gateway.ablation import players_of, version_players_of
from sluicegate.gateway.arms import assign, mirror_probability
from sluicegate.gateway.engine.program import compile_program
from sluicegate.gateway.plan_json import plan_from_json, plan_to_json
from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.estimate import estimate
from tests.gateway.components import Harness, component, harness, revision, rolling, serving, spec_of, status

ZERO = {"type": "Value", "value": {"points": 0.0}}
EVERY = {"ablation": Share(1, 1)}


def _workflow(url: str, version: str, **more: Any) -> dict[str, Any]:
    """Three components; the reward is 0.2 + 0.4 (a) + 0.3 (a and b), known by construction; c adds nothing."""
    return spec_of(
        component(f"{url}/a", name="a", onFailure=ZERO),
        component(f"{url}/b", name="b", onFailure=ZERO),
        component(f"{url}/c", name="c", onFailure={"type": "Skip"}),
        component(f"{url}/d", name="d"),
        version=version,
        steps=[{"name": name, "component": name} for name in "abcd"],
        reward="0.2 + 0.4 * steps.a.points + 0.3 * steps.a.points * steps.b.points",
        **more,
    )


PHI = {"a": 0.55, "b": 0.15, "c": 0.0}
"""a: 0.4 alone and half of the 0.3 that it makes with b."""


def _one(_: Any) -> dict[str, float]:
    return {"points": 1.0}


def _plan(url: str, **more: Any) -> RoutePlan:
    return rolling(_workflow(url, "1"), _workflow(url, "2"), TrafficMode.MIRROR, **(EVERY | more))


def _runs(gate: Harness, arm: str) -> list[dict[str, Any]]:
    return [run for run in gate.spool.of("run") if run["arm"] == arm]


async def test_contributions_are_those_of_the_workflows_construction() -> None:
    async with serving(_one) as server, harness(_plan(server.url)) as gate:
        for number in range(240):
            await gate.run_whole({"q": number})
        observations = gate.spool.of("obs")
    cells = Cells(("a", "b", "c"))
    for observation in observations:
        coalition = observation["ablation"]["coalition"]
        assert coalition["players"] == ["a", "b", "c"]
        assert coalition["probability"] == pytest.approx(probability(3, coalition["mask"]))
        cells.add(coalition["mask"], observation["ablation"]["reward"])
    found = estimate(cells)
    assert {item.component: item.value for item in found.each} == pytest.approx(PHI, abs=1e-9)
    assert all(item.low - 1e-9 <= PHI[item.component] <= item.high + 1e-9 for item in found.each)
    assert [found.reward, found.floor] == pytest.approx([0.9, 0.2])


async def test_users_and_evidence_of_the_arms_are_as_without_ablation() -> None:
    seen: dict[int, Any] = {}
    async with serving(_one) as server:
        for number, share in enumerate((Share(0, 1), Share(1, 1))):
            async with harness(_plan(server.url, ablation=share, control=Share(1, 1))) as gate:
                answers = [await gate.run_whole({"q": n}) for n in range(12)]
                facts = gate.spool.of("obs")
                assert len(_runs(gate, "ablated")) == 12 * number
                assert [bool(item["ablation"]) for item in facts] == [bool(number)] * 12
                arms = [
                    {
                        name: item[arm][name]
                        for name in ("success", "fallbacks", "violated", "reward", "disagrees")
                    }
                    for item in facts
                    for arm in ("stable", "candidate", "control")
                ]
                seen[number] = ([orjson.loads(answer.body) for answer in answers], arms)
    assert seen[0] == seen[1]
    assert all(facts["fallbacks"] == dict.fromkeys("abcd", 0.0) for facts in seen[1][1])


async def test_what_is_left_out_is_not_called_and_falls_back_by_force() -> None:
    async with serving(_one) as server, harness(_plan(server.url)) as gate:
        for number in range(30):
            await gate.run_whole({"q": number})
        runs = _runs(gate, "ablated")
    calls = Counter(call.headers["idempotency-key"].rpartition(":")[2] for call in server.calls)
    kept = 0
    for run in runs:
        mask = run["coalition"]["mask"]
        for bit, name in enumerate("abc"):
            step = next(step for step in run["steps"] if step["name"] == name)
            if mask >> bit & 1:
                kept += 1
                assert (step["outcome"], step["fallback"], len(step["attempts"])) == ("Ok", None, 1)
            else:
                assert (step["outcome"], step["fallback"]["forced"], step["attempts"]) == (
                    "Fallback",
                    True,
                    [],
                )
                assert step["fallback"]["strategy"] == {"c": "Skip"}.get(name, "Value")
        assert (run["serving"], run["revision"], run["comparison"]) == (False, "candidate", None)
        assert run["probability"] == 1.0
    assert {run["coalition"]["mask"] for run in runs} > {0, 7}
    assert calls["ablated"] == kept + len(runs)  # and d, which has no fallback, always
    assert {run["coalition"] for run in _runs(gate, "stable") + _runs(gate, "candidate")} == {None}


async def test_a_failed_ablated_run_earns_nothing_and_breaks_nothing_else() -> None:
    """b answers 500 when a was left out; the circuit that this opens is that run's alone."""

    def picky(body: Any) -> Any:
        if server.calls[-1].path.endswith("/b") and body.get("a", 0) == 0:
            return status(500)
        return {"points": 1.0}

    def workflow(version: str) -> dict[str, Any]:
        spec = _workflow(server.url, version)
        spec["components"][1] |= {
            "onFailure": {"type": "Fail"},
            "circuitBreaker": {"failureRate": "0.01", "minCalls": 1},
        }
        spec["steps"][1]["inputs"] = {"a": "steps.a.points"}
        return spec

    async with serving(picky) as server:
        plan = rolling(workflow("1"), workflow("2"), TrafficMode.MIRROR, **EVERY)
        async with harness(plan) as gate:
            for number in range(40):
                await gate.run_whole({"q": number})
            observations = gate.spool.of("obs")
    rewards = {
        (o["ablation"]["coalition"]["mask"] & 1, round(o["ablation"]["reward"], 9)) for o in observations
    }
    assert observations[0]["ablation"]["coalition"]["players"] == ["a", "c"]
    assert rewards == {(0, 0.0), (1, 0.9)}
    assert {o["candidate"]["success"] for o in observations} == {1.0}


def test_who_can_be_left_out() -> None:
    """Those who answer, call nothing Live, and have a fallback that is another; in the workflow's order."""
    on = {
        "nothing": {"type": "Fail"},
        "skipped": {"type": "Skip"},
        "valued": ZERO,
        "substituted": {"type": "Component", "component": "spare"},
        "restored": {"type": "StableVersion"},
        "unchanged": {"type": "StableVersion"},
        "bylive": {"type": "Component", "component": "live"},
        "judge": {"type": "Skip"},
    }
    parts = [component(f"http://127.0.0.1:9/{name}", name=name, onFailure=rule) for name, rule in on.items()]
    live = component("http://127.0.0.1:9/live", name="live", onFailure=ZERO) | {
        "sideEffects": "Live",
        "mirrorStub": {"value": 1},
    }
    spare = component("http://127.0.0.1:9/spare", name="spare")
    steps = [{"name": name, "component": name} for name in (*on, "live") if name != "judge"]
    steps.append({"name": "judge", "component": "judge", "phase": "AfterAnswer"})
    spec = spec_of(*parts, live, spare, steps=steps, reward="steps.judge.reward")
    before = spec | {
        "components": [
            part | {"version": "0"} if part["name"] == "restored" else part for part in spec["components"]
        ]
    }
    candidate, stable = (compile_program("default", "bot", revision(one)) for one in (spec, before))
    assert players_of(candidate, stable) == ("skipped", "valued", "substituted", "restored")
    assert players_of(compile_program("default", "bot", revision({**spec, "reward": None})), stable) == ()


async def test_nothing_to_leave_out_is_no_extra_run() -> None:
    async with serving(lambda _: {"r": 0.5}) as server:
        spec = spec_of(component(server.url), reward="steps.agent.r")
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.MIRROR, **EVERY)) as gate:
            await gate.run_whole({})
            assert [run["arm"] for run in gate.spool.of("run")] == ["stable", "candidate"]


def test_a_share_of_the_mirrored_units_and_one_coalition_per_session() -> None:
    plan = replace(_plan("http://127.0.0.1:9"), share=Share(1, 4), ablation=Share(1, 2), control=Share(1, 2))
    found = [assign(plan, f"run-{n}", None, leased=True) for n in range(20_000)]
    ablated = [item for item in found if item.ablation]
    assert all(item.mirrored for item in ablated)
    assert abs(len(ablated) - 2500) < 5 * 46.8  # binomial, 20,000 at 1/8
    assert abs(sum(item.control for item in ablated) - 1250) < 5 * 25  # independent of the second stable
    assert (
        assign(plan, "run-1", "key", leased=True).ablation
        == assign(plan, "run-2", "key", leased=True).ablation
    )
    assert mirror_probability(plan, Arm.ABLATED) == 0.125


def test_plans_of_before_ablate_nothing() -> None:
    plan = _plan("http://127.0.0.1:9")
    assert plan_from_json(plan_to_json(plan), None) == replace(plan, lease_until=None)
    later = {"ablation", "ablates_stable", "versions"}
    old = {name: value for name, value in plan_to_json(plan).items() if name not in later}
    read = plan_from_json(old, None)
    assert (read.ablation, read.ablates_stable, read.versions) == (Share(0, 1), False, Share(0, 1))


def _versions(url: str, version: str) -> dict[str, Any]:
    """a, b and c in version 1 or 2, at addresses of their own; d never changes."""
    parts = [component(f"{url}/{name}-{version}", name=name) | {"version": version} for name in "abc"]
    same = component(f"{url}/d", name="d", onFailure=ZERO)
    spec = spec_of(
        *parts, same, version=version, steps=[{"name": name, "component": name} for name in "abcd"]
    )
    return spec | {"reward": "0.5 + 0.3 * steps.a.points - 0.4 * steps.a.points * steps.b.points"}


VERSION_PHI = {"a": 0.1, "b": -0.2, "c": 0.0}
"""a alone adds 0.3, b takes away 0.4 where a is new as well; halves of what they do together."""


async def test_the_version_game_tells_which_changed_component_moved_the_reward() -> None:
    def points(_: Any) -> dict[str, float]:
        return {"points": 1.0 if server.calls[-1].path.endswith("-2") else 0.0}

    async with serving(points) as server:
        plan = rolling(
            _versions(server.url, "1"), _versions(server.url, "2"), TrafficMode.MIRROR, versions=Share(1, 1)
        )
        async with harness(plan) as gate:
            for number in range(160):
                await gate.run_whole({"q": number})
            observations, runs = gate.spool.of("obs"), _runs(gate, "mixed")
    cells = Cells(("a", "b", "c"))
    for one in observations:
        coalition = one["mixed"]["coalition"]
        assert (coalition["game"], coalition["players"], one["ablation"]) == (
            "Version",
            ["a", "b", "c"],
            None,
        )
        cells.add(coalition["mask"], one["mixed"]["reward"])
    found = estimate(cells)
    assert {item.component: item.value for item in found.each} == pytest.approx(VERSION_PHI, abs=1e-9)
    assert [found.reward, found.floor] == pytest.approx([0.4, 0.5])
    for run in runs:
        mask = run["coalition"]["mask"]
        wanted = {name: "2" if mask >> bit & 1 else "1" for bit, name in enumerate("abc")}
        assert {step["component"]: step["version"] for step in run["steps"]} == wanted | {"d": "1"}
        assert run["components"] == wanted | {"d": "1"}
        assert (run["serving"], run["revision"], run["comparison"]) == (False, "candidate", None)
        assert all(step["fallback"] is None for step in run["steps"])
    assert all(one["candidate"]["reward"] == pytest.approx(0.4) for one in observations)


def test_who_can_take_stables_version() -> None:
    """Those who answer, differ, and call nothing Live in either version; a new component has no other version."""

    def spec(version: str, **extra: Any) -> dict[str, Any]:
        parts = [
            component(f"http://127.0.0.1:9/{name}-{version}", name=name)
            for name in ("moved", "judge", "live")
        ]
        parts[2] |= {"sideEffects": "Live", "mirrorStub": {"value": 1}}
        parts += [component("http://127.0.0.1:9/same", name="same")]
        parts += [component("http://127.0.0.1:9/new", name="new")] if version == "2" else []
        steps = [
            {"name": part["name"], "component": part["name"]} for part in parts if part["name"] != "judge"
        ]
        steps.append({"name": "judge", "component": "judge", "phase": "AfterAnswer"})
        return spec_of(*parts, steps=steps, version=version, reward="steps.judge.reward") | extra

    candidate, stable = (compile_program("default", "bot", revision(one)) for one in (spec("2"), spec("1")))
    assert version_players_of(candidate, stable) == ("moved",)
    unrewarded = compile_program("default", "bot", revision(spec("2", reward=None)))
    assert version_players_of(unrewarded, stable) == ()


async def test_stable_is_ablated_with_the_same_coalition_where_the_plan_says_so() -> None:
    """Stable's b earns nothing, so that its contributions are 0.4, 0 and 0."""

    def points(_: Any) -> dict[str, float]:
        return {"points": 0.0 if server.calls[-1].path.endswith("/1/b") else 1.0}

    async with serving(points) as server:
        plan = rolling(
            _workflow(f"{server.url}/1", "1"),
            _workflow(f"{server.url}/2", "2"),
            TrafficMode.MIRROR,
            ablates_stable=True,
            **EVERY,
        )
        async with harness(plan) as gate:
            for number in range(160):
                await gate.run_whole({"q": number})
            observations, order = gate.spool.of("obs"), [run["arm"] for run in gate.spool.of("run")]
            pairs = zip(_runs(gate, "ablated"), _runs(gate, "stable-ablated"), strict=True)
            assert all(one["coalition"] == other["coalition"] for one, other in pairs)
    new, old = Cells(("a", "b", "c")), Cells(("a", "b", "c"))
    for one in observations:
        mask = one["ablation"]["coalition"]["mask"]
        new.add(mask, one["ablation"]["reward"])
        old.add(mask, one["ablation"]["stable"])
    assert {item.component: item.value for item in estimate(new).each} == pytest.approx(PHI, abs=1e-9)
    of_stable = {item.component: item.value for item in estimate(old).each}
    assert of_stable == pytest.approx({"a": 0.4, "b": 0.0, "c": 0.0}, abs=1e-9)
    last = {tuple(order[at + 2 : at + 4]) for at in range(0, len(order), 4)}
    assert last == {("ablated", "stable-ablated"), ("stable-ablated", "ablated")}  # by a coin


def test_players_of_both_are_those_that_stable_can_do_without_too_or_does_not_have() -> None:
    rules = {"kept": {"type": "Skip"}, "needed": {"type": "Skip"}, "new": {"type": "Skip"}}

    def spec(version: str) -> dict[str, Any]:
        named = {name: rule for name, rule in rules.items() if version == "2" or name != "new"}
        if version == "1":
            named["needed"] = {"type": "Fail"}
        parts = [
            component(f"http://127.0.0.1:9/{name}", name=name, onFailure=rule) for name, rule in named.items()
        ]
        steps = [{"name": name, "component": name} for name in named]
        return spec_of(*parts, steps=steps, version=version, reward="1.0")

    candidate, stable = (compile_program("default", "bot", revision(one)) for one in (spec("2"), spec("1")))
    assert players_of(candidate, stable) == ("kept", "needed", "new")
    assert players_of(candidate, stable, both=True) == ("kept", "new")
