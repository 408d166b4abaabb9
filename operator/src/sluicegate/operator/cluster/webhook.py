"""The admission server: HTTPS, a fixed table of paths, and no way to `allowed` but through the rules.

kopf's own server is not used: it answers a path without a handler with `allowed: true`, and a denial of it carries
neither reason nor causes.

    POST /validate/<plural>   every kind          what fails here is denied: malformed 400, a bug 500, not ready 503
    POST /mutate/<plural>     workflows, decisions    what fails here is an HTTP error: the API server goes on without
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol

import orjson
import structlog
from aiohttp import web

from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.contracts.resources import KINDS
from sluicegate.operator.cluster import webhook_review
from sluicegate.operator.cluster.certificates import Pair
from sluicegate.operator.cluster.webhook_review import Answer, Malformed, Request
from sluicegate.operator.ports import Json

MAX_BODY: Final = 8 * 1024 * 1024
"""Bytes: the old and the new object, each as large as etcd takes it, and some."""
SECONDS: Final = 4.0
"""The API server waits 5."""
MUTATED: Final = frozenset({"AgentWorkflow", "Decision"})
log = structlog.get_logger(__name__)

Act = Callable[[Request], Awaitable[Answer]]


class Admitter(Protocol):
    """The rules."""

    async def validate(self, request: Request) -> Answer:
        """May the caller do this?"""
        ...

    async def mutate(self, request: Request) -> Answer:
        """What is filled in."""
        ...


class AdmissionMetrics(Protocol):
    """What the server counts."""

    def admitted(self, path: str, code: int, seconds: float) -> None:
        """One request; code: 200 allowed, else why not."""
        ...


class WebhookServer:
    """Belongs to one event loop. Listens once it was given a certificate."""

    def __init__(self, host: str, port: int, admitter: Admitter, metrics: AdmissionMetrics) -> None:
        self._host, self.port = host, port
        self._admitter, self._metrics = admitter, metrics
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._runner: web.AppRunner | None = None

    @property
    def is_listening(self) -> bool:
        """Requests are answered."""
        return self._runner is not None

    def use(self, pair: Pair) -> None:
        """Answer new connections with this certificate; those that are open go on."""
        place = os.memfd_create("webhook", os.MFD_CLOEXEC)  # ssl takes a key from a file only
        try:
            os.write(place, f"{pair.certificate}{pair.key}".encode())
            self._tls.load_cert_chain(f"/proc/self/fd/{place}")
        finally:
            os.close(place)

    async def start(self) -> None:
        """Listen; `port` is then the real one. Unavailable when it is taken."""
        runner = web.AppRunner(self._app(), access_log=None, handle_signals=False, shutdown_timeout=SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self.port, ssl_context=self._tls).start()
        except OSError as error:
            await runner.cleanup()
            message = f"webhook port {self._host}:{self.port} cannot be used: {error.strerror}; choose another with --webhook-port"
            raise Unavailable(message) from error
        self._runner, self.port = runner, runner.addresses[0][1]

    async def stop(self) -> None:
        """Finish what came in, then close."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY)
        for kind in KINDS.values():
            app.router.add_post(f"/validate/{kind.plural}", partial(self._validate, kind.name))
            if kind.name in MUTATED:
                app.router.add_post(f"/mutate/{kind.plural}", partial(self._mutate, kind.name))
        return app

    async def _validate(self, kind: str, request: web.Request) -> web.Response:
        """Whatever goes wrong is a denial that says so."""
        return await self._answer(kind, request, self._admitter.validate, denies=True)

    async def _mutate(self, kind: str, request: web.Request) -> web.Response:
        """Whatever goes wrong is no answer: nothing is filled in, and the policies judge what is there."""
        return await self._answer(kind, request, self._admitter.mutate, denies=False)

    async def _answer(self, kind: str, request: web.Request, act: Act, *, denies: bool) -> web.Response:
        started = asyncio.get_running_loop().time()
        try:
            asked = webhook_review.read(await request.read(), kind)
        except Malformed as malformed:
            self._metrics.admitted(request.path, 400, asyncio.get_running_loop().time() - started)
            return web.Response(status=400, text=f"{malformed}\n")
        answer = await _decided(asked, act)
        self._metrics.admitted(request.path, answer.code, asyncio.get_running_loop().time() - started)
        if answer.code >= 500 and not denies:
            return web.Response(status=answer.code, text=f"{answer.message}\n")
        return _json(webhook_review.answered(asked, answer))


async def _decided(asked: Request, act: Act) -> Answer:
    """The answer, or why there is none. Nothing of the object is logged."""
    try:
        async with asyncio.timeout(SECONDS):
            return await act(asked)
    except TimeoutError:
        return Answer(code=504, reason="Timeout", message=f"no decision within {SECONDS:g} s; try again")
    except SluicegateError as error:
        log.warning("admission_impossible", kind=asked.kind, error=str(error))
        message = f"the operator cannot decide now: {error}"
        return Answer(code=503, reason="ServiceUnavailable", message=message)
    except Exception:  # the top of a request: a bug denies, it never allows
        log.exception("admission_crashed", kind=asked.kind, operation=asked.operation)
        message = "internal error of the operator; its log has the details"
        return Answer(code=500, reason="InternalError", message=message)


def _json(body: Json) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")
