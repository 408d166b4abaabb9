"""The HTTP session that kopf watches with: our credentials, and an ear at every list and stream.

kopf tells its handlers neither that a list is complete, nor what vanished between two lists, nor that a stream still
lives; all of it passes through here. Public means only: `kopf.AiohttpSession`, a response class, a middleware.
"""

import asyncio
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
import orjson
import zstandard
from yarl import URL

from sluicegate.operator.cluster.kube_access import Access
from sluicegate.operator.cluster.ports import Api, Page
from sluicegate.operator.ports import Json

NOT_SERVED_SECONDS: Final = 2.0
_OK: Final = 200
_NOT_SERVED: Final = 404
_EXPIRED: Final = 410


class Place(NamedTuple):
    """A kind in a namespace; None: in all of them."""

    plural: str
    namespace: str | None


@dataclass(frozen=True, slots=True)
class Chunks:
    """The items of a list, each chunk unpacked when its turn comes: thousands of objects at once would stay as holes."""

    api: Api
    packed: tuple[bytes, ...]

    def __iter__(self) -> Iterator[Json]:
        unpack = zstandard.ZstdDecompressor()
        for chunk in self.packed:
            for item in orjson.loads(unpack.decompress(chunk))["items"] or ():
                item.setdefault("kind", self.api.kind)  # items of a list come without it
                item.setdefault("apiVersion", self.api.api_version)
                yield item


@dataclass(frozen=True, slots=True, kw_only=True)
class Ear:
    """Called in kopf's thread. answered: a list or a stream began; listed: a list is complete, whatever chunks it came in."""

    apis: Mapping[str, Api]  # by plural
    answered: Callable[[Place], None]
    listed: Callable[[Place, Page], None]
    _parts: dict[Place, list[bytes]] = field(default_factory=dict)

    def chunk(self, place: Place, url: URL, body: bytes, content: dict[str, Any]) -> None:
        """A part of a list. A list that starts anew has no `continue` in its address."""
        parts = self._parts.setdefault(place, []) if "continue" in url.query else []
        self._parts[place] = parts
        parts.append(zstandard.ZstdCompressor(level=1).compress(body))
        if not content["metadata"].get("continue"):
            del self._parts[place]
            items = Chunks(self.apis[place.plural], tuple(parts))
            self.listed(place, Page(items=items, version=content["metadata"]["resourceVersion"]))

    def place(self, url: URL) -> Place | None:
        """Which of our kinds a request is about."""
        parts = url.path.strip("/").split("/")
        namespace = parts[-2] if len(parts) > 3 and parts[-3] == "namespaces" else None
        api = self.apis.get(parts[-1])
        if api is None or not url.path.startswith(f"/{'apis' if api.group else 'api'}/{api.api_version}/"):
            return None
        return Place(api.plural, namespace)


def session_of(access: Access, ear: Ear) -> aiohttp.ClientSession:
    """Belongs to the running loop. The token is asked for at every request: it may have been renewed.

    A kind that is served no more is asked for until it is served again, or kopf gives it up: a 404 would end all of kopf.
    """

    async def heard(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        place = ear.place(request.url)
        while True:
            token = await access.token.token()
            if token:
                request.headers["Authorization"] = f"Bearer {token}"
            response = await handler(request)
            if place is None or response.status != _NOT_SERVED:
                break
            response.release()
            await asyncio.sleep(NOT_SERVED_SECONDS)
        if response.status == _EXPIRED and "continue" in request.url.query:
            response.release()
            raise aiohttp.ClientPayloadError("the list grew too old between two chunks")  # kopf lists anew
        if response.status == 401:
            access.token.expire()
        if place is not None and response.status == _OK:
            ear.answered(place)
        return response

    class Listening(aiohttp.ClientResponse):
        """Takes lists out: we have them whole, and kopf need not walk through them object by object."""

        async def json(self, **_: Any) -> Any:
            body = await self.read()
            content = orjson.loads(body or b"null")
            place = ear.place(self.url) if self.status == _OK else None
            if place is not None and isinstance(content, dict) and "items" in content:
                ear.chunk(place, self.url, body, content)
                return {**content, "items": []}
            return content

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=_tls(access)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "sluicegate-informer"},
        middlewares=(heard,),
        proxy=access.proxy,
        response_class=Listening,
        trust_env=False,
    )


def _tls(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=access.ca)
    if not access.verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if access.certificate and access.key:
        with tempfile.TemporaryDirectory() as folder:  # ssl takes a key from a file only
            path = Path(folder) / "client.pem"
            path.touch(mode=0o600)
            path.write_text(f"{access.certificate}\n{access.key}", "utf-8")
            context.load_cert_chain(path)
    return context
