"""``GET /metrics``: Prometheus text, or OpenMetrics with exemplars when the scraper asks for it."""

import asyncio
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.ports import Json


class MetricsServer:
    """A small HTTP server of its own, so that a scrape never waits behind the API. ready: for /readyz. ailing: for
    /healthz, why a restart would help.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        host: str,
        port: int,
        *,
        ready: Callable[[], tuple[bool, Json]] | None = None,
        ailing: Callable[[], list[str]] = list,
    ) -> None:
        self._registry, self._host, self.port = registry, host, port
        self._ready, self._ailing = ready, ailing
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen; `port` is then the real one. Unavailable when the port is taken."""
        app = web.Application()
        app.add_routes([web.get("/metrics", self._metrics), web.get("/healthz", self._healthz)])
        if self._ready is not None:
            app.add_routes([web.get("/readyz", self._readyz)])
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise Unavailable(
                f"metrics port {self._host}:{self.port} cannot be used: {error.strerror}; choose another with --metrics-port (0: any)"
            ) from error
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = await asyncio.to_thread(encode, self._registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _readyz(self, _: web.Request) -> web.Response:
        ready, document = self._ready() if self._ready is not None else (True, {})
        return web.json_response(document, status=200 if ready else 503)

    async def _healthz(self, _: web.Request) -> web.Response:
        reasons = self._ailing()
        text = "".join(f"{reason}\n" for reason in reasons) or "ok\n"
        return web.Response(text=text, status=503 if reasons else 200)
