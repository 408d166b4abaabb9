"""A circuit breaker: pure state, time is a parameter (the caller's monotonic clock in seconds).

Closed ── failure rate over the window ──► Open ── open_seconds ──► HalfOpen ── one probe ok ──► Closed
                                             ▲                         └──── probe failed ────► Open
"""

import math
from dataclasses import dataclass
from enum import StrEnum

WINDOW_SECONDS = 10.0


class BreakerState(StrEnum):
    """Whether calls go through."""

    CLOSED = "Closed"
    OPEN = "Open"
    HALF_OPEN = "HalfOpen"


@dataclass(slots=True, kw_only=True)
class Breaker:
    """One destination and component version.

    Opens when at least `min_calls` calls of the last 10 to 20 seconds were seen and `failure_rate` of them failed.
    """

    failure_rate: float
    min_calls: int
    open_seconds: float
    state: BreakerState = BreakerState.CLOSED
    opened_at: float = -math.inf
    probing: bool = False
    window_at: float | None = None
    calls: int = 0
    failures: int = 0
    before_calls: int = 0
    before_failures: int = 0

    def allows(self, now: float) -> bool:
        """Whether a call may be made. True in HalfOpen takes the only probe: `record` or `release` must follow."""
        if self.state is BreakerState.OPEN and now - self.opened_at >= self.open_seconds:
            self.state, self.probing = BreakerState.HALF_OPEN, False
        if self.state is BreakerState.HALF_OPEN:
            if self.probing:
                return False
            self.probing = True
            return True
        return self.state is BreakerState.CLOSED

    def record(self, *, failed: bool, begun: float, now: float) -> None:
        """A call that was allowed at `begun` ended. A call made before it opened tells nothing any more."""
        if begun <= self.opened_at:
            return
        if self.state is BreakerState.HALF_OPEN:
            self._reset(now)
            if failed:
                self._open(now)
            return
        self._roll(now)
        self.calls += 1
        self.failures += failed
        calls, failures = self.calls + self.before_calls, self.failures + self.before_failures
        if calls >= self.min_calls and failures >= self.failure_rate * calls and failures > 0:
            self._reset(now)
            self._open(now)

    def release(self, *, begun: float) -> None:
        """The call that was allowed at `begun` was cancelled and tells nothing."""
        if begun > self.opened_at:
            self.probing = False

    def _open(self, now: float) -> None:
        self.state, self.opened_at = BreakerState.OPEN, now

    def _reset(self, now: float) -> None:
        self.state, self.probing, self.window_at = BreakerState.CLOSED, False, now
        self.calls = self.failures = self.before_calls = self.before_failures = 0

    def _roll(self, now: float) -> None:
        if self.window_at is None:
            self.window_at = now
        age = now - self.window_at
        if age < WINDOW_SECONDS:
            return
        fresh = age < 2 * WINDOW_SECONDS
        self.before_calls, self.before_failures = (self.calls, self.failures) if fresh else (0, 0)
        self.calls = self.failures = 0
        self.window_at = now
