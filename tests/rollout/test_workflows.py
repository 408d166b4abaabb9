"""Looks at a workflow: first revision, new wishes, latches, rollbacks, refusals, steady state."""

from dataclasses import replace
from typing import Any

import pytest

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.stages import Action, Outcome, State
from sluicegate.rollout import conditions
from sluicegate.rollout.model import Apply, Emit, Hold, Plan, Route, WorkflowObserved
from sluicegate.rollout.workflows import reconcile_workflow
from tests.rollout.samples import SHORT, T0, later, workflow_spec
from tests.simulation.world import World


def spec(version: str, **changes: Any) -> WorkflowSpec:
    return workflow_spec(version, **(SHORT | changes))


def new_workflow(body: WorkflowSpec | None = None) -> AgentWorkflow:
    metadata = Metadata(name="bot", uid="wf-1", generation=1)
    return AgentWorkflow(metadata=metadata, spec=body or spec("1.0.0"))


def applied(plan: Plan[WorkflowStatus], kind: type) -> list[Any]:
    return [act.resource for act in plan.actions if isinstance(act, Apply) and isinstance(act.resource, kind)]


def condition(plan: Plan[WorkflowStatus] | World, type: str) -> tuple[str, str]:
    status = plan.status if isinstance(plan, Plan) else plan.workflow().status
    assert status is not None
    found = conditions.find(status.conditions, type)
    assert found is not None
    return found.status, found.reason


def test_the_first_revision_is_stable_without_stages_and_says_so() -> None:
    plan = reconcile_workflow(WorkflowObserved(workflow=new_workflow()), T0)
    (made,) = applied(plan, WorkflowRevision)
    digest = revision_digest(spec("1.0.0"))
    assert made.metadata.name == f"bot-{digest.removeprefix('sha256:')[:10]}"
    assert plan.status.stable_revision == made.metadata.name
    assert not applied(plan, WorkflowRollout)
    (route,) = [act.plan for act in plan.actions if isinstance(act, Route)]
    assert (route.stable.digest, route.candidate, route.version) == (digest, None, 1)
    assert "FirstRevision" in [act.event.reason for act in plan.actions if isinstance(act, Emit)]
    assert [act.ref.name for act in plan.actions if isinstance(act, Hold)] == ["bot"]


def test_the_first_status_says_unknown() -> None:
    plan = reconcile_workflow(WorkflowObserved(workflow=new_workflow()), T0)
    assert plan.status.observed_generation == 1
    assert condition(plan, "Ready")[0] != "True"
    assert condition(plan, "ContractValid") == ("True", "Verified")


def test_an_invalid_first_wish_stalls_and_makes_nothing() -> None:
    body = spec("1.0.0")
    broken = WorkflowSpec.model_validate({**body.to_json(), "steps": [{"name": "a", "component": "nobody"}]})
    plan = reconcile_workflow(WorkflowObserved(workflow=new_workflow(broken)), T0)
    assert condition(plan, "Stalled") == ("True", "ContractInvalid")
    assert condition(plan, "ContractValid") == ("False", "ContractInvalid")
    assert not [act for act in plan.actions if isinstance(act, Apply | Route)]


def settled(*versions: str, bad: frozenset[str] = frozenset(), ticks: int = 40) -> World:
    """A world in which these versions were applied one after the other."""
    world = World(bad=bad)
    for version in versions:
        world.apply(spec(version))
        world.run(ticks)
    return world


def stable_of(world: World) -> str:
    held = world.get(WorkflowRevision, world.summary().stable_revision or "")
    assert held is not None
    return held.spec.version


def test_ready_when_every_gateway_follows() -> None:
    world = settled("1.0.0", ticks=3)
    assert condition(world, "Ready") == ("True", "Stable")
    assert conditions.find(world.summary().conditions, "Reconciling") is None
    assert world.summary().phase == "Healthy"
    for gateway in world.gateways:
        gateway.alive = False
    world.look_at_all()
    assert condition(world, "Ready") == ("Unknown", "NoGateways")


def test_a_new_digest_makes_one_revision_and_one_rollout() -> None:
    world = settled("1.0.0", ticks=3)
    world.apply(spec("2.0.0"))
    world.look_at_all()
    world.look_at_all()
    (made,) = world.list(WorkflowRollout)
    assert made.metadata.name == "bot-1"
    assert [item.spec.number for item in world.list(WorkflowRevision)] == [1, 2]
    assert made.spec.changed_by == "author"
    assert condition(world, "Ready") == ("Unknown", "RolloutRunning")
    assert condition(world, "Reconciling")[0] == "True"


def test_what_no_run_depends_on_makes_no_revision() -> None:
    world = settled("1.0.0", ticks=3)
    changed = WorkflowSpec.model_validate({**spec("1.0.0").to_json(), "lineage": {"redact": ["input.phone"]}})
    world.apply(changed)
    world.run(2)
    assert len(world.list(WorkflowRevision)) == 1
    plan = world.plans[-1]
    assert plan is not None
    assert plan.stable.spec["lineage"]["redact"] == ["input.phone"], "what is kept follows the wish"


def test_a_used_version_with_another_body_stalls() -> None:
    world = settled("1.0.0", ticks=3)
    world.apply(workflow_spec("1.0.0", url="http://elsewhere:1", **SHORT))
    world.run(3)
    assert condition(world, "Stalled") == ("True", "VersionReused")
    assert not world.list(WorkflowRollout)


def test_a_new_version_at_the_same_address_stalls() -> None:
    world = settled("1.0.0", ticks=3)
    world.apply(workflow_spec("2.0.0", url="http://agent-1.0.0.local:8080", **SHORT))
    world.run(3)
    assert condition(world, "Stalled") == ("True", "SharedEndpoint")
    assert not world.list(WorkflowRollout)


def test_an_aborted_digest_is_latched_until_a_retry() -> None:
    world = settled("1.0.0", "2.0.0", bad=frozenset({"2.0.0"}), ticks=20)
    assert condition(world, "Stalled") == ("True", "Aborted")
    assert world.summary().phase == "Degraded"
    world.apply(spec("2.0.0", evaluationIntervalSeconds=5))
    world.run(10)
    assert len(world.list(WorkflowRollout)) == 1
    world.bad = frozenset()
    world.decide(Action.RETRY, "bot-1")
    world.run(60)
    assert stable_of(world) == "2.0.0"
    assert world.summary().latched_digests == ()


def test_another_digest_is_tried_after_an_abort() -> None:
    world = settled("1.0.0", "2.0.0", "3.0.0", bad=frozenset({"2.0.0"}))
    assert stable_of(world) == "3.0.0"


def test_the_previous_stable_comes_back_without_stages_within_the_window() -> None:
    world = settled("1.0.0", "2.0.0", "1.0.0")
    back = world.rollout("bot-2")
    assert back.spec.rollback
    assert back.status is not None
    assert back.status.outcome is Outcome.FAST_ROLLED_BACK
    assert stable_of(world) == "1.0.0"
    assert condition(world, "Ready") == ("True", "Stable")


def test_after_the_window_it_passes_all_stages() -> None:
    world = settled("1.0.0", "2.0.0")
    world.run(1, seconds=90_000)
    world.apply(spec("1.0.0"))
    world.run(60)
    again = world.rollout("bot-2")
    assert not again.spec.rollback
    assert again.status is not None
    assert again.status.outcome is Outcome.PROMOTED


def test_an_undone_version_is_not_tried_again_until_a_retry() -> None:
    world = settled("1.0.0", "2.0.0")
    world.decide(Action.UNDO, "bot-1")
    world.run(20)
    assert stable_of(world) == "1.0.0"
    assert condition(world, "Stalled") == ("True", "RolledBack")
    summary = world.summary()
    assert summary.phase == "Degraded", "the wish is not what serves"
    assert summary.message == (
        "1.0.0 answers everybody; 2.0.0 is not tried again (it was taken back after bot-1): "
        "retry bot-1, apply 1.0.0 or another version"
    )
    world.decide(Action.RETRY, "bot-1")
    world.run(60)
    assert stable_of(world) == "2.0.0"
    assert len(world.list(WorkflowRollout)) == 2


def test_an_undone_wish_is_healthy_again_when_it_says_what_serves() -> None:
    world = settled("1.0.0", "2.0.0")
    world.decide(Action.UNDO, "bot-1")
    world.run(20)
    world.apply(spec("1.0.0"))
    world.run(3)
    assert (world.summary().phase, condition(world, "Ready")) == ("Healthy", ("True", "Stable"))
    assert len(world.list(WorkflowRollout)) == 2, "no rollout was needed"


def test_an_aborted_undo_is_not_made_again() -> None:
    world = settled("1.0.0", "2.0.0")
    world.decide(Action.UNDO, "bot-1")
    world.look_at_all()
    world.look_at_all()
    world.decide(Action.ABORT, "bot-2")
    world.run(20)
    assert stable_of(world) == "2.0.0"
    assert len(world.list(WorkflowRollout)) == 2


def test_history_is_bounded_and_keeps_what_is_in_use() -> None:
    world = World()
    for number in range(1, 15):
        world.apply(spec(f"{number}.0.0"))
        world.run(3)
        if number > 1:
            world.decide(Action.PROMOTE, f"bot-{number - 1}", full=True)
            world.run(3)
    kept = world.list(WorkflowRevision)
    assert len(kept) == 10
    assert {item.spec.number for item in kept} == set(range(5, 15))
    assert len(world.list(WorkflowRollout)) == 10
    assert stable_of(world) == "14.0.0"


@pytest.mark.parametrize("gone", [False, True])
def test_a_workflow_that_is_deleted_drains_first(gone: bool) -> None:
    world = settled("1.0.0", ticks=3)
    world.apply(spec("2.0.0"))
    while not world.users_on_candidate():
        world.tick()
    if gone:
        world.gateways[0].alive = False
    world.delete("AgentWorkflow", "bot")
    world.look_at_all()
    assert world.get(AgentWorkflow, "bot") is not None, "still draining"
    world.run(4)
    assert world.get(AgentWorkflow, "bot") is None
    assert world.plans[-1] is None
    assert world.users_on_candidate() == set()


def test_nothing_new_means_no_action_and_the_same_status() -> None:
    world = settled("1.0.0", "2.0.0", "3.0.0", bad=frozenset({"3.0.0"}))
    held = world.workflow()
    seen = WorkflowObserved(
        workflow=held,
        revisions=world.list(WorkflowRevision),
        rollouts=world.list(WorkflowRollout),
        plan=world.plans[-1],
        programmed=world.programmed(),
        live_gateways=2,
    )
    for seconds in (0, 60, 86_400):
        plan = reconcile_workflow(seen, later(seconds))
        assert plan.status == held.status
        assert plan.actions == ()
    assert plan.requeue_after is None


def test_a_read_that_misses_the_followed_rollout_starts_nothing() -> None:
    world = settled("1.0.0", ticks=3)
    world.apply(spec("2.0.0"))
    world.run(3)
    seen = WorkflowObserved(
        workflow=world.workflow(),
        revisions=world.list(WorkflowRevision),
        plan=world.plans[-1],
        live_gateways=2,
    )
    plan = reconcile_workflow(seen, world.now)
    assert not [act for act in plan.actions if isinstance(act, Apply | Route)]
    assert plan.status.rollout == "bot-1"
    assert replace(seen).rollouts == ()


def test_times_of_conditions_move_only_on_change() -> None:
    world = settled("1.0.0", ticks=3)
    before = world.workflow().status
    world.apply(spec("2.0.0"))
    world.run(40)
    after = world.workflow().status
    assert before is not None
    assert after is not None
    assert world.status_of("bot-1").state is State.DONE
    was, now = (conditions.find(status.conditions, "ContractValid") for status in (before, after))
    assert was is not None
    assert now is not None
    assert now.last_transition_time == was.last_transition_time
    assert now.observed_generation > was.observed_generation
