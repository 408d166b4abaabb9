"""A small fast load generator: a bare HTTP/1.1 client protocol on uvloop.

Closed loop: each connection sends its next request when the answer is there. Open loop: requests start on a
schedule; latency counts from when a request should have started, so a stalled server is not flattered
("coordinated omission").
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import cast

import httptools


@dataclass(slots=True)
class Result:
    """Latencies in milliseconds, seconds that the run took, and answers other than 200."""

    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    errors: int = 0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def quantile(self, q: float) -> float:
        """A quantile of the latencies, nearest rank."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


class Connection(asyncio.Protocol):
    """One connection with at most one request under way."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(self._parser.get_status_code())
        self._parser = httptools.HttpResponseParser(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("closed"))

    async def post(self, request: bytes) -> int:
        """Send and wait for the status."""
        transport = self._transport
        if transport is None:
            raise ConnectionResetError("not connected")
        self._waiting = asyncio.get_running_loop().create_future()
        transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def request_of(path: str, body: bytes) -> bytes:
    """A whole POST."""
    head = f"POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def connect(port: int) -> Connection:
    """One connection to loopback."""
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(Connection, "127.0.0.1", port)
    return protocol


async def closed_loop(port: int, request: bytes, *, connections: int, seconds: float) -> Result:
    """As fast as the server answers."""
    pool = [await connect(port) for _ in range(connections)]
    result = Result()
    begun = time.perf_counter()
    until = begun + seconds

    async def drive(connection: Connection) -> None:
        now = time.perf_counter()
        while now < until:
            status = await connection.post(request)
            ended = time.perf_counter()
            result.latencies.append((ended - now) * 1000.0)
            result.errors += status != 200
            now = ended

    await asyncio.gather(*(drive(connection) for connection in pool))
    result.seconds = time.perf_counter() - begun
    for connection in pool:
        connection.close()
    return result


async def open_loop(
    port: int, request: bytes, *, rate: float, seconds: float, connections: int = 64
) -> Result:
    """At a fixed rate whatever the server does."""
    idle = deque([await connect(port) for _ in range(connections)])
    everything = list(idle)
    result = Result()
    running: set[asyncio.Task[None]] = set()

    async def one(due: float) -> None:
        connection = idle.popleft() if idle else await connect(port)
        try:
            status = await connection.post(request)
        finally:
            idle.append(connection)
        result.latencies.append((time.perf_counter() - due) * 1000.0)
        result.errors += status != 200

    loop, all_started = asyncio.get_running_loop(), asyncio.Event()
    begun, count = time.perf_counter() + 0.05, int(rate * seconds)

    def start(due: float) -> None:
        task = loop.create_task(one(due))
        running.add(task)
        task.add_done_callback(running.discard)

    def pace() -> None:
        # A thread that sleeps: the loop's own timers have a grain of 1 ms, and spinning would starve the component,
        # which shares this core.
        for number in range(count):
            due = begun + number / rate
            ahead = due - time.perf_counter()
            if ahead > 0.0:
                time.sleep(ahead)
            loop.call_soon_threadsafe(start, due)
        loop.call_soon_threadsafe(all_started.set)

    await asyncio.gather(loop.run_in_executor(None, pace), all_started.wait())
    await asyncio.gather(*running)
    result.seconds = time.perf_counter() - begun
    for connection in {*everything, *idle}:
        connection.close()
    return result
