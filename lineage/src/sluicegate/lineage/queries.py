"""What people ask the store."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.lineage import documents, schema
from sluicegate.lineage.bodies import BodyCodec

MIN_PREFIX: Final = 6
MAX_LIMIT: Final = 10_000

_SUMMARY: Final = (
    "run_id, arm, namespace, workflow, revision, version, rollout, stage, attempt, serving, outcome,"
    " latency_ms, reward, started_at, flags, error"
)
_EQUALS: Final = ("workflow", "namespace", "revision", "arm", "stage", "rollout", "outcome")


def runs(connection: sqlite3.Connection, filters: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
    """Summaries, newest first. filters: see LineageStore.runs; None is no filter."""
    where, values = ["1"], []
    for name in _EQUALS:
        if filters.get(name) is not None:
            where.append(f"{name} = ?")
            values.append(filters[name])
    if filters.get("fallback") is not None:
        where.append("flags & ? = ?")
        values += [schema.FALLBACK, schema.FALLBACK if filters["fallback"] else 0]
    if filters.get("since") is not None:
        where.append("started_at >= ?")
        values.append(schema.micros(filters["since"]))
    if filters.get("before") is not None:
        where.append("(started_at, run_id, arm) < (?, ?, ?)")
        values += _cursor(filters["before"])
    # Only column names of this module are put into the text.
    sql = f"SELECT {_SUMMARY} FROM runs WHERE {' AND '.join(where)}"  # noqa: S608
    order = " ORDER BY started_at DESC, run_id DESC, arm DESC LIMIT ?"
    rows = connection.execute(sql + order, (*values, max(0, min(limit, MAX_LIMIT))))
    return [_summary(documents.RunRow(*row)) for row in rows]


def resolve(connection: sqlite3.Connection, text: str) -> list[str]:
    """Hot run ids that are `text` or start with it; two at most."""
    if connection.execute("SELECT 1 FROM runs WHERE run_id = ? LIMIT 1", (text,)).fetchone():
        return [text]
    if len(text) < MIN_PREFIX:
        return []
    sql = "SELECT DISTINCT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 2"
    return [row[0] for row in connection.execute(sql, (text, text + "\U0010ffff"))]


def ambiguous(text: str, found: list[str]) -> Refused:
    """More than one run starts like this."""
    return Refused(
        (
            Problem(
                path="run",
                message="more than one run id starts like this",
                value=text,
                allowed=f"a whole id, such as {' or '.join(found[:2])}",
                hint="give more characters",
            ),
        )
    )


def documents_of(
    connection: sqlite3.Connection, codec: BodyCodec, run_id: str, cold: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Every arm's document with what became known later; cold: lines of cold segments by arm."""
    found = {arm: orjson.loads(body) for arm, body in _hot(connection, codec, run_id)}
    later = [
        (orjson.loads(entry), bool(used))
        for entry, used in connection.execute(
            "SELECT entry, used FROM amendments WHERE run_id = ?", (run_id,)
        )
    ]
    pending = connection.execute("SELECT 1 FROM parts WHERE run_id = ?", (run_id,)).fetchone() is not None
    result = [
        documents.amended(document, [(*amendment, pending) for amendment in later])
        for document in found.values()
    ]
    for arm, line in cold.items():
        if arm not in found:
            newer = [entry for entry, _ in later]
            kept = [(entry, used) for entry, used in line["amendments"] if entry not in newer]
            result.append(documents.amended(line["document"], [(*item, pending) for item in kept + later]))
    return sorted(result, key=lambda document: documents.ARM_ORDER[document["arm"]])


def fallbacks(
    connection: sqlite3.Connection, place: tuple[str, str, int], limit: int
) -> list[dict[str, Any]]:
    """The first `limit` per (component, reason) that users got, by run id (which is by time)."""
    rows = connection.execute(
        "SELECT run_id, arm, step, component, reason, strategy FROM ("
        " SELECT *, row_number() OVER (PARTITION BY component, reason ORDER BY run_id, arm, step) AS place"
        " FROM fallbacks WHERE rollout = ? AND stage = ? AND attempt = ? AND serving)"
        " WHERE place <= ? ORDER BY component, reason, run_id, arm, step",
        (*place, limit),
    )
    names = ("run_id", "arm", "step", "component", "reason", "strategy")
    return [dict(zip(names, row, strict=True)) for row in rows]


def drill(connection: sqlite3.Connection, look: DrillLook) -> DrillCounts:
    """The runs that the rules were rehearsed on."""
    failed = schema.UNANSWERED | schema.UNLAWFUL
    # The partial index is used for the very text of its condition.
    sql = (
        f"SELECT count(*), sum(flags & {failed} = 0), sum(flags & {schema.UNLAWFUL} != 0),"  # noqa: S608 - numbers
        f" min(CASE WHEN flags & {failed} THEN run_id END) FROM runs"
        f" WHERE namespace = ? AND workflow = ? AND started_at >= ? AND started_at < ? AND flags & {schema.DRILLED}"
    )
    window = (schema.micros(look.window.opens), schema.micros(look.window.closes))
    runs, answered, invalid, failed_run = connection.execute(
        sql, (look.namespace, look.workflow, *window)
    ).fetchone()
    return DrillCounts(
        look=look, runs=runs, answered=answered or 0, invalid=invalid or 0, failed_run=failed_run
    )


_TOTALS: Final = {
    "runs": "SELECT count(*) FROM runs",
    "open_units": "SELECT count(*) FROM units WHERE sequence IS NULL",
    "observations": "SELECT count(*) FROM units WHERE sequence IS NOT NULL",
    "cold_documents": "SELECT coalesce(sum(documents), 0) FROM cold",
}


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Counters since the store was made, and rows now."""
    found = {
        f"{name}_total": value
        for name, value in connection.execute("SELECT name, value FROM counters WHERE name != 'sequence'")
    }
    return found | {name: connection.execute(sql).fetchone()[0] for name, sql in _TOTALS.items()}


def _hot(connection: sqlite3.Connection, codec: BodyCodec, run_id: str) -> Iterator[tuple[str, bytes]]:
    rows = connection.execute(
        "SELECT arm, dictionary, data FROM runs JOIN bodies USING (id) WHERE run_id = ?", (run_id,)
    ).fetchall()
    for arm, dictionary, data in rows:
        yield arm, codec.unpack(connection, dictionary, data)


def _summary(row: documents.RunRow) -> dict[str, Any]:
    data = row._asdict()
    flags = data.pop("flags")
    return data | {
        "serving": bool(row.serving),
        "started_at": schema.moment_of(row.started_at).isoformat().replace("+00:00", "Z"),
        "fallback": bool(flags & schema.FALLBACK),
        "violated": bool(flags & schema.VIOLATED),
        "disagrees": bool(flags & schema.DISAGREES),
        "bodies": not flags & schema.BODILESS,
        "cursor": f"{row.started_at}/{row.arm}/{row.run_id}",
    }


def _cursor(text: str) -> tuple[int, str, str]:
    started, _, rest = text.partition("/")
    arm, _, run_id = rest.partition("/")
    if not started.lstrip("-").isdigit() or arm not in documents.ARM_ORDER or not run_id:
        problem = Problem(
            path="before", message="is not a cursor", value=text, allowed="`cursor` of a summary"
        )
        raise Refused((problem,))
    return int(started), run_id, arm
