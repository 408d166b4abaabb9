"""Entries into tables, inside one transaction of the caller. Every step may be repeated: it changes nothing."""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from sluicegate.contracts.evidence import RawObservation
from sluicegate.lineage import documents, entries, schema, units
from sluicegate.lineage.bodies import BodyCodec
from sluicegate.lineage.documents import Parsed, RunRow
from sluicegate.lineage.entries import Amendment

_COLUMNS = ", ".join(RunRow._fields)
_RUN = f"INSERT OR IGNORE INTO runs ({_COLUMNS}) VALUES ({', '.join('?' * len(RunRow._fields))})"  # noqa: S608
_CHUNK = 500


@dataclass(slots=True)
class _Touched:
    """What a batch met; resolved together at its end."""

    runs: set[str] = field(default_factory=set)  # new documents or new parts
    amended: set[str] = field(default_factory=set)
    outcomes: set[str] = field(default_factory=set)
    units: set[int] = field(default_factory=set)  # waiting units with new parts


def apply(connection: sqlite3.Connection, codec: BodyCodec, batch: Iterable[Parsed]) -> Counter[str]:
    """Store a batch. Returns what happened, by counter name."""
    counts: Counter[str] = Counter()
    touched = _Touched()
    for parsed in batch:
        value = parsed.value
        if isinstance(value, RunRow):
            happened = _run(connection, codec, parsed, value, touched)
        elif isinstance(value, RawObservation):
            happened = _part(connection, parsed, value, touched)
        else:
            happened = _amendment(connection, parsed, value, touched)
        counts[happened] += 1
    _resolve(connection, touched, counts)
    return counts


def count(connection: sqlite3.Connection, counts: Counter[str]) -> None:
    """Add to the store's counters."""
    connection.executemany(
        "INSERT INTO counters (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        [(name, value) for name, value in counts.items() if value],
    )


def amendments_of(connection: sqlite3.Connection, run_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Amendment entries by run id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run_id, entry in chunked(connection, "SELECT run_id, entry FROM amendments WHERE run_id IN", run_ids):
        found.setdefault(run_id, []).append(orjson.loads(entry))
    return found


# Each of the next three returns the name of the counter for what happened: the entry's kind when it said
# something new.


def _run(
    connection: sqlite3.Connection, codec: BodyCodec, parsed: Parsed, row: RunRow, touched: _Touched
) -> str:
    inserted = connection.execute(_RUN, row)
    if inserted.rowcount != 1:
        return "duplicates"
    touched.runs.add(row.run_id)
    _watch(connection, parsed, touched)
    dictionary, data = codec.pack(connection, parsed.line)
    connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", (inserted.lastrowid, dictionary, data))
    if row.rollout is not None and parsed.fallbacks:
        place = (row.rollout, row.stage or "", row.attempt)
        connection.executemany(
            "INSERT OR IGNORE INTO fallbacks VALUES (?,?,?,?,?,?,?,?,?,?)",
            [
                (*place, f.component, f.reason, row.run_id, row.arm, f.step, f.strategy, row.serving)
                for f in parsed.fallbacks
            ],
        )
    return "run"


def _part(connection: sqlite3.Connection, parsed: Parsed, part: RawObservation, touched: _Touched) -> str:
    waits = units.waits(part)
    inserted = connection.execute(
        "INSERT OR IGNORE INTO units (rollout, stage, attempt, unit, closes_at, waits) VALUES (?,?,?,?,?,?)",
        (*part.key, part.unit, schema.micros(part.at), waits),
    )
    unit = inserted.lastrowid
    new_unit = inserted.rowcount == 1
    if not new_unit:
        unit, sequence, waited = connection.execute(
            "SELECT id, sequence, waits FROM units WHERE rollout = ? AND stage = ? AND attempt = ? AND unit = ?",
            (*part.key, part.unit),
        ).fetchone()
        if sequence is not None:
            return "late_runs"
        waits = waits or bool(waited)
    added = connection.execute(
        "INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", (unit, part.run_id, parsed.line)
    ).rowcount
    if not added and not _join(connection, unit or 0, part):
        return "duplicates"
    if waits or not new_unit:
        touched.units.add(unit or 0)
        touched.runs.add(part.run_id)
    return "obs"


def _watch(connection: sqlite3.Connection, parsed: Parsed, touched: _Touched) -> None:
    """A run that a user got is part of a unit of the version that served it. A session that comes back after its unit
    has closed is another unit, whether or not the first has been folded and forgotten.
    """
    part = parsed.served
    if part is None:
        return
    made = Parsed(entries.encode_observation(part), {}, part)
    if _part(connection, made, part, touched) == "late_runs":
        connection.execute(
            "UPDATE units SET unit = unit || '/' || sequence WHERE rollout = ? AND stage = ? AND attempt = ? AND unit = ?",
            (*part.key, part.unit),
        )
        _part(connection, made, part, touched)


def _join(connection: sqlite3.Connection, unit: int, part: RawObservation) -> bool:
    """A second observation of the same run adds the arms that the first lacks."""
    place = (unit, part.run_id)
    row = connection.execute("SELECT entry FROM parts WHERE unit_id = ? AND run_id = ?", place).fetchone()
    first = entries.raw_observation_from(orjson.loads(row[0]))
    both = units.joined(first, part)
    if both == first:
        return False
    line = entries.encode_observation(both)
    connection.execute("UPDATE parts SET entry = ? WHERE unit_id = ? AND run_id = ?", (line, *place))
    return True


def _amendment(
    connection: sqlite3.Connection, parsed: Parsed, amendment: Amendment, touched: _Touched
) -> str:
    at = None if amendment.at is None else schema.micros(amendment.at)
    line = parsed.line.strip()
    digest = hashlib.sha256(line).digest()[:16]
    inserted = connection.execute(
        "INSERT OR IGNORE INTO amendments (run_id, digest, at, entry) VALUES (?, ?, ?, ?)",
        (amendment.run_id, digest, at, line),
    )
    if inserted.rowcount != 1:
        return "duplicates"
    touched.amended.add(amendment.run_id)
    if amendment.kind == "outcome":
        touched.outcomes.add(amendment.run_id)
    return amendment.kind


def _resolve(connection: sqlite3.Connection, touched: _Touched, counts: Counter[str]) -> None:
    """Bring documents and units together with amendments, whichever came first."""
    met = amendments_of(connection, touched.runs | touched.amended)
    if met:
        _refresh_runs(connection, met)
        waiting = list(chunked(connection, "SELECT run_id, unit_id FROM parts WHERE run_id IN", met))
        touched.units.update(unit for _, unit in waiting)
        counts["late_outcomes"] += _late(connection, touched.outcomes - {run_id for run_id, _ in waiting})
    _refresh_units(connection, touched.units)


def _refresh_runs(connection: sqlite3.Connection, met: dict[str, list[dict[str, Any]]]) -> None:
    rows = list(chunked(connection, "SELECT run_id, id, arm, serving FROM runs WHERE run_id IN", met))
    connection.executemany(
        "UPDATE runs SET reward = coalesce(?, reward), outcome = coalesce(?, outcome), flags = flags | ?"
        " WHERE id = ?",
        [(*documents.effective(arm, bool(serving), met[run_id]), row) for run_id, row, arm, serving in rows],
    )


def _late(connection: sqlite3.Connection, run_ids: set[str]) -> int:
    """Outcomes for runs that are in the store, belong to a rollout and have no open unit."""
    sql = "SELECT 1 FROM runs WHERE rollout IS NOT NULL AND serving AND run_id IN"
    return len(list(chunked(connection, sql, run_ids)))


def _refresh_units(connection: sqlite3.Connection, touched: set[int]) -> None:
    parts: dict[int, list[RawObservation]] = {}
    for unit, entry in chunked(connection, "SELECT unit_id, entry FROM parts WHERE unit_id IN", touched):
        parts.setdefault(unit, []).append(entries.raw_observation_from(orjson.loads(entry)))
    if not parts:
        return
    known = typed_amendments(
        amendments_of(connection, {part.run_id for group in parts.values() for part in group})
    )
    connection.executemany(
        "UPDATE units SET closes_at = ?, waits = ? WHERE id = ?",
        [
            (schema.micros(units.closing_time(group, known)), any(map(units.waits, group)), unit)
            for unit, group in parts.items()
        ],
    )


def typed_amendments(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[Amendment]]:
    """Entries as values."""
    return {run_id: [entries.amendment_from(entry) for entry in group] for run_id, group in found.items()}


def chunked(connection: sqlite3.Connection, sql: str, keys: Iterable[Any]) -> Iterable[Sequence[Any]]:
    """Rows of `sql` (...keys), some hundred keys at a time, keys ascending."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        yield from connection.execute(f"{sql} ({','.join('?' * len(chunk))})", chunk)
