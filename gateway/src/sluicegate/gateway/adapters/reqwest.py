"""The HTTP client of the hot path: pyreqwest, about twice as fast per core as aiohttp."""

import time
from datetime import timedelta

from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import (
    ConnectError,
    PyreqwestError,
    RequestTimeoutError,
)

from sluicegate.contracts.runs import Failure
from sluicegate.gateway.ports import CANNOT_BE_MADE, MAX_ANSWER_BYTES, HttpAnswer, TransportError

_CONNECT = timedelta(seconds=10)


class ReqwestClient:
    """See ports.HttpClient. Made inside the running loop that uses it."""

    def __init__(self, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._max_bytes = max_bytes
        self._client = (
            ClientBuilder()
            .no_proxy()
            .follow_redirects(enable=False)
            .referer(enable=False)
            .connect_timeout(_CONNECT)
            .user_agent("sluicegate")
            .build()
        )

    async def post(self, url: str, headers: dict[str, str], body: bytes, seconds: float) -> HttpAnswer:
        """The answer within `seconds` in all, whatever its status. Raises TransportError."""
        limit, begun = self._max_bytes, time.perf_counter()
        try:
            request = self._client.post(url).headers(headers).body_bytes(body)
            async with request.timeout(timedelta(seconds=seconds)).build_streamed() as response:
                # One read gives the whole body unless it is longer than the limit.
                data = await response.body_reader.read(limit + 1)
                answer = HttpAnswer(
                    response.status,
                    bytes(data) if data is not None else b"",
                    response.get_header("server-timing"),
                    response.get_header("retry-after"),
                )
        except RequestTimeoutError as error:
            # The library calls every timeout a connect timeout; the clock tells which it was.
            if time.perf_counter() - begun < seconds * 0.99:
                raise TransportError(Failure.UNAVAILABLE, "no connection in time") from error
            raise TransportError(Failure.TIMEOUT, f"no answer within {seconds * 1000:.0f} ms") from error
        except ConnectError as error:
            raise TransportError(Failure.UNAVAILABLE, _cause(error)) from error
        except ValueError as error:  # also BuilderError; its text may quote a header's value
            raise TransportError(Failure.FAULT, CANNOT_BE_MADE) from error
        except PyreqwestError as error:
            raise TransportError(Failure.UNAVAILABLE, _cause(error)) from error
        if len(answer.body) > limit:
            raise TransportError(Failure.FAULT, f"the answer is larger than {limit} bytes")
        return answer

    async def close(self) -> None:
        """Close the pool."""
        await self._client.close()


def _cause(error: PyreqwestError) -> str:
    """The innermost cause, which names the reason; the outer ones repeat the URL."""
    details = getattr(error, "details", None)
    causes = details.get("causes") if isinstance(details, dict) else None
    return str(causes[-1]["message"]) if causes else error.message
