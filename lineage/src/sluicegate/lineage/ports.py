"""What this part offers to others and needs of them, by need."""

from collections.abc import Callable
from typing import Any, Protocol

from sluicegate.lineage.spool import Pressure


class Spool(Protocol):
    """Where a worker leaves its entries before it answers."""

    @property
    def pressure(self) -> Pressure:
        """How much to leave out."""
        ...

    def append(self, *lines: bytes) -> bool:
        """Write encoded entries at once; never raises, never waits for the store."""
        ...


OnEntry = Callable[[dict[str, Any]], None]
"""Told of an entry after it is in the store, at most once; a kill in between leaves some untold."""
