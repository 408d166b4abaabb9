"""Routes that are held while events overtake answers, and while nobody watches. Without a cluster."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from sluicegate.contracts.errors import NotFound
from sluicegate.operator.cluster.ports import NotServed
from sluicegate.operator.cluster.route_held import FOLLOWED_SECONDS, HeldRoutes
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import Json

KEY = ("shop", "edge")


def route(version: int, uid: str = "u") -> Json:
    return {"metadata": {"namespace": "shop", "name": "edge", "uid": uid, "resourceVersion": str(version)}}


@dataclass
class Answers:
    """What a read is answered with, once it may be."""

    answer: Json | Exception
    reads: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, *_: Any) -> Json:
        self.reads += 1
        self.asked.set()
        await self.may.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class Ahead(HostClock):
    by: float = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.by


async def holding(api: Answers, clock: HostClock | None = None) -> HeldRoutes:
    """With the route read, and followed."""
    held = HeldRoutes(api, clock or HostClock())  # type: ignore[arg-type]
    held.follows("shop")
    api.may.set()
    await held.route(KEY)
    return held


async def test_an_event_that_overtakes_the_answer_to_a_write_stays() -> None:
    held = await holding(Answers(route(1)))
    assert held.seen(route(3), deleted=False)
    held.keep(route(2))
    assert held.get(KEY) == route(3)


async def test_a_deletion_that_overtakes_the_answer_to_a_write_stays() -> None:
    held = await holding(Answers(route(1)))
    assert held.seen(route(3), deleted=True)
    held.keep(route(2))
    assert held.get(KEY) is None
    assert held.seen(route(4, uid="v"), deleted=False)
    assert held.get(KEY) == route(4, uid="v")


@pytest.mark.parametrize("answer", [route(1), NotFound("not yet")], ids=["older", "absent"])
async def test_what_is_seen_during_a_read_counts(answer: Json | Exception) -> None:
    api = Answers(answer)
    held = HeldRoutes(api, HostClock())  # type: ignore[arg-type]
    read = asyncio.ensure_future(held.route(KEY))
    await api.asked.wait()
    assert held.seen(route(2), deleted=False)
    api.may.set()
    assert await read == route(2)


async def test_what_nobody_watches_is_read_again() -> None:
    clock, api = Ahead(), Answers(route(1))
    held = await holding(api, clock)
    api.answer = route(2)
    assert await held.route(KEY, again=True) == route(1)
    clock.by = FOLLOWED_SECONDS + 1
    assert await held.route(KEY, again=True) == route(2)
    api.answer = NotFound("gone")
    assert await held.route(KEY, again=True) is None


async def test_a_watch_of_another_namespace_is_none_and_one_of_all_is() -> None:
    held = HeldRoutes(Answers(route(1)), HostClock())  # type: ignore[arg-type]
    held.follows("elsewhere")
    assert not held.is_followed("shop")
    held.follows(None)
    assert held.is_followed("shop")


async def test_when_routes_are_not_served_nothing_is_held_and_nobody_watches() -> None:
    clock, api = Ahead(), Answers(route(1))
    held = await holding(api, clock)
    held.seen(route(2), deleted=True)
    api.answer = NotServed("no such kind")
    with pytest.raises(NotServed):
        await held.route(KEY, again=True)
    assert not held.is_followed("shop")
    api.answer = route(3)
    assert await held.route(KEY) == route(3)


async def test_a_read_that_has_ended_is_not_remembered() -> None:
    held = await holding(Answers(route(1)))
    assert not held._reads
