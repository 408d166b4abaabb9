"""Hot rows become cold segments, cold segments are deleted: in batches, resumable after a kill at any point.

Order of one batch: segment and manifest written, fsynced and read back; then one transaction names the segment
and deletes the rows. A kill before it leaves a file that nothing names (removed by the next run), a kill after
it leaves nothing to do. Cold: the row goes first, then the file.
"""

import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.watch import is_watch
from sluicegate.lineage import cold, evidence, schema, writing
from sluicegate.lineage.cold import ColdDocument
from sluicegate.lineage.store import LineageStore

BATCH: Final = 2000  # documents of a segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """How long runs are kept: in the database, then in cold segments. cold_days counts from the run's start;
    at most hot_days: no cold tier, rows are just deleted.
    """

    hot_days: float = 7
    cold_days: float = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Tiers by (namespace, workflow); others use `default`."""

    default: Tiers = Tiers()
    workflows: Mapping[tuple[str, str], Tiers] = field(default_factory=dict)

    def of(self, workflow: tuple[str, str]) -> Tiers:
        """The tiers of one workflow."""
        return self.workflows.get(workflow, self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep did. more: another sweep has work."""

    moved: int = 0  # documents to cold segments
    deleted: int = 0  # documents for good
    segments: int = 0  # cold segments for good
    more: bool = False


def sweep(store: LineageStore, policy: Policy, now: datetime) -> Swept:
    """One bounded step: at most one batch per workflow. Call again while `more`."""
    _tidy(store)
    moved = deleted = 0
    more = False
    for workflow in _workflows(store):
        tiers = policy.of(workflow)
        hot_until = now - timedelta(days=tiers.hot_days)
        keep = tiers.cold_days > tiers.hot_days
        count = _move(store, workflow, hot_until) if keep else _drop(store, workflow, hot_until)
        moved, deleted = moved + count * keep, deleted + count * (not keep)
        more = more or count == BATCH
    documents, segments = _expire(store, policy, now)
    _forget_old(store, policy, now)
    _forget_unfolded(store, policy, now)
    if moved or deleted:
        store.database.compact()
    return Swept(moved=moved, deleted=deleted + documents, segments=segments, more=more)


def _workflows(store: LineageStore) -> list[tuple[str, str]]:
    """Distinct (namespace, workflow), by skipping through the index: cheap with millions of rows."""
    found: list[tuple[str, str]] = []
    last = ("", "")
    sql = (
        "SELECT namespace, workflow FROM runs WHERE (namespace, workflow) > (?, ?)"
        " ORDER BY namespace, workflow LIMIT 1"
    )
    with store.database.read() as connection:
        while row := connection.execute(sql, last).fetchone():
            last = (row[0], row[1])
            found.append(last)
    return found


_OLD: Final = (
    "SELECT id, run_id, arm, started_at FROM runs WHERE namespace = ? AND workflow = ? AND started_at < ?"
    " ORDER BY started_at LIMIT ?"
)


# Those of a run with another arm still hot, or with an open unit, are needed yet.
_DROP_AMENDMENTS: Final = (
    "DELETE FROM amendments WHERE run_id = ?1"
    " AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)"
    " AND NOT EXISTS (SELECT 1 FROM parts WHERE run_id = ?1)"
)


def _move(store: LineageStore, workflow: tuple[str, str], until: datetime) -> int:
    with store.database.snapshot() as connection:
        rows = connection.execute(_OLD, (*workflow, schema.micros(until), BATCH)).fetchall()
        if not rows:
            return 0
        items, digests = _items(store, connection, rows)
    manifest = cold.write(store.cold, workflow, items)
    with store.database.write() as connection:
        connection.execute("INSERT OR REPLACE INTO cold VALUES (?,?,?,?,?,?,?,?,?)", astuple(manifest))
        _delete(connection, rows)
        # Only what is in the segment; an outcome that came meanwhile stays and is shown with the cold run.
        connection.executemany(f"{_DROP_AMENDMENTS} AND digest = ?2", digests)
    return len(rows)


def _items(
    store: LineageStore, connection: sqlite3.Connection, rows: list[Any]
) -> tuple[list[ColdDocument], list[tuple[str, bytes]]]:
    amendments: dict[str, list[tuple[dict[str, Any], bool]]] = {}
    digests = []
    sql = "SELECT run_id, digest, entry, used FROM amendments WHERE run_id IN"
    for run_id, digest, entry, used in writing.chunked(connection, sql, {row[1] for row in rows}):
        amendments.setdefault(run_id, []).append((orjson.loads(entry), bool(used)))
        digests.append((run_id, digest))
    items = []
    for row, run_id, _, started_at in rows:
        dictionary, data = connection.execute(
            "SELECT dictionary, data FROM bodies WHERE id = ?", (row,)
        ).fetchone()
        document = orjson.loads(store.codec.unpack(connection, dictionary, data))
        kept = tuple(amendments.get(run_id, ()))
        items.append(ColdDocument(run_id=run_id, started_at=started_at, document=document, amendments=kept))
    return items, digests


def _drop(store: LineageStore, workflow: tuple[str, str], until: datetime) -> int:
    with store.database.write() as connection:
        rows = connection.execute(_OLD, (*workflow, schema.micros(until), BATCH)).fetchall()
        _delete(connection, rows)
        connection.executemany(_DROP_AMENDMENTS, [(row[1],) for row in rows])
    return len(rows)


def _delete(connection: sqlite3.Connection, rows: list[Any]) -> None:
    connection.executemany("DELETE FROM runs WHERE id = ?", [(row[0],) for row in rows])
    connection.executemany("DELETE FROM bodies WHERE id = ?", [(row[0],) for row in rows])
    connection.executemany(
        "DELETE FROM fallbacks WHERE run_id = ? AND arm = ?", [(row[1], row[2]) for row in rows]
    )


def _expire(store: LineageStore, policy: Policy, now: datetime) -> tuple[int, int]:
    with store.database.read() as connection:
        segments = connection.execute(
            "SELECT name, namespace, workflow, last_at, documents FROM cold"
        ).fetchall()
    old = [
        (name, documents)
        for name, namespace, workflow, last_at, documents in segments
        if last_at < schema.micros(now - timedelta(days=policy.of((namespace, workflow)).cold_days))
    ]
    if old:
        with store.database.write() as connection:
            connection.executemany("DELETE FROM cold WHERE name = ?", [(name,) for name, _ in old])
        for name, _ in old:
            cold.remove(store.cold, name)
    return sum(documents for _, documents in old), len(old)


def _forget_old(store: LineageStore, policy: Policy, now: datetime) -> None:
    """Stray outcomes past every tier, and evidence of which nothing is newer: whole keys, never a part."""
    longest = max(max(t.hot_days, t.cold_days) for t in (policy.default, *policy.workflows.values()))
    until = schema.micros(now - timedelta(days=longest))
    with store.database.read() as connection:
        keys = [key for key in _keys(connection) if _newest(connection, key) < until]
    for key in keys:  # one transaction each
        with store.database.write() as connection:
            connection.execute("DELETE FROM units WHERE rollout = ? AND stage = ? AND attempt = ?", key)
            connection.execute("DELETE FROM states WHERE rollout = ? AND stage = ? AND attempt = ?", key)
    with store.database.write() as connection:
        connection.execute(
            "DELETE FROM amendments WHERE at < ? AND NOT EXISTS"
            " (SELECT 1 FROM parts WHERE parts.run_id = amendments.run_id)",
            (until,),
        )


def _forget_unfolded(store: LineageStore, policy: Policy, now: datetime) -> None:
    """Units of versions that serve on though nobody watches them (`spec.watch.enabled: false`). Who watches folds a unit
    within a minute or so and drops it then.
    """
    until = schema.micros(
        now - timedelta(days=max(t.hot_days for t in (policy.default, *policy.workflows.values())))
    )
    with store.database.read() as connection:
        keys = [EvidenceKey(key[0], Stage(key[1]), key[2]) for key in _keys(connection)]
    young = (
        "SELECT sequence FROM units WHERE rollout = ? AND stage = ? AND attempt = ? AND sequence > 0 AND closes_at >= ?"
        " ORDER BY sequence LIMIT 1"
    )
    for key in filter(is_watch, keys):
        with store.database.write() as connection:
            first = connection.execute(young, (*key, until)).fetchone()
            evidence.forget(connection, key, before=sys.maxsize if first is None else first[0])


def _keys(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Distinct evidence keys, by skipping through the index."""
    found: list[tuple[str, str, int]] = []
    last = ("", "", 0)
    sql = (
        "SELECT rollout, stage, attempt FROM units WHERE (rollout, stage, attempt) > (?, ?, ?)"
        " ORDER BY rollout, stage, attempt LIMIT 1"
    )
    while row := connection.execute(sql, last).fetchone():
        last = (row[0], row[1], row[2])
        found.append(last)
    return found


def _newest(connection: sqlite3.Connection, key: tuple[str, str, int]) -> float:
    """When the key's last unit closed; never, while one is open."""
    where = "rollout = ? AND stage = ? AND attempt = ?"
    open_one = f"SELECT 1 FROM units WHERE {where} AND sequence IS NULL LIMIT 1"  # noqa: S608 - constants
    if connection.execute(open_one, key).fetchone() is not None:
        return float("inf")
    last = f"SELECT closes_at FROM units WHERE {where} AND sequence > 0 ORDER BY sequence DESC LIMIT 1"  # noqa: S608
    return float(connection.execute(last, key).fetchone()[0])


def _tidy(store: LineageStore) -> None:
    """Remove what a kill left behind."""
    with store.database.read() as connection:
        names = cold.leftovers(connection, store.cold)
    for name in names:
        cold.remove(store.cold, name)
    if store.cold.is_dir():
        for draft in store.cold.glob(".*"):
            draft.unlink(missing_ok=True)
