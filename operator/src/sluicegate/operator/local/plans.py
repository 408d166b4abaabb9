"""`ports.PlanSink` and `ports.GatewayView` over the gateway's plan table, for the event loop."""

from datetime import timedelta
from pathlib import Path

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_keeper import PlanKeeper
from sluicegate.operator.ports import Programmed
from sluicegate.operator.resources.serial import SerialThread

ALIVE = timedelta(seconds=15)
"""A worker that was not heard of for so long (three heartbeats) is not waited for."""


class PlanThread:
    """The plan table, in a thread of its own."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._table = PlanKeeper(path)  # opens its file on first use, in the thread below
        self._thread = SerialThread("plans")
        self._clock = clock

    async def workers(self) -> tuple[str, ...]:
        """Workers that were heard of and not forgotten, however long ago."""
        return await self._thread.call(self._table.workers)

    async def forget(self, worker: str) -> None:
        """A worker that is gone."""
        await self._thread.call(self._table.forget, worker)

    async def close(self) -> None:
        """Close the file."""
        await self._thread.call(self._table.close)
        self._thread.close()

    def _alive(self) -> tuple[str, ...]:
        return self._table.workers(since=self._clock.now() - ALIVE)


class LocalPlans(PlanThread):
    """`ports.PlanSink` and `ports.GatewayView`."""

    async def write(self, plan: RoutePlan) -> None:
        """Publish; an older version than the published one has no effect, the same one moves its lease."""
        await self._thread.call(self._table.write, plan)

    async def remove(self, namespace: str, workflow: str) -> None:
        """Forget the workflow."""
        await self._thread.call(self._table.delete, namespace, workflow)

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        """As published."""
        return await self._thread.call(self._table.read, namespace, workflow)

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        """The least version among the workers heard of in the last seconds."""
        return await self._thread.call(self._programmed, namespace, workflow)

    def _programmed(self, namespace: str, workflow: str) -> Programmed:
        alive = self._alive()
        version = self._table.programmed(namespace, workflow, workers=alive) if alive else 0
        return Programmed(version=version, gateways=len(alive))
