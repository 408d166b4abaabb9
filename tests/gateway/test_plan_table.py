"""The plan table: versions never fall, leases move alone, acknowledgements count."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import MirrorBudget, RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.contracts.stages import Stage
from sluicegate.gateway.plan_keeper import PlanKeeper
from sluicegate.gateway.plan_table import PlanTable, WorkflowKey

T0 = datetime(2026, 1, 1, tzinfo=UTC)
STABLE = RevisionBody(
    name="bot-1", digest="sha256:" + "0" * 64, version="1", spec={"version": "1", "x": [1, None, "é"]}
)
CANDIDATE = replace(STABLE, name="bot-2", version="2")
IDLE = RoutePlan(namespace="default", workflow="bot", version=1, stable=STABLE)
ROLLING = RoutePlan(
    namespace="default",
    workflow="bot",
    version=2,
    stable=STABLE,
    candidate=CANDIDATE,
    rollout="uid-1",
    stage=Stage.SHADOW,
    attempt=3,
    mode=TrafficMode.MIRROR,
    share=Share(1, 20),
    control=Share(1, 2),
    salt="sha256:abc",
    lease_until=T0,
    mirror_budget=MirrorBudget(max_concurrency=4, max_cost_per_hour=1.5),
    outcome_window_seconds=60.0,
)
KEY = WorkflowKey("default", "bot")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[PlanTable]:
    table = PlanTable(tmp_path / "plans.db")
    yield table
    table.close()


@pytest.mark.parametrize("plan", [IDLE, ROLLING])
def test_a_plan_comes_back_as_it_was_written(table: PlanTable, plan: RoutePlan) -> None:
    assert table.write(plan)
    assert table.read_all() == (plan,)
    assert table.read("default", "bot") == plan
    assert table.read("other", "bot") is None


def test_an_older_version_never_replaces_a_newer_one(table: PlanTable) -> None:
    table.write(ROLLING)
    assert not table.write(IDLE)
    assert table.read_all() == (ROLLING,)


def test_the_generation_moves_with_changes_only(table: PlanTable) -> None:
    seen = [table.generation()]

    def moved() -> bool:
        seen.append(table.generation())
        return seen[-1] > seen[-2]

    table.write(ROLLING)
    assert moved()
    table.write(ROLLING)
    assert not moved()
    table.acknowledge("w0", {KEY: 2}, T0)
    assert not moved()
    assert table.write(replace(ROLLING, lease_until=T0 + timedelta(seconds=60)))
    assert moved()
    assert not table.write(replace(ROLLING, version=1, lease_until=T0 + timedelta(seconds=90)))
    assert not moved()
    assert table.delete("default", "bot")
    assert moved()
    assert table.read_all() == ()


def test_a_renewed_lease_keeps_the_version(table: PlanTable) -> None:
    later = T0 + timedelta(seconds=60)
    table.write(ROLLING)
    table.write(replace(ROLLING, lease_until=later))
    assert table.read_all() == (replace(ROLLING, lease_until=later),)


def test_what_did_not_change_is_not_decoded_again(table: PlanTable) -> None:
    table.write(ROLLING)
    table.write(replace(IDLE, workflow="other"))
    before = table.read_all()
    table.write(replace(ROLLING, lease_until=T0 + timedelta(seconds=60)))
    after = table.read_all()
    assert after[0] == replace(before[0], lease_until=T0 + timedelta(seconds=60))
    assert after[1] is before[1]


def test_programmed_is_what_the_slowest_worker_serves(table: PlanTable) -> None:
    assert table.programmed("default", "bot") == 0
    table.acknowledge("w0", {KEY: 2}, T0)
    assert table.programmed("default", "bot") == 2
    table.acknowledge("w1", {}, T0 + timedelta(seconds=9))
    assert table.programmed("default", "bot") == 0
    assert table.programmed("default", "bot", workers=["w0"]) == 2
    assert table.programmed("default", "bot", workers=["w0", "never-seen"]) == 0
    table.acknowledge("w1", {KEY: 1}, T0 + timedelta(seconds=10))
    assert table.programmed("default", "bot") == 1
    assert table.workers(since=T0 + timedelta(seconds=5)) == ("w1",)
    table.forget("w1")
    assert table.programmed("default", "bot") == 2
    assert table.workers() == ("w0",)


def test_a_reader_follows_changes_and_who_is_gone(table: PlanTable, tmp_path: Path) -> None:
    reader = PlanTable(tmp_path / "plans.db")
    plans = [replace(IDLE, workflow=f"w{number}") for number in range(4)]
    for plan in plans:
        table.write(plan)
    assert reader.read_all() == tuple(plans)
    newer = replace(plans[3], version=2)
    table.write(newer)
    table.delete("default", "w1")
    assert reader.read_all() == (plans[0], plans[2], newer)
    table.delete("default", "w2")
    table.write(plans[1])  # as many as before, but another
    assert reader.read_all() == (plans[0], plans[1], newer)
    reader.close()


def test_a_workflow_that_is_made_anew_is_acknowledged_anew(table: PlanTable) -> None:
    table.write(IDLE)
    table.acknowledge("w0", {KEY: 1}, T0)
    assert table.still_alive("w0", T0, 1)
    table.delete("default", "bot")
    table.write(IDLE)
    assert table.programmed("default", "bot") == 0
    assert not table.still_alive("w0", T0, 3)  # what it said is not what stands
    table.acknowledge("w0", {KEY: 1}, T0)
    assert table.programmed("default", "bot") == 1
    table.acknowledge("w0", {KEY: 1, WorkflowKey("default", "other"): 5}, T0)
    table.acknowledge("w0", {WorkflowKey("default", "other"): 6}, T0)
    assert (table.programmed("default", "bot"), table.programmed("default", "other")) == (0, 6)


def test_a_table_of_the_version_before_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    table = PlanTable(path)
    table.write(IDLE)
    table.close()
    with sqlite3.connect(path) as raw:
        raw.executescript(
            "DROP INDEX plans_changed; ALTER TABLE plans DROP COLUMN changed; PRAGMA user_version = 2;"
        )
    raw.close()
    keeper, worker = PlanKeeper(path), PlanTable(path, creates=False)
    assert keeper.read_all() == (IDLE,)
    assert worker.read_all() == (IDLE,)
    keeper.write(ROLLING)
    assert worker.read_all() == (ROLLING,)
    keeper.close()
    worker.close()


def test_two_connections_see_each_other(table: PlanTable, tmp_path: Path) -> None:
    other = PlanTable(tmp_path / "plans.db")
    before = other.generation()
    table.write(IDLE)
    assert other.generation() > before
    assert other.read_all() == (IDLE,)
    other.close()


def test_a_broken_file_is_unavailable_and_recovers_when_repaired(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    path.write_bytes(b"this is not a database, and longer than one header of a hundred bytes" * 4)
    table = PlanTable(path)
    with pytest.raises(Unavailable, match=r"plans\.db"):
        table.generation()
    path.unlink()
    table.write(IDLE)
    assert table.read_all() == (IDLE,)
    table.close()


def test_a_writer_that_may_not_wait_gives_up_at_once(table: PlanTable, tmp_path: Path) -> None:
    table.write(IDLE)
    hasty = PlanTable(tmp_path / "plans.db", wait_ms=0)
    assert hasty.read_all() == (IDLE,)
    holder = sqlite3.connect(tmp_path / "plans.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        hasty.acknowledge("w0", {KEY: 1}, T0)
    assert hasty.read_all() == (IDLE,)  # reading never waits
    holder.execute("ROLLBACK")
    holder.close()
    hasty.close()


def test_a_plan_that_cannot_be_decoded_is_unavailable(table: PlanTable, tmp_path: Path) -> None:
    table.write(IDLE)
    with sqlite3.connect(tmp_path / "plans.db") as raw:
        raw.execute("UPDATE plans SET body = ?", (b'{"stable": 1}',))
    raw.close()
    with pytest.raises(Unavailable, match="decoded"):
        table.read_all()


def remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def damage(path: Path) -> None:
    remove(path)
    path.write_bytes(b"this is not a database, and longer than one header of a hundred bytes" * 40)


@pytest.mark.parametrize("hurt", [remove, damage])
def test_a_keeper_makes_a_lost_table_anew_with_all_it_knew(
    tmp_path: Path, hurt: Callable[[Path], None]
) -> None:
    path = tmp_path / "plans.db"
    earlier = PlanTable(path)
    earlier.write(IDLE)
    earlier.close()
    keeper, worker = PlanKeeper(path), PlanTable(path, wait_ms=0, creates=False)
    keeper.write(replace(ROLLING, workflow="other"))
    seen = worker.generation()
    hurt(path)
    with pytest.raises(Unavailable):
        worker.generation()  # it waits: an empty table would take its plans away
    assert keeper.workers() == ()
    assert worker.generation() > seen
    assert worker.read_all() == (IDLE, replace(ROLLING, workflow="other"))
    worker.acknowledge("w0", {KEY: 1}, T0)
    assert keeper.programmed("default", "bot") == 1
    assert path.with_name("plans.db.broken").exists() == (hurt is damage)
    worker.close()
    keeper.close()


def test_a_worker_makes_no_table(tmp_path: Path) -> None:
    worker = PlanTable(tmp_path / "plans.db", creates=False)
    with pytest.raises(Unavailable):
        worker.generation()
    assert list(tmp_path.iterdir()) == []


def test_other_trouble_than_damage_sets_no_file_aside(tmp_path: Path) -> None:
    keeper = PlanKeeper(tmp_path / "plans.db")
    keeper.write(IDLE)
    holder = sqlite3.connect(tmp_path / "plans.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    keeper._wait_ms = 0
    keeper.close()
    with pytest.raises(Unavailable, match="locked"):
        keeper.write(ROLLING)
    holder.execute("ROLLBACK")
    holder.close()
    assert keeper.read_all() == (IDLE,)
    assert not (tmp_path / "plans.db.broken").exists()
    keeper.close()
