"""In which order, and how fast, the loop looks at what exists; on a virtual clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sluicegate.operator.loop.controller import RESYNC_SHARE, Controller, Pace
from sluicegate.operator.loop.queue import Limits
from sluicegate.operator.ports import ref_of
from sluicegate.operator.resources.memory import MemoryStore
from sluicegate.rollout.model import Ref
from tests.operator.samples import staged
from tests.operator.test_queue import VirtualClock
from tests.operator.world import World

PACE = Pace(resync=600.0, workers=1, limits=Limits(rate=4.0, burst=4))
AT_REST = {"observedGeneration": 1, "phase": "Healthy"}
UNDER_WAY = {"observedGeneration": 1, "phase": "Progressing"}


class Looking(Controller):
    """Notes when it looks at what, and does nothing."""

    looked: list[tuple[float, Ref]]

    async def handle(self, key: Ref) -> bool:
        self.looked.append((self._clock.monotonic(), key))
        return True


@asynccontextmanager
async def running(clock: VirtualClock, statuses: dict[str, dict[str, Any]]) -> AsyncIterator[Looking]:
    """Workflows with these names and statuses, and the loop, which has just started."""
    world, store = World(), MemoryStore(clock.now)
    for name, status in statuses.items():
        item = staged("1.0.0", "http://127.0.0.1:9")
        item["metadata"] = {"name": name, "namespace": "shop"}
        await store.update_status({**await store.create(item), "status": status})
    loop = Looking(
        store=store,
        gatherer=world.loop._gather,
        executor=world.loop._executor,
        clock=clock,
        metrics=world.told,
        pace=PACE,
    )
    loop.looked = []
    task = asyncio.ensure_future(loop.run())
    try:
        yield loop
    finally:
        task.cancel()


async def test_what_is_under_way_comes_first_after_a_start() -> None:
    clock = VirtualClock()
    async with running(clock, {"a": AT_REST, "b": AT_REST, "z": UNDER_WAY}) as loop:
        await clock.until(10.0)
    assert [key.name for _, key in loop.looked] == ["z", "a", "b"]


async def test_a_resync_takes_its_share_of_the_rate_and_a_change_does_not_wait_behind_it() -> None:
    clock, names = VirtualClock(), [f"w-{number:02}" for number in range(40)]
    async with running(clock, dict.fromkeys(names, AT_REST)) as loop:
        await clock.until(30.0)
        loop.looked.clear()
        while not loop.looked:  # a round begins between 300 s and 900 s after the start
            await clock.until(clock.seconds + 1.0)
        begun = loop.looked[0][0]
        await clock.until(begun + 5.0)
        held = await loop._store.get(Ref("AgentWorkflow", "shop", "w-39"))
        changed = clock.seconds
        await loop._store.update({**held, "spec": {**held["spec"], "version": "2.0.0"}})
        await clock.until(begun + 60.0)
    times = [at for at, key in loop.looked if key.name != "w-39"]
    gap = 1.0 / (RESYNC_SHARE * PACE.limits.rate)
    assert [key.name for _, key in loop.looked if key.name != "w-39"] == names[:-1], "each once, in order"
    assert times[-1] - times[0] >= gap * (len(times) - 1) - 1e-6
    seen = next(at for at, key in loop.looked if key == ref_of(held))
    assert seen - changed <= 1.0 / PACE.limits.rate + 1e-6
