"""Events: what happened to which object, told to people. Deduplicated, bounded, in a file of their own.

Losing the last event in a power cut is fine, so commits are not synced; decisions live in the resource store.
"""

import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.lineage import sqlite_files
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.objects import stamp
from sluicegate.operator.resources.serial import SerialThread
from sluicegate.rollout.model import Event

KEPT = 5_000
_TABLE = """
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL,
  kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL,
  count INTEGER NOT NULL DEFAULT 1, first_at TEXT NOT NULL, last_at TEXT NOT NULL,
  UNIQUE (kind, namespace, name, key));
"""


class SqliteEvents:
    """Newest `kept` events. One object belongs to one thread."""

    def __init__(
        self, path: Path | str, *, clock: Callable[[], datetime] = system.now, kept: int = KEPT
    ) -> None:
        self._clock, self._kept = clock, kept
        try:
            self._base = _opened(str(path))
        except sqlite3.DatabaseError as error:
            if not sqlite_files.is_broken(error):
                raise Unavailable(f"{path}: {error}") from error
            sqlite_files.set_aside(Path(path))  # events are a convenience: a new file does
            self._base = _opened(str(path))

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def record(self, event: Event) -> None:
        """Add, or count again: a repeated event becomes the newest. Unavailable when it cannot be written."""
        try:
            self._base.execute("BEGIN IMMEDIATE")
            self._record(event, stamp(self._clock()))
            self._base.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise Unavailable(f"events cannot be written: {error}") from error
        finally:
            self._base.rollback()  # nothing is open any more, or what failed

    def _record(self, event: Event, at: str) -> None:
        key = (*event.about, event.key or f"{event.reason}/{event.message}"[:1024])
        row = self._base.execute(
            "SELECT id, count, first_at FROM events WHERE kind=? AND namespace=? AND name=? AND key=?", key
        ).fetchone()
        count, first = (row[1] + 1, row[2]) if row else (1, at)
        if row:
            self._base.execute("DELETE FROM events WHERE id=?", (row[0],))
        last = self._base.execute(
            "INSERT INTO events (kind, namespace, name, key, reason, message, type, count, first_at, last_at) "
            "VALUES (?,?,?,?,?,?,?,?,?,?)",
            (*key, event.reason, event.message[:4096], event.severity, count, first, at),
        ).lastrowid
        self._base.execute("DELETE FROM events WHERE id<=?", ((last or 0) - self._kept,))

    def find(
        self,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        workflow: str | None = None,
        limit: int = 200,
    ) -> list[Json]:
        """The newest `limit`, oldest first. workflow: those of the workflow and of its rollouts (name-number)."""
        rows = self._base.execute(
            "SELECT type, reason, message, kind, namespace, name, count, first_at, last_at FROM events "
            "WHERE (?1 IS NULL OR namespace=?1) AND (?2 IS NULL OR kind=?2) AND (?3 IS NULL OR name=?3) "
            "AND (?4 IS NULL OR (kind='AgentWorkflow' AND name=?4) "
            "OR (kind='WorkflowRollout' AND rtrim(name, '0123456789')=?4||'-')) ORDER BY id DESC LIMIT ?5",
            (namespace, kind, name, workflow, limit),
        ).fetchall()
        return [_event(row) for row in reversed(rows)]


def _opened(path: str) -> sqlite3.Connection:
    base = sqlite3.connect(path, isolation_level=None, timeout=5.0)
    try:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=NORMAL")
        base.executescript(_TABLE)
    except sqlite3.Error:
        base.close()
        raise
    return base


class LocalEvents:
    """`ports.EventSink` over `SqliteEvents`, for the event loop."""

    def __init__(self, path: Path) -> None:
        self._thread = SerialThread("events")
        self._path = path
        self._events: SqliteEvents | None = None

    async def record(self, event: Event) -> None:
        """Add or count again."""
        await self._thread.call(lambda: self._open().record(event))

    async def find(
        self,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        workflow: str | None = None,
        limit: int = 200,
    ) -> list[Json]:
        """The newest `limit`, oldest first."""
        return await self._thread.call(
            lambda: self._open().find(
                namespace=namespace, kind=kind, name=name, workflow=workflow, limit=limit
            )
        )

    async def close(self) -> None:
        """Close the file."""
        await self._thread.call(lambda: self._events.close() if self._events else None)
        self._thread.close()

    def _open(self) -> SqliteEvents:
        if self._events is None:
            self._events = SqliteEvents(self._path)
        return self._events


def _event(row: tuple[str, str, str, str, str, str, int, str, str]) -> Json:
    kind, reason, message, about, namespace, name, count, first, last = row
    return {
        "type": kind,
        "reason": reason,
        "message": message,
        "about": {"kind": about, "namespace": namespace, "name": name},
        "count": count,
        "firstAt": first,
        "lastAt": last,
    }
