"""Clients that do not finish what they say: their connections end, and others are served meanwhile."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn

from sluicegate.gateway.aside import aside
from sluicegate.gateway.patience import HEAD_BYTES, PatientProtocol, sweep

PATIENCE = 0.3
WHOLE = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nok"


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers without reading the body."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(
        app, port=0, http=PatientProtocol, ws="none", lifespan="off", log_config=None, log_level="error"
    )
    server = uvicorn.Server(config)
    server.config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    async with aside(sweep(server.server_state.connections, PATIENCE)):
        yield server.servers[0].sockets[0].getsockname()[1]
    await server.shutdown()


async def said(port: int, *parts: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        async with asyncio.timeout(90):
            with contextlib.suppress(ConnectionError):
                return await reader.read()
            return b""
    finally:
        writer.close()


UNFINISHED = {
    "nothing at all": (b"",),
    "half a request line": (b"POST /v1/work",),
    "half a head": (b"POST / HTTP/1.1\r\nhost: x\r\nx-slow:",),
    "the beginning of a body that was answered early": (
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1",
    ),
    "a chunk, and no end": (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n",),
}


@pytest.mark.parametrize("parts", UNFINISHED.values(), ids=UNFINISHED)
async def test_an_unfinished_request_ends_its_connection(port: int, parts: tuple[bytes, ...]) -> None:
    await said(port, *parts)  # which returns when the server has closed


async def test_a_head_without_an_end_is_refused_at_the_limit(port: int) -> None:
    line = b"x-more: " + b"v" * 8000 + b"\r\n"
    answer = await said(port, b"POST / HTTP/1.1\r\nhost: x\r\n", *[line] * (4 * HEAD_BYTES // len(line)))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400"), "closed with unread bytes may reset"


async def test_one_header_without_an_end_is_refused_at_the_limit(port: int) -> None:
    await said(port, b"POST / HTTP/1.1\r\nx-long: ", *[b"v" * 8000] * (4 * HEAD_BYTES // 8000))


async def test_whole_requests_in_a_row_are_all_answered_and_an_idle_connection_stays(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(WHOLE * 4)
        await writer.drain()
        async with asyncio.timeout(90):
            for _ in range(4):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
                assert await reader.readexactly(2) == b"hi"
        await said(port, b"POST /v1/work")  # another client used the patience up, and was closed
    writer.close()
