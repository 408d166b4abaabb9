"""The routing plans of local mode: one SQLite file, written by the operator, read by every gateway worker.

A plan's version never falls; renewing a lease keeps the version. `generation` moves with every write of a
plan or lease and with nothing else, so a worker finds out by one small read that it has something to do.
Readers never wait for the writer (WAL), and a writer in a worker gives up at once instead of waiting.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

import orjson

from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_json import plan_from_json, plan_to_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS plans (
  namespace TEXT NOT NULL, workflow TEXT NOT NULL, version INTEGER NOT NULL, lease_until TEXT, body BLOB NOT NULL,
  changed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (namespace, workflow)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS plans_changed ON plans (changed);
CREATE TABLE IF NOT EXISTS workers (worker TEXT PRIMARY KEY, seen_at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS taken (worker TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS broken (
  worker TEXT NOT NULL, namespace TEXT NOT NULL, workflow TEXT NOT NULL, version INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (worker, namespace, workflow)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS acks (
  worker TEXT NOT NULL, namespace TEXT NOT NULL, workflow TEXT NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (worker, namespace, workflow)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS generation (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL);
INSERT OR IGNORE INTO generation (id, value) VALUES (1, 0);
PRAGMA user_version = 3;
"""
FILL = """
INSERT INTO plans (namespace, workflow, version, lease_until, body, changed)
VALUES (?, ?, ?, ?, ?, (SELECT value + 1 FROM generation WHERE id = 1))
"""
"""Before `MOVE`, in one transaction with it."""
UPSERT = f"""
{FILL}
ON CONFLICT (namespace, workflow) DO UPDATE
SET version = excluded.version, lease_until = excluded.lease_until, body = excluded.body, changed = excluded.changed
WHERE excluded.version > plans.version
   OR (excluded.version = plans.version AND (excluded.body <> plans.body OR excluded.lease_until IS NOT plans.lease_until))
"""
_VERSION = 3
_ADDED = {2: ("ALTER TABLE plans ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",)}
"""Statements that bring a table of that version up to the next."""
_CHANGED = "SELECT namespace, workflow, version, lease_until, body, changed FROM plans WHERE changed > ? ORDER BY changed"
MOVE = "UPDATE generation SET value = value + 1 WHERE id = 1"


class WorkflowKey(NamedTuple):
    """Which workflow."""

    namespace: str
    workflow: str


class Broken(NamedTuple):
    """A plan that cannot be served; what was served before goes on."""

    key: WorkflowKey
    version: int
    reason: str


class Row(NamedTuple):
    """A plan as it is stored."""

    version: int
    lease_until: str | None
    body: bytes


class PlanTable:
    """The plans of one host. One object belongs to one thread. Of thousands of plans a few move: only those are read again.

    wait_ms: how long a write waits for another writer; readers never wait. creates: whether a missing file is
    made; who only reads waits for it. A file that was replaced is opened anew. Raises Unavailable when the file
    cannot be read or written: whoever serves traffic keeps its last plans then.
    """

    def __init__(self, path: Path, *, wait_ms: int = 5000, creates: bool = True) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._creates = creates
        self._opened: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._held: dict[WorkflowKey, Row] = {}
        self._seen = -1  # up to which generation `_held` is what is stored
        self._touched: set[WorkflowKey] = set()  # what moved since somebody read it
        self._decoded: dict[WorkflowKey, tuple[Row, RoutePlan]] = {}
        self._told: dict[str, dict[WorkflowKey, int]] = {}

    def write(self, plan: RoutePlan) -> bool:
        """Store a plan unless a newer version is there; the same version moves the lease. True: something changed."""
        return self._change([(UPSERT, row_of(plan))])

    def delete(self, namespace: str, workflow: str) -> bool:
        """Forget a workflow and what was acknowledged of it. True: it was there."""
        key = (namespace, workflow)
        return self._change(
            [
                ("DELETE FROM plans WHERE namespace = ? AND workflow = ?", key),
                ("DELETE FROM acks WHERE namespace = ? AND workflow = ?", key),
            ]
        )

    def generation(self) -> int:
        """Moves with every change of a plan or lease."""
        return int(self._read("SELECT value FROM generation WHERE id = 1")[0][0])

    def read(self, namespace: str, workflow: str) -> RoutePlan | None:
        """One plan, or None."""
        sql = "SELECT version, lease_until, body FROM plans WHERE namespace = ? AND workflow = ?"
        rows = self._read(sql, (namespace, workflow))
        return _plan(Row(*rows[0])) if rows else None

    def read_all(self) -> tuple[RoutePlan, ...]:
        """Every plan, in name order. A plan that cannot be decoded makes the whole read Unavailable.

        One that did not change since the last read is the same object.
        """
        rows = self._rows()
        known, self._decoded = self._decoded, {}
        for key in sorted(rows):
            held, row = known.get(key), rows[key]
            self._decoded[key] = held if held is not None and held[0] == row else (row, _plan(row))
        self._touched = set()
        return tuple(plan for _, plan in self._decoded.values())

    def read_moved(self) -> tuple[tuple[RoutePlan, ...], tuple[WorkflowKey, ...]]:
        """Plans that changed, and workflows that have gone, since the last read of this or of all."""
        rows, touched = self._rows(), self._touched
        fresh = {key: (row, _plan(row)) for key in sorted(touched) if (row := rows.get(key)) is not None}
        gone = tuple(key for key in sorted(touched - rows.keys()) if self._decoded.pop(key, None) is not None)
        self._decoded |= fresh
        self._touched = set()
        return tuple(plan for _, plan in fresh.values()), gone

    def acknowledge(
        self,
        worker: str,
        versions: Mapping[WorkflowKey, int],
        at: datetime,
        *,
        generation: int = 0,
        broken: Iterable[Broken] = (),
    ) -> None:
        """The worker lives at `at` and serves exactly these versions from now on; it has taken everything up to
        `generation`, and cannot serve the plans in `broken`.
        """
        changes: list[tuple[str, tuple[Any, ...]]] = [
            ("INSERT OR REPLACE INTO workers (worker, seen_at) VALUES (?, ?)", (worker, at.isoformat())),
            ("INSERT OR REPLACE INTO taken (worker, generation) VALUES (?, ?)", (worker, generation)),
            ("DELETE FROM broken WHERE worker = ?", (worker,)),
        ]
        changes += self._acknowledged(worker, versions)
        sql = "INSERT INTO broken (worker, namespace, workflow, version, reason) VALUES (?, ?, ?, ?, ?)"
        changes += [(sql, (worker, one.key[0], one.key[1], one.version, one.reason[:2000])) for one in broken]
        self._told.pop(worker, None)  # unknown, should the write fail
        self._write(changes)
        self._told[worker] = dict(versions)

    def _acknowledged(
        self, worker: str, versions: Mapping[WorkflowKey, int]
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """What differs from what this worker said last, as long as nobody took any of that away."""
        told: Mapping[WorkflowKey, int] = self._told.get(worker, {})
        if not told or not self._stands(worker):
            told = {}
            yield "DELETE FROM acks WHERE worker = ?", (worker,)
        for key in told.keys() - versions.keys():
            yield "DELETE FROM acks WHERE worker = ? AND namespace = ? AND workflow = ?", (worker, *key)
        for key, version in versions.items():
            if told.get(key) != version:
                sql = "INSERT OR REPLACE INTO acks (worker, namespace, workflow, version) VALUES (?, ?, ?, ?)"
                yield sql, (worker, *key, version)

    def _stands(self, worker: str) -> bool:
        """Whether all that this worker acknowledged is still there: a deleted workflow takes its part along."""
        count = self._read("SELECT COUNT(*) FROM acks WHERE worker = ?", (worker,))[0][0]
        return bool(count == len(self._told.get(worker, ())))

    def still_alive(self, worker: str, at: datetime, generation: int) -> bool:
        """The worker lives at `at`, and what it acknowledged holds for `generation` too. False: it must be said anew."""
        if not self._stands(worker):
            return False
        changes = [
            ("UPDATE workers SET seen_at = ? WHERE worker = ?", (at.isoformat(), worker)),
            ("UPDATE taken SET generation = ? WHERE worker = ?", (generation, worker)),
        ]
        return self._write(changes)

    def forget(self, worker: str) -> None:
        """The worker is gone; nobody waits for it any more."""
        self._write(
            [
                ("DELETE FROM workers WHERE worker = ?", (worker,)),
                ("DELETE FROM taken WHERE worker = ?", (worker,)),
                ("DELETE FROM acks WHERE worker = ?", (worker,)),
                ("DELETE FROM broken WHERE worker = ?", (worker,)),
            ]
        )

    def workers(self, *, since: datetime | None = None) -> tuple[str, ...]:
        """Workers heard of (at or after `since`), in name order."""
        floor = since.isoformat() if since else ""
        return tuple(
            row[0] for row in self._read("SELECT worker FROM workers WHERE seen_at >= ? ORDER BY 1", (floor,))
        )

    def programmed(self, namespace: str, workflow: str, *, workers: Collection[str] | None = None) -> int:
        """The version that every worker (of `workers`, or all that were heard of) serves at least; 0: not all do."""
        names = self.workers() if workers is None else tuple(workers)
        sql = "SELECT worker, version FROM acks WHERE namespace = ? AND workflow = ?"
        versions = dict(self._read(sql, (namespace, workflow)))
        return min((versions.get(name, 0) for name in names), default=0)

    def taken(self, *, workers: Collection[str]) -> int:
        """The generation that each of these workers has taken at least; 0: one has not, or there is none."""
        found = dict(self._read("SELECT worker, generation FROM taken"))
        return min((found.get(name, 0) for name in workers), default=0)

    def broken(self) -> tuple[Broken, ...]:
        """Plans that a worker cannot serve, in name order."""
        sql = "SELECT namespace, workflow, MIN(version), reason FROM broken GROUP BY 1, 2 ORDER BY 1, 2"
        return tuple(Broken(WorkflowKey(*row[:2]), row[2], row[3]) for row in self._read(sql))

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _rows(self) -> dict[WorkflowKey, Row]:
        """All that is stored."""
        try:
            self._refresh(self._open())
        except sqlite3.Error as error:
            self._give_up(error)
        return self._held

    def _refresh(self, connection: sqlite3.Connection) -> None:
        """Read what changed; who is gone shows in the count, since nothing new is missed."""
        is_new = self._seen < 0
        held, seen = ({}, -1) if is_new else (self._held, self._seen)
        self._touched |= self._held.keys() if is_new else set()
        connection.execute("BEGIN")
        try:
            for *names, version, lease, body, changed in connection.execute(_CHANGED, (seen,)):
                key = WorkflowKey(*names)
                held[key], seen = Row(version, lease, body), changed
                self._touched.add(key)
            if connection.execute("SELECT COUNT(*) FROM plans").fetchone()[0] != len(held):
                stored = set(connection.execute("SELECT namespace, workflow FROM plans"))
                for gone in held.keys() - stored:
                    del held[gone]
                    self._touched.add(gone)
        finally:
            connection.execute("COMMIT")
        self._held, self._seen = held, max(seen, 0)

    def _read(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        try:
            return self._open().execute(sql, tuple(values)).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)

    def _change(self, statements: list[tuple[str, tuple[Any, ...]]]) -> bool:
        """Write, and move the generation when the first statement touched a row."""
        return self._write(statements, moves=True)

    def _write(self, statements: list[tuple[str, tuple[Any, ...]]], *, moves: bool = False) -> bool:
        try:
            with self._open() as transaction:
                transaction.execute("BEGIN IMMEDIATE")
                changed = [transaction.execute(sql, values).rowcount > 0 for sql, values in statements]
                if moves and changed[0]:
                    transaction.execute(MOVE)
                return changed[0]
        except sqlite3.Error as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        """The connection; a new one when the path leads to another file by now."""
        if self._connection is not None and _identity(self._path) != self._opened:
            self.close()
        if self._connection is None:
            mode = "rwc" if self._creates else "rw"
            uri = f"file:{quote(str(self._path.absolute()))}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=self._wait_ms / 1000, isolation_level=None)
            try:
                self._prepare(connection)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection, self._opened = connection, _identity(self._path)
            self._seen, self._told = -1, {}
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make what is not there yet, in one commit: nobody meets half a table."""
        if connection.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
            if not self._creates:
                raise sqlite3.OperationalError("there are no plans yet")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found < _VERSION:
                for statement in (*_ADDED.get(found, ()), *_SCHEMA.split(";")):
                    connection.execute(statement)
                self._fill(connection)
            connection.execute("COMMIT")
        connection.execute("PRAGMA synchronous = NORMAL")

    def _fill(self, connection: sqlite3.Connection) -> None:
        """What a new file starts with."""

    def _give_up(self, error: sqlite3.Error) -> NoReturn:
        """Open the file anew next time: it may have been replaced or repaired."""
        with suppress(sqlite3.Error):
            self.close()
        raise Unavailable(f"{self._path}: {error}", retry_after=1.0) from error


def row_of(plan: RoutePlan) -> tuple[str, str, int, str | None, bytes]:
    """A row of `plans`."""
    body = orjson.dumps(plan_to_json(plan))
    return plan.namespace, plan.workflow, plan.version, _lease_text(plan.lease_until), body


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file the path leads to."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _lease_text(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _plan(row: Row) -> RoutePlan:
    try:
        return plan_from_json(orjson.loads(row.body), row.lease_until)
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"a plan cannot be decoded: {error!r}") from error
