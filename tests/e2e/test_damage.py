"""Files of the state folder that are damaged, lost, held or full: what is derived is made anew, the rest is told."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e import life
from tests.e2e.life import in_state, rollout_of
from tests.e2e.users import crowd
from tests.operator.samples import staged
from tests.operator.up import START, Up, Users, component_server, no_traceback, run, until

pytestmark = pytest.mark.e2e

GARBAGE = b"no database, whatever its name says; " * 200
HELD_SECONDS = 11
"""Longer than any of our waits for a lock (10 s)."""


@pytest.fixture(scope="module")
def components() -> Iterator[str]:
    with component_server() as base:
        yield base


def lose(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def damage(path: Path) -> None:
    lose(path)
    path.write_bytes(GARBAGE)


@pytest.fixture
def rolled(tmp_path: Path, components: str) -> Iterator[Up]:
    """A candidate in Controlled."""
    up = Up(tmp_path / "s")
    try:
        up.start()
        up.apply(staged("1.0.0", components))
        life.serving(up, "echo")
        up.apply(staged("2.0.0", components, needs={"Controlled": life.NEVER}))
        until(
            "Controlled",
            lambda: (
                crowd(up, "echo")
                and state(up) == "Controlled"
                and life.is_programmed(rollout_of(up, "2.0.0"))
            ),
        )
        yield up
    finally:
        up.kill()


def state(up: Up) -> str:
    found = rollout_of(up, "2.0.0")
    return found["status"]["state"] if found else ""


@pytest.mark.parametrize("name", ["resources.db", "lineage.db"])
def test_a_broken_file_of_record_is_told_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(GARBAGE)
    command = [sys.executable, "-c", START, str(tmp_path), "0", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 6
    assert ended.stderr.startswith(f"error: {tmp_path / name} cannot be used as ")
    no_traceback(ended.stderr)
    assert (tmp_path / name).read_bytes() == GARBAGE, "it is left for a repair"


@pytest.mark.parametrize("hurt", [lose, damage])
def test_derived_files_are_made_anew_at_the_start(rolled: Up, hurt: Callable[[Path], None]) -> None:
    before = rollout_of(rolled, "2.0.0")
    assert rolled.stop() == 0
    for name in ("plans.db", "events.db"):
        hurt(rolled.root / name)
    rolled.start()
    until("both versions answer", lambda: set(crowd(rolled, "echo")) == {"1.0.0", "2.0.0"})
    after = rollout_of(rolled, "2.0.0")
    assert before is not None
    assert after is not None
    for field in ("state", "attempt", "stageStartedAt"):
        assert after["status"][field] == before["status"][field]
    assert after["status"]["planVersion"] >= before["status"]["planVersion"]
    assert rolled.api("GET", "/events")[0] == 200
    assert rolled.stop() == 0
    no_traceback(rolled.logs())


def test_plans_that_are_lost_while_it_runs_come_back_for_new_workers(rolled: Up) -> None:
    lose(rolled.state.plans)
    assert set(crowd(rolled, "echo")) == {"1.0.0", "2.0.0"}, "a worker keeps what it has"
    life.kill_workers(rolled)
    until("both versions answer", lambda: set(crowd(rolled, "echo")) == {"1.0.0", "2.0.0"})
    assert rolled.stop() == 0


def test_no_lock_of_another_program_stops_answers_or_loses_runs(tmp_path: Path, components: str) -> None:
    """All files at once, for longer than anything of ours waits."""
    up = Up(tmp_path / "s")
    users = Users(0, threads=2, pause=0.01)
    over = threading.Event()
    try:
        up.start()
        users.port = up.port
        up.apply(staged("1.0.0", components))
        until("stable serves", lambda: run(up.port, {"text": "first"}))
        up.apply(staged("2.0.0", components, needs={"Controlled": life.NEVER}))
        in_state(up, "Canary", "2.0.0")
        with users.sending():
            holders = [sqlite3.connect(path, isolation_level=None) for path in up.root.glob("*.db")]
            for holder in holders:
                holder.execute("BEGIN IMMEDIATE")
            over.wait(HELD_SECONDS)  # the time itself is the trouble
            assert users.failed == 0
            assert state(up) == "Canary"
            for holder in holders:
                with closing(holder):
                    holder.execute("ROLLBACK")
            in_state(up, "Controlled", "2.0.0")
        assert up.stop() == 0
    finally:
        up.kill()
    assert users.failed == 0
    no_traceback(up.logs())
    life.check_nothing_is_lost(up, users.answered)
