"""The HTTP client for hosts without pyreqwest wheels: aiohttp."""

import aiohttp

from sluicegate.contracts.runs import Failure
from sluicegate.gateway.ports import CANNOT_BE_MADE, MAX_ANSWER_BYTES, HttpAnswer, TransportError


class AiohttpClient:
    """See ports.HttpClient. Made inside the running loop that uses it."""

    def __init__(self, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._max_bytes = max_bytes
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"user-agent": "sluicegate"},
        )

    async def post(self, url: str, headers: dict[str, str], body: bytes, seconds: float) -> HttpAnswer:
        """The answer within `seconds` in all, whatever its status. Raises TransportError."""
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=10.0)
        try:
            async with self._session.post(
                url, headers=headers, data=body, timeout=limits, allow_redirects=False
            ) as response:
                answer = HttpAnswer(
                    response.status,
                    await self._body(response),
                    response.headers.get("server-timing"),
                    response.headers.get("retry-after"),
                )
        except aiohttp.ConnectionTimeoutError as error:
            raise TransportError(Failure.UNAVAILABLE, "no connection in time") from error
        except TimeoutError as error:
            raise TransportError(Failure.TIMEOUT, f"no answer within {seconds * 1000:.0f} ms") from error
        except (aiohttp.InvalidURL, ValueError) as error:
            raise TransportError(Failure.FAULT, CANNOT_BE_MADE) from error
        except aiohttp.ClientError as error:
            raise TransportError(Failure.UNAVAILABLE, str(error) or type(error).__name__) from error
        return answer

    async def close(self) -> None:
        """Close the pool."""
        await self._session.close()

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        limit = self._max_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > limit:
                raise TransportError(Failure.FAULT, f"the answer is larger than {limit} bytes")
            chunks.append(chunk)
        return b"".join(chunks)
