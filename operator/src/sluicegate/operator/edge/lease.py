"""The gateway's own Lease: a heartbeat, and how far its workers follow the plans."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from sluicegate.contracts.errors import NotFound, SluicegateError
from sluicegate.operator.cluster import gateways, names
from sluicegate.operator.cluster.gateways import Acknowledged, Pod
from sluicegate.operator.cluster.ports import LEASES, KubeApi
from sluicegate.operator.ports import LoopClock

HEARTBEAT: Final = 5.0
QUICKEST: Final = 0.2
"""Seconds between two writes, at least."""
LOOK: Final = 0.1
"""Seconds between two looks at the workers while they have something to take."""
log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Heart:
    """`said`: what to say now, None while there is nothing to say yet; `busy`: whether it may change any moment."""

    api: KubeApi
    gateway: str
    namespace: str
    pod: Pod | None
    clock: LoopClock
    said: Callable[[], Awaitable[Acknowledged | None]]
    busy: Callable[[], bool]
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: str | None = None
    _last: Acknowledged | None = None
    _at: float = float("-inf")

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                now = await self.said()
            except SluicegateError as error:  # the plan table; workers go on, and nothing new is acknowledged
                log.warning("acknowledgements_unread", error=str(error))
                await self.clock.sleep(1.0)
                continue
            if now is not None and self._is_due(now):
                await self._beat(now)
            await self._rest()

    async def leave(self) -> None:
        """The gateway stops: nobody waits for it any more."""
        name = gateways.lease_name(self.gateway)
        try:
            await self.api.patch(LEASES, self.namespace, name, [gateways.LEFT], manager=names.GATEWAY)
            await self.api.delete(LEASES, self.namespace, name)
        except NotFound:
            return
        except (SluicegateError, OSError) as error:
            log.warning("lease_not_deleted", error=str(error))

    def _is_due(self, now: Acknowledged) -> bool:
        since = self.clock.monotonic() - self._at
        return since >= HEARTBEAT or (now != self._last and since >= QUICKEST)

    async def _beat(self, now: Acknowledged) -> None:
        item = gateways.encode(self.gateway, self.namespace, now, self.clock.now(), self.pod)
        self._at = self.clock.monotonic()
        try:
            await self.api.apply(LEASES, item, manager=names.GATEWAY)
        except (SluicegateError, OSError) as error:
            if self.trouble is None:
                log.warning("lease_not_written", error=str(error))
            self.trouble, self._last = str(error), None
            await self.clock.sleep(1.0)
            return
        if self.trouble is not None:
            log.info("lease_written_again")
        self.trouble, self._last = None, now

    async def _rest(self) -> None:
        """Until something may have changed, or the next beat is due."""
        if self.busy():
            await self.clock.sleep(LOOK)
            return
        self.wake.clear()
        left = HEARTBEAT - (self.clock.monotonic() - self._at)
        seconds = QUICKEST if self._last is None else min(max(left, LOOK), HEARTBEAT)
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return
