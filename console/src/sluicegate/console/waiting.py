"""Bounded waiting: ask again until an answer comes or the time is over."""

from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import TypeVar

from sluicegate.console import exits
from sluicegate.console.local import LocalClient
from sluicegate.contracts.errors import SluicegateError, Unavailable

T = TypeVar("T")
POLL_SECONDS = 0.2


class TimedOut(SluicegateError):  # noqa: N818 - named like its siblings in contracts.errors
    """The time given is over; what was waited for may still come."""

    exit_code = exits.TIMEOUT
    reason = "Timeout"


def ticks(timeout: float | None, every: float = POLL_SECONDS) -> Iterator[int]:
    """0, 1, 2… at most once in `every` seconds, at once first, the last when `timeout` seconds are over."""
    end = None if timeout is None else monotonic() + timeout
    count = 0
    while True:
        yield count
        count += 1
        left = every if end is None else min(every, end - monotonic())
        if left <= 0:
            return
        sleep(left)


def until(question: Callable[[], T | None], timeout: float | None) -> T | None:
    """The first answer that is not None; None when the time is over."""
    for _ in ticks(timeout):
        answer = question()
        if answer is not None:
            return answer
    return None


def until_ready(client: LocalClient, timeout: float) -> None:
    """Until the API answers; TimedOut when it does not."""

    def is_up() -> bool | None:
        try:
            client.request("GET", "/healthz")
        except Unavailable:
            return None
        return True

    if until(is_up, timeout) is None:
        raise TimedOut(f"{client.socket} did not answer in {timeout:g} s")
