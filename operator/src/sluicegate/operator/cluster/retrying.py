"""When a call is tried again: a pure policy, and the shell that keeps the deadline."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import SluicegateError, Unavailable

T = TypeVar("T")

FIRST: Final = 0.1
LONGEST: Final = 5.0
"""Seconds; full jitter below FIRST · 2ⁿ, at most LONGEST."""
NO_ANSWER: Final = 0
TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that failed. code: NO_ANSWER when nothing came back."""

    code: int
    retry_after: float | None = None

    @property
    def passes(self) -> bool:
        """Whether trying again may help."""
        return self.code in {NO_ANSWER, TOO_MANY} or self.code >= 500

    @property
    def doubtful(self) -> bool:
        """Whether the server may have done it all the same."""
        return self.passes and self.code != TOO_MANY


class Failed(Exception):  # noqa: N818 - carries a Failure
    """Raised by an attempt: what happened, and the error when nobody tries again."""

    def __init__(self, failure: Failure, error: SluicegateError) -> None:
        self.failure = failure
        self.error = error
        super().__init__(str(error))


def pause(failure: Failure, attempt: int, jitter: Callable[[float], float] = system.jitter) -> float | None:
    """Seconds before the next attempt, `attempt` (from 0) having failed; None: do not try again.

    Retry-After is the least; the jitter comes on top, so that callers who were sent away together come back apart.
    """
    if not failure.passes:
        return None
    spread = jitter(min(LONGEST, FIRST * 2 ** min(attempt, 16)))
    return spread + max(0.0, failure.retry_after or 0.0)


async def tried(
    attempt: Callable[[], Awaitable[T]],
    *,
    seconds: float,
    echo: Callable[[SluicegateError], Awaitable[T | None]] | None = None,
) -> T:
    """The answer of `attempt`, tried until it succeeds, fails for good, or `seconds` are over (the last error then).

    echo: asked when a refusal follows an attempt whose answer was lost. Its answer means that the refusal is the echo of our own
    success; None, that it is not.
    """
    doubtful = False
    last: SluicegateError = Unavailable(f"no answer in {seconds:g} s")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    try:
        async with asyncio.timeout_at(deadline):
            for number in range(1_000_000):
                try:
                    return await attempt()
                except Failed as failed:
                    last = failed.error
                    wait = pause(failed.failure, number)
                    if wait is None:
                        return await _answered(last, echo if doubtful else None)
                    doubtful = doubtful or failed.failure.doubtful
                    if loop.time() + wait >= deadline:
                        raise last from failed
                await asyncio.sleep(wait)
    except TimeoutError as late:
        raise last from late
    raise last


async def _answered(
    error: SluicegateError, echo: Callable[[SluicegateError], Awaitable[T | None]] | None
) -> T:
    """The error stands when nobody can say that it is an echo."""
    try:
        found = await echo(error) if echo else None
    except SluicegateError:
        found = None
    if found is None:
        raise error
    return found


def seconds_of(header: str | None) -> float | None:
    """Of a Retry-After header in seconds; None for anything else (the API server sends no dates)."""
    try:
        found = float(header) if header else None
    except ValueError:
        return None
    return found if found is not None and math.isfinite(found) else None
