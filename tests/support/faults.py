"""Faults of an API server, and when they happen."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import ClientResponse, web

from sluicegate.contracts.adapters import system
from tests.support.asked import Asked


class Exchange(Protocol):
    """One request in flight."""

    request: web.Request

    async def forward(self) -> ClientResponse:
        """Ask the API server, as the client did."""
        ...

    async def relay(self, upstream: ClientResponse) -> web.StreamResponse:
        """Answer what the API server answers, as it comes."""
        ...

    async def begin(self, upstream: ClientResponse) -> web.StreamResponse:
        """Send status and headers only."""
        ...

    def abort(self) -> web.StreamResponse:
        """Reset the client's connection."""
        ...


Fault = Callable[[Exchange], Awaitable[web.StreamResponse]]
When = Callable[[int], bool]
"""Whether it happens at the nth request of its kind; n counts from 1."""


@dataclass(slots=True)
class Rule:
    """A fault for requests of a kind. verb and resource are regular expressions for the whole of it; see Asked."""

    fault: Fault
    verb: str = ".*"
    resource: str = ".*"
    name: str = ".*"
    when: When = field(default=lambda _: True)
    seen: int = 0
    done: int = 0

    def meets(self, item: Asked) -> bool:
        """Whether the fault happens to this request, which is counted."""
        pairs = ((self.verb, item.verb), (self.resource, item.resource), (self.name, item.name))
        if not all(re.fullmatch(pattern, text) for pattern, text in pairs):
            return False
        self.seen += 1
        happens = self.when(self.seen)
        self.done += happens
        return happens


def nth(*numbers: int) -> When:
    """At these."""
    return lambda n: n in numbers


def first(count: int) -> When:
    """At the first `count`."""
    return lambda n: n <= count


def every(step: int) -> When:
    """At each `step`th."""
    return lambda n: n % step == 0


def chance(probability: float, seed: int) -> When:
    """Now and then, and in every run at the same numbers."""
    return lambda n: system.seeded(seed, n).random() < probability


def answer(code: int, reason: str, *, retry_after: int | None = None) -> Fault:
    """A Status instead of doing it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    async def fault(_: Exchange) -> web.StreamResponse:
        return web.json_response(_status(code, reason), status=code, headers=headers)

    return fault


def conflict() -> Fault:
    """409: another one wrote before."""
    return answer(409, "Conflict")


def gone() -> Fault:
    """410: the version asked for is too old."""
    return answer(410, "Expired")


def too_many(retry_after: int = 1) -> Fault:
    """429 with Retry-After."""
    return answer(429, "TooManyRequests", retry_after=retry_after)


def broken() -> Fault:
    """500."""
    return answer(500, "InternalError")


async def refused(exchange: Exchange) -> web.StreamResponse:
    """The connection is reset; nothing was done."""
    return exchange.abort()


async def hang(_: Exchange) -> web.StreamResponse:
    """No answer, ever."""
    await asyncio.Event().wait()
    raise AssertionError


async def lost(exchange: Exchange) -> web.StreamResponse:
    """It is done, and the connection is reset instead of an answer."""
    upstream = await exchange.forward()
    await upstream.read()
    return exchange.abort()


def slow(seconds: float) -> Fault:
    """An answer after a while."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await exchange.relay(await exchange.forward())

    return fault


def cut(after: int = 0) -> Fault:
    """A watch is reset after so many events, in the middle of the next line."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        upstream = await exchange.forward()
        response = await exchange.begin(upstream)
        async for line in _lines(upstream, after):
            await response.write(line)
        await response.write(b'{"type":"MOD')
        return exchange.abort()

    return fault


def error_event(code: int = 410, reason: str = "Expired", after: int = 0) -> Fault:
    """A watch ends after so many events, with an event of type ERROR."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        upstream = await exchange.forward()
        if upstream.status != 200:
            return await exchange.relay(upstream)
        response = await exchange.begin(upstream)
        async for line in _lines(upstream, after):
            await response.write(line)
        await response.write(_line({"type": "ERROR", "object": _status(code, reason)}))
        await response.write_eof()
        return response

    return fault


async def _lines(upstream: ClientResponse, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield await upstream.content.readuntil(b"\n")


def _line(item: object) -> bytes:
    return json.dumps(item).encode() + b"\n"


def _status(code: int, reason: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"injected: {reason}",
        "reason": reason,
        "code": code,
    }
