"""From spool to store: every whole line once, torn and bad lines never in the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sluicegate.lineage import entries, segments, spool
from sluicegate.lineage.ingester import DEAD_LETTERS, Ingester, Progress
from sluicegate.lineage.spool import SpoolLimits, SpoolWriter
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at, observed, run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LineageStore]:
    made = LineageStore(tmp_path / "lineage.db")
    yield made
    made.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def ingester(directory: Path, store: LineageStore) -> Iterator[Ingester]:
    made = Ingester(directory, store)
    yield made
    made.close()


def obs(number: int, seconds: float | None = None) -> bytes:
    return entries.encode_observation(observed(f"run-{number:06d}", number if seconds is None else seconds))


def units(store: LineageStore) -> list[int]:
    return [int(o.unit[-6:]) for o in store.observations(SHADOW, after=0)]


def test_no_spool_is_nothing_to_do(ingester: Ingester) -> None:
    assert ingester.step(at(0)) == Progress()


def test_lines_are_stored_and_the_segment_of_a_gone_writer_is_deleted(
    ingester: Ingester, store: LineageStore, directory: Path
) -> None:
    writer = SpoolWriter(directory, "w0")
    writer.append(entries.encode_run(run()), obs(1))
    first = ingester.step(at(5))
    assert (first.entries, first.lag_bytes) == (2, 0)
    assert store.run("run-000001")[0]["output"] == {"response": "on its way"}
    assert len(list(directory.glob("*.spool"))) == 1
    writer.close()
    ingester.step(at(6))
    assert list(directory.glob("*.spool")) == []
    assert store.positions() == {}
    assert units(store) == [1]


def test_a_line_in_the_making_is_waited_for(ingester: Ingester, store: LineageStore, directory: Path) -> None:
    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1))
    writer.append(obs(2)[:50])
    assert ingester.step(at(5)).entries == 1
    assert units(store) == [1], "the half line does not hold up the others"
    assert ingester.step(at(6)).lag_bytes == 50
    writer.append(obs(2)[50:])
    assert ingester.step(at(7)).entries == 1
    assert store.counts().get("torn_total", 0) == 0
    writer.close()


def test_the_torn_end_of_a_gone_writer_is_skipped_and_counted(
    ingester: Ingester, store: LineageStore, directory: Path
) -> None:
    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1))
    writer.append(obs(2)[:50])
    ingester.step(at(5))
    writer.close()  # as kill -9 does
    assert ingester.step(at(6)) == Progress(bytes=50, rejected=1)
    assert list(directory.glob("*.spool")) == []
    assert store.counts()["torn_total"] == 1
    assert units(store) == [1]


def test_a_bad_entry_goes_to_the_dead_letters(
    ingester: Ingester, store: LineageStore, directory: Path
) -> None:
    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1), b'{"t":"run","run_id":"run-000009"}\n', b"garbage\n", obs(2))
    assert ingester.step(at(5)).rejected == 2
    assert units(store) == [1, 2]
    letters = [orjson.loads(line) for line in (directory / DEAD_LETTERS).read_bytes().splitlines()]
    assert [letter["line"] for letter in letters] == ['{"t":"run","run_id":"run-000009"}', "garbage"]
    assert "arm" in letters[0]["reason"]
    assert (store.counts()["dead_letters_total"], store.counts()["torn_total"]) == (1, 1)
    writer.close()


def test_what_no_writer_made_holds_up_nobody(
    ingester: Ingester, store: LineageStore, directory: Path
) -> None:
    directory.mkdir()
    (directory / "a-folder-000000.spool").mkdir()
    (directory / "a-link-000000.spool").symlink_to("/dev/zero")
    (directory / "a-hole-000000.spool").write_bytes(b"\0" * 100_000)
    (directory / "a-noise-000000.spool").write_bytes(bytes(range(256)) * 400)
    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1))
    progress = [ingester.step(at(seconds)) for seconds in range(5, 9)]
    assert units(store) == [1]
    assert progress[-1].lag_bytes == 0
    writer.close()


def test_a_restart_goes_on_where_the_last_commit_ended(directory: Path, store: LineageStore) -> None:
    told: list[str] = []

    def tell(entry: dict[str, Any]) -> None:
        told.append(entry["run_id"])

    writer = SpoolWriter(directory, "w0")
    for number in range(1, 7):
        writer.append(obs(number))
        ingester = Ingester(directory, store, tell, batch=1)
        ingester.step(at(number))
        ingester.close()
    writer.close()
    assert units(store) == [1, 2, 3, 4, 5, 6]
    assert told == [f"run-{number:06d}" for number in range(1, 7)]
    assert store.counts().get("duplicates_total", 0) == 0


def test_a_kill_between_deleting_and_forgetting_a_segment_is_mended(
    directory: Path, store: LineageStore
) -> None:
    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1))
    first = Ingester(directory, store)
    first.step(at(1))
    first.close()
    writer.close()
    next(directory.glob("*.spool")).unlink()
    assert store.positions()
    second = Ingester(directory, store)
    second.step(at(2))
    second.close()
    assert store.positions() == {}


def test_an_entry_is_told_after_its_commit_only(directory: Path, store: LineageStore) -> None:
    def tell(entry: dict[str, Any]) -> None:
        assert store.run(entry["run_id"])

    writer = SpoolWriter(directory, "w0")
    for number in range(20):
        writer.append(entries.encode_run(run(f"run-{number:06d}")))
    writer.close()
    ingester = Ingester(directory, store, tell, batch=3)
    assert ingester.step(at(1)).entries == 20
    ingester.close()


def test_one_busy_writer_does_not_starve_the_others(directory: Path, store: LineageStore) -> None:
    busy, calm = SpoolWriter(directory, "a"), SpoolWriter(directory, "b")
    for number in range(2000):
        busy.append(obs(number))
    calm.append(obs(999_999))
    ingester = Ingester(directory, store, step_bytes=64 << 10)
    progress = ingester.step(at(3000))
    assert progress.lag_bytes > 0
    with store.database.read() as connection:
        assert connection.execute("SELECT 1 FROM parts WHERE run_id = 'run-999999'").fetchone()
    busy.close()
    calm.close()
    ingester.close()


def test_a_backlog_does_not_close_a_session_before_its_runs_are_read(
    directory: Path, store: LineageStore
) -> None:
    """Two hours of backlog, read in small steps: the session's two runs were 5 s apart, its window is 10 s."""
    writer = SpoolWriter(directory, "w0")
    session = {"unit": "session", "session": True, "window_seconds": 10.0}
    writer.append(entries.encode_observation(observed("first", 0, **session)))
    for number in range(1000):
        writer.append(obs(number, 1))
    writer.append(entries.encode_observation(observed("second", 5, **session)))
    ingester = Ingester(directory, store, step_bytes=1, batch=10)
    steps = 0
    while ingester.step(at(7200)).lag_bytes:
        steps += 1
    assert steps > 2
    found = {o.unit: o.runs for o in store.observations(SHADOW, after=0)}
    assert found["session"] == ("first", "second")
    writer.close()
    ingester.close()


def test_writers_learn_how_far_the_store_is(directory: Path, store: LineageStore, ingester: Ingester) -> None:
    writer = SpoolWriter(directory, "w0", limits=SpoolLimits(segment=len(obs(1))))
    for number in range(5):
        writer.append(obs(number))
    assert spool.backlog(directory) == sum(len(obs(number)) for number in range(5))
    ingester.step(at(10))
    assert spool.backlog(directory) == 0
    writer.close()


def test_a_writer_s_later_segment_waits_for_its_earlier_one(directory: Path, store: LineageStore) -> None:
    writer = SpoolWriter(directory, "w0", limits=SpoolLimits(segment=70_000))
    for number in range(1000):
        writer.append(obs(number, 1))
    told: list[str] = []
    ingester = Ingester(directory, store, lambda entry: told.append(entry["run_id"]), step_bytes=1)
    while ingester.step(at(5)).lag_bytes:
        pass
    assert told == [f"run-{number:06d}" for number in range(1000)]
    writer.close()
    ingester.close()


def test_reading_ahead_of_the_moment_closes_nothing_too_early(
    directory: Path, store: LineageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second step reads a line that is younger than the moment it closes: the reward's window, which ends
    between the two, comes first.
    """
    monkeypatch.setattr(segments, "_CHUNK", 64)
    waiting = entries.encode_observation(observed("run-000000", 0, expects_reward=True, window_seconds=2.5))
    writer = SpoolWriter(directory, "w0")
    ingester = Ingester(directory, store, step_bytes=len(waiting) + len(obs(1)) + 10)
    writer.append(waiting, obs(1), obs(2))
    assert ingester.step(at(2)).entries == 2
    writer.append(obs(3))
    assert ingester.step(at(3)).entries == 2
    assert units(store) == [1, 2]
    ingester.step(at(3))
    assert units(store) == [1, 2, 0, 3]
    writer.close()
    ingester.close()


def test_a_kill_before_a_finished_segment_is_deleted_reads_nothing_again(
    directory: Path, store: LineageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    writer = SpoolWriter(directory, "w0")
    writer.append(obs(1), entries.encode_run(run()))
    writer.close()
    for owner, point in ((Path, "unlink"), (store, "forget_segments")):
        ingester = Ingester(directory, store)
        with monkeypatch.context() as patch:
            patch.setattr(owner, point, die)
            with pytest.raises(Killed):
                ingester.step(at(5))
        ingester.close()
    told: list[str] = []
    last = Ingester(directory, store, lambda entry: told.append(entry["run_id"]))
    assert last.step(at(6)) == Progress()
    assert (told, store.positions(), store.counts().get("duplicates_total", 0)) == ([], {}, 0)
    assert units(store) == [1]
    last.close()
