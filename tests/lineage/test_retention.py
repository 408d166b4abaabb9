"""Runs grow cold, then go; at every moment a run is in exactly one place, whatever is killed when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.errors import Refused, Unavailable
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.lineage import cold, entries, retention
from sluicegate.lineage.retention import Policy, Swept, Tiers, sweep
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at, facts, fell_back, observed, run

DAY = 86_400.0
POLICY = Policy(default=Tiers(hot_days=7, cold_days=90))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LineageStore]:
    monkeypatch.setattr(retention, "BATCH", 4)
    made = LineageStore(tmp_path / "lineage.db")
    yield made
    made.close()


def aged(number: int, arm: Arm = Arm.STABLE, **fields: Any) -> bytes:
    """Run `number` started on day `number`."""
    return entries.encode_run(
        run(f"run-{number:06d}", arm, started_at=at(number * DAY).isoformat(), **fields)
    )


def sweep_all(store: LineageStore, days: float, policy: Policy = POLICY) -> Swept:
    moved = deleted = segments = 0
    while True:
        swept = sweep(store, policy, at(days * DAY))
        moved, deleted, segments = moved + swept.moved, deleted + swept.deleted, segments + swept.segments
        if not swept.more:
            return Swept(moved=moved, deleted=deleted, segments=segments)


def where(store: LineageStore, numbers: range) -> dict[int, int]:
    """How many documents are found of each run."""
    return {number: len(store.run(f"run-{number:06d}")) for number in numbers}


def files(store: LineageStore) -> list[str]:
    return sorted(path.name for path in store.cold.iterdir()) if store.cold.is_dir() else []


def test_old_runs_move_and_are_found_in_the_cold(store: LineageStore) -> None:
    store.ingest(line for n in range(20) for line in (aged(n), aged(n, Arm.CANDIDATE)))
    before = {n: store.run(f"run-{n:06d}") for n in range(20)}
    assert sweep_all(store, 17.5) == Swept(moved=22)
    assert store.counts()["runs"] == 18
    assert store.counts()["cold_documents"] == 22
    assert {n: store.run(f"run-{n:06d}") for n in range(20)} == before
    assert len(store.runs()) == 18


def test_a_second_sweep_has_nothing_to_do(store: LineageStore) -> None:
    store.ingest(aged(n) for n in range(20))
    sweep_all(store, 17.5)
    found = files(store)
    assert sweep_all(store, 17.5) == Swept()
    assert files(store) == found


def test_cold_segments_go_when_their_last_run_is_old_enough(store: LineageStore) -> None:
    store.ingest(aged(n) for n in range(8))
    assert sweep_all(store, 30) == Swept(moved=8)
    assert sweep_all(store, 92) == Swept()
    assert sweep_all(store, 94) == Swept(deleted=4, segments=1)
    assert where(store, range(8)) == dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 8), 1)
    assert sweep_all(store, 200) == Swept(deleted=4, segments=1)
    assert files(store) == []


def test_without_a_cold_tier_rows_are_deleted(store: LineageStore) -> None:
    store.ingest(aged(n) for n in range(20))
    policy = Policy(workflows={("shop", "support-bot"): Tiers(hot_days=7, cold_days=0)})
    assert sweep_all(store, 17.5, policy) == Swept(deleted=11)
    assert where(store, range(20)) == {n: int(n > 10) for n in range(20)}
    assert files(store) == []


def test_each_workflow_has_its_tiers(store: LineageStore) -> None:
    store.ingest(aged(n, workflow=("short", "long")[n % 2]) for n in range(20))
    policy = Policy(workflows={("shop", "short"): Tiers(hot_days=1, cold_days=90)})
    assert sweep_all(store, 17.5, policy) == Swept(moved=9 + 5)


def test_outcomes_go_with_the_run_and_late_ones_find_it(store: LineageStore) -> None:
    failed = entries.encode_outcome("run-000001", at=at(2 * DAY), outcome=RunOutcome.FAILED)
    store.ingest([aged(1), failed])
    sweep_all(store, 17.5)
    before = store.run("run-000001")
    assert before[0]["outcome"] == "Failed"
    store.ingest([entries.encode_outcome("run-000001", at=at(17 * DAY), reward=0.5)])
    [document] = store.run("run-000001")
    assert (document["outcome"], document["reward"], len(document["outcomes"])) == ("Failed", 0.5, 2)


def test_an_arm_that_stays_hot_keeps_its_outcomes(store: LineageStore) -> None:
    store.ingest(
        [
            entries.encode_run(run("run-000001", Arm.CANDIDATE, started_at=at(0).isoformat())),
            entries.encode_run(run("run-000001", Arm.STABLE, started_at=at(DAY).isoformat())),
            entries.encode_outcome("run-000001", at=at(5), outcome=RunOutcome.FAILED),
        ]
    )
    sweep_all(store, 7.5)
    assert store.counts()["runs"] == 1
    assert [(d["arm"], d["outcome"]) for d in store.run("run-000001")] == [
        ("stable", "Failed"),
        ("candidate", "Succeeded"),
    ]


@pytest.mark.parametrize("cold_days", [90, 0], ids=["moved", "deleted"])
def test_an_open_unit_keeps_its_outcomes_though_the_run_has_left(store: LineageStore, cold_days: int) -> None:
    """A reward may come for 20 days, runs are hot for 7."""
    raw = observed("run-000001", DAY, candidate=facts(), expects_reward=True, window_seconds=20 * DAY)
    failed = entries.encode_outcome("run-000001", at=at(2 * DAY), outcome=RunOutcome.FAILED, reward=0.25)
    store.ingest([aged(1, rollout="rollout-1"), entries.encode_observation(raw), failed])
    sweep_all(store, 17.5, Policy(default=Tiers(hot_days=7, cold_days=cold_days)))
    store.ingest([], now=at(21 * DAY))
    [observation] = store.observations(SHADOW, after=0)
    assert observation.stable == facts(0.0, reward=0.25)
    for document in store.run("run-000001"):
        assert [outcome["late"] for outcome in document["outcomes"]] == [False]


def test_fallbacks_of_moved_runs_are_no_longer_sampled(store: LineageStore) -> None:
    place: dict[str, Any] = {
        "rollout": "r",
        "stage": "Controlled",
        "attempt": 1,
        "steps": (fell_back("orders"),),
    }
    store.ingest([aged(1, **place), aged(15, **place)])
    sweep_all(store, 17.5)
    assert [f["run_id"] for f in store.fallbacks("r", "Controlled", 1)] == ["run-000015"]


def test_evidence_is_kept_as_long_as_any_of_its_key_is_young(store: LineageStore) -> None:
    other = SHADOW._replace(attempt=2)
    store.ingest(
        entries.encode_observation(observed(f"u{day}", day * DAY, key=key))
        for key, day in ((SHADOW, 0), (SHADOW, 50), (other, 0))
    )
    store.save(other, b"state")
    sweep_all(store, 100)
    assert len(store.observations(SHADOW, after=0)) == 2
    assert store.observations(other, after=0) == []
    assert store.load(other) is None


def test_a_prefix_finds_cold_runs_too(store: LineageStore) -> None:
    store.ingest(aged(n) for n in (1, 15, 100_001))
    sweep_all(store, 17.5)
    assert store.run("run-1000")[0]["run_id"] == "run-100001"
    assert store.run("run-00000")[0]["run_id"] == "run-000001"
    with pytest.raises(Refused, match="run-000001 or run-000015"):
        store.run("run-0000")


def test_a_changed_segment_is_not_believed(store: LineageStore) -> None:
    store.ingest([aged(1)])
    sweep_all(store, 17.5)
    path = next(store.cold.glob("*.zst"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(Unavailable, match="was changed"):
        store.run("run-000001")
    path.unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        store.run("run-000001")


class Killed(BaseException):
    """Stands for kill -9: nothing catches it, and open transactions are rolled back as SQLite does on the next
    start.
    """


POINTS = ("write", "_durable", "read", "leftovers", "remove")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", [*POINTS, "_delete", "_expire"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_kill_at_any_point_is_resumed(
    store: LineageStore, monkeypatch: pytest.MonkeyPatch, point: str, after: bool, nth: int
) -> None:
    """Killed at the nth passage of `point`, before or after what it does; then again with nothing in the way."""
    store.ingest(aged(n) for n in range(16))
    store.ingest(entries.encode_outcome(f"run-{n:06d}", at=at(n * DAY + 5), reward=0.5) for n in range(16))
    module = cold if point in POINTS else retention
    real, calls = getattr(module, point), [0]

    def dying(*args: Any) -> Any:
        calls[0] += 1
        result = None if calls[0] == nth and not after else real(*args)
        if calls[0] == nth:
            raise Killed
        return result

    for days in (17.5, 95.5):
        calls[0] = 0
        with monkeypatch.context() as patch:
            patch.setattr(module, point, dying)
            try:
                sweep_all(store, days)
            except Killed:
                alive = where(store, range(16))
                assert set(alive.values()) <= {0, 1}
                assert all(alive[n] for n in range(16) if n > days - 90)
        sweep_all(store, days)
        found = where(store, range(16))
        gone = 0 if days < 90 else 4  # whole segments whose last run is past 90 days
        assert found == {n: int(n >= gone) for n in range(16)}
        assert {store.run(f"run-{n:06d}")[0]["reward"] for n in range(gone, 16)} == {0.5}
        with store.database.read() as connection:
            named = {row[0] for row in connection.execute("SELECT name FROM cold")}
            assert cold.leftovers(connection, store.cold) == []
        assert set(files(store)) == named | {f"{name}.json" for name in named}
