"""The control loop in a world in memory: real decisions, real executor, real folds."""

from datetime import timedelta
from typing import Any

import pytest
import structlog.testing

from sluicegate.contracts.errors import NotFound, Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.operator.loop.controller import is_under_way, keys_of
from sluicegate.operator.ports import Json, NotLeading
from sluicegate.rollout.model import Ref
from tests.operator.samples import decision, staged
from tests.operator.world import Fuse, World

URL = "http://127.0.0.1:9"
KEY = Ref("AgentWorkflow", "default", "echo")


async def change(world: World, version: str, **needs: Any) -> None:
    """Apply a version of the workflow, as a person would."""
    wanted = staged(version, URL, **needs)
    wanted["metadata"]["annotations"] = {"sluicegate.io/changed-by": "alice"}
    try:
        held = await world.memory.get(KEY)
    except NotFound:
        await world.memory.create(wanted)
        return
    finalizers = held["metadata"].get("finalizers", [])
    await world.memory.update({**wanted, "metadata": {**wanted["metadata"], "finalizers": finalizers}})


async def started(world: World, **needs: Any) -> None:
    """1.0.0 is stable, 2.0.0 is in its first stage."""
    await change(world, "1.0.0")
    for _ in range(3):
        await world.round()
    await change(world, "2.0.0", **needs)
    for _ in range(4):
        await world.round()


async def test_a_good_candidate_is_promoted_and_a_bad_one_aborted() -> None:
    world = World()
    await started(world)
    done = await world.until_done()
    assert done["status"]["outcome"] == "Promoted"
    assert [record["stage"] for record in done["status"]["history"]] == [
        "Canary",
        "Shadow",
        "Controlled",
        "Full",
    ]
    await change(world, "3.0.0")
    for _ in range(3):
        await world.round()
    bad = await world.until_done(candidate=0.0)
    assert (bad["status"]["outcome"], bad["spec"]["candidate"]["version"]) == ("Aborted", "3.0.0")
    plan = world.gateways.plans[("default", "echo")]
    assert (plan.stable.version, plan.candidate) == ("2.0.0", None)
    assert {"FirstRevision", "StageEntered", "Completed"} <= set(world.events.reasons())


async def test_nothing_is_written_when_nothing_moves() -> None:
    world = World()
    await started(world)
    await world.until_done()
    for _ in range(3):
        await world.round()
    version, saves, plans = world.memory.version, world.lineage.saves, len(world.gateways.history)
    for _ in range(50):
        await world.round(seconds=61)
    assert (world.memory.version, world.lineage.saves, len(world.gateways.history)) == (version, saves, plans)


async def test_a_stage_without_traffic_writes_nothing_and_keeps_its_lease() -> None:
    world = World()
    await started(world, needs={"Canary": 10_000})
    for _ in range(3):
        await world.round(units=0)
    for _ in range(
        72
    ):  # after ten minutes the data is stale: news, once, and the workflow tells it within a minute
        await world.round(seconds=10, units=0)
    version = world.memory.version
    for _ in range(60):
        await world.round(seconds=10, units=0)
        lease = world.gateways.plans[("default", "echo")].lease_until
        assert lease is not None
        assert lease > world.clock.at + timedelta(seconds=20)
    assert world.memory.version == version


async def settled(fuse: Fuse) -> tuple[World, Json]:
    world = World(fuse)
    await started(world)
    return world, await world.until_done()


def facts(world: World, done: Json) -> tuple[Any, ...]:
    """What must come out the same, however often the loop was killed."""
    status = done["status"]
    return (
        status["outcome"],
        [(record["stage"], record["attempt"], record["leftBy"]) for record in status["history"]],
        [(plan.stable.version, plan.stage, plan.mode) for plan in world.gateways.history],
    )


@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
async def test_killed_at_any_write_it_ends_the_same(after: bool) -> None:
    undisturbed = Fuse()
    expected = facts(*await settled(undisturbed))
    assert undisturbed.calls > 20
    for at in range(1, undisturbed.calls + 1):
        world, done = await settled(Fuse(at=at, after=after))
        outcome, history, plans = facts(world, done)
        assert (outcome, history) == expected[:2], at
        assert [plan[0] for plan in plans] == sorted(plan[0] for plan in plans), at
        assert {plan[1] for plan in plans} == {plan[1] for plan in expected[2]}, at
        assert len((await world.memory.listing("WorkflowRevision")).items) == 2, at
        assert len(await world.rollouts()) == 1, at


async def test_a_conflict_is_looked_at_again_and_is_never_a_verdict() -> None:
    world = World()
    await started(world, needs={"Canary": 10_000})

    async def somebody_writes() -> None:
        held = await world.memory.get(Ref("WorkflowRollout", "default", "echo-1"))
        labels = {**held["metadata"].get("labels", {}), "touched": str(world.memory.version)}
        await world.memory.update({**held, "metadata": {**held["metadata"], "labels": labels}})

    before = (await world.rollout())["status"]
    for _ in range(10):
        world.store.before_status.append(somebody_writes)
        await world.round(seconds=7)
    assert world.told.looks.count(("WorkflowRollout", "Conflict")) >= 1
    await world.round(seconds=60)
    after = (await world.rollout())["status"]
    for field in ("state", "attempt", "stageStartedAt", "planVersion"):
        assert after[field] == before[field]
    assert after["samples"] > before["samples"]


async def test_a_decision_is_used_once_and_abort_wins() -> None:
    world = World()
    await started(world, needs={"Canary": 10_000, "Shadow": 10_000})
    held = await world.rollout()
    for name in ("one", "two"):
        await world.memory.create(decision(name, "Promote", held, decidedBy="alice"))
    for _ in range(6):
        await world.round()
        world.restart()
    status = (await world.rollout())["status"]
    assert status["stage"] == "Shadow"
    assert sorted(record["result"] for record in status["decisions"]) == ["Applied", "Refused"]
    held = await world.rollout()
    for name, action in (("on", "Promote"), ("stop", "Abort")):
        await world.memory.create(decision(name, action, held, decidedBy="bob"))
    assert (await world.until_done())["status"]["outcome"] == "Aborted"


@pytest.mark.parametrize("way", ["abort", "another wish"])
async def test_the_way_back_does_not_wait_for_evidence_and_nothing_else_goes_on_without(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    await started(world, needs={"Canary": 1, "Shadow": 10_000})

    def away(*_: Any, **__: Any) -> Any:
        raise Unavailable("the lineage process does not answer")

    monkeypatch.setattr(world.lineage, "observations", away)
    held = await world.rollout()
    await world.memory.create(decision("on", "Promote", held, decidedBy="alice"))
    for _ in range(4):
        await world.round(seconds=30.0)
    assert (await world.rollout())["status"] == held["status"]
    if way == "abort":
        await world.memory.create(decision("stop", "Abort", held, decidedBy="bob"))
    else:
        await change(world, "1.0.0")
    done = await world.until_done(rounds=10)
    assert done["status"]["outcome"] == ("Aborted" if way == "abort" else "Superseded")
    plan = await world.gateways.plan("default", "echo")
    assert plan is not None
    assert plan.candidate is None


async def test_a_decision_that_cannot_be_read_keeps_nobody_from_aborting() -> None:
    world = World()
    await started(world, needs={"Canary": 10_000})
    held = await world.rollout()
    for name, action, more in (
        ("odd", "Promote", {"expiresAt": "0000-01-01T00:00:00Z"}),
        ("stop", "Abort", {}),
    ):
        await world.memory.create(decision(name, action, held, decidedBy="bob", **more))
    assert (await world.until_done(rounds=10))["status"]["outcome"] == "Aborted"


async def test_a_wish_that_cannot_be_read_is_nobodys_and_users_come_back_to_stable() -> None:
    """The schema takes `contract.input: 5`, the models do not; it gets in where no webhook is asked."""
    world = World()
    await started(world, needs={"Canary": 10_000})
    held = await world.memory.get(KEY)
    held["spec"]["contract"] = {"input": 5}
    await world.memory.update(held)
    before = world.gateways.plans[("default", "echo")].lease_until
    assert (await world.until_done(rounds=10))["status"]["state"] == "Done"
    for _ in range(10):
        await world.round(seconds=10)
    after = world.gateways.plans[("default", "echo")].lease_until
    assert after == before, "nobody renews the candidate's share"
    assert before is not None
    assert before < world.clock.at


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(Unavailable("plans.db is locked"), ["look_failed"], id="a-part-that-fails"),
        pytest.param(NotLeading("another does"), [], id="every-look-of-a-leader-that-ends"),
    ],
)
async def test_a_failure_is_retried_told_once_and_does_not_stop_the_others(
    error: Exception, told: list[str]
) -> None:
    world = World()
    await started(world, needs={"Canary": 10_000})

    async def broken(namespace: str, workflow: str) -> RoutePlan | None:
        raise error

    world.gateways.plan = broken  # type: ignore[method-assign]
    with structlog.testing.capture_logs() as lines:
        assert await world.loop.handle(KEY) is False
    assert [one["event"] for one in lines if one["log_level"] != "debug"] == told
    assert world.told.looks[-1] == ("AgentWorkflow", "Error")
    del world.gateways.plan
    assert await world.loop.handle(KEY) is True


async def test_a_bug_in_one_look_is_contained() -> None:
    world = World()
    await started(world)

    async def bug(namespace: str, workflow: str) -> RoutePlan | None:
        raise ZeroDivisionError

    world.gateways.plan = bug  # type: ignore[method-assign]
    assert await world.loop.handle(KEY) is False


async def test_a_workflow_that_is_gone_leaves_no_plan() -> None:
    world = World()
    await started(world)
    await world.memory.delete(KEY)
    for _ in range(20):
        await world.round()
    assert (await world.memory.listing("AgentWorkflow")).items == ()
    assert await world.rollouts() == []
    assert world.gateways.plans == {}
    assert await world.loop.handle(KEY) is True


def test_a_change_wakes_those_whom_it_concerns() -> None:
    metadata = {"namespace": "shop", "name": "x"}
    target = {"kind": "AgentWorkflow", "name": "w"}
    found = {
        kind: [str(key) for key in keys_of({"kind": kind, "metadata": metadata, "spec": spec})]
        for kind, spec in {
            "AgentWorkflow": {},
            "WorkflowRevision": {"workflow": "w"},
            "WorkflowRollout": {"workflow": "w"},
            "Decision": {"target": target},
            "AgentComponent": {},
        }.items()
    }
    assert found == {
        "AgentWorkflow": ["AgentWorkflow shop/x"],
        "WorkflowRevision": ["AgentWorkflow shop/w"],
        "WorkflowRollout": ["WorkflowRollout shop/x", "AgentWorkflow shop/w"],
        "Decision": ["AgentWorkflow shop/w"],
        "AgentComponent": [],
    }


SEEN = {"observedGeneration": 2, "phase": "Healthy"}
UNDER_WAY: dict[str, tuple[str, Json, Json | None, bool]] = {
    "a rollout in a stage": ("WorkflowRollout", {}, {"state": "Shadow"}, True),
    "a rollout that nobody looked at": ("WorkflowRollout", {}, None, True),
    "a rollout that has ended": ("WorkflowRollout", {}, {"state": "Done"}, False),
    "a workflow that follows a rollout": ("AgentWorkflow", {}, {**SEEN, "phase": "Progressing"}, True),
    "a workflow that nobody looked at": ("AgentWorkflow", {}, None, True),
    "a workflow that was changed since": ("AgentWorkflow", {"generation": 3}, SEEN, True),
    "a workflow that is to go": ("AgentWorkflow", {"deletionTimestamp": "2026-03-01T00:00:00Z"}, SEEN, True),
    "a workflow at rest": ("AgentWorkflow", {}, SEEN, False),
}


@pytest.mark.parametrize(("kind", "extra", "status", "expected"), UNDER_WAY.values(), ids=UNDER_WAY.keys())
def test_what_is_under_way_is_looked_at_first(
    kind: str, extra: Json, status: Json | None, expected: bool
) -> None:
    item = {"kind": kind, "metadata": {"generation": 2} | extra} | ({"status": status} if status else {})
    assert is_under_way(item) is expected
