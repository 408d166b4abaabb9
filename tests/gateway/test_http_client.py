"""One contract for the HTTP client port, run on both adapters against a real server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from sluicegate.contracts.runs import Failure
from sluicegate.gateway.adapters.aiohttp_client import AiohttpClient
from sluicegate.gateway.adapters.client import make_client
from sluicegate.gateway.adapters.reqwest import ReqwestClient
from sluicegate.gateway.ports import HttpClient, TransportError
from tests.gateway.components import serving, status

LIMIT = 100_000
JSON = {"content-type": "application/json"}


@pytest.fixture(params=["reqwest", "aiohttp"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[HttpClient]:
    made: HttpClient = (
        ReqwestClient(max_bytes=LIMIT) if request.param == "reqwest" else AiohttpClient(max_bytes=LIMIT)
    )
    yield made
    await made.close()


async def _failure(client: HttpClient, url: str, seconds: float = 5.0, **headers: str) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await client.post(url, JSON | headers, b"{}", seconds)
    return caught.value


async def test_body_and_headers_go_out_and_come_back(client: HttpClient) -> None:
    async with serving(lambda body: {"got": body}) as server:
        answer = await client.post(server.url, JSON | {"x-mine": "1"}, b'{"a":1}', 5.0)
    assert (answer.status, answer.body) == (200, b'{"got":{"a":1}}')
    assert server.calls[0].headers["x-mine"] == "1"
    assert (answer.server_timing, answer.retry_after) == (None, None)


@pytest.mark.parametrize("code", [201, 204, 302, 400, 404, 429, 500, 503])
async def test_every_status_is_an_answer_and_redirects_are_not_followed(
    client: HttpClient, code: int
) -> None:
    headers = {"location": "/elsewhere", "retry_after": "7", "server_timing": "queue;dur=3"}
    async with serving(lambda _: status(code, "x", **headers)) as server:
        answer = await client.post(server.url, JSON, b"{}", 5.0)
    assert (answer.status, answer.retry_after, answer.server_timing) == (code, "7", "queue;dur=3")
    assert len(server.calls) == 1


async def test_a_body_up_to_the_limit_comes_whole(client: HttpClient) -> None:
    async with serving(lambda _: web.Response(body=b"x" * LIMIT)) as server:
        assert len((await client.post(server.url, JSON, b"{}", 5.0)).body) == LIMIT


@pytest.mark.parametrize("size", [LIMIT + 1, 50_000_000])
async def test_a_larger_body_is_a_fault_and_is_not_read(client: HttpClient, size: int) -> None:
    async with serving(lambda _: web.Response(body=b"x" * size)) as server:
        error = await _failure(client, server.url)
    assert error.failure is Failure.FAULT
    assert str(LIMIT) in error.message


async def test_a_compressed_bomb_is_cut_at_the_limit(client: HttpClient) -> None:
    def bomb(_: object) -> web.Response:
        response = web.Response(body=b"0" * 30_000_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with serving(bomb) as server:
        assert (await _failure(client, server.url)).failure is Failure.FAULT


async def test_silence_is_a_timeout(client: HttpClient) -> None:
    never = asyncio.Event()

    async def hang(_: object) -> None:
        await never.wait()

    async with serving(hang) as server:
        error = await _failure(client, server.url, 0.1)
        never.set()
    assert error.failure is Failure.TIMEOUT
    assert "100 ms" in error.message


@asynccontextmanager
async def saying(said: bytes, *, stalls: bool) -> AsyncIterator[str]:
    """A server that says something and then closes, or waits until the client has gone; done when the block ends."""
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            if stalls:
                await reader.read()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        done.set()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await asyncio.wait_for(done.wait(), 60)


async def test_a_body_that_stalls_is_a_timeout(client: HttpClient) -> None:
    async with saying(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", stalls=True) as url:
        assert (await _failure(client, url, 0.2)).failure is Failure.TIMEOUT


async def test_nobody_listening_is_unavailable(client: HttpClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert (await _failure(client, f"http://127.0.0.1:{port}/")).failure is Failure.UNAVAILABLE


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", b"no HTTP at all\r\n\r\n"]
)
async def test_a_connection_that_breaks_is_unavailable(client: HttpClient, said: bytes) -> None:
    async with saying(said, stalls=False) as url:
        assert (await _failure(client, url)).failure is Failure.UNAVAILABLE


async def test_a_request_that_cannot_be_made_is_a_fault_and_quotes_nothing(client: HttpClient) -> None:
    async with serving(lambda _: 1) as server:
        bad_header = await _failure(client, server.url, authorization="secret\r\nx-evil: 1")
    assert bad_header.failure is Failure.FAULT
    assert "secret" not in bad_header.message
    assert (await _failure(client, "http://")).failure is Failure.FAULT
    assert server.calls == []


async def test_cookies_are_not_kept(client: HttpClient) -> None:
    async with serving(lambda _: status(200, 1, set_cookie="a=b")) as server:
        await client.post(server.url, JSON, b"{}", 5.0)
        await client.post(server.url, JSON, b"{}", 5.0)
    assert "cookie" not in server.calls[1].headers


async def test_proxies_of_the_environment_are_not_used(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    made = make_client("aiohttp" if isinstance(client, AiohttpClient) else "reqwest")
    async with serving(lambda _: 1) as server:
        assert (await made.post(server.url, JSON, b"{}", 5.0)).status == 200
    await made.close()


async def test_the_first_installed_client_is_the_default() -> None:
    made = make_client()
    assert isinstance(made, ReqwestClient)
    await made.close()
