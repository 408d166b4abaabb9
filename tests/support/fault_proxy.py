"""A TLS proxy before an API server that fails as it is told. Clients come in with tokens; it adds no rights of its own."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import ClientResponse, ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from tests.controlplane.plane import ControlPlane
from tests.support.asked import Asked, asked
from tests.support.faults import Rule

# Of one connection only, or made anew.
_OWN = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}


@dataclass(slots=True, kw_only=True)
class Passed:
    """One request that came: what was asked, the answer's code (0: none), and whether a fault happened to it."""

    asked: Asked
    code: int = 0
    fault: Rule | None = None


@dataclass(slots=True)
class _Exchange:
    request: web.Request
    session: ClientSession
    upstream: str
    body: bytes
    open: list[ClientResponse] = field(default_factory=list)

    async def forward(self) -> ClientResponse:
        headers = {name: value for name, value in self.request.headers.items() if name.lower() not in _OWN}
        url = f"{self.upstream}{self.request.raw_path}"
        response = await self.session.request(
            self.request.method,
            URL(url, encoded=True),
            headers=headers,
            data=self.body or None,
            allow_redirects=False,
        )
        self.open.append(response)
        return response

    async def begin(self, upstream: ClientResponse) -> web.StreamResponse:
        headers = [(name, value) for name, value in upstream.headers.items() if name.lower() not in _OWN]
        response = web.StreamResponse(status=upstream.status, reason=upstream.reason)
        response.headers.extend(headers)
        await response.prepare(self.request)
        return response

    async def relay(self, upstream: ClientResponse) -> web.StreamResponse:
        response = await self.begin(upstream)
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response

    def abort(self) -> web.StreamResponse:
        if self.request.transport is not None:
            self.request.transport.abort()
        raise ConnectionResetError


class FaultProxy:
    """Runs in a thread of its own from `with` to its end. `plan` may be changed at any time."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        pair = plane.authority.server("fault-proxy")
        self._serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._serving.load_cert_chain(pair.certificate, pair.key)
        self._asking = ssl.create_default_context(cafile=str(plane.authority.certificate))
        self._rules: tuple[Rule, ...] = ()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None
        self.passed: list[Passed] = []
        self.port = 0

    def __enter__(self) -> Self:
        """Listening."""
        self._thread.start()
        self._wait(self._start)
        return self

    def __exit__(self, *_: object) -> None:
        """Every connection is closed."""
        self._wait(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """In the place of the API server's."""
        return f"https://127.0.0.1:{self.port}"

    def plan(self, *rules: Rule) -> None:
        """From now on: the first rule that meets a request happens to it. No rules: no faults."""
        self._rules = rules

    def cut_all(self) -> None:
        """Reset every connection, as a network that breaks."""
        self._wait(self._cut)

    def account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Of a service account, through this proxy."""
        return self._plane.account_kubeconfig(namespace, name, server=self.url)

    async def _start(self) -> None:
        timeout = ClientTimeout(total=None, sock_connect=10)
        self._session = ClientSession(
            connector=TCPConnector(ssl=self._asking, limit=0), timeout=timeout, auto_decompress=False
        )
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._serving).start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        assert self._runner is not None
        assert self._session is not None
        await self._cut()
        await self._runner.cleanup()
        await self._session.close()

    async def _cut(self) -> None:
        assert self._runner is not None
        assert self._runner.server is not None
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        item = asked(request.method, request.path, request.query)
        rule = next((rule for rule in self._rules if rule.meets(item)), None)
        passed = Passed(asked=item, fault=rule)
        self.passed.append(passed)
        exchange = _Exchange(request, self._session, self._plane.server, await request.read())
        try:
            if rule is None:
                response = await exchange.relay(await exchange.forward())
            else:
                response = await rule.fault(exchange)
        finally:
            for upstream in exchange.open:
                upstream.close()
        passed.code = response.status
        return response

    def _wait(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(what(), self._loop).result(30)
