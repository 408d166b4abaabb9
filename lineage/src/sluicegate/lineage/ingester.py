"""Moves spools into the store."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sluicegate.lineage.ports import OnEntry
from sluicegate.lineage.store import LineageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one step did; lag_bytes: complete or not, what is left in the spool."""

    entries: int = 0
    bytes: int = 0
    lag_bytes: int = 0


class Ingester:
    """One per store. `step` never waits; call it again at once while it has lag, else after a short pause."""

    def __init__(self, spool: Path, store: LineageStore, on_entry: OnEntry | None = None) -> None:
        self._spool, self._store, self._on_entry = spool, store, on_entry

    def step(self, now: datetime) -> Progress:
        """Read what is new, store it, close units that are due at `now`."""
        raise NotImplementedError
