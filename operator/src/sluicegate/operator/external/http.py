"""GET with a deadline and a bound: all that providers need of HTTP. Redirects are not followed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp

from sluicegate.rollout.measurements import Outcome, Reading

MOST_BYTES: Final = 1_000_000
"""Of an answer; one number needs a few hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer, whatever its status."""

    status: int
    kind: str  # media type, without parameters
    body: bytes


class Fetcher:
    """One session for all providers; `close` ends it. Environment proxies are followed, cookies are not kept."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def get(
        self, url: str, query: Mapping[str, str], *, token: str | None, seconds: float
    ) -> Answered | Reading:
        """The answer, or the Reading that says why there is none. Neither holds the token."""
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            async with (
                asyncio.timeout(seconds),
                self._opened().get(url, params=query, headers=headers, allow_redirects=False) as response,
            ):
                body = await _bounded(response)
        except TimeoutError:
            return Reading(Outcome.TIMEOUT, message=f"no answer within {seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reading(Outcome.ERROR, message=f"not reached: {_why(error)}")
        if body is None:
            return Reading(Outcome.ERROR, message=f"the answer is longer than {MOST_BYTES} bytes")
        if 300 <= response.status < 400:
            return Reading(Outcome.ERROR, message=f"answers {response.status}: redirects are not followed")
        return Answered(status=response.status, kind=response.content_type, body=body)

    async def close(self) -> None:
        """End the session."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # can swallow a cancellation
                auto_decompress=True,
                trust_env=True,
            )
        return self._session


async def _bounded(response: aiohttp.ClientResponse) -> bytes | None:
    """The body as decompressed; None when it is too long."""
    found = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        found += chunk
        if len(found) > MOST_BYTES:
            response.close()
            return None
    return bytes(found)


def _why(error: Exception) -> str:
    """One line; never the request, whose headers hold the token."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"{error.host}:{error.port} {error.os_error.strerror or 'is not reached'}"
    return type(error).__name__
