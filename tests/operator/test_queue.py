"""The queue on a virtual clock: laws by hypothesis, the shell by a clock that moves when everybody sleeps."""

import asyncio
import heapq
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sluicegate.operator.loop.queue import KeyedQueue, Limits, Queue

FAST = Limits(base=0.1, cap=30.0, rate=1e6, burst=1_000_000)
KEYS = st.sampled_from("abcd")


def queue(limits: Limits = FAST, jitter: float = 1.0) -> Queue[str]:
    """jitter 1: the longest delay, 0: none."""
    return Queue(limits=limits, jitter=lambda limit: limit * jitter)


class Laws(RuleBasedStateMachine):
    """A model of what must hold whatever happens: `owed` are keys that were added and not yet taken since."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue()
        self.now = 0.0
        self.owed: dict[str, float] = {}  # key -> due at the latest
        self.taken: set[str] = set()
        self.failing: dict[str, float] = {}  # key -> not before

    @rule(key=KEYS, after=st.sampled_from([0.0, 0.0, 1.0, 7.5]))
    def add(self, key: str, after: float) -> None:
        self.queue.add(key, self.now, after=after)
        self.owed[key] = min(self.owed.get(key, float("inf")), self.now + after)

    @rule(seconds=st.sampled_from([0.05, 1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        found = self.queue.take(self.now)
        due = {key for key, at in self.owed.items() if at <= self.now and key not in self.taken}
        if found is None:
            assert not due
            return
        key, waited = found
        assert key not in self.taken, "one worker per key"
        assert key in due, "nothing is handled before its time, or without being asked for"
        assert waited >= 0
        del self.owed[key]
        self.taken.add(key)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), failed=st.booleans())
    def done(self, data: st.DataObject, failed: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.taken)))
        self.taken.discard(key)
        delay = self.queue.done(key, self.now, failed=failed)
        assert (delay is not None) == failed
        if delay is not None:
            self.owed[key] = self.now + delay

    @invariant()
    def wakes_in_time(self) -> None:
        due = [at for key, at in self.owed.items() if key not in self.taken]
        wake = self.queue.wake_at(self.now)
        if due:
            assert wake is not None
            assert wake <= max(min(due), self.now) + 1e-6
        if wake is not None and wake <= self.now:
            assert any(at <= self.now for at in due), "a worker must not spin"


TestLaws = Laws.TestCase
TestLaws.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(KEYS, min_size=1, max_size=30))
def test_a_key_added_often_is_handled_once(keys: list[str]) -> None:
    ready = queue()
    for key in keys:
        ready.add(key, 0.0)
    handled = []
    while (found := ready.take(0.0)) is not None:
        handled.append(found[0])
        ready.done(found[0], 0.0)
    assert handled == list(dict.fromkeys(keys))


def test_a_key_added_while_it_is_handled_comes_once_more() -> None:
    ready = queue()
    ready.add("a", 0.0)
    ready.take(0.0)
    ready.add("a", 1.0)
    ready.add("a", 2.0)
    assert ready.take(2.0) is None
    ready.done("a", 3.0)
    assert ready.take(3.0) == ("a", 2.0)
    ready.done("a", 3.0)
    assert ready.take(9.0) is None


def test_the_earliest_wish_wins() -> None:
    ready = queue()
    for after in (9.0, 3.0, 5.0):
        ready.add("a", 0.0, after=after)
    assert ready.take(2.9) is None
    assert ready.take(3.0) == ("a", 0.0)
    ready.done("a", 3.0)
    assert ready.take(100.0) is None


def test_back_off_doubles_up_to_the_cap_and_starts_anew_after_a_success() -> None:
    """Full jitter: uniform in [0, min(cap, base * 2^n)] (AWS Architecture Blog, 2015)."""
    ready, now = queue(Limits(base=0.5, cap=4.0, rate=1e6, burst=1000)), 0.0
    delays = []
    for _ in range(6):
        ready.add("a", now)
        ready.take(now)
        delay = ready.done("a", now, failed=True)
        assert delay is not None
        delays.append(delay)
        now += delay
    assert delays == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]
    ready.take(now)
    ready.done("a", now)
    ready.add("a", now)
    ready.take(now)
    assert ready.done("a", now, failed=True) == 0.5


def test_a_failing_key_waits_even_when_it_was_added_meanwhile() -> None:
    ready = queue()
    ready.add("a", 0.0)
    ready.take(0.0)
    ready.add("a", 0.0)
    ready.done("a", 0.0, failed=True)
    assert ready.take(0.05) is None
    assert ready.take(0.1) is not None


def test_news_of_a_waiting_key_does_not_wait_for_its_back_off() -> None:
    ready = queue()
    ready.add("a", 0.0)
    ready.take(0.0)
    ready.done("a", 0.0, failed=True)
    ready.add("a", 0.01)
    assert ready.take(0.01) is not None


def test_an_urgent_key_goes_first_whatever_the_rate() -> None:
    waiting = queue(Limits(rate=1.0, burst=1))
    for key in "abc":
        waiting.add(key, 0.0)
    assert waiting.take(0.0) == ("a", 0.0)
    waiting.add("c", 0.0, urgent=True)  # it waits already
    waiting.add("a", 0.0, urgent=True)  # it is handled just now
    assert waiting.wake_at(0.0) == 0.0
    assert waiting.take(0.0) == ("c", 0.0)
    assert waiting.take(0.0) is None
    waiting.done("a", 0.0)
    assert waiting.take(0.0) == ("a", 0.0)
    for key in "ac":
        waiting.done(key, 0.0)
    assert waiting.take(0.0) is None
    assert waiting.take(1.0) == ("b", 1.0)


def test_urgent_keys_go_in_the_order_of_their_wishes() -> None:
    """However many come later: the first person is not the last to be heard."""
    waiting = queue(Limits(rate=1.0, burst=1))
    for number, key in enumerate("abcab"):
        waiting.add(key, float(number), urgent=True)
    assert [waiting.take(5.0) for _ in "abc"] == [("a", 5.0), ("b", 4.0), ("c", 3.0)]


def test_an_urgent_key_does_not_wait_for_the_back_off_of_the_look_before_it() -> None:
    ready = queue(Limits(base=30.0))
    ready.add("a", 0.0)
    ready.take(0.0)
    ready.add("a", 0.0, urgent=True)
    ready.done("a", 1.0, failed=True)
    assert ready.take(1.0) is not None
    ready.done("a", 1.0, failed=True)
    assert ready.take(2.0) is None, "it keeps failing"


def test_no_more_than_the_rate_is_handled() -> None:
    ready = queue(Limits(rate=10.0, burst=5))
    for number in range(100):
        ready.add(str(number), 0.0)
    handled: Counter[int] = Counter()
    now = 0.0
    while now < 3.0:
        if ready.take(now) is None:
            now = max(ready.wake_at(now) or 0.0, now + 1e-6)
        else:
            handled[int(now)] += 1
    assert sum(handled.values()) in range(30, 37), handled
    assert max(handled.values()) <= 15


@dataclass
class VirtualClock:
    """Time moves to the next sleeper once nothing else runs."""

    seconds: float = 0.0
    sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    count: int = 0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.sleepers, (self.seconds + seconds, self.count, future))
        await future

    async def until(self, end: float) -> None:
        """Run everything up to `end`."""
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            while self.sleepers and self.sleepers[0][2].cancelled():
                heapq.heappop(self.sleepers)
            if not self.sleepers or self.sleepers[0][0] > end:
                break
            at, _, future = heapq.heappop(self.sleepers)
            self.seconds = max(self.seconds, at)
            future.set_result(None)
        self.seconds = end


@dataclass
class Told:
    depths: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    retries: int = 0

    def queued(self, depth: int) -> None:
        self.depths.append(depth)

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)

    def retried(self) -> None:
        self.retries += 1


async def test_workers_share_keys_but_never_one_key() -> None:
    clock, told = VirtualClock(), Told()
    keyed: KeyedQueue[str] = KeyedQueue(clock, told, FAST)
    running: Counter[str] = Counter()
    together = handled = 0

    async def handle(key: str) -> bool:
        nonlocal together, handled
        running[key] += 1
        assert running[key] == 1
        together = max(together, sum(running.values()))
        await clock.sleep(1.0)
        running[key] -= 1
        handled += 1
        return True

    serving = asyncio.ensure_future(keyed.serve(handle, workers=3))
    for key in "abcdef":
        keyed.add(key)
    await clock.until(0.5)
    keyed.add("a")
    await clock.until(10.0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert (together, handled) == (3, 7)
    assert told.depths[-1] == 0
    assert max(told.waits) == pytest.approx(1.5)  # "a", added at 0.5, waits behind d, e and f


async def test_a_delayed_key_is_handled_at_its_time_and_a_failed_one_comes_back() -> None:
    clock, told = VirtualClock(), Told()
    keyed: KeyedQueue[str] = KeyedQueue(clock, told, FAST)
    at: list[tuple[str, float]] = []

    async def handle(key: str) -> bool:
        at.append((key, clock.monotonic()))
        return key != "bad" or len(at) > 4

    serving = asyncio.ensure_future(keyed.serve(handle, workers=2))
    keyed.add("later", after=5.0)
    keyed.add("bad")
    await clock.until(60.0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert ("later", 5.0) in at
    assert told.retries >= 3
    assert [key for key, _ in at].count("bad") == told.retries + 1


async def test_closing_lets_what_was_taken_end_and_takes_nothing_else() -> None:
    keyed: KeyedQueue[str] = KeyedQueue(VirtualClock(), Told())
    began, may_end, handled = asyncio.Event(), asyncio.Event(), []

    async def handle(key: str) -> bool:
        began.set()
        await may_end.wait()
        handled.append(key)
        return True

    serving = asyncio.ensure_future(keyed.serve(handle, workers=1))
    keyed.add("one")
    keyed.add("two")
    await began.wait()
    closing = asyncio.ensure_future(keyed.close())
    await asyncio.sleep(0)
    assert not closing.done()
    may_end.set()
    await closing
    await serving
    assert handled == ["one"]


async def test_closing_wakes_workers_that_wait() -> None:
    keyed: KeyedQueue[str] = KeyedQueue(VirtualClock(), Told())
    serving = asyncio.ensure_future(keyed.serve(lambda _: asyncio.sleep(0, result=True), workers=3))
    await asyncio.sleep(0)
    await keyed.close()
    await serving
