"""The ingester in a thread of its own: a failing store never stops serving, the spool waits on disk."""

import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import SluicegateError

PAUSE = 0.05
"""Seconds between two looks at an empty spool."""
WORST = 5.0
"""Longest pause after failures, seconds."""
log = structlog.get_logger(__name__)


class Step(Protocol):
    """What a step of the ingester tells."""

    @property
    def lag_bytes(self) -> int:
        """What is left in the spool."""
        ...


class Ingesting(Protocol):
    """`lineage.ingester.Ingester`."""

    def step(self, now: datetime) -> Step:
        """Read what is new."""
        ...


class IngestThread:
    """Calls `step` for ever. on_lag: bytes after each step; on_failure: a step failed and is repeated."""

    def __init__(
        self, ingester: Ingesting, *, on_lag: Callable[[int], None], on_failure: Callable[[], None]
    ) -> None:
        self._ingester, self._on_lag, self._on_failure = ingester, on_lag, on_failure
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ingester")
        self.failing = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Take in what is left in the spool, for `seconds` at most; the rest is found by the next start."""
        self._stop.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        failures = 0
        while True:
            ending = self._stop.is_set()
            try:
                lag = self._ingester.step(system.now()).lag_bytes
            except Exception as error:  # the top of the thread: its death would stop all evidence, silently
                failures += 1
                self.failing = True
                self._on_failure()
                unexpected = not isinstance(error, SluicegateError | sqlite3.Error | OSError)
                log.warning("ingest_failed", error=repr(error), failures=failures, exc_info=unexpected)
                if ending:
                    return
                self._stop.wait(min(WORST, PAUSE * 2.0 ** min(failures, 10)))
                continue
            failures, self.failing = 0, False
            self._on_lag(lag)
            if lag == 0 and ending:
                return
            if lag == 0:
                self._stop.wait(PAUSE)
