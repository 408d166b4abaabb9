"""Events on a real kube-apiserver: few objects, exact counts, and no look that waits for them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.events import EventSettings, KubernetesEvents
from sluicegate.operator.cluster.kube import DynamicApi
from sluicegate.operator.cluster.ports import EVENTS, own
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Event, Ref, Severity
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.kubes import Counted, Open, cleared, client, eventually
from tests.operator.samples import workflow

pytestmark = pytest.mark.cluster
PLACE = "events"
ECHO = Ref("AgentWorkflow", PLACE, "echo")


@dataclass
class Hands:
    """`LoopClock` with hands to turn."""

    at: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps by this clock")


@dataclass
class Outcomes:
    found: list[str] = field(default_factory=list)

    def event(self, outcome: str) -> None:
        self.found.append(outcome)


@dataclass
class World:
    api: DynamicApi
    calls: Counted
    plane: ControlPlane
    uid: str
    cache: Cache = field(default_factory=Cache)
    fence: Open = field(default_factory=Open)
    clock: Hands = field(default_factory=Hands)
    outcomes: Outcomes = field(default_factory=Outcomes)

    def sink(self, api: DynamicApi | None = None, **settings: Any) -> KubernetesEvents:
        """A process that tells events."""
        return KubernetesEvents(
            api=api or self.api,
            cache=self.cache,
            fence=self.fence,
            clock=self.clock,
            metrics=self.outcomes,
            settings=EventSettings(instance="operator-0", **settings),
        )

    async def stored(self) -> list[Json]:
        found = (await self.api.list(EVENTS, PLACE)).items
        return sorted(found, key=lambda item: str(item["note"]))


@pytest.fixture(scope="module")
def place(installed: ControlPlane) -> ControlPlane:
    installed.kubectl("create", "namespace", PLACE)
    return installed


@pytest.fixture
async def world(place: ControlPlane) -> AsyncIterator[World]:
    calls = Counted()
    async with client(place.kubeconfig(), calls) as api:
        await cleared(api, ("AgentWorkflow",))
        for item in (await api.list(EVENTS, PLACE)).items:
            await api.delete(EVENTS, PLACE, item["metadata"]["name"])
        made = await api.create(own("AgentWorkflow"), workflow(namespace=PLACE), manager="tests")
        found = World(api, calls, place, made["metadata"]["uid"])
        found.cache.put(made)
        calls.calls.clear()
        yield found
        await cleared(api, ("AgentWorkflow",))


def event(message: str = "moved on", **more: Any) -> Event:
    return Event(about=ECHO, reason="StageStarted", message=message, **more)


def count_of(item: Json) -> int:
    """As the Kubernetes API has it: a single event has no series."""
    return int((item.get("series") or {}).get("count", 1))


async def test_a_thousand_equal_events_are_one_object_with_a_count(world: World) -> None:
    sink = world.sink()
    await sink.record(event())
    await sink.flush()
    for _ in range(999):
        await sink.record(event())
    await sink.flush()
    (stored,) = await world.stored()
    assert count_of(stored) == 1000
    assert world.calls.calls[:2] == [("create", "events", 201), ("patch", "events", 200)]
    assert world.outcomes.found == ["Written", "Written"]


async def test_the_event_is_whole_and_kubectl_shows_it_with_its_object(world: World) -> None:
    sink = world.sink()
    await sink.record(event("rolled back", severity=Severity.WARNING))
    await sink.flush()
    (stored,) = await world.stored()
    assert stored["regarding"] == {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "AgentWorkflow",
        "namespace": PLACE,
        "name": "echo",
        "uid": world.uid,
    }
    words = ("type", "reason", "note", "action", "reportingController", "reportingInstance", "eventTime")
    assert [stored[word] for word in words] == [
        "Warning",
        "StageStarted",
        "rolled back",
        "Reconcile",
        "sluicegate.io/operator",
        "operator-0",
        "2026-01-01T00:00:00.000000Z",
    ]
    told = world.plane.kubectl("describe", "agentworkflow", "echo", "-n", PLACE).stdout
    assert "rolled back" in told.partition("Events:")[2]


async def test_a_repetition_after_a_restart_counts_on(world: World) -> None:
    for _ in range(3):
        sink = world.sink()
        for _ in range(2):
            await sink.record(event())
        await sink.flush()
    (stored,) = await world.stored()
    assert count_of(stored) == 6


async def test_the_key_says_what_is_the_same(world: World) -> None:
    sink = world.sink()
    for message, key in (("one", "a"), ("two", "a"), ("three", "b"), ("four", ""), ("five", "")):
        await sink.record(event(message, key=key))
    await sink.flush()
    assert {item["note"]: count_of(item) for item in await world.stored()} == {
        "one": 2,
        "three": 1,
        "four": 1,
        "five": 1,
    }


async def test_another_object_of_the_name_has_events_of_its_own(world: World) -> None:
    sink = world.sink()
    await sink.record(event())
    await world.api.delete(own("AgentWorkflow"), PLACE, "echo")
    again = await world.api.create(own("AgentWorkflow"), workflow(namespace=PLACE), manager="tests")
    world.cache.put(again)
    await sink.record(event())
    await sink.flush()
    uids = {item["regarding"]["uid"] for item in await world.stored()}
    assert uids == {world.uid, again["metadata"]["uid"]}


async def test_what_the_server_forgot_is_told_anew(world: World) -> None:
    sink = world.sink()
    await sink.record(event())
    await sink.flush()
    (stored,) = await world.stored()
    await world.api.delete(EVENTS, PLACE, stored["metadata"]["name"])
    for _ in range(3):
        await sink.record(event())
    await sink.flush()
    (stored,) = await world.stored()
    assert count_of(stored) == 3


@pytest.mark.parametrize("letter", ["x", "ü", "𝄞"], ids=["one-byte", "two-bytes", "four-bytes"])
async def test_a_long_message_is_cut_to_what_the_server_takes(world: World, letter: str) -> None:
    sink = world.sink()
    await sink.record(event(letter * 2_000))
    await sink.flush()
    (stored,) = await world.stored()
    assert 1_018 <= len(stored["note"].encode()) <= 1_024
    assert set(stored["note"]) == {letter, "…"}
    assert world.outcomes.found == ["Written"]


async def test_one_object_cannot_flood(world: World) -> None:
    sink = world.sink(burst=3, refill=10.0)
    for number in range(8):
        await sink.record(event(str(number)))
    await sink.flush()
    assert [item["note"] for item in await world.stored()] == ["0", "1", "2"]
    assert world.outcomes.found.count("Dropped") == 5
    world.clock.at = 10.0
    for message in ("later", "too early"):
        await sink.record(event(message))
    await sink.record(Event(about=ECHO._replace(name="other"), reason="StageStarted", message="of another"))
    await sink.flush()
    assert [item["note"] for item in await world.stored()] == ["0", "1", "2", "later", "of another"]


async def test_memory_is_bounded(world: World) -> None:
    sink = world.sink(known=10)
    for number in range(50):
        about = ECHO._replace(name=f"echo-{number}")
        await sink.record(Event(about=about, reason="StageStarted", message="x"))
    assert len(sink._entries) == len(sink._pending) == len(sink._buckets) == 10
    assert world.outcomes.found == ["Dropped"] * 40


async def test_counts_are_written_no_more_often_than_wanted(world: World) -> None:
    sink = world.sink(update=60.0)
    task = asyncio.ensure_future(sink.run())
    try:
        await sink.record(event())

        async def is_written() -> bool:
            return bool(world.outcomes.found)

        await eventually(is_written)
        for _ in range(20):
            await sink.record(event())
            await asyncio.sleep(0)
        await sink.record(event("a new one is told at once"))

        async def are_two() -> bool:
            return len(await world.stored()) == 2

        await eventually(are_two)
        assert {count_of(item) for item in await world.stored()} == {1}
        world.clock.at = 61.0
        await sink.record(event("wakes the writer"))

        async def is_counted() -> bool:
            return sorted(count_of(item) for item in await world.stored()) == [1, 1, 21]

        await eventually(is_counted)
    finally:
        task.cancel()


async def test_no_failure_reaches_the_look_and_what_may_pass_is_told_later(world: World) -> None:
    world.fence.error = Unavailable("not the leader")
    sink = world.sink()
    await sink.record(event())
    await sink.flush()
    assert (world.outcomes.found, world.calls.calls) == (["Failed"], [])
    world.fence.error = None
    await sink.record(event())
    await sink.flush()
    (stored,) = await world.stored()
    assert count_of(stored) == 2


async def test_what_failed_is_tried_again_soon(world: World) -> None:
    """Not when a count would be due."""
    world.fence.error = Unavailable("the API server is away")
    sink = world.sink(update=60.0, retry=5.0)
    await sink.record(event())
    await sink._write(0.0)
    world.fence.error = None
    await sink._write(4.9)
    assert await world.stored() == []
    await sink._write(5.0)
    (stored,) = await world.stored()
    assert count_of(stored) == 1


async def test_what_the_server_refuses_is_not_offered_again(world: World) -> None:
    async with client(world.plane.kubeconfig("mallory")) as api:
        sink = world.sink(api)
        await sink.record(event())
        await sink.flush()
        await sink.flush()
    assert world.outcomes.found == ["Failed"]
    assert await world.stored() == []


async def test_an_object_that_is_unknown_is_named_without_uid(world: World) -> None:
    sink = world.sink()
    await sink.record(Event(about=ECHO._replace(name="gone"), reason="Deleted", message="gone"))
    await sink.flush()
    (stored,) = await world.stored()
    assert "uid" not in stored["regarding"]
