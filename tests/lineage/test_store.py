"""The store: idempotent, the same in any order of arrival, readable by people while it is written."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.errors import Refused, Unavailable
from sluicegate.contracts.evidence import Ablation, ArmFacts
from sluicegate.contracts.runs import Arm, Coalition, Comparison, Failure, RunOutcome, Violation
from sluicegate.lineage import entries
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import CONTROLLED, SHADOW, at, facts, fell_back, observed, run, step


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LineageStore]:
    made = LineageStore(tmp_path / "lineage.db")
    yield made
    made.close()


def test_a_run_shows_every_arm_in_order(store: LineageStore) -> None:
    store.ingest(entries.encode_run(run(arm=arm)) for arm in (Arm.CONTROL, Arm.CANDIDATE, Arm.STABLE))
    found = store.run("run-000001")
    assert [document["arm"] for document in found] == ["stable", "candidate", "control"]
    assert found[0]["steps"][0]["response"] == {"intent": "track_order"}
    assert "t" not in found[0]


def test_what_is_stored_twice_is_there_once(store: LineageStore) -> None:
    lines = [
        entries.encode_run(run()),
        entries.encode_observation(observed()),
        entries.encode_outcome("run-000001", at=at(1), reward=0.5),
    ]
    assert store.ingest(lines) == 3
    assert store.ingest(lines) == 0
    assert len(store.run("run-000001")) == 1
    assert len(store.run("run-000001")[0]["outcomes"]) == 1
    assert len(store.observations(SHADOW, after=0)) == 1


def test_a_bad_line_stores_nothing_of_its_batch(store: LineageStore) -> None:
    with pytest.raises(entries.MalformedError):
        store.ingest([entries.encode_run(run()), b"garbage"])
    assert store.counts()["runs"] == 0


LATER = {
    "run": entries.encode_run(run(rollout="rollout-1", stage="Shadow", attempt=1)),
    "mirror": entries.encode_run(run(arm=Arm.CANDIDATE, rollout="rollout-1", stage="Shadow", attempt=1)),
    "obs": entries.encode_observation(observed(candidate=facts(), expects_reward=True, window_seconds=10.0)),
    "after": entries.encode_after("run-000001", Arm.STABLE, steps=(step("judge"),), reward=0.9, at=at(1)),
    "failed": entries.encode_outcome("run-000001", at=at(2), outcome=RunOutcome.FAILED, reward=0.25),
}


@pytest.mark.parametrize("batches", [1, 5], ids=["one batch", "a batch each"])
def test_any_order_of_arrival_gives_the_same(tmp_path: Path, batches: int) -> None:
    seen = []
    for number, order in enumerate(itertools.permutations(LATER.values())):
        if number % 7:  # 18 of the 120 orders
            continue
        store = LineageStore(tmp_path / str(number) / "lineage.db")
        for group in [order] if batches == 1 else [(line,) for line in order]:
            store.ingest(group, now=at(3))
        assert store.observations(SHADOW, after=0) == [], "the mirror's reward may still come"
        store.ingest([], now=at(10))
        [observation] = store.observations(SHADOW, after=0)
        seen.append((store.run("run-000001"), store.runs(), observation))
        store.close()
    assert all(found == seen[0] for found in seen)
    [stable, candidate], summaries, observation = seen[0]
    assert (stable["outcome"], stable["outcomeAtAnswer"], stable["reward"]) == ("Failed", "Succeeded", 0.25)
    assert [s["name"] for s in stable["steps"]] == ["plan", "judge"]
    assert stable["outcomes"][0]["late"] is False
    assert (candidate["outcome"], candidate["reward"], "outcomes" in candidate) == ("Succeeded", None, False)
    assert [(s["arm"], s["outcome"], s["reward"]) for s in summaries] == [
        ("stable", "Failed", 0.25),
        ("candidate", "Succeeded", None),
    ]
    assert observation.stable == facts(0.0, reward=0.25, evaluated=0.9, outcome=0.25)
    assert observation.candidate == facts(1.0)
    assert observation.at == at(10)


def test_a_late_outcome_is_on_the_document_and_no_evidence(store: LineageStore) -> None:
    store.ingest([LATER["run"], entries.encode_observation(observed())])
    store.ingest([entries.encode_outcome("run-000001", at=at(60), outcome=RunOutcome.FAILED)])
    assert store.run("run-000001")[0]["outcome"] == "Failed"
    assert store.run("run-000001")[0]["outcomes"][0]["late"] is True
    assert store.observations(SHADOW, after=0)[0].stable == facts(1.0)
    assert store.counts()["late_outcomes_total"] == 1


def test_a_run_that_comes_after_its_unit_was_closed_is_no_evidence(store: LineageStore) -> None:
    session: dict[str, Any] = {"unit": "s", "session": True, "window_seconds": 10.0}
    store.ingest([entries.encode_observation(observed("a", 0, **session))], now=at(10))
    store.ingest([entries.encode_observation(observed("b", 9, stable=facts(0.0), **session))], now=at(30))
    [observation] = store.observations(SHADOW, after=0)
    assert (observation.runs, observation.stable) == (("a",), facts(1.0))
    assert store.counts()["late_runs_total"] == 1


def test_two_observations_of_one_run_join_their_arms(store: LineageStore) -> None:
    waiting: dict[str, Any] = {"expects_reward": True, "window_seconds": 5.0}
    store.ingest([entries.encode_observation(observed(**waiting))], now=at(1))
    store.ingest(
        [entries.encode_observation(observed(stable=None, candidate=facts(0.0), **waiting))], now=at(6)
    )
    [observation] = store.observations(SHADOW, after=0)
    assert (observation.stable, observation.candidate) == (facts(1.0), facts(0.0))


def test_sequences_ascend_by_closing_time_and_stay(store: LineageStore) -> None:
    store.ingest(entries.encode_observation(observed(f"unit-{n}", 9 - n)) for n in range(5))
    first = store.observations(SHADOW, after=0)
    assert [o.unit for o in first] == ["unit-4", "unit-3", "unit-2", "unit-1", "unit-0"]
    store.ingest(entries.encode_observation(observed(f"early-{n}", 0)) for n in range(5))
    every = store.observations(SHADOW, after=0)
    assert every[:5] == first
    sequences = [o.sequence for o in every]
    assert sequences == sorted(set(sequences))
    assert store.observations(SHADOW, after=first[2].sequence, limit=3) == every[3:6]


def test_keys_do_not_mix(store: LineageStore) -> None:
    keys = [SHADOW, CONTROLLED, SHADOW._replace(attempt=2), SHADOW._replace(rollout="rollout-2")]
    store.ingest(
        entries.encode_observation(observed(key=key, stable=facts(n / 4))) for n, key in enumerate(keys)
    )
    for number, key in enumerate(keys):
        assert [(o.key, o.stable) for o in store.observations(key, after=0)] == [(key, facts(number / 4))]
        store.save(key, bytes([number]))
    assert [store.load(key) for key in keys] == [bytes([number]) for number in range(4)]
    store.save(SHADOW, b"new")
    assert store.load(SHADOW) == b"new"
    assert store.load(SHADOW._replace(attempt=9)) is None


def fill(store: LineageStore) -> None:
    enum = Violation(code="Enum", path="steps.plan.intent", message="no")
    store.ingest(
        entries.encode_run(record)
        for record in (
            run("run-000001", started_at=at(1).isoformat()),
            run("run-000002", started_at=at(2).isoformat(), workflow="other"),
            run("run-000003", started_at=at(3).isoformat(), namespace="lab"),
            run(
                "run-000004",
                started_at=at(4).isoformat(),
                revision="support-bot-2",
                steps=(fell_back("orders"),),
            ),
            run(
                "run-000005",
                started_at=at(5).isoformat(),
                outcome=RunOutcome.FAILED,
                error="boom",
                violations=(enum,),
            ),
            run(
                "run-000006", Arm.STABLE, started_at=at(6).isoformat(), rollout="r", stage="Shadow", attempt=1
            ),
            run(
                "run-000006",
                Arm.CANDIDATE,
                started_at=at(6).isoformat(),
                rollout="r",
                stage="Shadow",
                attempt=1,
                comparison=Comparison(agrees=False, similarity=0.5),
            ),
            run("run-000007", started_at=at(7).isoformat(), steps=(fell_back("orders", forced=True),)),
        )
    )


FILTERS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "no filter: newest first": ({}, [7, 6, 6, 5, 4, 3, 2, 1]),
    "of a workflow": ({"workflow": "other"}, [2]),
    "of a namespace": ({"namespace": "lab"}, [3]),
    "of a revision": ({"revision": "support-bot-2"}, [4]),
    "of an arm": ({"arm": "candidate"}, [6]),
    "of a rollout and stage": ({"rollout": "r", "stage": "Shadow"}, [6, 6]),
    "of another stage": ({"rollout": "r", "stage": "Canary"}, []),
    "failed": ({"outcome": "Failed"}, [5]),
    "fell back, a forced one does not count": ({"fallback": True}, [4]),
    "did not fall back": (
        {"fallback": False, "workflow": "support-bot", "namespace": "shop"},
        [7, 6, 6, 5, 1],
    ),
    "since": ({"since": at(6)}, [7, 6, 6]),
    "a few": ({"limit": 2}, [7, 6]),
    "none": ({"limit": 0}, []),
}


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS.keys())
def test_runs_are_found(store: LineageStore, filters: dict[str, Any], expected: list[int]) -> None:
    fill(store)
    assert [int(summary["run_id"][-1]) for summary in store.runs(**filters)] == expected


def test_a_summary_says_what_matters(store: LineageStore) -> None:
    fill(store)
    [failed] = store.runs(outcome="Failed")
    assert {**failed, "cursor": ""} == {
        "run_id": "run-000005",
        "arm": "stable",
        "namespace": "shop",
        "workflow": "support-bot",
        "revision": "support-bot-1",
        "version": "1.0.0",
        "rollout": None,
        "stage": None,
        "attempt": 0,
        "serving": True,
        "outcome": "Failed",
        "latency_ms": 12.5,
        "reward": None,
        "started_at": "2026-11-01T12:00:05Z",
        "error": "boom",
        "fallback": False,
        "violated": True,
        "disagrees": False,
        "bodies": True,
        "cursor": "",
    }
    assert [summary["disagrees"] for summary in store.runs(rollout="r")] == [False, True]


def test_pages_cover_everything_once(store: LineageStore) -> None:
    fill(store)
    pages, before = [], None
    while page := store.runs(limit=3, before=before):
        pages += page
        before = page[-1]["cursor"]
    assert pages == store.runs()


@pytest.mark.parametrize("cursor", ["", "x", "1/2", "1/stable/", "run-000001"])
def test_a_cursor_that_is_none_is_refused(store: LineageStore, cursor: str) -> None:
    with pytest.raises(Refused, match="cursor"):
        store.runs(before=cursor)


def test_a_prefix_finds_its_run(store: LineageStore) -> None:
    store.ingest(
        entries.encode_run(run(name)) for name in ("01a22a55-78ca", "01a22a55-79ff", "01a22b00-0000")
    )
    assert store.run("01a22b")[0]["run_id"] == "01a22b00-0000"
    assert store.run("01a22c") == []
    assert store.run("01a22") == [], "too short to be a prefix"
    with pytest.raises(Refused, match="01a22a55-78ca or 01a22a55-79ff"):
        store.run("01a22a55")


def test_an_id_that_is_whole_is_no_prefix(store: LineageStore) -> None:
    store.ingest(entries.encode_run(run(name)) for name in ("run-1", "run-10", "run-100000", "run-1000001"))
    assert [store.run(name)[0]["run_id"] for name in ("run-1", "run-100000")] == ["run-1", "run-100000"]


def test_fallbacks_for_review_are_few_per_reason_and_always_the_same(store: LineageStore) -> None:
    reasons = (Failure.TIMEOUT, Failure.UNAVAILABLE)
    place: dict[str, Any] = {"rollout": "r", "stage": "Controlled", "attempt": 1}
    store.ingest(
        entries.encode_run(
            run(
                f"run-{n:06d}",
                Arm.CANDIDATE,
                serving=n % 3 != 0,
                **place,
                steps=(fell_back("orders", reasons[n % 2]), fell_back("writer", forced=True)),
            )
        )
        for n in range(40)
    )
    found = store.fallbacks("r", "Controlled", 1, limit=2)
    assert [(f["component"], f["reason"], f["run_id"]) for f in found] == [
        ("orders", "Timeout", "run-000002"),
        ("orders", "Timeout", "run-000004"),
        ("orders", "Unavailable", "run-000001"),
        ("orders", "Unavailable", "run-000005"),
    ]
    assert store.fallbacks("r", "Controlled", 2) == []


def test_bodies_are_compressed_with_a_dictionary_and_read_back_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "lineage.db"
    for generation in range(2):
        store = LineageStore(path)
        for batch in range(4):
            numbers = range(batch * 200, batch * 200 + 200)
            store.ingest(
                entries.encode_run(run(f"run-{generation}-{n:05d}", error=str(n * n))) for n in numbers
            )
        assert {store.run(f"run-{generation}-{n:05d}")[0]["error"] for n in range(0, 800, 50)} == {
            str(n * n) for n in range(0, 800, 50)
        }
        store.close()
    store = LineageStore(path)
    assert store.run("run-0-00001")[0]["error"] == "1"
    with store.database.read() as connection:
        used = dict(connection.execute("SELECT dictionary, avg(length(data)) FROM bodies GROUP BY 1"))
    assert used.keys() == {0, 1}
    assert used[1] < used[0] / 2
    store.close()


def test_a_damaged_document_is_told_as_such(store: LineageStore) -> None:
    store.ingest([entries.encode_run(run("run-000001"))])
    with store.database.write() as connection:
        connection.execute("UPDATE bodies SET data = x'00'")
    with pytest.raises(Unavailable, match="damaged"):
        store.run("run-000001")


def test_readers_see_whole_commits_while_the_writer_writes(store: LineageStore) -> None:
    stop = threading.Event()
    wrong: list[tuple[str, object]] = []

    def read() -> None:
        while not stop.is_set():
            for summary in store.runs(limit=5):
                arms = [document["arm"] for document in store.run(summary["run_id"])]
                if arms != ["stable", "candidate"]:
                    wrong.append((summary["run_id"], arms))
            counts = store.counts()
            if counts["runs"] != counts.get("run_total", 0) or counts["observations"] % 10:
                wrong.append(("counts", counts))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for batch in range(40):
        names = [f"run-{batch:03d}-{n}" for n in range(10)]
        store.ingest(
            line
            for name in names
            for line in (
                entries.encode_run(run(name)),
                entries.encode_run(run(name, Arm.CANDIDATE)),
                entries.encode_observation(observed(name)),
            )
        )
        store.save(SHADOW, bytes([batch]))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.counts()["runs"] == 800


def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "lineage.db")
    with store.database.write() as connection:
        connection.execute("PRAGMA user_version=99")
    store.close()
    with pytest.raises(Unavailable, match="schema 99"):
        LineageStore(tmp_path / "lineage.db")


def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "lineage.db"
    path.write_bytes(b"something else " * 100)
    with pytest.raises(Unavailable, match="cannot be used as lineage store"):
        LineageStore(path)
    assert path.read_bytes() == b"something else " * 100


def test_what_people_said_is_for_the_owner_only(store: LineageStore, tmp_path: Path) -> None:
    store.ingest([entries.encode_run(run())])
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("lineage.db*")} == {0o600}


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "lineage.db")
    store.close()
    for use in (store.counts, lambda: store.ingest([])):
        with pytest.raises(Unavailable, match="closed"):
            use()


def test_an_ablated_copy_is_kept_apart_from_the_arms(store: LineageStore) -> None:
    coalition = Coalition(players=("planner", "writer"), mask=0b10, probability=0.25)
    store.ingest([entries.encode_observation(observed(ablation=Ablation(coalition=coalition, reward=0.5)))])
    store.ingest([entries.encode_run(run(arm=Arm.ABLATED, serving=False, coalition=coalition))])
    [found] = store.observations(SHADOW, after=0)
    assert found.ablation == Ablation(coalition=coalition, reward=0.5)
    assert (found.stable, found.candidate, found.control) == (facts(), None, None)
    [document] = store.run("run-000001")
    assert document["coalition"] == {
        "players": ["planner", "writer"],
        "mask": 2,
        "probability": 0.25,
        "game": "Fallback",
    }


def test_an_observation_keeps_every_fact(store: LineageStore) -> None:
    rich = ArmFacts(
        success=0.5,
        latencies_ms=(1.0, 2.5),
        fallbacks={"orders": 0.5},
        violations=("Enum steps.plan.intent",),
        violated=0.5,
        reward=0.125,
        disagrees=0.25,
    )
    store.ingest([entries.encode_observation(observed(candidate=rich, control=rich, dropped=1))])
    [found] = store.observations(SHADOW, after=0)
    assert (found.candidate, found.control, found.stable, found.dropped) == (rich, rich, facts(), 1)
    assert (found.key, found.unit, found.runs, found.at) == (SHADOW, "run-000001", ("run-000001",), at(0))
