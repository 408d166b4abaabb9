"""Rollouts under stale reads, conflicts and crashes: the invariants hold after each step and everything ends."""

import itertools
from datetime import timedelta

import pytest

from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, Outcome, State
from sluicegate.rollout import reporting, table
from tests.rollout.samples import SHORT, workflow_spec
from tests.simulation.invariants import WatchedWorld
from tests.simulation.world import Chaos

HOSTILE = Chaos(stale=0.3, conflict=0.2, crash=0.1)
CALM = Chaos()


def spec(version: str) -> WorkflowSpec:
    return workflow_spec(version, **SHORT)


def disturb(world: WatchedWorld) -> None:
    """Something that people or machines may do at any time."""
    pick = world.random
    roll = pick.random()
    if roll < 0.04:
        world.apply(spec(f"{pick.randint(2, 6)}.0.0"))
    elif roll < 0.12:
        rollouts = [item for item in world.list(WorkflowRollout) if item.metadata.uid]
        if rollouts:
            action = pick.choice([item for item in Action if item is not Action.REVIEW])
            world.decide(action, pick.choice(rollouts).metadata.name, by=pick.choice(["alice", "bob"]))
    elif roll < 0.17:
        gateway = pick.choice(world.gateways)
        gateway.alive = not gateway.alive
        gateway.plan = None


def step(world: WatchedWorld) -> None:
    """One thing happens, in an order that nobody promised."""
    pick = world.random
    what = pick.randint(0, 5)
    if what == 0:
        world.now += seconds_of(pick.choice([0, 1, 10, 60]))
    elif what == 1:
        world.sync(pick.choice(world.gateways))
    elif what == 2:
        world.traffic(pick.choice([1, 40, 100]))
    else:
        objects = [ref for ref in world.versions if ref[0] in {"AgentWorkflow", "WorkflowRollout"}]
        world.reconcile(*pick.choice(objects))
    disturb(world)
    world.check()


def seconds_of(seconds: int) -> timedelta:
    return timedelta(seconds=seconds)


def settle(world: WatchedWorld) -> None:
    """The storm is over: everything comes to rest in bounded steps."""
    world.chaos = CALM
    for gateway in world.gateways:
        gateway.alive = True
    for _ in range(400):
        before = _happened(world)
        world.tick(30)
        world.check()
        if _happened(world) == before and all(_rests(item) for item in world.list(WorkflowRollout)):
            plan = world.plans[-1]
            assert plan is not None
            assert plan.stable.name == world.summary().stable_revision, "stable of the plan and of the status"
            running = world.summary().rollout
            assert (plan.candidate is None) or running is not None, "a candidate without a rollout"
            return
    raise AssertionError("no rest after 400 ticks:\n" + "\n".join(world.log[-40:]))


def _happened(world: WatchedWorld) -> tuple[object, ...]:
    """All but numbers: those of a paused rollout move on with its traffic."""
    found = [item.status for item in world.list(WorkflowRollout) if item.status is not None]
    still = [status.model_copy(update=reporting.NUMBERS) for status in found]
    return still, world.summary().model_copy(update={"progress": None}), len(world.log)


def _rests(item: WorkflowRollout) -> bool:
    status = item.status
    return status is not None and (status.state is State.DONE or status.held or status.paused)


@pytest.mark.parametrize("seed", range(30))
def test_invariants_hold_in_a_storm_and_everything_comes_to_rest(seed: int) -> None:
    world = WatchedWorld(seed=seed, chaos=HOSTILE, bad=frozenset({"3.0.0", "5.0.0"}))
    world.apply(spec("1.0.0"))
    try:
        for _ in range(300):
            step(world)
        settle(world)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n" + "\n".join(world.log[-60:])) from error
    for item in world.list(WorkflowRollout):
        won = item.status is not None and item.status.outcome is Outcome.PROMOTED
        passed = item.status is not None and not any(
            record.action in {"Promote", "Override"} and record.result == "Applied"
            for record in item.status.decisions
        )
        assert not (won and passed and item.spec.candidate.version in world.bad), (
            f"seed {seed}: a bad one won"
        )


def test_a_crash_at_any_single_point_changes_no_outcome() -> None:
    calm = WatchedWorld()
    expected = _life(calm)
    assert calm.points > 30
    for point in range(1, calm.points + 1):
        assert _life(WatchedWorld(crash_at=point)) == expected, f"crash at point {point}"


def _life(world: WatchedWorld) -> list[object]:
    """A promotion and an abort."""
    world.bad = frozenset({"3.0.0"})
    world.apply(spec("1.0.0"))
    world.run(4)
    world.apply(spec("2.0.0"))
    world.run(40)
    world.apply(spec("3.0.0"))
    world.run(20)
    world.check()
    first, second = world.rollout("bot-1"), world.rollout("bot-2")
    assert first.status is not None
    assert second.status is not None
    return [
        first.status.outcome,
        world.advances("bot-1", 1),
        second.status.outcome,
        world.advances("bot-2", 1),
        world.summary().stable_revision,
        world.plans[-1].stable.version if world.plans[-1] else None,
    ]


def reach(world: WatchedWorld, state: State) -> None:
    """Tick until bot-1 is there."""
    for _ in range(60):
        world.tick()
        held = world.get(WorkflowRollout, "bot-1")
        if held is not None and held.status is not None and held.status.state is state:
            return
    raise AssertionError(f"bot-1 did not reach {state}")


@pytest.mark.parametrize("state", table.STAGES)
def test_twenty_restarts_in_a_stage_leave_stage_attempt_and_start(state: State) -> None:
    world = WatchedWorld()
    world.apply(spec("1.0.0"))
    world.run(3)
    world.apply(spec("2.0.0"))
    for _ in range(40):
        world.tick()
        held = world.get(WorkflowRollout, "bot-1")
        if held is not None and held.status is not None and held.status.state is state:
            break
    before = world.rollout("bot-1").status
    world.chaos = Chaos(crash=1.0)
    for _ in range(20):
        world.look_at_all()
    world.chaos = CALM
    world.look_at_all()
    after = world.rollout("bot-1").status
    assert before is not None
    assert after is not None
    assert before.state is state
    assert (after.state, after.attempt, after.stage_started_at) == (
        state,
        before.attempt,
        before.stage_started_at,
    )


def test_nothing_is_written_at_rest() -> None:
    world = WatchedWorld(bad=frozenset({"2.0.0"}))
    world.apply(spec("1.0.0"))
    world.run(3)
    world.apply(spec("2.0.0"))
    world.run(20)
    for _ in range(3):
        before = world.writes
        world.run(10, seconds=600)
        assert world.writes == before


def test_a_gateway_that_is_cut_off_leaves_the_candidate_when_its_lease_ends() -> None:
    world = WatchedWorld()
    world.apply(spec("1.0.0"))
    world.run(3)
    world.apply(spec("2.0.0"))
    reach(world, State.CONTROLLED)
    world.tick()
    assert world.users_on_candidate() == {"2.0.0"}
    world.now += seconds_of(61)  # nobody renews
    assert world.users_on_candidate() == set()


def test_a_running_rollout_renews_its_lease_without_a_new_plan() -> None:
    world = WatchedWorld()
    world.apply(spec("1.0.0"))
    world.run(3)
    world.apply(spec("2.0.0"))
    world.run(3)
    world.decide(Action.PAUSE, "bot-1")
    world.run(1)
    version, writes = world.plans[-1].version, world.writes  # type: ignore[union-attr]
    for _, gateway in itertools.product(range(40), world.gateways):
        world.tick(10)
        assert gateway.plan is not None
        assert gateway.plan.lease_until is not None
        assert gateway.plan.lease_until > world.now
    assert world.plans[-1].version == version  # type: ignore[union-attr]
    assert (
        world.writes - writes <= 81 + 14
    )  # 800 s of moving numbers: each 10 s, and each minute in the workflow
