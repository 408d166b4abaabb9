"""The ASGI application by itself: what a real server cannot be made to do at will."""

import asyncio
from typing import Any

import orjson

from sluicegate.gateway.app import App, Receive
from tests.gateway.components import Harness, component, harness, serving, spec_of, stable_plan


def _app(gate: Harness, crashes: list[BaseException] | None = None, **more: Any) -> App:
    return App(
        service=gate.service,
        book=gate.book,
        readiness=lambda: (False, {"ready": False}),
        on_crash=(crashes if crashes is not None else []).append,
        **more,
    )


async def _ask(
    app: App, receive: Receive, path: str = "/v1/workflows/bot/runs", method: str = "POST"
) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app({"type": "http", "path": path, "method": method, "headers": []}, receive, send)
    return sent


def _body(*chunks: bytes, more: bool = False) -> Receive:
    parts = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    parts[-1]["more_body"] = more
    left = iter(parts)

    async def receive() -> dict[str, Any]:
        part = next(left, None)
        if part is None:
            await asyncio.Event().wait()
        return part or {}

    return receive


async def test_a_body_in_pieces_is_put_together() -> None:
    async with (
        serving(lambda body: body) as server,
        harness(stable_plan(spec_of(component(server.url)))) as gate,
    ):
        start, body = await _ask(_app(gate), _body(b'{"a"', b":", b"1}"))
    assert (start["status"], body["body"]) == (200, b'{"a":1}')


async def test_a_body_that_stalls_is_given_up() -> None:
    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:
        start, body = await _ask(_app(gate, body_seconds=0.05), _body(b"{", more=True))
    assert (start["status"], orjson.loads(body["body"])["status"]) == (408, 408)
    assert server.calls == []


async def test_a_client_that_leaves_before_its_body_is_whole_starts_no_run() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:
        assert await _ask(_app(gate), receive) == []
    assert (server.calls, gate.spool.lines) == ([], [])


async def test_a_bug_is_one_bad_answer_and_a_log_line() -> None:
    crashes: list[BaseException] = []
    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:
        bug: Any = None
        gate.service.salt = bug
        start, body = await _ask(_app(gate, crashes), _body(b"{}"))
    assert (start["status"], len(crashes)) == (500, 1)
    assert orjson.loads(body["body"])["detail"].startswith("internal error")


async def test_the_record_is_written_before_the_answer_begins() -> None:
    recorded: list[int] = []

    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:

        async def send(message: dict[str, Any]) -> None:
            recorded.append(len(gate.spool.of("run")))

        scope = {"type": "http", "path": "/v1/workflows/bot/runs", "method": "POST", "headers": []}
        await _app(gate)(scope, _body(b"{}"), send)
    assert recorded == [1, 1]


async def test_a_worker_that_never_read_plans_is_not_ready() -> None:
    async with serving(lambda _: 1) as server, harness(stable_plan(spec_of(component(server.url)))) as gate:
        start, body = await _ask(_app(gate), _body(b""), "/readyz", "GET")
    assert (start["status"], body["body"]) == (503, b'{"ready":false}')
