"""Log lines about runs. Each names its run, so that `sluicegate run show` is one step away."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from sluicegate.contracts.runs import RunRecord

MOST_PER_SECOND = 5
"""Failures told per second and worker. In an outage every run fails, and all of them are in the store anyway."""


@dataclass(slots=True)
class FailureLog:
    """Tells failed runs of users, a bounded number of them."""

    log: Any = field(default_factory=lambda: structlog.get_logger("sluicegate.gateway"))
    _second: int = -1
    _told: int = 0
    _untold: int = 0

    def tell(self, record: RunRecord, *, step: str | None, reason: str, now: float) -> bool:
        """One line about a failed run; False when this second has told enough. now: monotonic seconds."""
        if int(now) != self._second:
            self._second, self._told = int(now), 0
        if self._told >= MOST_PER_SECOND:
            self._untold += 1
            return False
        self._told += 1
        untold, self._untold = self._untold, 0
        self.log.warning(
            "run_failed",
            run_id=record.run_id,
            trace_id=record.trace_id,
            namespace=record.namespace,
            workflow=record.workflow,
            revision=record.revision,
            arm=record.arm.value,
            step=step,
            reason=reason,
            untold=untold,
        )
        return True


@contextmanager
def named(run_id: str) -> Iterator[None]:
    """A bug that ends a run leaves with the run's id in its traceback."""
    try:
        yield
    except Exception as error:
        error.add_note(f"run_id: {run_id}")
        raise
