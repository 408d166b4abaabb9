"""The end of the chain: business rules, then the static answer, in the very run that fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as configured
from hypothesis import strategies as st

from sluicegate.contracts.compiled import compile_workflow
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import RoutePlan, TrafficMode
from sluicegate.contracts.runs import ChainLink, Link, LinkOutcome, Trigger
from sluicegate.gateway.business import Asked, RuleSet, ask, escalation_of, response_of, rule_set_of
from sluicegate.gateway.plans import PlanBook
from sluicegate.lineage.watching import part_of
from tests.gateway.components import (
    Harness,
    component,
    harness,
    rolling,
    serving,
    spec_of,
    stable_plan,
    status,
)
from tests.gateway.rules import CONTRACT, guarded, rule_set


@dataclass
class Bot:
    """A service whose component fails when told so, under a clock of the test."""

    gate: Harness
    server: Any
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    fails: bool = True

    async def run(self, session: str = "a", **more: Any) -> tuple[int, Any, dict[str, str]]:
        response = await self.gate.run_whole({"session": session, "topic": "order"} | more)
        headers = {name.decode(): value.decode() for name, value in response.headers}
        return response.status, orjson.loads(response.body), headers

    async def statuses(self, number: int, session: str = "a") -> list[int]:
        return [(await self.run(session))[0] for _ in range(number)]

    @property
    def documents(self) -> list[dict[str, Any]]:
        return self.gate.spool.of("run")


@asynccontextmanager
async def bot(*, rules: tuple[Any, ...] = (), plan: Any = stable_plan, **more: Any) -> AsyncIterator[Bot]:
    found: Bot | None = None

    def answer(_: Any) -> Any:
        return status(500) if found is not None and found.fails else {"text": "from the workflow"}

    async with serving(answer) as server:
        made: RoutePlan = plan(guarded(server.url, **more), rule_sets=rules or (rule_set(),))
        async with harness(made) as gate:
            found = Bot(gate, server)
            gate.service.kernel = replace(gate.service.kernel, now=lambda: found.now)
            yield found


async def test_the_failure_that_is_one_too_many_gets_the_answer_of_a_rule_in_the_same_request() -> None:
    async with bot() as it:
        first, second = await it.run(), await it.run()
        document = it.documents[1]
    assert first[0] == 502
    assert second[:2] == (200, {"text": "we look for it"})
    assert second[2]["sluicegate-fallback"] == "business; rule=r-order; rule-set=care@1.2.0"
    assert second[2]["sluicegate-run-id"] == document["run_id"]
    business = document["business"]
    assert document["outcome"] == "Failed"  # of the evidence, it is what it was
    assert (business["trigger"], business["answered_by"], business["rule"]) == ("session", "Rules", "r-order")
    assert (business["rule_set"], business["version"], business["digest"]) == (
        "care",
        "1.2.0",
        rule_set().digest,
    )
    assert business["values"] == {"topic": "order", "age": None}
    assert [(link["link"], link["outcome"]) for link in business["chain"]] == [
        ("Component", "Failed"),
        ("Workflow", "Failed"),
        ("Rules", "Answered"),
    ]


async def test_while_it_is_on_nothing_is_called_and_other_sessions_are_served() -> None:
    async with bot() as it:
        await it.statuses(2)
        calls = len(it.server.calls)
        assert await it.statuses(3) == [200] * 3
        assert len(it.server.calls) == calls
        assert (await it.run("b"))[0] == 502
        diverted = it.documents[2]
    assert (diverted["outcome"], diverted["steps"], diverted["window_seconds"]) == ("Diverted", [], None)
    assert [link["outcome"] for link in diverted["business"]["chain"]] == ["Diverted", "Answered"]
    assert part_of(diverted | {"window_seconds": 60.0}) is None


async def test_a_probe_brings_the_workflow_back_and_the_user_of_a_failing_one_gets_the_rule() -> None:
    async with bot() as it:
        await it.statuses(2)
        it.now += timedelta(seconds=5)
        assert (await it.run())[:2] == (200, {"text": "we look for it"})
        probe = it.documents[-1]
        it.fails = False
        assert (await it.run())[1] == {"text": "we look for it"}  # too early for another
        it.now += timedelta(seconds=5)
        back = [(await it.run())[1]["text"] for _ in range(2)]
    assert (probe["outcome"], probe["business"]["probe"], len(probe["steps"])) == ("Failed", True, 1)
    assert back == ["from the workflow"] * 2


async def test_callers_without_a_session_are_one() -> None:
    async with bot(routing=None) as it:
        assert [(await it.run(str(number)))[0] for number in range(3)] == [502, 200, 200]


async def test_inputs_that_break_the_contract_do_not_count() -> None:
    contract = {
        "input": {"required": ["topic"], "properties": {"topic": {"type": "string"}}},
        "output": CONTRACT,
    }
    async with bot(contract=contract) as it:
        await it.run()
        assert [(await it.run(topic=1))[0] for _ in range(3)] == [422] * 3
        assert (await it.run())[0] == 200


async def test_a_caller_in_haste_does_not_count_against_the_workflow() -> None:
    async def never(_: Any) -> Any:
        import asyncio

        await asyncio.sleep(30)

    async with (
        serving(never) as server,
        harness(stable_plan(guarded(server.url), rule_sets=(rule_set(),))) as gate,
    ):
        value = {"session": "a", "topic": "order"}
        assert [(await gate.run(value, deadline_ms=20)).status for _ in range(3)] == [504] * 3


async def test_the_window_answers_everybody_and_says_so() -> None:
    async with bot(fallback={"window": {"failures": 3, "failureRate": "0.5", "seconds": 60}}) as it:
        assert [(await it.run(str(number)))[0] for number in range(4)] == [502, 502, 200, 200]
        assert it.documents[-1]["business"]["trigger"] == "workflow"


async def test_where_no_rule_answers_the_static_answer_does_with_its_hand_off() -> None:
    static = {"value": {"text": "later"}, "handOff": "客服会联系您"}
    async with bot(fallback={"staticAnswer": static}) as it:
        await it.run()
        answered = [await it.run(topic=topic) for topic in ("unheard of", "odd")]
        documents = it.documents[1:]
    for code, body, headers in answered:
        assert (code, body, headers["sluicegate-fallback"]) == (200, {"text": "later"}, "static")
        assert headers["sluicegate-hand-off"] == "%E5%AE%A2%E6%9C%8D%E4%BC%9A%E8%81%94%E7%B3%BB%E6%82%A8"
    outcomes = [[link["outcome"] for link in document["business"]["chain"]][-2:] for document in documents]
    assert outcomes == [
        ["NoRule", "Answered"],
        ["Invalid", "Answered"],
    ]  # r-odd breaks the workflow's contract


async def test_without_any_answer_the_error_stays_and_the_workflow_is_tried_each_time() -> None:
    async with bot() as it:
        assert [(await it.run(topic="unheard of"))[0] for _ in range(4)] == [502] * 4
        assert len(it.server.calls) == 4
        assert [document["business"] is None for document in it.documents] == [True, False, False, False]
        assert it.documents[-1]["business"]["answered_by"] is None


async def test_a_rule_set_that_is_not_there_leaves_the_static_answer_or_the_error() -> None:
    other = replace(rule_set(), name="another")
    async with bot(rules=(other,)) as it:
        assert await it.statuses(3) == [502] * 3
    async with bot(rules=(other,), fallback={"staticAnswer": {"value": {"text": "later"}}}) as it:
        assert await it.statuses(3) == [502, 200, 200]
        assert it.documents[1]["business"]["chain"][2]["outcome"] == "Absent"


async def test_what_is_hidden_in_records_is_hidden_in_what_the_rules_saw_and_said() -> None:
    async with bot(lineage={"redact": ["input.age", "output.text"]}) as it:
        await it.run(age=42), await it.run(age=42)
        business = it.documents[1]["business"]
    assert business["values"] == {"topic": "order", "age": "[redacted]"}
    assert business["answer"] == {"text": "[redacted]"}


async def test_bodies_that_are_not_kept_take_the_rules_values_with_them() -> None:
    async with bot(lineage={"sampleBodies": {"numerator": 0, "denominator": 1}}) as it:
        await it.statuses(2)
        business = it.documents[1]["business"]
    assert (business["values"], business["answer"], business["rule"]) == ({}, None, "r-order")


async def test_only_the_serving_arm_counts_and_its_evidence_says_that_it_failed() -> None:
    async with serving(lambda _: {"text": "stable"}) as good, serving(lambda _: status(500)) as bad:
        stable, candidate = guarded(good.url, version="1"), guarded(bad.url, version="2")
        mirrored = rolling(stable, candidate, TrafficMode.MIRROR, rule_sets=(rule_set(),))
        async with harness(mirrored) as gate:
            for _ in range(4):
                assert (await gate.run_whole({"session": "a", "topic": "order"})).status == 200
            runs = [run for run in gate.spool.of("run") if run["arm"] == "candidate"]
        assert len(runs) == 4
        assert all(run["business"] is None and run["outcome"] == "Failed" for run in runs)
        async with harness(replace(mirrored, mode=TrafficMode.SPLIT)) as gate:
            codes = [(await gate.run_whole({"session": "a", "topic": "order"})).status for _ in range(4)]
            facts = [item["candidate"]["success"] for item in gate.spool.of("obs")]
    assert codes == [502, 200, 200, 200]
    assert facts == [0.0] * 4  # a candidate is never diverted: the answers of the rules are no success of it


async def test_another_revision_begins_with_a_clean_slate() -> None:
    async with bot() as it:
        await it.statuses(3)
        following = guarded(it.server.url, version="2")
        it.gate.book.update([stable_plan(following, version=3, rule_sets=(rule_set(),))])
        assert await it.statuses(2) == [502, 200]


def test_a_rule_set_that_cannot_be_used_leaves_the_last_good_one_and_is_told() -> None:
    spec = guarded("http://127.0.0.1:9/")
    book = PlanBook()
    book.update([stable_plan(spec, rule_sets=(rule_set(),))])
    spoilt = replace(rule_set(), version="2", spec=rule_set().spec | {"columns": []})
    served = book.update([stable_plan(spec, version=2, rule_sets=(spoilt,))])
    (live,) = book.by_key.values()
    assert (list(served.values()), live.plan.version, book.broken) == ([2], 2, ())
    assert live.rules["care"].body.version == "1.2.0"
    assert [name for _, name in book.spoilt] == ["care"]
    book.update([stable_plan(spec, version=3, rule_sets=(rule_set(version="3"),))])
    (live,) = book.by_key.values()
    assert (live.rules["care"].body.version, book.spoilt) == ("3", {})


ANSWERS = st.sampled_from(({"text": "yes"}, {"text": 1}, {}, "text", [], 7, {"text": "no", "more": 1}))


@given(ANSWERS, ANSWERS, ANSWERS, st.sampled_from(("order", "refund", "strange", None)), st.booleans())
@configured(suppress_health_check=[HealthCheck.differing_executors])
def test_every_answer_that_goes_out_keeps_the_output_contract(
    rule: Any, default: Any, static: Any, topic: Any, has_static: bool
) -> None:
    """Against the compiled workflow's own check."""
    spec = WorkflowSpec.model_validate(
        guarded("http://a/", fallback={"staticAnswer": {"value": static}} if has_static else {})
    )
    rules = rule_set(
        rules=[{"id": "r", "when": {"topic": {"oneOf": ["order"]}}, "answer": rule}], default=default
    )
    made, escalation = rule_set_of(rules), escalation_of(spec, "a/b/c")
    assert isinstance(made, RuleSet)
    assert escalation is not None
    before = (ChainLink(link=Link.WORKFLOW, outcome=LinkOutcome.FAILED),)
    asked = Asked(
        trigger=Trigger.SESSION, context={"input": {"topic": topic}, "steps": {}, "run": {}}, chain=before
    )
    answer = ask(escalation, made, asked, None)
    fits = compile_workflow(spec).output.is_valid
    if answer.answered_by is None:
        assert not (has_static and fits(static))
        assert answer.chain[-1].outcome is not LinkOutcome.ANSWERED
        return
    response = response_of(answer, [])
    assert (response.status, fits(orjson.loads(response.body))) == (200, True)
    assert [link.outcome for link in answer.chain].count(LinkOutcome.ANSWERED) == 1


@pytest.mark.parametrize(
    ("items", "answer", "code", "wanted", "told"),
    [
        ([], {"text": 1}, 502, None, ["Type steps.agent/text Fail"]),
        ([{"field": "output.text", "policy": "Map", "value": "?"}], {"text": 1}, 200, {"text": "?"}, ["Type steps.agent/text Map"]),
        ([{"field": "output.more", "policy": "Redact"}], {"text": "a", "more": 1}, 200, {"text": "a"}, ["AdditionalProperties steps.agent Redact"]),
        ([{"field": "output.text", "policy": "Warn"}], {"text": 1}, 200, {"text": 1}, ["Type steps.agent/text Warn"]),
    ],
)  # fmt: skip
async def test_a_field_that_breaks_its_contract_is_an_event_of_the_run(
    items: list[Any], answer: Any, code: int, wanted: Any, told: list[str]
) -> None:
    contract = {"output": CONTRACT | {"additionalProperties": False}, "enforcement": items}
    async with serving(lambda _: answer) as server:
        spec = spec_of(component(server.url, contract=contract))
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.SPLIT)) as gate:
            response = await gate.run_whole({})
            (run,) = gate.spool.of("run")
            (facts,) = [item["candidate"] for item in gate.spool.of("obs")]
    assert response.status == code
    assert wanted is None or orjson.loads(response.body) == wanted
    (step,) = run["steps"]
    assert [f"{one['code']} {one['path']} {one['policy']}" for one in step["violations"]] == told
    counted = [text.rpartition(" ")[0] for text in told if not text.endswith(" Map")]
    assert facts["violations"] == counted  # what is mapped was declared, and harmless
    assert facts["violated"] == float(bool(counted))
    assert wanted is None or step["response"] == wanted


async def test_the_callers_input_is_mended_as_the_contract_says_and_told_in_the_document() -> None:
    contract = {
        "input": {"properties": {"phone": {"pattern": "^[0-9]+$"}, "age": {"type": "integer"}}},
        "enforcement": [{"field": "input.phone", "policy": "Redact"}],
    }
    async with serving(lambda body: body) as server:
        spec = spec_of(component(server.url), contract=contract)
        async with harness(rolling(spec, spec | {"version": "2"}, TrafficMode.SPLIT)) as gate:
            mended = await gate.run_whole({"phone": "none", "age": 3})
            refused = await gate.run_whole({"phone": "none", "age": "x"})
            first, second = gate.spool.of("run")
            (facts,) = [item["candidate"] for item in gate.spool.of("obs")]
    assert (mended.status, orjson.loads(mended.body)) == (200, {"age": 3})
    assert [(one["path"], one["policy"]) for one in first["violations"]] == [("input/phone", "Redact")]
    assert facts["violated"] == 0.0  # what the caller sent says nothing of an arm
    assert (refused.status, second["outcome"]) == (422, "Rejected")
    assert [one["path"] for one in orjson.loads(refused.body)["problems"]] == ["input/age"]


async def test_the_answer_is_mended_as_the_workflows_contract_says() -> None:
    contract = {
        "output": CONTRACT,
        "enforcement": [{"field": "output.text", "policy": "Map", "value": "nothing"}],
    }
    async with (
        serving(lambda _: {}) as server,
        harness(stable_plan(spec_of(component(server.url), contract=contract))) as gate,
    ):
        response = await gate.run({})
        (run,) = gate.spool.of("run")
    assert (response.status, orjson.loads(response.body)) == (200, {"text": "nothing"})
    assert [(one["code"], one["policy"]) for one in run["violations"]] == [("Required", "Map")]
