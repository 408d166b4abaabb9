"""What the data plane needs from outside."""

from dataclasses import dataclass
from typing import Protocol

from sluicegate.contracts.runs import Failure

MAX_ANSWER_BYTES = 4 << 20
CANNOT_BE_MADE = "the request cannot be made: its URL or one of its headers is malformed"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer. Headers are the two that calls need, None when absent."""

    status: int
    body: bytes
    server_timing: str | None = None
    retry_after: str | None = None


class TransportError(Exception):
    """No answer: Timeout, Unavailable (no connection), or Fault (broken or too large)."""

    def __init__(self, failure: Failure, message: str) -> None:
        self.failure = failure
        self.message = message
        super().__init__(message)


class HttpClient(Protocol):
    """Calls components. Pooled; no redirects, no cookies, no proxies; bodies above `max_bytes` are refused."""

    async def post(self, url: str, headers: dict[str, str], body: bytes, seconds: float) -> HttpAnswer:
        """The answer within `seconds` in all, whatever its status. Raises TransportError."""
        ...

    async def close(self) -> None:
        """Close the pool."""
        ...
