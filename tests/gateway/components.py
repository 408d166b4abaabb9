"""Real component servers on loopback, whose behaviour a test chooses; and a service that runs in the test's loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from aiohttp import web

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import MirrorBudget, RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.contracts.stages import Stage
from sluicegate.gateway.adapters.client import make_client
from sluicegate.gateway.engine.kernel import Kernel
from sluicegate.gateway.plans import PlanBook, paths_of
from sluicegate.gateway.problems import Response
from sluicegate.gateway.serving import Incoming, RunService
from sluicegate.lineage.spool import Pressure

Answer = Callable[[dict[str, Any]], Any]


@dataclass(slots=True)
class Call:
    """One call that a component got."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class ComponentServer:
    """`answer(body)` gives an output (sent as JSON), a web.Response, or an awaitable of one of them."""

    answer: Answer
    calls: list[Call] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/run"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body: Any = orjson.loads(raw) if raw else None
        self.calls.append(Call(request.path, {k.lower(): v for k, v in request.headers.items()}, body))
        found = self.answer(body)
        if isinstance(found, Awaitable):
            found = await found
        if isinstance(found, web.StreamResponse):
            return found
        return web.Response(body=orjson.dumps(found), content_type="application/json")


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[ComponentServer]:
    """A component, until the block ends."""
    server = ComponentServer(answer)
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def status(code: int, body: Any = None, **headers: str) -> web.Response:
    """An answer with a status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(status=code, body=orjson.dumps(body), headers=named, content_type="application/json")


class MemorySpool:
    """A spool that keeps its entries, and remembers how many were there at each append."""

    def __init__(self, pressure: Pressure = Pressure.NORMAL) -> None:
        self.lines: list[dict[str, Any]] = []
        self.pressure = pressure

    def append(self, *lines: bytes) -> bool:
        self.lines += [orjson.loads(line) for line in lines]
        return True

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["t"] == kind]


def component(url: str, *, name: str = "agent", **more: Any) -> dict[str, Any]:
    """A component of a workflow spec; plain HTTP unless `protocol` says otherwise."""
    endpoint = {"protocol": more.pop("protocol", "Http"), "url": url, **more.pop("endpoint", {})}
    return {"name": name, "version": "1", "endpoint": endpoint, "sideEffects": "None", **more}


def spec_of(*components: dict[str, Any], version: str = "1", **more: Any) -> dict[str, Any]:
    """A workflow spec."""
    return {"version": version, "components": list(components), **more}


def revision(spec: dict[str, Any], name: str | None = None) -> RevisionBody:
    """A runnable revision."""
    version = spec["version"]
    return RevisionBody(
        name=name or f"bot-{version}", digest="sha256:" + "0" * 64, version=version, spec=spec
    )


def stable_plan(spec: dict[str, Any], **more: Any) -> RoutePlan:
    """Everybody gets this."""
    values: dict[str, Any] = {
        "namespace": "default",
        "workflow": "bot",
        "version": 1,
        "stable": revision(spec),
    }
    return RoutePlan(**(values | more))


def rolling(stable: dict[str, Any], candidate: dict[str, Any], mode: TrafficMode, **more: Any) -> RoutePlan:
    """A rollout on the way; by default all units are inside."""
    values: dict[str, Any] = {
        "namespace": "default",
        "workflow": "bot",
        "version": 2,
        "stable": revision(stable, "stable"),
        "candidate": revision(candidate, "candidate"),
        "rollout": "uid-1",
        "stage": Stage.SHADOW if mode is TrafficMode.MIRROR else Stage.CONTROLLED,
        "attempt": 1,
        "mode": mode,
        "share": Share(1, 1),
        "salt": "sha256:candidate",
        "lease_until": datetime(2999, 1, 1, tzinfo=UTC),
        "mirror_budget": MirrorBudget(),
        "outcome_window_seconds": 60.0,
    }
    return RoutePlan(**(values | more))


@dataclass(slots=True)
class Harness:
    """A RunService with real HTTP, real clocks and a spool in memory."""

    service: RunService
    book: PlanBook
    spool: MemorySpool
    afters: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self, value: Any, **more: Any) -> Response:
        """One run; work after the answer goes on in `afters`."""
        live = self.book.by_path[paths_of(next(iter(self.book.by_key)))[0]]
        response, after = await self.service.serve(live, Incoming(orjson.dumps(value), **more))
        if after is not None:
            self.afters.append(asyncio.ensure_future(after()))
        return response

    async def settled(self) -> None:
        """Wait for all work after answers."""
        async with asyncio.timeout(90):
            await asyncio.gather(*self.afters)

    async def run_whole(self, value: Any, **more: Any) -> Response:
        """A run and what comes after it."""
        response = await self.run(value, **more)
        await self.settled()
        return response


def _ids() -> Callable[[], str]:
    """Of runs, UUIDs version 7 and the same in each harness: shares and coalitions are drawn by them."""
    draws = system.seeded("runs")
    return lambda: (
        f"01a20000-0000-7{draws.getrandbits(12):03x}-8{draws.getrandbits(12):03x}-{draws.getrandbits(48):012x}"
    )


@asynccontextmanager
async def harness(*plans: RoutePlan, client: str | None = None) -> AsyncIterator[Harness]:
    """A service for these plans."""
    http = make_client(client)
    kernel = Kernel(
        client=http,
        monotonic=asyncio.get_running_loop().time,
        now=system.now,
        sleep=asyncio.sleep,
        jitter=lambda limit: limit / 2,
        new_id=_ids(),
    )
    book, spool = PlanBook(), MemorySpool()
    book.update(plans)
    assert not book.broken, book.broken
    try:
        yield Harness(RunService(kernel=kernel, spool=spool, salt=b"s" * 32, worker="w0"), book, spool)
    finally:
        await http.close()
