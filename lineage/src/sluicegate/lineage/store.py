"""The store of runs and evidence: one SQLite file, its readers and its one writer."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.evidence import EvidenceKey, Observation
from sluicegate.lineage import cold, documents, evidence, queries, writing
from sluicegate.lineage.bodies import BodyCodec
from sluicegate.lineage.documents import Parsed
from sluicegate.lineage.schema import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What the ingester commits at once: entries and how far it has read each segment with them.

    counts: lines that were no entries, by counter name. close: whether units may be closed after the
    entries; now: those whose window had passed then.
    """

    entries: list[Parsed] = field(default_factory=list)
    positions: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    close: bool = True
    now: datetime | None = None


class LineageStore:
    """Implements contracts.evidence.EvidenceSource and EvidenceStore. Safe to use from any thread."""

    def __init__(self, path: Path, *, survives_power_cuts: bool = False) -> None:
        self.path = path
        self.cold = path.with_name(path.stem + "-cold")
        self.database = Database(path, survives_power_cuts=survives_power_cuts)
        self.codec = BodyCodec()

    def close(self) -> None:
        """Close every connection."""
        self.database.close()

    def ingest(self, lines: Iterable[bytes], *, now: datetime | None = None) -> int:
        """Store encoded entries in one transaction; repeating it changes nothing. Units that expect nothing,
        and those whose window had passed at `now`, are closed. Returns how many entries said something new.
        Raises MalformedError, and stores nothing, when a line is not an entry.
        """
        parsed = [documents.parse(line) for line in lines]
        counts = self.commit(Batch(entries=parsed, now=now))
        return len(parsed) - counts["duplicates"] - counts["late_runs"]

    def commit(self, batch: Batch) -> Counter[str]:
        """One transaction: entries, read positions, counters, units that are due."""
        try:
            with self.database.write() as connection:
                counts = writing.apply(connection, self.codec, batch.entries)
                counts.update(batch.counts)
                connection.executemany(
                    "INSERT OR REPLACE INTO segments VALUES (?, ?)", batch.positions.items()
                )
                if batch.close:
                    _, closed = evidence.close_due(connection, batch.now)
                    counts.update(closed)
                writing.count(connection, counts)
        except BaseException:
            self.codec.forget()  # a dictionary of this transaction is gone with it
            raise
        return counts

    def has_due(self, now: datetime) -> bool:
        """Whether a unit may be closed at `now`."""
        with self.database.read() as connection:
            return evidence.has_due(connection, now)

    def positions(self) -> dict[str, int]:
        """How far each spool segment is in the store."""
        with self.database.read() as connection:
            return dict(connection.execute("SELECT name, position FROM segments"))

    def forget_segments(self, names: Iterable[str]) -> None:
        """Segments that are deleted from the spool."""
        with self.database.write() as connection:
            connection.executemany("DELETE FROM segments WHERE name = ?", [(name,) for name in names])

    def run(self, run_id: str) -> list[dict[str, Any]]:
        """Whole documents of every arm in the order stable, candidate, control, with outcomes; cold ones too.
        A unique prefix of at least 6 characters will do. Empty when unknown. Raises Refused when ambiguous.
        """
        with self.database.snapshot() as connection:
            found = queries.resolve(connection, run_id)
            is_prefix = len(run_id) >= queries.MIN_PREFIX  # a shorter one would read every cold segment
            lines = cold.search(connection, self.cold, run_id) if is_prefix else {}
            found = [run_id] if run_id in found or run_id in lines else sorted({*found, *lines})
            if len(found) > 1:
                raise queries.ambiguous(run_id, found)
            if not found:
                return []
            return queries.documents_of(connection, self.codec, found[0], lines.get(found[0], {}))

    def runs(  # noqa: PLR0913 - filters of one query, all keyword-only
        self,
        *,
        workflow: str | None = None,
        namespace: str | None = None,
        revision: str | None = None,
        arm: str | None = None,
        stage: str | None = None,
        rollout: str | None = None,
        outcome: str | None = None,
        fallback: bool | None = None,
        since: datetime | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[dict[str, Any]]:
        """Summaries of hot runs, newest first; `before` is the `cursor` of the last one seen."""
        filters = {
            "workflow": workflow,
            "namespace": namespace,
            "revision": revision,
            "arm": arm,
            "stage": stage,
            "rollout": rollout,
            "outcome": outcome,
            "fallback": fallback,
            "since": since,
            "before": before,
        }
        with self.database.read() as connection:
            return queries.runs(connection, filters, limit)

    def fallbacks(self, rollout: str, stage: str, attempt: int, *, limit: int = 50) -> list[dict[str, Any]]:
        """Fallbacks that users got, sampled for review: at most `limit` per (component, reason), the first by run id:
        {run_id, arm, step, component, reason, strategy}.
        """
        with self.database.read() as connection:
            return queries.fallbacks(connection, (rollout, stage, attempt), limit)

    def drill(self, look: DrillLook) -> DrillCounts:
        """How the drill of a workflow went, of the hot runs that began in the window."""
        with self.database.read() as connection:
            return queries.drill(connection, look)

    def observations(self, key: EvidenceKey, *, after: int, limit: int = 10_000) -> list[Observation]:
        """Closed units of `key` with a sequence above `after`, ascending."""
        with self.database.read() as connection:
            return evidence.observations(connection, key, after=after, limit=limit)

    def load(self, key: EvidenceKey) -> bytes | None:
        """Folded state as saved last, or None."""
        with self.database.read() as connection:
            return evidence.load(connection, key)

    def save(self, key: EvidenceKey, state: bytes) -> None:
        """Replace the folded state."""
        with self.database.write() as connection:
            evidence.save(connection, key, state)

    def forget(self, key: EvidenceKey, *, before: int) -> None:
        """Drop units of `key` that are folded and that nobody asks for again: those with a sequence below `before`."""
        with self.database.write() as connection:
            evidence.forget(connection, key, before=before)

    def counts(self) -> dict[str, int]:
        """Counters since the store was made (`*_total`: run, obs, after, outcome, duplicates, torn,
        dead_letters, late_runs, late_outcomes, units) and rows now (runs, open_units, observations,
        cold_documents).
        """
        with self.database.snapshot() as connection:
            return queries.counts(connection)
