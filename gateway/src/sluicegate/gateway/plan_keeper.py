"""The operator's side of the plan table: plans outlive their file.

Plans are derived, so a table that was deleted or damaged is made anew with all plans in one commit, under another
generation; workers wait for that file with their last plans instead of meeting an empty one.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.gateway.plan_table import PlanTable
from sluicegate.lineage import sqlite_files

_ROWS = "SELECT namespace, workflow, version, lease_until, body FROM plans"
_FILL = "INSERT INTO plans (namespace, workflow, version, lease_until, body) VALUES (?, ?, ?, ?, ?)"


class PlanKeeper(PlanTable):
    """One per host. One object belongs to one thread."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kept: list[Any] = []

    def _fill(self, connection: sqlite3.Connection) -> None:
        """A new file starts with what is known, and with a generation that no earlier one had."""
        connection.executemany(_FILL, self._kept)
        connection.execute("UPDATE generation SET value = ? WHERE id = 1", (int(system.unix_ms()),))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        super()._prepare(connection)
        self._kept = connection.execute(_ROWS).fetchall()

    def _read(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        values = tuple(values)
        try:
            return super()._read(sql, values)
        except Unavailable as error:
            self._mend(error)
            return super()._read(sql, values)

    def _write(self, statements: list[tuple[str, tuple[Any, ...]]], *, moves: bool = False) -> bool:
        try:
            changed = super()._write(statements, moves=moves)
        except Unavailable as error:
            self._mend(error)
            changed = super()._write(statements, moves=moves)
        if moves:
            self._kept = super()._read(_ROWS)
        return changed

    def _mend(self, error: Unavailable) -> None:
        """Set a damaged file aside, so that the next try makes it anew; raises `error` when that is not the trouble."""
        if not sqlite_files.is_broken(error.__cause__):
            raise error
        try:
            sqlite_files.set_aside(self._path)
        except OSError:
            raise error from None
