"""The operator's side of the plan table: plans outlive their file.

Plans are derived, so a table that was deleted or damaged is made anew with all plans in one commit, under another
generation; workers wait for that file with their last plans instead of meeting an empty one.
"""

import sqlite3
from collections.abc import Collection, Iterable
from typing import Any

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import FILL, MOVE, UPSERT, PlanTable, Row, WorkflowKey, row_of
from sluicegate.lineage import sqlite_files


class PlanKeeper(PlanTable):
    """One per host. One object belongs to one thread."""

    def adopt(self, plan: RoutePlan) -> None:
        """Store this plan, whatever was known of its workflow: the caller's source says what holds."""
        key, row = (plan.namespace, plan.workflow), row_of(plan)
        if not self._change([(UPSERT, row)]) and self.read(*key) != plan:
            self._change([("DELETE FROM plans WHERE namespace = ? AND workflow = ?", key), (FILL, row)])

    def adopt_all(self, plans: Iterable[RoutePlan], *, namespaces: Collection[str] | None = None) -> None:
        """Store exactly these plans, of all namespaces or of `namespaces`, in one commit."""
        wanted = {(plan.namespace, plan.workflow): row_of(plan) for plan in plans}
        held = {tuple(key): (*key, *row) for key, row in self._rows().items()}
        gone = [key for key in held if key not in wanted and (namespaces is None or key[0] in namespaces)]
        other = [row for key, row in wanted.items() if held.get(key) != row]
        drop = "DELETE FROM plans WHERE namespace = ? AND workflow = ?"
        forget = "DELETE FROM acks WHERE namespace = ? AND workflow = ?"
        changes: list[tuple[str, tuple[Any, ...]]] = [(sql, key) for key in gone for sql in (drop, forget)]
        changes += [change for row in other for change in ((drop, row[:2]), (FILL, row))]
        if changes:
            self._write([*changes, (MOVE, ())])
            self._rows()

    def _fill(self, connection: sqlite3.Connection) -> None:
        """A new file starts with what is known, and with a generation that no earlier one had."""
        connection.executemany(FILL, [(*key, *row) for key, row in self._held.items()])
        connection.execute("UPDATE generation SET value = ? WHERE id = 1", (int(system.unix_ms()),))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        super()._prepare(connection)
        self._seen = -1
        self._refresh(connection)

    def _rows(self) -> dict[WorkflowKey, Row]:
        try:
            return super()._rows()
        except Unavailable as error:
            self._mend(error)
            return super()._rows()

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
            super()._rows()
        return changed

    def _mend(self, error: Unavailable) -> None:
        """Set a damaged file aside, so that the next try makes it anew; raises `error` when that is not the trouble."""
        if not sqlite_files.is_broken(error.__cause__):
            raise error
        try:
            sqlite_files.set_aside(self._path)
        except OSError:
            raise error from None
