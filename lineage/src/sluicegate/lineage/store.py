"""The store of runs and evidence: one SQLite file, its readers and its one writer."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from sluicegate.contracts.evidence import EvidenceKey, Observation


class LineageStore:
    """Implements contracts.evidence.EvidenceSource and EvidenceStore. Safe to use from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def close(self) -> None:
        """Close every connection."""

    def ingest(self, lines: Iterable[bytes], *, now: datetime | None = None) -> int:
        """Store encoded entries in one transaction; repeating it changes nothing. Units whose window has passed
        at `now` are closed. Returns how many entries were new or amended something.
        """
        raise NotImplementedError

    def run(self, run_id: str) -> list[dict[str, Any]]:
        """Whole documents of every arm in the order stable, candidate, control, with outcomes; cold ones too.
        A unique prefix of at least 6 characters will do. Empty when unknown. Raises Refused when ambiguous.
        """
        raise NotImplementedError

    def runs(
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
        """Summaries, newest first; `before` is the `cursor` of the last one seen."""
        raise NotImplementedError

    def fallbacks(self, rollout: str, stage: str, attempt: int, *, limit: int = 50) -> list[dict[str, Any]]:
        """Fallbacks that users got, at most `limit` per (component, reason), oldest first, always the same:
        {run_id, arm, step, component, reason, strategy}.
        """
        raise NotImplementedError

    def observations(self, key: EvidenceKey, *, after: int, limit: int = 10_000) -> list[Observation]:
        """Closed units of `key` with a sequence above `after`, ascending."""
        raise NotImplementedError

    def load(self, key: EvidenceKey) -> bytes | None:
        """Folded state as saved last, or None."""
        raise NotImplementedError

    def save(self, key: EvidenceKey, state: bytes) -> None:
        """Replace the folded state."""
        raise NotImplementedError

    def traffic(
        self, namespace: str, workflow: str, since: datetime, *, until: datetime | None = None
    ) -> float:
        """Served runs per hour from `since` to `until` (default: the newest run)."""
        raise NotImplementedError

    def counts(self) -> dict[str, int]:
        """Totals: entries by kind, torn and dead lines, late runs and outcomes, rows."""
        raise NotImplementedError
