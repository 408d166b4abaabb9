"""A retry budget per destination: retries are a share of calls, so that they cannot multiply an outage.

Token bucket after Finagle's RetryBudget (deposits per call plus a small floor per second); a retry costs one token.
Over any time: retries <= START + sum of deposits + FLOOR_PER_SECOND · seconds.
"""

from dataclasses import dataclass

START = 3.0
FLOOR_PER_SECOND = 0.5
CAPACITY = 100.0


@dataclass(slots=True)
class RetryBudget:
    """State of one destination; time is the caller's monotonic clock in seconds."""

    tokens: float = START
    refilled_at: float | None = None

    def deposit(self, ratio: float) -> None:
        """A first attempt was made: it pays for `ratio` retries."""
        self.tokens = min(CAPACITY, self.tokens + ratio)

    def withdraw(self, now: float) -> bool:
        """Pay for one retry. False: the budget is spent, do not retry."""
        if self.refilled_at is not None:
            # The floor keeps a quiet destination able to retry; it never piles up beyond the start.
            grown = min(START, self.tokens + max(0.0, now - self.refilled_at) * FLOOR_PER_SECOND)
            self.tokens = max(self.tokens, grown)
        self.refilled_at = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True
