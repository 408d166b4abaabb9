"""The port of a client: one HTTP exchange with a server that speaks like the Kubernetes API."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request. query: without the absent. silence: seconds without a byte after which the answer has ended; None: never;
    absent: the transport's own time, after which it is an error.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    streams: bool = False
    silence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. `read` gives all of the body, `lines` each line as it comes."""

    status: int
    read: Callable[[], bytes]
    lines: Callable[[], Iterator[bytes]]
    warnings: tuple[str, ...] = ()


class Transport(Protocol):
    """Where the server is and how it is reached."""

    def open(self, call: Call) -> AbstractContextManager[Answer]:
        """Send `call`; Unavailable, with what to do, when there is no answer."""
        ...
