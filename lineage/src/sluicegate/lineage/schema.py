"""Tables, connections, transactions. SQLite in WAL mode: one writer, any number of readers, kill -9 safe.

synchronous=NORMAL: a power cut may lose the last commits but cannot corrupt; what is lost with a commit is also
still in the spool's file, because segments are deleted after their commit only. FULL where that file's origin is another
machine, which has deleted its own.
"""

import os
import queue
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sluicegate.contracts.errors import Unavailable

VERSION: Final = 1

FALLBACK: Final = 1  # bits of runs.flags
VIOLATED: Final = 2
BODILESS: Final = 4
DISAGREES: Final = 8
DRILLED: Final = 16
UNANSWERED: Final = 32  # of a drill: no answer of the table
UNLAWFUL: Final = 64  # of a drill: an answer that breaks a contract

_TABLES: Final = """
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, arm TEXT NOT NULL, namespace TEXT NOT NULL,
  workflow TEXT NOT NULL, revision TEXT NOT NULL, version TEXT NOT NULL, rollout TEXT, stage TEXT,
  attempt INTEGER NOT NULL, serving INTEGER NOT NULL, outcome TEXT NOT NULL, latency_ms REAL NOT NULL,
  reward REAL, started_at INTEGER NOT NULL, flags INTEGER NOT NULL, error TEXT, UNIQUE (run_id, arm));
CREATE INDEX runs_of_workflow ON runs (namespace, workflow, started_at, serving);
CREATE INDEX runs_in_time ON runs (started_at);
CREATE INDEX runs_of_rollout ON runs (rollout, stage, started_at) WHERE rollout IS NOT NULL;
CREATE TABLE bodies (id INTEGER PRIMARY KEY, dictionary INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE dictionaries (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE amendments (
  run_id TEXT NOT NULL, digest BLOB NOT NULL, at INTEGER, used INTEGER NOT NULL DEFAULT 0, entry BLOB NOT NULL,
  PRIMARY KEY (run_id, digest)) WITHOUT ROWID;
CREATE INDEX amendments_in_time ON amendments (at);
CREATE TABLE fallbacks (
  rollout TEXT NOT NULL, stage TEXT NOT NULL, attempt INTEGER NOT NULL, component TEXT NOT NULL,
  reason TEXT NOT NULL, run_id TEXT NOT NULL, arm TEXT NOT NULL, step TEXT NOT NULL, strategy TEXT NOT NULL,
  serving INTEGER NOT NULL,
  PRIMARY KEY (rollout, stage, attempt, component, reason, run_id, arm, step)) WITHOUT ROWID;
CREATE INDEX fallbacks_of_run ON fallbacks (run_id, arm);
CREATE TABLE units (
  id INTEGER PRIMARY KEY, rollout TEXT NOT NULL, stage TEXT NOT NULL, attempt INTEGER NOT NULL,
  unit TEXT NOT NULL, closes_at INTEGER NOT NULL, waits INTEGER NOT NULL, sequence INTEGER,
  observation BLOB, UNIQUE (rollout, stage, attempt, unit));
CREATE INDEX units_open ON units (waits, closes_at, unit) WHERE sequence IS NULL;
CREATE UNIQUE INDEX units_closed ON units (rollout, stage, attempt, sequence) WHERE sequence IS NOT NULL;
CREATE TABLE parts (
  unit_id INTEGER NOT NULL, run_id TEXT NOT NULL, entry BLOB NOT NULL,
  PRIMARY KEY (unit_id, run_id)) WITHOUT ROWID;
CREATE INDEX parts_of_run ON parts (run_id);
CREATE TABLE states (
  rollout TEXT NOT NULL, stage TEXT NOT NULL, attempt INTEGER NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY (rollout, stage, attempt)) WITHOUT ROWID;
CREATE TABLE segments (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cold (
  name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, first_run TEXT NOT NULL, last_run TEXT NOT NULL,
  documents INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  namespace TEXT NOT NULL, workflow TEXT NOT NULL) WITHOUT ROWID;
"""

_ADDED: Final = (
    f"CREATE INDEX IF NOT EXISTS runs_drilled ON runs (namespace, workflow, started_at) WHERE flags & {DRILLED}",
)
"""Since the first schema; what an earlier program finds it uses, or leaves alone."""

_OPTIONS: Final[Mapping[str, Any]] = {
    "timeout": 10.0,
    "isolation_level": None,
    "check_same_thread": False,
    "cached_statements": 256,
}

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def micros(at: datetime) -> int:
    """Microseconds since the epoch: exact, sorts as time does."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment_of(value: int) -> datetime:
    """The inverse of micros."""
    return EPOCH + timedelta(microseconds=value)


class Database:
    """Connections of one file: `write()` is one transaction at a time, `read()` any number.

    survives_power_cuts: a commit is on disk before it returns (synchronous=FULL).
    """

    def __init__(self, path: Path, *, survives_power_cuts: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._synchronous = "FULL" if survives_power_cuts else "NORMAL"
        self._lock = threading.RLock()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False
        # Runs hold what people said: for the owner only. SQLite gives its -wal and -shm the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._writer = sqlite3.connect(path, **_OPTIONS)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._writer.close()
            raise Unavailable(f"{path} cannot be used as lineage store: {error}") from error
        except BaseException:
            self._writer.close()
            raise

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed when the block ends, rolled back when it raises. Not reentrant."""
        with self._lock:
            if self._closed:
                raise Unavailable("the lineage store is closed")
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.commit()
            except sqlite3.OperationalError as error:  # locked by another program, disk full
                self._writer.rollback()
                raise Unavailable(f"{self._path} cannot be written: {error}") from error
            except BaseException:
                self._writer.rollback()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the last commit and blocks nobody."""
        if self._closed:
            raise Unavailable("the lineage store is closed")
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = sqlite3.connect(self._path, **_OPTIONS)
            connection.execute("PRAGMA query_only=1")
        try:
            yield connection
        finally:
            if self._closed:
                connection.close()
            else:
                self._readers.put(connection)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one and the same commit."""
        with self.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    def compact(self) -> None:
        """Give freed pages back to the file system, some at a time."""
        with self._lock:
            self._writer.execute("PRAGMA incremental_vacuum(2000)").fetchall()

    def close(self) -> None:
        """Close every idle connection; one in use is closed by its user."""
        self._closed = True
        with self._lock:
            self._writer.close()
        while True:
            try:
                self._readers.get_nowait().close()
            except queue.Empty:
                return

    def _prepare(self) -> None:
        writer = self._writer
        writer.execute(f"PRAGMA synchronous={self._synchronous}")
        writer.execute("PRAGMA cache_size=-16000")
        if writer.execute("PRAGMA user_version").fetchone()[0] == 0:
            writer.execute("PRAGMA auto_vacuum=INCREMENTAL")
        writer.execute("PRAGMA journal_mode=WAL").fetchone()
        with self.write() as connection:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found == 0:
                for statement in _TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={VERSION}")
            elif found != VERSION:
                raise Unavailable(
                    f"{self._path} has schema {found}, this program knows {VERSION}: use the newer program"
                )
            for statement in _ADDED:
                connection.execute(statement)
