"""Rule sets on their way to the gateways: proved by the control loop, part of the plan, never a reason to stop."""

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import structlog.testing

from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.loop.controller import Controller, Pace
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import Gatherer
from sluicegate.operator.loop.users import Users
from sluicegate.operator.ports import Json
from sluicegate.rollout import fallbacks, rule_sets
from sluicegate.rollout.model import Ref
from tests.gateway.components import stable_plan
from tests.gateway.rules import TABLE, guarded
from tests.gateway.rules import rule_set as body
from tests.operator.samples import decision, staged
from tests.operator.world import World

BOT = Ref("AgentWorkflow", "default", "echo")
CARE = Ref("FallbackRuleSet", "default", "care")
GOOD: dict[str, Any] = TABLE | {"rules": TABLE["rules"][:1]}


def rule_set(**spec: Any) -> Json:
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "FallbackRuleSet",
        "metadata": {"name": "care", "namespace": "default"},
        "spec": GOOD | spec,
    }


async def change(world: World, **spec: Any) -> None:
    """As a person would apply it, whatever the loop writes meanwhile."""
    await world.memory.update(rule_set(**spec))


async def looked(world: World) -> tuple[list[str], tuple[str, str], int]:
    """Versions of the plan's rule sets, the condition, and the plan's version, after a few looks."""
    for _ in range(3):
        await world.round()
    plan = world.gateways.plans[("default", "echo")]
    workflow = await world.memory.get(BOT)
    (found,) = [one for one in workflow["status"]["conditions"] if one["type"] == "FallbackReady"]
    return [one.version for one in plan.rule_sets], (found["status"], found["reason"]), plan.version


async def test_the_plan_follows_the_rule_set_and_keeps_the_last_good_one() -> None:
    world = World()
    wanted = staged("1.0.0", "http://127.0.0.1:9")
    wanted["spec"]["businessFallback"] = {"ruleSet": "care"}
    await world.memory.create(wanted)
    assert await looked(world) == ([], ("False", "RuleSetMissing"), 1)
    await world.memory.create(rule_set())
    assert await looked(world) == (["1.2.0"], ("True", "RuleSetReady"), 2)
    assert await looked(world) == (["1.2.0"], ("True", "RuleSetReady"), 2)  # nothing new, nothing written
    await change(world, version="2.0.0", default=None)
    assert await looked(world) == (["1.2.0"], ("False", "RuleSetInvalid"), 2)  # it has a gap
    await change(world, version="2.0.1")
    assert await looked(world) == (["2.0.1"], ("True", "RuleSetReady"), 3)
    await world.memory.delete(CARE)
    assert await looked(world) == (["2.0.1"], ("False", "RuleSetMissing"), 3)


async def test_the_status_says_what_is_proved_who_uses_it_and_what_serves() -> None:
    world = await with_rule_set()
    status = (await world.memory.get(CARE))["status"]
    assert (status["observedGeneration"], status["phase"]) == (1, "Healthy")
    assert (status["usedBy"], status["users"], status["servingVersion"]) == (["echo"], 1, "1.2.0")
    await change(world, version="2.0.0", default=None)
    await looked(world)
    status = (await world.memory.get(CARE))["status"]
    assert (status["phase"], status["servingVersion"]) == ("Degraded", "1.2.0")
    assert {"RuleSetRefused", "RuleSetServing"} <= set(world.events.reasons())
    version = world.memory.version
    await looked(world)
    assert world.memory.version == version, "nothing moved, nothing is written"


async def test_a_proof_that_crashes_or_a_table_that_cannot_be_read_keeps_nobody_from_aborting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await with_rule_set()
    held = await world.memory.get(BOT)
    wanted = staged("2.0.0", "http://127.0.0.1:9")
    wanted["spec"]["businessFallback"] = {"ruleSet": "care"}
    await world.memory.update(wanted | {"metadata": {**held["metadata"], **wanted["metadata"]}})
    for _ in range(4):
        await world.round()

    def crashes(*_: Any) -> None:
        raise RecursionError("deep")

    monkeypatch.setattr(rule_sets, "judge", crashes)
    monkeypatch.setattr(fallbacks, "found", crashes)
    await change(world, version="2.0.0")
    rollout = await world.rollout()
    await world.memory.create(decision("stop", "Abort", rollout, decidedBy="bob"))
    with structlog.testing.capture_logs() as logs:
        done = await world.until_done()
    assert done["status"]["outcome"] == "Aborted"
    assert {"proof_failed", "rule_set_unreadable"} <= {one["event"] for one in logs}
    plan = world.gateways.plans[("default", "echo")]
    assert [one.version for one in plan.rule_sets] == ["1.2.0"]
    (proven,) = [
        one for one in (await world.memory.get(CARE))["status"]["conditions"] if one["type"] == "Proven"
    ]
    assert (proven["status"], proven["reason"]) == ("Unknown", "ProofFailed")


async def test_a_long_proof_holds_up_no_workflow_and_its_end_wakes_those_that_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, prove = World(), rule_sets.judge
    begun, goes_on = threading.Event(), threading.Event()

    def slow(item: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return prove(item)

    monkeypatch.setattr(rule_sets, "judge", slow)
    loop = running(world)
    task = asyncio.ensure_future(loop.run())
    try:
        await world.memory.create(rule_set())
        assert await asyncio.to_thread(begun.wait, 30)
        wanted = staged("1.0.0", "http://127.0.0.1:9")
        wanted["spec"]["businessFallback"] = {"ruleSet": "care"}
        await world.memory.create(wanted)
        await until(world, BOT, ("Unknown", "RuleSetProving"))
        goes_on.set()
        await until(world, BOT, ("True", "RuleSetReady"))
        async with asyncio.timeout(
            50
        ):  # the rule set is looked at again when its table is in the plan, no minute later
            while await standing(world) != ("Healthy", "Serving"):
                world.gateways.acknowledge()
                loop.add(BOT)
                await asyncio.sleep(0.05)
        await change(world, version="2.0.0")
        async with asyncio.timeout(90):
            while carried(world) != ["2.0.0"]:  # noqa: ASYNC110 - for the loop
                await asyncio.sleep(0.01)
    finally:
        goes_on.set()
        await ended(task)


async def test_a_plan_that_cannot_be_read_costs_no_proof_and_wakes_no_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await with_rule_set()
    proofs, prove, read = [], rule_sets.judge, world.gateways.plan

    def counted(item: Any) -> Any:
        proofs.append(item)
        return prove(item)

    async def spoilt(*_: str) -> RoutePlan | None:
        raise Unavailable("the plan in a ConfigMap cannot be read")

    monkeypatch.setattr(rule_sets, "judge", counted)
    monkeypatch.setattr(world.gateways, "plan", spoilt)
    assert await world.loop.handle(CARE)
    assert await standing(world) == ("Healthy", "Serving"), "it flaps"
    await change(world, version="2.0.0")
    assert await world.loop.handle(CARE)
    assert await world.loop.handle(CARE)
    assert await standing(world) == ("Progressing", "Programming")
    assert len(proofs) == 1
    monkeypatch.setattr(world.gateways, "plan", read)
    await looked(world)
    await world.loop.handle(CARE)
    assert await standing(world) == ("Healthy", "Serving")
    assert len(proofs) == 1


async def standing(world: World) -> tuple[str, str]:
    """The phase, and why it is ready or not."""
    status = (await world.memory.get(CARE))["status"]
    (ready,) = [one for one in status["conditions"] if one["type"] == "Ready"]
    return status["phase"], ready["reason"]


def test_a_plan_that_gets_a_table_is_news_to_its_rule_set_and_the_same_plan_again_is_not() -> None:
    users, bare = Users(), stable_plan(guarded("http://127.0.0.1:9/"))
    bot = Ref("AgentWorkflow", "default", "echo")
    first, second = (replace(bare, rule_sets=(body(version=version),)) for version in ("1.2.0", "2.0.0"))
    moves = [users.carries(bot, plan) for plan in (None, bare, first, first, second, bare, None)]
    assert moves == [frozenset(), frozenset(), {CARE}, frozenset(), {CARE}, {CARE}, frozenset()]


async def test_a_leader_that_goes_waits_for_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    world, begun, goes_on = World(), threading.Event(), threading.Event()

    def slow(_: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return rule_sets.Judged(problems="cut", is_broken=True)

    monkeypatch.setattr(rule_sets, "judge", slow)
    loop = running(world)
    task = asyncio.ensure_future(loop.run())
    try:
        await world.memory.create(rule_set())
        assert await asyncio.to_thread(begun.wait, 30)
        async with asyncio.timeout(90):
            await loop.drain()
        assert not goes_on.is_set()
        assert ("FallbackRuleSet", "Done") not in world.told.looks
    finally:
        goes_on.set()
        await ended(task)


def running(world: World) -> Controller:
    """A loop of its own on the time of the host."""
    return Controller(
        store=world.store,
        gatherer=Gatherer(
            store=world.store,
            gateways=world.gateways,
            evidence=FoldedEvidence(world.lineage),
            external=world.measured,
        ),
        executor=Executor(store=world.store, plans=world.gateways, events=world.events),
        clock=HostClock(),
        metrics=world.told,
        pace=Pace(workers=1),
    )


async def ended(task: asyncio.Future[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def carried(world: World) -> list[str]:
    return [one.version for one in world.gateways.plans["default", "echo"].rule_sets]


async def until(world: World, ref: Ref, wanted: tuple[str, str]) -> None:
    """FallbackReady is so."""
    async with asyncio.timeout(90):
        while True:
            status = (await world.memory.get(ref)).get("status") or {}
            found = [one for one in status.get("conditions", ()) if one["type"] == "FallbackReady"]
            if [(one["status"], one["reason"]) for one in found] == [wanted]:
                return
            await asyncio.sleep(0.01)


async def with_rule_set() -> World:
    """A workflow that is stable, and answers with its rule set when it fails."""
    world = World()
    await world.memory.create(rule_set())
    wanted = staged("1.0.0", "http://127.0.0.1:9")
    wanted["spec"]["businessFallback"] = {"ruleSet": "care"}
    await world.memory.create(wanted)
    for _ in range(3):
        await looked(world)
    return world
