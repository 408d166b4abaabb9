"""The host's time for the shells."""

import asyncio
import time
from datetime import datetime

from sluicegate.contracts.adapters import system


class HostClock:
    """`ports.LoopClock`."""

    def now(self) -> datetime:
        """Aware UTC."""
        return system.now()

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
