"""One run: conditions, mappings, contracts, retries, deadlines, degradation, rewards, records."""

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
    revision,
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


async def test_steps_see_what_came_before_and_skipped_ones_are_absent() -> None:
    async with (
        serving(lambda body: {"intent": body["user"], "n": 2}) as plan,
        serving(lambda body: body) as echo,
    ):
        spec = spec_of(
            component(plan.url, name="planner"),
            component(echo.url, name="writer"),
            steps=[
                {"name": "plan", "component": "planner", "inputs": {"user": "input.q"}},
                {"name": "never", "component": "writer", "when": "steps.plan.n > 5"},
                {
                    "name": "answer",
                    "component": "writer",
                    "when": "steps.plan.n > 1",
                    "inputs": {
                        "intent": "steps.plan.intent",
                        "extra": "has(steps.never) ? 'yes' : 'no'",
                        "id": "run.id",
                    },
                },
            ],
            output={"text": "steps.answer.intent", "extra": "steps.answer.extra"},
        )
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({"q": "hi"})
            run = gate.spool.of("run")[0]
    assert (response.status, orjson.loads(response.body)) == (200, {"text": "hi", "extra": "no"})
    assert [step["outcome"] for step in run["steps"]] == ["Ok", "Skipped", "Ok"]
    assert run["steps"][2]["request"]["id"] == run["run_id"]
    assert len(echo.calls) == 1


async def test_the_answer_names_the_run_the_revision_and_the_version() -> None:
    async with (
        serving(lambda _: 1) as server,
        harness(stable_plan(spec_of(component(server.url), version="2.3"))) as gate,
    ):
        response = await gate.run({})
        headers = dict(response.headers)
        run = gate.spool.of("run")[0]
    assert headers[b"sluicegate-run-id"].decode() == run["run_id"]
    assert (headers[b"sluicegate-revision"], headers[b"sluicegate-version"]) == (b"bot-2.3", b"2.3")
    assert headers[b"traceparent"].decode().split("-")[1] == run["run_id"].replace("-", "") == run["trace_id"]


async def test_an_input_that_breaks_the_contract_is_rejected_with_every_problem() -> None:
    contract = {"input": {"type": "object", "required": ["a", "b"], "properties": {"c": {"type": "integer"}}}}
    async with (
        serving(lambda _: 1) as server,
        harness(stable_plan(spec_of(component(server.url), contract=contract))) as gate,
    ):
        response = await gate.run({"c": "x"})
        runs = gate.spool.of("run")
    body = orjson.loads(response.body)
    assert response.status == 422
    assert {item["path"] for item in body["problems"]} == {"input/a", "input/b", "input/c"}
    assert (runs[0]["outcome"], runs[0]["run_id"], runs[0]["steps"]) == ("Rejected", body["runId"], [])
    assert gate.spool.of("obs") == []
    assert server.calls == []


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b'{"a":' * 70 + b"1" + b"}" * 70, b'"\xff"'])
async def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    from sluicegate.gateway.serving import Incoming

    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:
        live = next(iter(gate.book.by_path.values()))
        response, after = await gate.service.serve(live, Incoming(body))
    assert (response.status, after) == (400, None)


@pytest.mark.parametrize(
    ("fault", "failure", "code"),
    [
        ({"contract": {"input": {"type": "object", "required": ["zzz"]}}}, "InvalidInput", 500),
        ({"contract": {"output": {"type": "object", "required": ["zzz"]}}}, "InvalidOutput", 502),
    ],
)
async def test_a_component_contract_is_checked_on_both_sides(
    fault: dict[str, Any], failure: str, code: int
) -> None:
    async with (
        serving(lambda _: {}) as server,
        harness(stable_plan(spec_of(component(server.url, **fault)))) as gate,
    ):
        response = await gate.run({})
        run = gate.spool.of("run")[0]
    body = orjson.loads(response.body)
    assert (response.status, body["reason"], body["runId"]) == (code, failure, run["run_id"])
    assert run["outcome"] == "Failed"
    assert run["steps"][0]["violations"][0]["code"] == "Required"
    assert len(server.calls) == (failure == "InvalidOutput")


async def test_an_answer_that_breaks_the_workflow_contract_never_reaches_the_user() -> None:
    async with (
        serving(lambda _: {"answer": 5}) as server,
        harness(stable_plan(spec_of(component(server.url), contract={"output": STRING}))) as gate,
    ):
        response = await gate.run({})
        run = gate.spool.of("run")[0]
    body = orjson.loads(response.body)
    assert (response.status, body["problems"][0]["path"]) == (502, "output/answer")
    assert (run["outcome"], run["output"]) == ("Failed", {"answer": 5})


async def test_what_a_component_said_in_its_error_stays_in_the_record() -> None:
    async with (
        serving(lambda _: status(500, "stack trace of a secret place")) as server,
        harness(stable_plan(spec_of(component(server.url)))) as gate,
    ):
        response = await gate.run({})
        run = gate.spool.of("run")[0]
    assert b"secret" not in response.body
    assert "secret" in run["error"]


async def test_semantic_domains_map_aliases_and_refuse_unknown_values() -> None:
    domain = {
        "field": "steps.agent.answer",
        "values": [{"value": "refund", "aliases": ["money back"]}, {"value": "other"}],
    }
    async with (
        serving(lambda body: {"answer": body["say"]}) as server,
        harness(stable_plan(spec_of(component(server.url), contract={"semantics": [domain]}))) as gate,
    ):
        known, unknown = await gate.run({"say": "Money back"}), await gate.run({"say": "surprise"})
        run = gate.spool.of("run")[1]
    assert orjson.loads(known.body) == {"answer": "refund"}
    assert unknown.status == 502
    assert run["steps"][0]["violations"][0]["code"] == "UnknownValue"


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
    async def slow(_: Any) -> int:
        await asyncio.sleep(0.2)
        return 1

    part: dict[str, Any] = {"onFailure": {"type": "Skip"}}
    steps = [{"name": "one", "component": "agent"}, {"name": "two", "component": "agent"}]
    async with serving(slow) as server:
        spec = spec_of(component(server.url, **part), steps=steps, output={"x": "1"})
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({}, deadline_ms=100)
            run = gate.spool.of("run")[0]
    assert response.status == 200  # both steps may be skipped
    assert [step["fallback"]["reason"] for step in run["steps"]] == ["Timeout", "Deadline"]
    assert run["steps"][1]["attempts"] == []
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("sla", "asked", "seconds"),
    [({}, None, 30.0), ({"maxLatencyMs": 500}, None, 2.0), ({"maxLatencyMs": 500}, 250, 0.25)],
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
    assert seconds * 1000 - 200 < left <= seconds * 1000


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


async def test_a_split_run_is_evidence_of_its_arm_written_with_its_record() -> None:
    async with serving(lambda _: 1) as server:
        spec = spec_of(component(server.url), routing={"key": "input.session"})
        plan = rolling(spec, spec_of(component(server.url), version="2"), TrafficMode.SPLIT)
        async with harness(plan) as gate:
            await gate.run({"session": "s1"})
            run, observation = gate.spool.lines
    assert (run["t"], observation["t"]) == ("run", "obs")
    assert observation["key"] == ["uid-1", "Controlled", 1]
    assert observation["unit"] == run["unit"] != "s1"
    assert (observation["session"], observation["window_seconds"]) == (True, 60.0)
    assert observation["candidate"]["latencies_ms"] == [run["latency_ms"]]
    assert (run["rollout"], run["stage"], run["attempt"], run["probability"]) == (
        "uid-1",
        "Controlled",
        1,
        1.0,
    )


async def test_routing_by_header_and_by_nothing() -> None:
    async with serving(lambda _: 1) as server:
        plan = stable_plan(spec_of(component(server.url), routing={"key": 'headers["x-user"]'}))
        async with harness(plan) as gate:
            for user in ({"x-user": "u"}, {"x-user": "u"}, {}):
                await gate.run({}, headers=lambda user=user: user)
            one, two, none = (run["unit"] for run in gate.spool.of("run"))
            assert one == two
            assert none == gate.spool.of("run")[2]["run_id"]


JUDGED: dict[str, Any] = {
    "steps": [
        {"name": "answer", "component": "agent"},
        {"name": "judge", "component": "judge", "phase": "AfterAnswer", "inputs": {"of": "steps.answer"}},
    ],
    "reward": "steps.judge.reward",
}


async def test_the_user_does_not_wait_for_steps_after_the_answer() -> None:
    may_judge = asyncio.Event()

    async def judge(_: Any) -> Any:
        await may_judge.wait()
        return {"reward": 0.25}

    async with serving(lambda _: "a") as agent, serving(judge) as evaluator:
        spec = spec_of(component(agent.url), component(evaluator.url, name="judge"), **JUDGED)
        plan = rolling(spec, spec | {"version": "2"}, TrafficMode.SPLIT)
        async with harness(plan) as gate:
            response = await gate.run({})
            assert (response.status, orjson.loads(response.body)) == (200, "a")
            assert [line["t"] for line in gate.spool.lines] == ["run"]
            may_judge.set()
            await gate.settled()
            run, after, observation = gate.spool.lines
    assert (after["t"], after["run_id"], after["arm"]) == ("after", run["run_id"], "candidate")
    assert (after["reward"], after["reward_source"], after["steps"][0]["name"]) == (
        0.25,
        "Evaluator",
        "judge",
    )
    assert (observation["candidate"]["reward"], observation["expects_reward"]) == (0.25, False)


async def test_a_judge_that_fails_leaves_the_answer_good_and_the_reward_expected() -> None:
    async with serving(lambda _: "a") as agent, serving(lambda _: status(500, {})) as evaluator:
        spec = spec_of(component(agent.url), component(evaluator.url, name="judge"), **JUDGED)
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.SPLIT)) as gate:
            await gate.run_whole({})
            observation = gate.spool.of("obs")[0]
    assert (observation["candidate"]["success"], observation["candidate"]["reward"]) == (1.0, None)
    assert observation["expects_reward"] is True


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.5, 1.5, -1, True, "1", None])
async def test_a_reward_lies_between_zero_and_one_or_is_none(reward: Any) -> None:
    async with serving(lambda _: {"r": reward}) as server:
        spec = spec_of(component(server.url), reward="steps.agent.r")
        async with harness(stable_plan(spec)) as gate:
            await gate.run({})
            run = gate.spool.of("run")[0]
    is_good = reward in (0.0, 1.0, 0.5) and not isinstance(reward, bool)
    assert run["reward"] == (reward if is_good else None)


async def test_personal_data_is_taken_out_before_anything_is_written() -> None:
    async with serving(lambda body: {"said": f"call {body['phone']}"}) as server:
        spec = spec_of(component(server.url), lineage={"redact": ["input.phone"]})
        async with harness(stable_plan(spec)) as gate:
            response = await gate.run({"phone": "0171-555-0199"})
    assert b"0171-555-0199" in response.body
    assert "0171-555-0199" not in repr(gate.spool.lines)


async def test_bodies_are_kept_for_the_declared_share_of_runs() -> None:
    async with serving(lambda _: {"a": 1}) as server:
        lineage = {"sampleBodies": {"numerator": 1, "denominator": 2}}
        async with harness(stable_plan(spec_of(component(server.url), lineage=lineage))) as gate:
            for _ in range(100):
                await gate.run({"q": 1})
            kept = [run["bodies"] for run in gate.spool.of("run")]
            bodies = {run["bodies"]: run["input"] for run in gate.spool.of("run")}
    assert 20 < kept.count("Sampled") < 80
    assert bodies == {"Kept": {"q": 1}, "Sampled": None}


async def test_two_namespaces_do_not_meet() -> None:
    async with serving(lambda _: "one") as one, serving(lambda _: "two") as two:
        plans = [
            stable_plan(spec_of(component(one.url))),
            stable_plan(
                spec_of(component(two.url)), namespace="shop", stable=revision(spec_of(component(two.url)))
            ),
        ]
        async with harness(*plans) as gate:
            assert len(gate.book.by_path) == 3
            assert gate.book.by_path["/v1/workflows/bot/runs"].plan.namespace == "default"
            assert gate.book.by_path["/v1/namespaces/shop/workflows/bot/runs"].plan.namespace == "shop"
