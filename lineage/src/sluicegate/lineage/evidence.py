"""Units that are due become observations with a sequence; folds read them in that order."""

import sqlite3
from collections import Counter
from datetime import datetime
from typing import Any, Final

import orjson

from sluicegate.contracts.evidence import EvidenceKey, Observation, RawObservation
from sluicegate.lineage import entries, schema, units, writing

CLOSE_AT_ONCE: Final = 500  # units closed in one transaction, at most

_SKEW: Final = 60_000_000  # microseconds: what expects nothing and claims a time beyond it is not waited for

_DUE: Final = """
SELECT id, closes_at, unit FROM units WHERE sequence IS NULL AND waits = 0 AND closes_at <= ?1
UNION ALL
SELECT id, closes_at, unit FROM units WHERE sequence IS NULL AND waits = 0 AND closes_at > ?1 + ?3
UNION ALL
SELECT id, closes_at, unit FROM units WHERE sequence IS NULL AND waits = 1 AND closes_at <= ?2
ORDER BY closes_at, unit, id LIMIT ?4
"""


def close_due(
    connection: sqlite3.Connection, now: datetime | None, *, limit: int = CLOSE_AT_ONCE
) -> tuple[int, Counter[str]]:
    """Close units whose time had come at `now` (None: all that expect nothing), in the order of
    (closing time, unit). Returns how many, and counters. Once given, a sequence never changes.
    """
    due = connection.execute(_DUE, (*_until(now), _SKEW, limit)).fetchall()
    counts: Counter[str] = Counter()
    if not due:
        return 0, counts
    parts, amendments, digests = _material(connection, [row[0] for row in due])
    first = _sequences(connection, len(due))
    closed, used = [], []
    for sequence, (unit, _, _) in enumerate(due, first):
        group = parts[unit]
        result = units.close(group, amendments)
        closed.append((sequence, schema.micros(result.at), _packed(result), unit))
        counts["late_runs"] += result.late
        for part in group:
            for digest, kind, at in digests.get(part.run_id, ()):
                if at is None or at <= schema.micros(result.at):
                    used.append((part.run_id, digest))
                elif kind == "outcome":
                    counts["late_outcomes"] += 1
    connection.executemany(
        "UPDATE units SET sequence = ?, closes_at = ?, observation = ? WHERE id = ?", closed
    )
    connection.executemany("DELETE FROM parts WHERE unit_id = ?", [(row[0],) for row in due])
    connection.executemany("UPDATE amendments SET used = 1 WHERE run_id = ? AND digest = ?", used)
    counts["units"] += len(due)
    return len(due), counts


def has_due(connection: sqlite3.Connection, now: datetime) -> bool:
    """Whether `close_due` would close any."""
    return connection.execute(_DUE, (*_until(now), _SKEW, 1)).fetchone() is not None


def _until(now: datetime | None) -> tuple[int, int]:
    return (1 << 62, -1) if now is None else (schema.micros(now), schema.micros(now))


def observations(
    connection: sqlite3.Connection, key: EvidenceKey, *, after: int, limit: int
) -> list[Observation]:
    """Closed units of `key` above the sequence `after`, ascending."""
    rows = connection.execute(
        "SELECT sequence, rollout, stage, attempt, unit, observation FROM units"
        " WHERE rollout = ? AND stage = ? AND attempt = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        (*key, after, limit),
    )
    return [entries.observation_from(row) for row in rows]


def load(connection: sqlite3.Connection, key: EvidenceKey) -> bytes | None:
    """The folded state saved last."""
    row = connection.execute(
        "SELECT state FROM states WHERE rollout = ? AND stage = ? AND attempt = ?", tuple(key)
    ).fetchone()
    return None if row is None else bytes(row[0])


def save(connection: sqlite3.Connection, key: EvidenceKey, state: bytes) -> None:
    """Replace the folded state."""
    connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)", (*key, state))


def forget(connection: sqlite3.Connection, key: EvidenceKey, *, before: int) -> None:
    """Drop the closed units of `key` below the sequence `before`; its newest stays, whose age retention goes by."""
    connection.execute(
        "DELETE FROM units WHERE rollout = ?1 AND stage = ?2 AND attempt = ?3 AND sequence < ?4 AND sequence <"
        " (SELECT max(sequence) FROM units WHERE rollout = ?1 AND stage = ?2 AND attempt = ?3)",
        (*key, before),
    )


Material = tuple[
    dict[int, list[RawObservation]],
    dict[str, list[entries.Amendment]],
    dict[str, list[tuple[bytes, str, int | None]]],
]


def _material(connection: sqlite3.Connection, due: list[int]) -> Material:
    parts: dict[int, list[RawObservation]] = {}
    for unit, entry in writing.chunked(connection, "SELECT unit_id, entry FROM parts WHERE unit_id IN", due):
        parts.setdefault(unit, []).append(entries.raw_observation_from(orjson.loads(entry)))
    amendments: dict[str, list[entries.Amendment]] = {}
    digests: dict[str, list[tuple[bytes, str, int | None]]] = {}
    runs = {part.run_id for group in parts.values() for part in group}
    sql = "SELECT run_id, digest, at, entry FROM amendments WHERE run_id IN"
    for run_id, digest, at, entry in writing.chunked(connection, sql, runs):
        amendment = entries.amendment_from(orjson.loads(entry))
        amendments.setdefault(run_id, []).append(amendment)
        digests.setdefault(run_id, []).append((digest, amendment.kind, at))
    return parts, amendments, digests


def _sequences(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` numbers; the first of them."""
    last = connection.execute(
        "INSERT INTO counters VALUES ('sequence', ?)"
        " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value",
        (count,),
    ).fetchone()[0]
    return int(last) - count + 1


def _packed(unit: units.ClosedUnit) -> bytes:
    body: dict[str, Any] = {"at": unit.at, "runs": unit.runs, "dropped": unit.dropped}
    if unit.by_run:
        body["by_run"] = unit.by_run
    if unit.ablation is not None:
        body["ablation"] = unit.ablation
    if unit.mixed is not None:
        body["mixed"] = unit.mixed
    return orjson.dumps(body | {arm.value: unit.arms.get(arm) for arm in units.ARMS})
