"""The control loop and what was measured elsewhere: restarts, deaths at every write, and aborts that wait for nobody."""

from typing import Any

import pytest

from sluicegate.contracts.errors import NotFound
from sluicegate.operator.ports import Json
from sluicegate.rollout.measurements import Outcome, Reading
from sluicegate.rollout.model import Ref
from tests.operator.samples import decision, staged
from tests.operator.world import Fuse, World

KEY = Ref("AgentWorkflow", "default", "echo")
SOURCE: dict[str, Any] = {"prometheus": {"url": "http://p", "value": "p95"}, "limit": {"max": "500"}}
GOOD = {("candidate", "value"): Reading(Outcome.VALUE, 400.0)}
BAD = {("candidate", "value"): Reading(Outcome.VALUE, 600.0)}
NOTHING = {("candidate", "value"): Reading(Outcome.NO_DATA, message="no sample")}


async def change(world: World, version: str) -> None:
    """Apply a version whose Canary has a gate with a source."""
    wanted = staged(version, "http://127.0.0.1:9")
    wanted["metadata"]["annotations"] = {"sluicegate.io/changed-by": "alice"}
    canary = wanted["spec"]["rollout"]["stages"][0]
    canary["gates"] = [*canary["gates"], {"name": "outside", "source": SOURCE}]
    try:
        held = await world.memory.get(KEY)
    except NotFound:
        await world.memory.create(wanted)
        return
    metadata = {**wanted["metadata"], "finalizers": held["metadata"].get("finalizers", [])}
    await world.memory.update({**wanted, "metadata": metadata})


async def in_canary(fuse: Fuse | None = None) -> World:
    world = World(fuse)
    await change(world, "1.0.0")
    for _ in range(3):
        await world.round()
    await change(world, "2.0.0")
    while (await found(world)).get("state") != "Canary":
        await world.round()
    return world


async def found(world: World) -> Json:
    listed = await world.rollouts()
    return (listed[-1].get("status") or {}) if listed else {}


async def test_good_values_promote_and_the_next_stage_asks_for_nothing() -> None:
    world = await in_canary()
    world.measured.values["outside"] = GOOD
    while (await found(world))["state"] == "Canary":
        await world.round()
    status = await found(world)
    assert [gate["verdict"] for gate in status["history"][0]["gates"]][:2] == ["Pass", "Pass"]
    assert not status["measured"]
    await world.round()
    assert set(world.measured.wanted.values()) == {()}


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_row_of_bad_values_goes_on_over_restarts(restarts: bool) -> None:
    world = await in_canary()
    world.measured.values["outside"] = BAD
    for number in range(1, 4):
        assert (await found(world))["state"] == "Canary", number
        await world.round()
        if restarts:
            world.restart()
    assert (await found(world))["outcome"] == "Aborted"


@pytest.mark.parametrize("after", [False, True])
async def test_killed_at_any_write_it_comes_to_the_same_end(after: bool) -> None:
    """Two values are folded before; the third decides, whatever dies meanwhile."""
    for at in range(1, 12):
        world = await in_canary()
        world.measured.values["outside"] = BAD
        world.fuse.calls, world.fuse.at, world.fuse.after = 0, at, after
        done = await world.until_done(rounds=30)
        assert done["status"]["outcome"] == "Aborted"
        (left,) = done["status"]["history"]
        (gate,) = [one for one in left["gates"] if one["name"] == "outside"]
        assert gate["message"] == "candidate 600, above 500: 3 measurements in a row"


async def test_without_data_nothing_is_passed_and_a_person_aborts_at_once() -> None:
    world = await in_canary()
    world.measured.values["outside"] = NOTHING
    for _ in range(30):
        await world.round()
    status = await found(world)
    assert status["state"] == "Canary"
    assert [gate["reason"] for gate in status["gates"] if gate["name"] == "outside"] == ["NoData"]
    held = await world.rollout()
    await world.memory.create(decision("stop", "Abort", held, decidedBy="bob"))
    await world.round()
    assert (await found(world))["outcome"] == "Aborted"


async def test_a_rollout_that_is_gone_is_not_measured() -> None:
    world = await in_canary()
    await world.round()
    (asked,) = [ref for ref, wanted in world.measured.wanted.items() if wanted]
    await world.memory.delete(asked)
    await world.loop.handle(asked)
    assert asked not in world.measured.wanted
