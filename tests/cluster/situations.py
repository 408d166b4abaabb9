"""Every situation of a workflow and its rollout, made by the real decisions in the simulated world."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.resources import Resource, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, State
from tests.rollout.samples import SHORT, workflow_spec
from tests.simulation.world import World

Json = dict[str, Any]


@dataclass(frozen=True)
class Situation:
    """The workflow and its newest rollout, as a reader of the API sees them."""

    workflow: Json
    rollout: Json | None


def shown(world: World) -> Situation:
    rollouts = world.list(WorkflowRollout)
    newest = max(rollouts, key=lambda item: int(item.metadata.name.rpartition("-")[2]), default=None)
    return Situation(as_json(world.workflow()), None if newest is None else as_json(newest))


def as_json(item: Resource) -> Json:
    held: Json = json.loads(json.dumps(item.to_json()))
    return held


def spec(version: str, **rollout: Any) -> WorkflowSpec:
    return workflow_spec(version, **(SHORT | rollout))


def approved(version: str) -> WorkflowSpec:
    """Canary is left with the agreement of one other person."""
    stages = [{"name": "Canary", "minRuns": 100, "maxDurationSeconds": 3600, "approvals": {"required": 1}}]
    return workflow_spec(version, stages=stages)


def settled(bad: frozenset[str] = frozenset(), first: WorkflowSpec | None = None) -> World:
    world = World(bad=bad)
    world.apply(first or spec("1.0.0"))
    world.run(3)
    return world


def moving(state: State, wish: WorkflowSpec | None = None, bad: frozenset[str] = frozenset()) -> World:
    """A rollout that has just reached `state`."""
    world = settled(bad)
    world.apply(wish or spec("2.0.0"))
    for _ in range(300):
        world.tick()
        held = world.get(WorkflowRollout, "bot-1")
        if held is not None and held.status is not None and held.status.state is state:
            world.look_at_all()
            return world
    raise AssertionError("\n".join(world.log))


def new() -> World:
    """As stored: the CRD's default status, and no look yet."""
    world = World()
    world.apply(spec("1.0.0"))
    return world


def first_look() -> World:
    world = new()
    world.look_at_all()
    return world


def no_gateways() -> World:
    world = settled()
    for gateway in world.gateways:
        gateway.alive = False
    world.look_at_all()
    return world


def updated() -> World:
    world = settled()
    world.apply(spec("2.0.0"))
    return world


def decided(action: Action, state: State = State.CANARY, ticks: int = 1) -> World:
    world = moving(state)
    world.decide(action, "bot-1")
    world.run(ticks)
    return world


def awaiting() -> World:
    world = moving(State.CANARY, approved("2.0.0"))
    world.run(30)
    return world


def expired() -> World:
    world = awaiting()
    world.run(60, seconds=120)
    return world


def inconclusive() -> World:
    """No unit ever comes, until the deadline of Canary."""
    world = moving(State.CANARY)
    for _ in range(80):
        world.units.clear()
        world.tick(seconds=60)
    return world


def superseded() -> World:
    world = moving(State.CONTROLLED)
    world.apply(spec("1.0.0"))
    world.run(5)
    return world


def newer_wish() -> World:
    world = moving(State.CONTROLLED)
    world.apply(spec("3.0.0"))
    return world


def promoted() -> World:
    world = moving(State.DONE)
    world.run(3)
    return world


def aborted() -> World:
    return decided(Action.ABORT, ticks=4)


def deleting() -> World:
    world = moving(State.CONTROLLED)
    world.delete("AgentWorkflow", "bot")
    world.look_at_all()
    return world


def broken() -> World:
    """A wish that breaks its contract, past admission."""
    world = settled()
    wish = spec("2.0.0").model_copy(update={"output": {"answer": "steps.nobody.output"}})
    world.apply(wish)
    world.run(2)
    return world


def drained_by_undo() -> World:
    world = promoted()
    world.decide(Action.UNDO, "bot-1")
    world.run(6)
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "just created": new,
    "looked at once": first_look,
    "settled": settled,
    "settled, no gateway alive": no_gateways,
    "spec just updated": updated,
    "in Canary": lambda: moving(State.CANARY),
    "in Shadow": lambda: moving(State.SHADOW),
    "in Controlled": lambda: moving(State.CONTROLLED),
    "in Full": lambda: moving(State.FULL),
    "paused": lambda: decided(Action.PAUSE, ticks=2),
    "awaiting approval": awaiting,
    "the approval came too late": expired,
    "inconclusive at the deadline": inconclusive,
    "draining after an abort": lambda: decided(Action.ABORT, ticks=0),
    "aborted": aborted,
    "promoted": promoted,
    "taken back": drained_by_undo,
    "superseded by the earlier wish": superseded,
    "a newer wish during a rollout": newer_wish,
    "a wish that breaks its contract": broken,
    "deleting": deleting,
}


def situation(name: str) -> Situation:
    """With the default that the CRD gives to an absent status."""
    found = shown(WORLDS[name]())
    if "status" not in found.workflow:
        return Situation(found.workflow | {"status": {"observedGeneration": -1}}, found.rollout)
    return found
