"""Rehearsals of the rules: a share of the runs of an open drill, written down, and no user's answer touched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.routes import DrillBody, RoutePlan, Share, TrafficMode
from sluicegate.contracts.schedules import Schedule
from sluicegate.gateway.drills import Drills, drills_of
from sluicegate.gateway.plan_json import plan_from_json, plan_to_json
from sluicegate.gateway.plans import PlanBook
from sluicegate.lineage.watching import part_of
from tests.gateway.components import rolling, stable_plan
from tests.gateway.rules import guarded, rule_set
from tests.gateway.test_business import Bot, bot

MONTHLY = Schedule(cron="0 9 1 * *", time_zone="Etc/UTC", seconds=3600)
OPENS = datetime(2026, 12, 1, 9, tzinfo=UTC)
ALL = DrillBody(schedule=MONTHLY, share=Share(1, 1))
FORMULA: dict[str, Any] = {
    "rules": [{"id": "r-all", "answerFrom": {"text": "'your topic is ' + topic"}}],
    "default": {"text": "call us"},
}


@asynccontextmanager
async def drilled(body: DrillBody = ALL, **more: Any) -> AsyncIterator[Bot]:
    """A bot that works, a minute after its drill began."""

    def plan(spec: dict[str, Any], **values: Any) -> RoutePlan:
        return stable_plan(spec, drill=body, **values)

    async with bot(plan=plan, **more) as it:
        it.fails, it.now = False, OPENS + timedelta(minutes=1)
        yield it


def rehearsals(it: Bot) -> list[tuple[str, Any]]:
    """Who answered, and the rule, of each run that was rehearsed."""
    found = (one["business"] for one in it.documents)
    return [
        (one["answered_by"], one["rule"]) for one in found if one is not None and one["trigger"] == "drill"
    ]


async def test_a_mirrored_drill_writes_down_what_the_rules_would_have_said_and_changes_nothing_else() -> None:
    async with drilled() as it, bot() as plain:
        plain.fails, plain.now = False, it.now
        (code, body, headers), undrilled = await it.run(), await plain.run()
        (document,), (other,) = it.documents, plain.documents
    assert (code, body) == (200, {"text": "from the workflow"}) == undrilled[:2]
    assert headers.keys() == undrilled[2].keys()
    business = document.pop("business")
    assert (business["trigger"], business["answered_by"], business["rule"]) == ("drill", "Rules", "r-order")
    assert (business["rule_set"], business["version"], business["answer"]) == (
        "care",
        "1.2.0",
        {"text": "we look for it"},
    )
    assert [(link["link"], link["outcome"]) for link in business["chain"]] == [("Rules", "Answered")]
    own = {"run_id", "trace_id", "unit", "latency_ms", "steps", "components", "lineage_digest", "input_hash"}
    assert {key: value for key, value in document.items() if key not in own} == {
        key: value for key, value in other.items() if key not in own and key != "business"
    }


async def test_a_run_outside_of_a_drill_is_not_rehearsed() -> None:
    async with drilled() as it:
        for at in (OPENS - timedelta(seconds=1), OPENS + timedelta(hours=1)):
            it.now = at
            await it.run()
        it.now = OPENS
        await it.run()
    assert [one["business"] is not None for one in it.documents] == [False, False, True]


async def test_a_share_is_taken_by_the_hash_of_the_run_and_each_drill_takes_others() -> None:
    drills = Drills(stable_plan(guarded("http://127.0.0.1:9")), replace(ALL, share=Share(1, 100)))
    runs = [f"run-{number}" for number in range(20_000)]
    taken = {run for run in runs if drills.takes(run, OPENS)}
    # Binomial(20000, 0.01): mean 200, standard deviation 14.07; five of them on both sides.
    assert 130 <= len(taken) <= 270
    assert taken == {run for run in runs if drills.takes(run, OPENS + timedelta(minutes=59))}
    later = {run for run in runs if drills.takes(run, datetime(2027, 1, 1, 9, tzinfo=UTC))}
    assert len(taken & later) <= 15  # independent: 2 are expected, Poisson


@given(st.lists(st.integers(-200, 200), min_size=1, max_size=20))
def test_whatever_the_clock_does_a_drill_is_open_when_the_schedule_says_so(minutes: list[int]) -> None:
    drills = Drills(stable_plan(guarded("http://127.0.0.1:9")), ALL)
    for minute in minutes:
        at = OPENS + timedelta(minutes=minute)
        assert drills.takes("any", at) is (0 <= minute < 60)


async def test_a_drill_that_is_not_mirrored_answers_the_user_and_says_so() -> None:
    async with drilled(replace(ALL, mirrored=False)) as it:
        code, body, headers = await it.run()
        (document,), calls = it.documents, len(it.server.calls)
    assert (code, body, calls) == (200, {"text": "we look for it"}, 0)
    assert headers["sluicegate-fallback"] == "business; rule=r-order; rule-set=care@1.2.0; drill"
    assert (document["outcome"], document["business"]["trigger"]) == ("Diverted", "drill")
    assert part_of(document | {"window_seconds": 60.0}) is None  # says nothing of the version


@pytest.mark.parametrize("mirrored", [True, False])
async def test_a_rule_without_a_valid_answer_fails_the_drill_and_costs_nobody_anything(
    mirrored: bool,
) -> None:
    static = {"staticAnswer": {"value": {"text": "later"}}}
    async with drilled(replace(ALL, mirrored=mirrored), fallback=static) as it:
        answers = [await it.run(topic="odd"), await it.run(topic="never heard of")]
        chains = [
            [(link["link"], link["outcome"]) for link in one["business"]["chain"]] for one in it.documents
        ]
    assert [answer[1] for answer in answers] == [{"text": "from the workflow"}] * 2
    assert rehearsals(it) == [("Static", None)] * 2
    assert chains == [
        [("Rules", "Invalid"), ("Static", "Answered")],  # breaks the workflow's output contract
        [("Rules", "NoRule"), ("Static", "Answered")],
    ]


async def test_answers_are_held_to_the_contract_of_the_rule_set_too() -> None:
    lawful = {"type": "object", "properties": {"text": {"maxLength": 9}}}
    rules = FORMULA | {"contract": lawful}
    async with drilled(rules=(rule_set(**rules),)) as it:
        await it.run()
    (link, *_) = it.documents[0]["business"]["chain"]
    assert (link["link"], link["outcome"]) == ("Rules", "Invalid")
    assert "breaks the contract" in link["message"]


async def test_a_rule_set_that_is_not_there_fails_the_drill() -> None:
    def plan(spec: dict[str, Any], **_: Any) -> RoutePlan:
        return stable_plan(spec, drill=ALL)

    async with bot(plan=plan) as it:
        it.fails, it.now = False, OPENS
        assert (await it.run())[0] == 200
    (link,) = it.documents[0]["business"]["chain"]
    assert (link["link"], link["outcome"]) == ("Rules", "Absent")


async def test_real_failures_are_answered_and_counted_as_ever_and_nothing_is_rehearsed_meanwhile() -> None:
    async with drilled() as it:
        it.fails = True
        assert await it.statuses(2) == [502, 200]
        assert (await it.run())[0] == 200
        it.fails = False
    triggers = [one["business"]["trigger"] for one in it.documents]
    assert triggers == ["drill", "session", "session"]  # the first failure is none too many: it was rehearsed
    assert [one["outcome"] for one in it.documents] == ["Failed", "Failed", "Diverted"]


async def test_drills_do_not_count_as_failures_or_successes() -> None:
    short = replace(ALL, mirrored=False, schedule=replace(MONTHLY, seconds=600))
    async with drilled(short) as it:
        it.fails, it.now = True, OPENS - timedelta(minutes=1)
        await it.run()
        it.now = OPENS
        assert [(await it.run())[0] for _ in range(3)] == [200] * 3
        before = len(it.documents)
        it.now = OPENS + timedelta(minutes=10)
        assert (await it.run())[1] == {"text": "we look for it"}, "the second failure in a row of the session"
    assert it.documents[before]["business"]["trigger"] == "session"


async def test_a_run_that_is_evidence_of_a_rollout_is_never_taken_from_it() -> None:
    def plan(spec: dict[str, Any], **values: Any) -> RoutePlan:
        body = replace(ALL, mirrored=False)
        return rolling(
            spec, spec | {"version": "2"}, TrafficMode.SPLIT, share=Share(1, 2), drill=body, **values
        )

    async with bot(plan=plan) as it:
        it.fails, it.now = False, OPENS
        answers = [(await it.run(f"session-{number}"))[1] for number in range(12)]
    assert answers == [{"text": "from the workflow"}] * 12
    assert {one["arm"] for one in it.documents} == {"stable", "candidate"}
    assert rehearsals(it) == [("Rules", "r-order")] * 12
    assert len(it.gate.spool.of("obs")) == 12


def test_a_plan_with_a_drill_goes_through_the_plan_table_and_one_without_looks_as_before() -> None:
    spec = guarded("http://127.0.0.1:9")
    for plan in (stable_plan(spec, drill=ALL), stable_plan(spec)):
        data = orjson.loads(orjson.dumps(plan_to_json(plan)))
        assert plan_from_json(data, None) == plan
        assert ("drill" in data) is (plan.drill is not None)


def test_a_schedule_that_is_none_here_ends_the_drill_and_nothing_else() -> None:
    book = PlanBook()
    bad = replace(ALL, schedule=replace(MONTHLY, time_zone="Nowhere/Land"))
    plan = stable_plan(guarded("http://127.0.0.1:9"), rule_sets=(rule_set(),), drill=bad)
    assert list(book.update((plan,)).values()) == [plan.version]
    ((live,), ((key, why),)) = book.by_key.values(), book.spoilt.items()
    assert (live.drills, key[1]) == (None, "(drill)")
    assert "drill.timeZone: is no time zone" in why
    assert drills_of(plan) == (None, why)


async def test_a_failing_run_is_rehearsed_and_stays_a_failure() -> None:
    async with drilled() as it:
        it.fails = True
        assert (await it.run())[0] == 502
    assert rehearsals(it) == [("Rules", "r-order")]
    assert it.documents[0]["outcome"] == "Failed"
