"""The port of a client: one HTTP exchange with a server that speaks like the Kubernetes API."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sluicegate.contracts.errors import Problem, Refused

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


def checked_user(act_as: str | None) -> str | None:
    """Of --as; Refused when it cannot stand in a header."""
    if act_as is not None and not (act_as.isascii() and act_as.isprintable()):
        raise Refused((Problem(path="--as", message="not a user name", value=repr(act_as)[:80]),))
    return act_as


def checked_url(option: str, url: str) -> str:
    """Of an option, without a slash at its end; Refused when it is none."""
    if not url.startswith(("http://", "https://")):
        problem = Problem(path=option, message="not an address", value=url, allowed="https://host:port")
        raise Refused((problem,))
    return url.rstrip("/")
