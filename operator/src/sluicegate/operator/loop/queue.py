"""The keyed queue: every key once, one worker per key at a time, back-off with full jitter, a global rate limit.

    add ─► ready ─► taken ─► done          added again while taken: once more after done
             ▲        │ failed: delayed by back-off
           delayed ◄──┘ add(after=…): the earliest wish wins

`Queue` is pure (time is a parameter); `serve` is its shell.
"""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sluicegate.contracts.adapters import system
from sluicegate.operator.ports import LoopClock, QueueMetrics

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """base, cap: seconds; the n-th failure waits uniform in [0, min(cap, base * 2^n)). rate: handlings per second."""

    base: float = 0.1
    cap: float = 30.0
    rate: float = 50.0
    burst: int = 100


@dataclass(slots=True)
class Queue(Generic[K]):
    """Which key may be handled now. Never blocks; `now` is monotonic seconds."""

    limits: Limits = field(default_factory=Limits)
    jitter: Callable[[float], float] = system.jitter
    _ready: OrderedDict[K, float] = field(default_factory=OrderedDict)  # key -> ready since
    _due: dict[K, float] = field(default_factory=dict)
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    _taken: dict[K, float | None] = field(default_factory=dict)  # key -> added again at
    _failures: dict[K, int] = field(default_factory=dict)
    _urgent: OrderedDict[K, None] = field(default_factory=OrderedDict)  # the oldest wish first
    _tokens: float | None = None
    _refilled: float = 0.0
    _order: int = 0

    def add(self, key: K, now: float, *, after: float = 0.0, urgent: bool = False) -> None:
        """Handle `key` once, `after` seconds from now at the latest. urgent: before those that are not, whatever the rate."""
        if urgent:
            self._urgent.setdefault(key)
        if after > 0:
            self._delay(key, now + after)
        elif key in self._taken:
            if self._taken[key] is None:
                self._taken[key] = now
        elif key not in self._ready:
            self._due.pop(key, None)
            self._ready[key] = now

    def take(self, now: float) -> tuple[K, float] | None:
        """A key to handle and how long it was ready; None: nothing may be handled now."""
        self._promote(now)
        first = self._first_urgent()
        if not self._ready or not (first or self._token(now)):
            return None
        key = first[0] if first else next(iter(self._ready))
        since = self._ready.pop(key)
        self._urgent.pop(key, None)
        self._taken[key] = None
        return key, now - since

    def done(self, key: K, now: float, *, failed: bool = False) -> float | None:
        """`key` was handled. failed: it comes back after the returned delay."""
        again = self._taken.pop(key)
        if again is not None:
            self.add(key, again)
        if not failed:
            self._failures.pop(key, None)
            return None
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        if again is not None and key in self._urgent:
            return 0.0  # what a person decided meanwhile was not seen yet; the next failure waits
        delay = self.jitter(min(self.limits.cap, self.limits.base * 2.0 ** min(count, 40)))
        # A key that keeps failing waits, even when it was added meanwhile.
        self._ready.pop(key, None)
        self._delay(key, now + delay)
        return delay

    def wake_at(self, now: float) -> float | None:
        """When `take` may have something, if nothing is added before; None: never."""
        self._promote(now)
        if self._ready:
            if self._first_urgent():
                return now
            missing = max(0.0, 1.0 - self._refill(now))
            return now + missing / self.limits.rate
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def depth(self) -> int:
        """Keys that are ready."""
        return len(self._ready)

    def forget(self, key: K) -> None:
        """Drop a key that exists no more: no delay, no failures."""
        self._due.pop(key, None)
        self._failures.pop(key, None)
        self._urgent.pop(key, None)

    def _first_urgent(self) -> tuple[K] | None:
        """The urgent key that is to be taken next."""
        return next(((key,) for key in self._urgent if key in self._ready), None)

    def _delay(self, key: K, at: float) -> None:
        if key in self._ready or self._due.get(key, at + 1.0) <= at:
            return
        self._due[key] = at
        self._order += 1
        heapq.heappush(self._heap, (at, self._order, key))

    def _promote(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == at:
                del self._due[key]
                self.add(key, at)

    def _refill(self, now: float) -> float:
        if self._tokens is None:
            self._tokens, self._refilled = float(self.limits.burst), now
        gained = (now - self._refilled) * self.limits.rate
        self._tokens, self._refilled = min(float(self.limits.burst), self._tokens + gained), now
        return self._tokens

    def _token(self, now: float) -> bool:
        if self._refill(now) < 1.0 - 1e-9:
            return False
        self._tokens = max(0.0, self._refill(now) - 1.0)
        return True


class KeyedQueue(Generic[K]):
    """Shell of `Queue` in one event loop. `handle` returns True when done, False to come back with back-off."""

    def __init__(self, clock: LoopClock, metrics: QueueMetrics, limits: Limits | None = None) -> None:
        self._queue: Queue[K] = Queue(limits=limits or Limits())
        self._clock = clock
        self._metrics = metrics
        self._changed = asyncio.Event()
        self._is_closed = False
        self._ended = asyncio.Event()

    def add(self, key: K, *, after: float = 0.0, urgent: bool = False) -> None:
        """Handle `key`, now or `after` seconds from now."""
        self._queue.add(key, self._clock.monotonic(), after=after, urgent=urgent)
        self._metrics.queued(self._queue.depth())
        self._changed.set()

    def forget(self, key: K) -> None:
        """The key exists no more."""
        self._queue.forget(key)

    async def serve(self, handle: Callable[[K], Awaitable[bool]], *, workers: int = 4) -> None:
        """Handle keys until cancelled or closed."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(handle))
        finally:
            self._ended.set()

    async def close(self) -> None:
        """Take no other key; returns when those that were taken are handled."""
        self.shut()
        await self._ended.wait()

    def shut(self) -> None:
        """Take no other key; those that were taken go on."""
        self._is_closed = True
        self._changed.set()

    async def _work(self, handle: Callable[[K], Awaitable[bool]]) -> None:
        while not self._is_closed:
            taken = self._queue.take(self._clock.monotonic())
            if taken is None:
                await self._wait()
                continue
            key, waited = taken
            self._metrics.queued(self._queue.depth())
            self._metrics.waited(waited)
            if self._queue.depth():
                self._changed.set()  # wake another worker
            ok = False
            try:
                ok = await handle(key)
            finally:
                if self._queue.done(key, self._clock.monotonic(), failed=not ok) is not None:
                    self._metrics.retried()
                self._changed.set()

    async def _wait(self) -> None:
        """Until something is added or due."""
        now = self._clock.monotonic()
        at = self._queue.wake_at(now)
        self._changed.clear()
        if self._is_closed:
            return
        changed = asyncio.ensure_future(self._changed.wait())
        waits: list[asyncio.Future[object]] = [changed]  # type: ignore[list-item]
        if at is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep(max(0.0, at - now))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
