"""`ports.KubeApi` on the official client (`kubernetes.aio`): the one module that imports it.

The dynamic client's requests are used without its discovery, so that opening a client makes no call at all.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import aiohttp
import orjson
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.dynamic import DynamicClient

from sluicegate.contracts.errors import Conflict, NotFound, SluicegateError
from sluicegate.operator.cluster import calls, same
from sluicegate.operator.cluster.calls import Call
from sluicegate.operator.cluster.errors import code_of, error_of, no_answer, status_of
from sluicegate.operator.cluster.kube_access import Access, KubeConfig, TokenSource, access_of
from sluicegate.operator.cluster.ports import Api, Fence, Page, Seen
from sluicegate.operator.cluster.retrying import NO_ANSWER, Failed, Failure, seconds_of, tried
from sluicegate.operator.cluster.watching import events_of
from sluicegate.operator.ports import Json

SILENCE_SECONDS: Final = 70.0
"""A watch without any event or bookmark (the server sends one a minute) is dead."""
_UNAUTHORIZED: Final = 401
_UNBOUNDED: Final = aiohttp.ClientTimeout(total=None)

Echo = Callable[[SluicegateError], Awaitable[Json | None]]


class CallMetrics(Protocol):
    """What the client counts."""

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """One attempt. resource: plural, or plural/subresource; code: 0 when nobody answered."""
        ...


class DynamicApi:
    """All calls. Nothing of a body or of a credential is ever logged."""

    def __init__(
        self,
        client: Any,
        token: TokenSource,
        metrics: CallMetrics,
        *,
        seconds: float,
        silence: float,
        fence: Fence | None = None,
    ) -> None:
        self._client, self._token, self._metrics = client, token, metrics
        self._seconds, self._silence, self._fence = seconds, silence, fence
        self._attempt = max(seconds / 2, 0.1)  # one that hangs leaves time for another

    def guarded(self, fence: Fence) -> "DynamicApi":
        """The same client; the fence is asked before every attempt of a write, so that none is made after its time."""
        return DynamicApi(
            self._client,
            self._token,
            self._metrics,
            seconds=self._seconds,
            silence=self._silence,
            fence=fence,
        )

    async def get(self, api: Api, namespace: str | None, name: str) -> Json:
        """The object, or NotFound."""
        return await self._done(calls.get(api, namespace, name))

    async def list(
        self, api: Api, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> Page:
        """All of them; all namespaces when None."""
        found = await self._done(calls.listing(api, namespace, labels))
        kind = {"apiVersion": api.api_version, "kind": api.kind}
        items = tuple({**kind, **item} for item in found.get("items") or ())
        return Page(items=items, version=found["metadata"]["resourceVersion"])

    async def watch(
        self, api: Api, namespace: str | None = None, *, labels: Mapping[str, str] | None = None, after: str
    ) -> AsyncGenerator[Seen, None]:
        """Changes after `after` until the stream ends, breaks or is silent for too long; Expired."""
        call = calls.watch(api, namespace, labels, after)
        patience = aiohttp.ClientTimeout(total=None, connect=self._seconds, sock_read=self._silence)
        response = await tried(lambda: self._opened(call, patience), seconds=self._seconds)
        try:
            async for seen in events_of(response.content.iter_any(), about=call.about):
                yield seen
        except (aiohttp.ClientError, TimeoutError, OSError):
            return
        finally:
            response.close()

    async def create(self, api: Api, item: Json, *, manager: str) -> Json:
        """As stored; Conflict when the name is taken."""

        async def echo(error: SluicegateError) -> Json | None:
            if not isinstance(error, Conflict):
                return None
            held = await self.get(api, item["metadata"].get("namespace"), item["metadata"]["name"])
            return held if same.was_made_from(held, item, manager) else None

        return await self._done(calls.create(api, item, manager), echo)

    async def apply(self, api: Api, item: Json, *, manager: str, subresource: str | None = None) -> Json:
        """Server-side apply, forced."""
        call = calls.apply(api, item, manager, subresource)
        return await self._done(call, self._echo(call, api, item))

    async def replace(self, api: Api, item: Json, *, manager: str) -> Json:
        """PUT; Conflict when its resourceVersion is not current."""
        call = calls.put(api, item, manager)
        return await self._done(call, self._echo(call, api, item))

    async def patch(
        self, api: Api, namespace: str | None, name: str, operations: Sequence[Json], *, manager: str
    ) -> Json:
        """JSON patch; a failed `test` is a Conflict, also as the echo of our own patch whose answer was lost."""
        return await self._done(calls.patch(api, namespace, name, operations, manager))

    async def delete(
        self, api: Api, namespace: str | None, name: str, *, uid: str | None = None
    ) -> Json | None:
        """In the background; what is left of the object while finalizers hold it, None when it is gone."""

        async def echo(error: SluicegateError) -> Json | None:
            return {"kind": "Status"} if isinstance(error, NotFound) else None

        left = await self._done(calls.delete(api, namespace, name, uid), echo)
        return left if left.get("kind") != "Status" and left["metadata"].get("finalizers") else None

    async def review(self, api: Api, item: Json) -> Json:
        """POST that stores nothing."""
        return await self._done(calls.review(api, item))

    def _echo(self, call: Call, api: Api, item: Json) -> Echo:
        """After a lost answer: a Conflict is our own echo when the same write would change nothing now."""

        async def echo(error: SluicegateError) -> Json | None:
            if not isinstance(error, Conflict):
                return None
            held = await self.get(api, item["metadata"].get("namespace"), item["metadata"]["name"])
            again = await self._done(calls.tried_on(call, held))
            return held if same.are_equal(held, again) else None

        return echo

    async def _done(self, call: Call, echo: Echo | None = None) -> Json:
        return await tried(lambda: self._answer(call), seconds=self._seconds, echo=echo)

    async def _answer(self, call: Call) -> Json:
        """One attempt. Its deadline is asyncio's: aiohttp's total timeout can swallow a cancellation."""
        try:
            async with asyncio.timeout(self._attempt):
                response = await self._opened(call, _UNBOUNDED)
                answer: Json = orjson.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError, orjson.JSONDecodeError) as error:
            why = f"the answer broke off ({type(error).__name__})"
            raise Failed(Failure(code=NO_ANSWER), no_answer(call.about, why)) from error
        return answer

    async def _opened(self, call: Call, patience: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """A 401 is asked once more when there may be a newer token."""
        try:
            return await self._sent(call, patience)
        except Failed as failed:
            if failed.failure.code != _UNAUTHORIZED or not self._token.expire():
                raise
        return await self._sent(call, patience)

    async def _sent(self, call: Call, patience: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        token = await self._token.token()
        if call.writes and self._fence is not None:
            self._fence.epoch()
        headers = {"Accept": calls.JSON} | ({"Authorization": f"Bearer {token}"} if token else {})
        started, code = time.monotonic(), NO_ANSWER
        try:
            response: aiohttp.ClientResponse = await self._client.request(
                call.method,
                call.path,
                body=call.body,
                query_params=list(call.query),
                header_params=headers,
                content_type=call.content_type,
                serialize=False,
                _request_timeout=patience,
            )
            code = response.status
        except ApiException as error:
            code, status = error.status, status_of(error.body)
            meant, after = code_of(code, status), seconds_of((error.headers or {}).get("Retry-After"))
            told = error_of(meant, status, about=call.about, retry_after=after)
            # its own text has headers and body
            raise Failed(Failure(code=meant, retry_after=after), told) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            raise Failed(Failure(code=NO_ANSWER), no_answer(call.about, why)) from error
        finally:
            self._metrics.called(call.verb, call.resource, code, time.monotonic() - started)
        return response


@asynccontextmanager
async def connect(
    config: KubeConfig, metrics: CallMetrics, *, silence: float = SILENCE_SECONDS
) -> AsyncIterator[DynamicApi]:
    """A client with one session; closed at the end. Makes no call by itself."""
    access = access_of(config)
    client: Any = _client(access)
    dynamic: Any = DynamicClient(client)  # type: ignore[no-untyped-call]
    try:
        yield DynamicApi(dynamic, access.token, metrics, seconds=config.request_seconds, silence=silence)
    finally:
        await client.close()


def _client(access: Access) -> ApiClient:
    configuration = Configuration()
    configuration.host = access.server
    configuration.ca_cert_data = access.ca
    configuration.verify_ssl = access.verify
    configuration.tls_server_name = access.server_name
    configuration.proxy = access.proxy
    configuration.client_session_kwargs = {"trust_env": False, "cookie_jar": aiohttp.DummyCookieJar()}
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # ssl takes a key from files only: private ones, gone at once
        if access.certificate and access.key:
            paths = [Path(folder) / name for name in ("certificate.pem", "key.pem")]
            for path, text in zip(paths, (access.certificate, access.key), strict=True):
                path.write_text(text, "utf-8")
            configuration.cert_file, configuration.key_file = map(str, paths)
        client = ApiClient(configuration)
        client.rest_client = _Rest(configuration)
        client.user_agent = "sluicegate"
        return client


class _Rest(RESTClientObject):
    def _create_pool_manager(self) -> aiohttp.ClientSession:
        """aiohttp repeats a GET, PUT or DELETE by itself when a kept connection breaks: nobody would know that an answer was lost."""
        session = super()._create_pool_manager()
        session._retry_connection = False  # noqa: SLF001 - no public way
        return session
