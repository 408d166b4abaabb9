"""One run: conditions, mappings, contracts, rewards, records."""

import asyncio
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


async def test_the_answer_names_the_components_that_fell_back_and_only_then() -> None:
    down = component("http://127.0.0.1:9/", name="memory", onFailure={"type": "Skip"})
    steps = [{"name": "remember", "component": "memory"}, {"name": "act", "component": "agent"}]
    async with serving(lambda _: 1) as server:
        whole = component(server.url)
        async with harness(stable_plan(spec_of(down, whole, steps=steps))) as gate:
            degraded = dict((await gate.run({})).headers)
        async with harness(stable_plan(spec_of(whole))) as gate:
            healthy = dict((await gate.run({})).headers)
    assert degraded[b"sluicegate-fallback"] == b"memory"
    assert b"sluicegate-fallback" not in healthy


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
    steps = [{"name": "agent", "component": "agent"}]
    async with (
        serving(lambda _: {}) as server,
        harness(stable_plan(spec_of(component(server.url, **fault), steps=steps))) as gate,
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
