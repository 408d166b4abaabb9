"""What mirrors may use: concurrency, component seconds and cost, per workflow and worker.

Beyond it a mirror is dropped at once and counted; it never waits, so it can never pile up behind users.
"""

from dataclasses import dataclass, field

from sluicegate.contracts.routes import MirrorBudget


@dataclass(slots=True)
class _Bucket:
    """Refills evenly; may be overdrawn by what was running when it emptied."""

    capacity: float
    per_second: float
    level: float
    at: float

    def has_any(self, now: float) -> bool:
        self.level = min(self.capacity, self.level + max(0.0, now - self.at) * self.per_second)
        self.at = now
        return self.level > 0.0


@dataclass(slots=True)
class MirrorAllowance:
    """State of one workflow's mirror budget. Time: the caller's monotonic clock in seconds."""

    budget: MirrorBudget
    running: int = 0
    dropped: int = 0
    _seconds: _Bucket | None = None
    _cost: _Bucket | None = None

    def take(self, now: float) -> bool:
        """Start the mirrors of a run, one arm at a time; `give_back` must follow. False: dropped."""
        if self._seconds is None and self.budget.max_seconds_per_minute is not None:
            limit = self.budget.max_seconds_per_minute
            self._seconds = _Bucket(limit, limit / 60.0, limit, now)
        if self._cost is None and self.budget.max_cost_per_hour is not None:
            limit = self.budget.max_cost_per_hour
            self._cost = _Bucket(limit, limit / 3600.0, limit, now)
        fits = self.running < self.budget.max_concurrency
        affordable = all(bucket is None or bucket.has_any(now) for bucket in (self._seconds, self._cost))
        if not (fits and affordable):
            self.dropped += 1
            return False
        self.running += 1
        return True

    def give_back(self, *, seconds: float, cost: float) -> None:
        """The mirrors of a run ended, having used this much."""
        self.running -= 1
        if self._seconds is not None:
            self._seconds.level -= seconds
        if self._cost is not None:
            self._cost.level -= cost


@dataclass(slots=True)
class MirrorAllowances:
    """By workflow. A changed budget starts anew but keeps what is running."""

    by_workflow: dict[tuple[str, str], MirrorAllowance] = field(default_factory=dict)

    def of(self, namespace: str, workflow: str, budget: MirrorBudget) -> MirrorAllowance:
        """The allowance of a workflow."""
        key = (namespace, workflow)
        found = self.by_workflow.get(key)
        if found is None:
            found = self.by_workflow[key] = MirrorAllowance(budget)
        elif found.budget != budget:
            # In place: mirrors in flight give back to this very object.
            found.budget, found._seconds, found._cost = budget, None, None  # noqa: SLF001 - same module
        return found
