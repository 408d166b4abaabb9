"""Whole lives of rollouts, told as logs that people can read: tests/simulation/golden/*.log.

Update with SLUICEGATE_UPDATE_GOLDEN=1 after looking at the difference.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate.contracts.resources import AgentWorkflow, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, Outcome, State
from tests.rollout.samples import SHORT, workflow_spec
from tests.simulation.world import World
from tests.support.golden import check

GOLDEN = Path(__file__).parent / "golden"


def spec(version: str) -> WorkflowSpec:
    return workflow_spec(version, **SHORT)


def started(bad: frozenset[str] = frozenset()) -> World:
    world = World(bad=bad)
    world.apply(spec("1.0.0"))
    world.run(2)
    return world


def until(world: World, rollout: str, *states: State, limit: int = 200) -> None:
    for _ in range(limit):
        world.tick()
        held = world.get(WorkflowRollout, rollout)
        if held is not None and held.status is not None and held.status.state in states:
            return
    raise AssertionError(f"{rollout} did not reach {states} in {limit} ticks:\n" + "\n".join(world.log))


def good_candidate_is_promoted() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.DONE)
    world.run(3)
    assert world.summary().stable_revision == world.rollout("bot-1").spec.candidate.name
    return world


def bad_candidate_is_aborted_and_latched() -> World:
    world = started(bad=frozenset({"2.0.0"}))
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.DONE)
    world.run(20)
    assert world.status_of("bot-1").outcome is Outcome.ABORTED
    assert world.summary().latched_digests == (world.digest(spec("2.0.0")),)
    return world


def newer_wish_supersedes_in_controlled() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.CONTROLLED)
    world.apply(spec("3.0.0"))
    until(world, "bot-1", State.DONE)
    until(world, "bot-2", State.DONE)
    world.run(2)
    assert world.status_of("bot-1").outcome is Outcome.SUPERSEDED
    return world


def back_to_stable_supersedes_without_a_new_rollout() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.SHADOW)
    world.apply(spec("1.0.0"))
    until(world, "bot-1", State.DONE)
    world.run(5)
    return world


def abort_in_full_returns_everybody() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.FULL)
    world.decide(Action.ABORT, "bot-1")
    until(world, "bot-1", State.DONE, limit=5)
    world.run(2)
    assert world.users_on_candidate() == set()
    return world


def retry_after_an_abort_is_a_second_attempt() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.CANARY)
    world.decide(Action.ABORT, "bot-1")
    until(world, "bot-1", State.DONE)
    world.run(5)
    world.decide(Action.RETRY, "bot-1")
    until(world, "bot-1", State.CANARY)
    until(world, "bot-1", State.DONE)
    world.run(2)
    assert world.status_of("bot-1").attempt == 2
    return world


def undo_brings_the_earlier_stable_back() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.DONE)
    world.run(3)
    world.decide(Action.UNDO, "bot-1")
    until(world, "bot-2", State.DONE)
    world.run(10)
    assert world.status_of("bot-2").outcome is Outcome.FAST_ROLLED_BACK
    assert world.summary().stable_revision == world.rollout("bot-1").spec.stable.name
    return world


def undo_works_after_a_later_version_was_aborted() -> World:
    world = started(bad=frozenset({"3.0.0"}))
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.DONE)
    world.run(3)
    world.apply(spec("3.0.0"))
    until(world, "bot-2", State.DONE)
    world.run(3)
    assert world.status_of("bot-2").outcome is Outcome.ABORTED
    world.decide(Action.UNDO, "bot-1")
    until(world, "bot-3", State.DONE)
    world.run(10)
    assert world.status_of("bot-3").outcome is Outcome.FAST_ROLLED_BACK
    assert world.summary().stable_revision == world.rollout("bot-1").spec.stable.name
    return world


def two_promotes_in_the_same_second() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.CANARY)
    world.decide(Action.PROMOTE, "bot-1", by="alice")
    world.decide(Action.PROMOTE, "bot-1", by="bob")
    world.look_at_all()
    world.look_at_all()
    assert world.status_of("bot-1").state is State.SHADOW
    return world


def deletion_in_controlled_drains_first() -> World:
    world = started()
    world.apply(spec("2.0.0"))
    until(world, "bot-1", State.CONTROLLED)
    world.delete("AgentWorkflow", "bot")
    for _ in range(10):
        world.tick()
    assert world.get(AgentWorkflow, "bot") is None
    assert world.plans[-1] is None
    return world


SCENARIOS: dict[str, Callable[[], World]] = {
    scenario.__name__: scenario
    for scenario in (
        good_candidate_is_promoted,
        bad_candidate_is_aborted_and_latched,
        newer_wish_supersedes_in_controlled,
        back_to_stable_supersedes_without_a_new_rollout,
        abort_in_full_returns_everybody,
        retry_after_an_abort_is_a_second_attempt,
        undo_brings_the_earlier_stable_back,
        undo_works_after_a_later_version_was_aborted,
        two_promotes_in_the_same_second,
        deletion_in_controlled_drains_first,
    )
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_reads_as_its_golden_log(name: str) -> None:
    log = "\n".join(SCENARIOS[name]().log) + "\n"
    check(GOLDEN / f"{name}.log", log)
