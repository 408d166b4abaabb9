"""Calls of components: retries, breakers, deadlines, degradation."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import orjson
import pytest

from sluicegate.contracts.routes import TrafficMode
from tests.gateway.components import (
    component,
    harness,
    rolling,
    serving,
    spec_of,
    stable_plan,
    status,
)

STRING = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
IDEMPOTENT: dict[str, Any] = {
    "idempotent": True,
    "retry": {"maxAttempts": 3, "backoff": {"baseMs": 0, "maxMs": 0}},
}


def in_turn(*answers: Any) -> Callable[[Any], Any]:
    """Answers one after the other, the last one for ever. Exceptions are not answers: use status()."""
    found: Iterator[Any] = chain(answers[:-1], repeat(answers[-1]))

    def answer(_: Any) -> Any:
        given = next(found)
        return given() if callable(given) else given

    return answer


def failing(code: int = 503, **headers: str) -> Callable[[], Any]:
    """A fresh error answer each time."""
    return lambda: status(code, {}, **headers)


@pytest.mark.parametrize(
    ("why", "part", "answers", "calls", "ok"),
    [
        ("idempotent calls are repeated", IDEMPOTENT, [failing(), failing(), {"a": 1}], 3, True),
        ("others never", {"retry": {"maxAttempts": 3}}, [failing(), {"a": 1}], 1, False),
        ("not more often than declared", IDEMPOTENT, [failing()], 3, False),
        ("only what retryOn names", IDEMPOTENT, [failing(400), {"a": 1}], 1, False),
        ("500 is not in the default", IDEMPOTENT, [failing(500), {"a": 1}], 1, False),
        (
            "a long Retry-After is beyond the deadline",
            IDEMPOTENT,
            [failing(429, retry_after="3600"), {"a": 1}],
            1,
            False,
        ),
        ("Retry-After 0 is honoured", IDEMPOTENT, [failing(429, retry_after="0"), {"a": 1}], 2, True),
    ],
)
async def test_retries(why: str, part: dict[str, Any], answers: list[Any], calls: int, ok: bool) -> None:
    async with (
        serving(in_turn(*answers)) as server,
        harness(stable_plan(spec_of(component(server.url, **part)))) as gate,
    ):
        response = await gate.run({})
        step = gate.spool.of("run")[0]["steps"][0]
    assert len(server.calls) == calls == len(step["attempts"]), why
    assert (response.status == 200) is ok
    assert [attempt["number"] for attempt in step["attempts"]] == list(range(1, calls + 1))
    assert len({call.headers["idempotency-key"] for call in server.calls}) == 1


async def test_invalid_output_is_repeated_when_declared() -> None:
    part = IDEMPOTENT | {
        "retry": IDEMPOTENT["retry"] | {"retryOn": ["InvalidOutput"]},
        "contract": {"output": STRING},
    }
    async with (
        serving(in_turn({"answer": 1}, {"answer": "x"})) as server,
        harness(stable_plan(spec_of(component(server.url, **part)))) as gate,
    ):
        assert (await gate.run({})).status == 200
        step = gate.spool.of("run")[0]["steps"][0]
    assert [attempt["failure"] for attempt in step["attempts"]] == ["InvalidOutput", None]


async def test_an_error_that_says_not_to_repeat_is_not_repeated() -> None:
    error = {"status": "error", "error": {"code": "Unavailable", "retryable": False}}
    async with (
        serving(lambda _: error) as server,
        harness(stable_plan(spec_of(component(server.url, protocol="Native", **IDEMPOTENT)))) as gate,
    ):
        await gate.run({})
    assert len(server.calls) == 1


async def test_the_retry_budget_bounds_an_outage() -> None:
    async with (
        serving(lambda _: status(503, {})) as server,
        harness(stable_plan(spec_of(component(server.url, **IDEMPOTENT)))) as gate,
    ):
        for _ in range(100):
            await gate.run({})
    # 100 calls, 10 % of them, and the start of 3 with a floor that trickles while the test runs.
    assert len(server.calls) <= 100 + 10 + 3 + 10


async def test_the_breaker_stops_calling_a_dead_destination() -> None:
    part: dict[str, Any] = {"circuitBreaker": {"failureRate": "0.5", "minCalls": 5, "openSeconds": 60}}
    async with (
        serving(lambda _: status(503, {})) as server,
        harness(stable_plan(spec_of(component(server.url, **part)))) as gate,
    ):
        responses = [await gate.run({}) for _ in range(10)]
        last = gate.spool.of("run")[-1]
    assert len(server.calls) == 5
    assert orjson.loads(responses[-1].body)["reason"] == "CircuitOpen"
    assert last["steps"][0]["attempts"] == []


async def test_an_impatient_caller_opens_no_circuit_for_others() -> None:
    async def slow(_: Any) -> int:
        await asyncio.sleep(0.05)
        return 1

    part: dict[str, Any] = {
        "circuitBreaker": {"failureRate": "0.1", "minCalls": 2, "openSeconds": 60},
        "timeoutMs": 20_000,
    }
    async with serving(slow) as server, harness(stable_plan(spec_of(component(server.url, **part)))) as gate:
        hasty = [await gate.run({}, deadline_ms=5) for _ in range(5)]
        patient = await gate.run({})
    assert ({response.status for response in hasty}, patient.status) == ({504}, 200)


async def test_a_slow_attempt_is_cut_at_its_timeout() -> None:
    never = asyncio.Event()
    async with serving(lambda _: never.wait()) as server:
        async with harness(stable_plan(spec_of(component(server.url, timeoutMs=50)))) as gate:
            response = await gate.run({})
            run = gate.spool.of("run")[0]
        never.set()
    assert (response.status, run["steps"][0]["attempts"][0]["failure"]) == (504, "Timeout")


async def test_a_step_is_not_started_when_the_deadline_is_over() -> None:
    over = asyncio.Event()
    part: dict[str, Any] = {"onFailure": {"type": "Skip"}}
    steps = [{"name": "one", "component": "agent"}, {"name": "two", "component": "agent"}]
    async with serving(lambda _: over.wait()) as server:
        spec = spec_of(component(server.url, **part), steps=steps, output={"x": "1"})
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({}, deadline_ms=1_000)
            run = gate.spool.of("run")[0]
        over.set()
    assert response.status == 200  # both steps may be skipped
    assert [step["fallback"]["reason"] for step in run["steps"]] == ["Timeout", "Deadline"]
    assert run["steps"][1]["attempts"] == []
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("sla", "asked", "seconds"),
    [({}, None, 30.0), ({"maxLatencyMs": 5_000}, None, 20.0), ({"maxLatencyMs": 5_000}, 10_000, 10.0)],
)
async def test_the_deadline_comes_from_the_caller_else_from_the_sla(
    sla: dict[str, int], asked: int | None, seconds: float
) -> None:
    async with (
        serving(lambda _: 1) as server,
        harness(stable_plan(spec_of(component(server.url), contract={"sla": sla}))) as gate,
    ):
        await gate.run({}, deadline_ms=asked)
    left = int(server.calls[0].headers["sluicegate-deadline-ms"])
    assert seconds * 1000 - 10_000 < left <= seconds * 1000


DEGRADED: list[tuple[str, dict[str, Any], str, int, Any]] = [
    ("Skip leaves the step out", {"type": "Skip"}, "Fallback", 200, {"answer": "none"}),
    ("Value answers instead", {"type": "Value", "value": {"x": 1}}, "Fallback", 200, {"answer": "1"}),
    ("Component stands in", {"type": "Component", "component": "spare"}, "Fallback", 200, {"answer": "7"}),
    ("Fail fails the run", {"type": "Fail"}, "Failed", 503, None),
    ("there is no other stable version", {"type": "StableVersion"}, "Failed", 503, None),
]


@pytest.mark.parametrize(("why", "rule", "outcome", "code", "answer"), DEGRADED)
async def test_degradation(why: str, rule: dict[str, Any], outcome: str, code: int, answer: Any) -> None:
    async with serving(lambda _: status(503, {})) as broken, serving(lambda _: {"x": 7}) as spare:
        spec = spec_of(
            component(broken.url, name="agent", onFailure=rule),
            component(spare.url, name="spare"),
            steps=[{"name": "one", "component": "agent"}],
            output={"answer": "has(steps.one) ? string(int(steps.one.x)) : 'none'"},
        )
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({})
            step = gate.spool.of("run")[0]["steps"][0]
    assert (response.status, step["outcome"]) == (code, outcome), why
    if code == 200:
        assert orjson.loads(response.body) == answer
        assert step["fallback"] == {"strategy": rule["type"], "reason": "Unavailable", "forced": False}


async def test_components_that_stand_in_for_each_other_do_not_go_in_circles() -> None:
    async with serving(lambda _: status(503, {})) as server:
        spec = spec_of(
            component(server.url, name="a", onFailure={"type": "Component", "component": "b"}),
            component(server.url, name="b", onFailure={"type": "Component", "component": "a"}),
            steps=[{"name": "one", "component": "a"}],
        )
        async with harness(stable_plan(spec)) as gate:
            assert (await gate.run({})).status == 503
    assert len(server.calls) == 2


async def test_a_broken_mapping_degrades_like_a_broken_component() -> None:
    part: dict[str, Any] = {"onFailure": {"type": "Value", "value": 3}}
    async with serving(lambda _: 1) as server:
        spec = spec_of(
            component(server.url, **part),
            steps=[{"name": "one", "component": "agent", "inputs": {"a": "input.missing"}}],
        )
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({})
            step = gate.spool.of("run")[0]["steps"][0]
    assert (orjson.loads(response.body), step["fallback"]["reason"], server.calls) == (3, "Expression", [])


async def test_the_candidate_falls_back_to_the_stable_version_when_it_says_so() -> None:
    async with serving(lambda _: status(500, {})) as new, serving(lambda _: {"answer": "old"}) as old:
        candidate = spec_of(component(new.url, onFailure={"type": "StableVersion"}), version="2")
        plan = rolling(spec_of(component(old.url)), candidate, TrafficMode.SPLIT)
        async with harness(plan) as gate:
            response = await gate.run({})
            run, observation = gate.spool.of("run")[0], gate.spool.of("obs")[0]
    assert orjson.loads(response.body) == {"answer": "old"}
    assert (run["arm"], run["revision"]) == ("candidate", "candidate")
    assert run["steps"][0]["fallback"] == {"strategy": "StableVersion", "reason": "Fault", "forced": False}
    assert observation["candidate"]["fallbacks"] == {"agent": 1.0}
    # Another request, perhaps to the same address: never under the key of the one that failed.
    keys = [server.calls[0].headers["idempotency-key"] for server in (new, old)]
    assert keys == [f"{run['run_id']}:agent:candidate", f"{run['run_id']}:agent:candidate:agent@1"]


async def test_a_candidate_that_fails_is_not_saved_silently_by_stable() -> None:
    async with serving(lambda _: status(500, {})) as new, serving(lambda _: {"answer": "old"}) as old:
        plan = rolling(
            spec_of(component(old.url)), spec_of(component(new.url), version="2"), TrafficMode.SPLIT
        )
        async with harness(plan) as gate:
            response = await gate.run({})
            observation = gate.spool.of("obs")[0]
    assert (response.status, old.calls) == (502, [])
    assert (observation["candidate"]["success"], observation["stable"]) == (0.0, None)
