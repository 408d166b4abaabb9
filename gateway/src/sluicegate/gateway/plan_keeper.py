"""The operator's side of the plan table: plans outlive their file.

Plans are derived, so a table that was deleted or damaged is made anew with all plans in one commit, under another
generation; workers wait for that file with their last plans instead of meeting an empty one.
"""

import sqlite3
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import UPSERT, PlanTable, row_of
from sluicegate.lineage import sqlite_files

_ROWS = "SELECT namespace, workflow, version, lease_until, body FROM plans"
_FILL = "INSERT INTO plans (namespace, workflow, version, lease_until, body) VALUES (?, ?, ?, ?, ?)"


class PlanKeeper(PlanTable):
    """One per host. One object belongs to one thread."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kept: list[Any] = []

    def adopt(self, plan: RoutePlan) -> None:
        """Store this plan, whatever was known of its workflow: the caller's source says what holds."""
        key, row = (plan.namespace, plan.workflow), row_of(plan)
        if not self._change([(UPSERT, row)]) and self.read(*key) != plan:
            self._change([("DELETE FROM plans WHERE namespace = ? AND workflow = ?", key), (_FILL, row)])

    def adopt_all(self, plans: Iterable[RoutePlan], *, namespaces: Collection[str] | None = None) -> None:
        """Store exactly these plans, of all namespaces or of `namespaces`, in one commit."""
        wanted = {(plan.namespace, plan.workflow): row_of(plan) for plan in plans}
        held = {row[:2]: row for row in self._read(_ROWS)}
        gone = [key for key in held if key not in wanted and (namespaces is None or key[0] in namespaces)]
        other = [row for key, row in wanted.items() if held.get(key) != row]
        drop = "DELETE FROM plans WHERE namespace = ? AND workflow = ?"
        forget = "DELETE FROM acks WHERE namespace = ? AND workflow = ?"
        changes: list[tuple[str, tuple[Any, ...]]] = [
            ("UPDATE generation SET value = value + 1 WHERE id = 1", ())
        ]
        changes += [(sql, key) for key in gone for sql in (drop, forget)]
        changes += [change for row in other for change in ((drop, row[:2]), (_FILL, row))]
        if gone or other:
            self._write(changes)
            self._kept = self._read(_ROWS)

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
