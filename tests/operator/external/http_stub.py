"""A server that answers GET as the test says: the faults of providers, on a real socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Stub:
    """answer: of the next requests. seen: all there were."""

    answer: Answer
    url: str = ""
    seen: list[web.Request] = field(default_factory=list)


def said(
    body: bytes | str,
    status: int = 200,
    kind: str = "application/json",
    *,
    encoding: str = "",
    location: str = "",
) -> Answer:
    """Always the same."""
    headers = {"Content-Encoding": encoding, "Location": location}

    async def answer(_request: web.Request) -> web.StreamResponse:
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(
            body=raw,
            status=status,
            headers={"Content-Type": kind} | {name: value for name, value in headers.items() if value},
        )

    return answer


async def silent(_request: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def cut(request: web.Request) -> web.StreamResponse:
    """Half of what was promised, then the connection ends."""
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"status": "succ')
    assert request.transport is not None
    request.transport.close()
    return response


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Stub]:
    """It listens on a port of this machine."""
    stub = Stub(answer)

    async def handle(request: web.Request) -> web.StreamResponse:
        stub.seen.append(request)
        return await stub.answer(request)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        stub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield stub
    finally:
        await runner.cleanup()
