"""HTTP to the lineage process: one session, a bearer token read late, errors of `contracts.errors`."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import aiohttp
import orjson

from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Problem, Refused, Unavailable
from sluicegate.operator.cluster.kube_access import TokenSource

_GAP: Final = 409
_REFUSED: Final = frozenset({400, 413, 422})


class LineageClient:
    """Calls; Unavailable when nobody answers in `seconds`, or answers with 5xx or 429, or the token is not taken."""

    def __init__(
        self, url: str, token: TokenSource, *, seconds: float = 10.0, authority: Path | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._token, self._seconds = token, seconds
        self._tls: ssl.SSLContext | bool = (
            ssl.create_default_context(cafile=str(authority)) if authority is not None else True
        )
        self._session: aiohttp.ClientSession | None = None

    async def call(
        self, method: str, path: str, body: bytes = b"", *, query: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status (2xx or 409) and body."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # can swallow a cancellation
                connector=aiohttp.TCPConnector(ssl=self._tls),
            )
        headers = {"Content-Type": "application/octet-stream", "Accept": "application/json"}
        token = await self._token.token()
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        about = f"lineage process at {self.url}"
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._session.request(
                    method,
                    f"{self.url}{path}",
                    data=body,
                    params=query,
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                answer = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(
                f"the {about} does not answer: {str(error) or type(error).__name__}", retry_after=1.0
            ) from error
        if response.status == 401:
            self._token.expire()
        if response.status < 300 or response.status == _GAP:
            return response.status, answer
        raise _error(response.status, about, answer, response.headers.get("Retry-After"))

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()


def _error(code: int, about: str, body: bytes, after: str | None) -> Exception:
    said = _said(body)
    if code == 404:
        return NotFound(said)
    if code in _REFUSED:
        return Refused((Problem(path="lineage", message=said),))
    if code in (401, 403):
        return Forbidden((Problem(path="lineage", message=said),))
    seconds = float(after) if after and after.isdecimal() else 1.0
    return Unavailable(f"the {about} answers {code}: {said}", retry_after=seconds)


def _said(body: bytes) -> str:
    try:
        return str(orjson.loads(body)["message"])[:1000]
    except (ValueError, KeyError, TypeError):
        return body[:200].decode("utf-8", "replace")


def refused_gap(code: int, body: bytes) -> None:
    """Raise Conflict when a 409 is no gap."""
    if code == _GAP and not body.startswith(b"["):
        raise Conflict(_said(body))
