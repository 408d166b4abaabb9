"""What the small processes of a cluster share: logs, exit codes, a client that counts nothing."""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.operator.local.runner import leaves


class Uncounted:
    """`kube.CallMetrics` for who shows none."""

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Nothing."""


async def kept(name: str, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a job that has no end, again when it fails by a bug, until cancelled."""
    log = structlog.get_logger(__name__)
    while True:
        try:
            await job()
        except Exception:  # the top of the job: the others go on
            log.exception("job_failed", job=name)
        await asyncio.sleep(1.0)


def log_to_stderr() -> None:
    """One JSON object per line."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


def told(event: str, error: BaseException) -> int:
    """Say what went wrong, and the exit code; anything that is no expected failure goes on as it is."""
    found = leaves(error)
    if not all(isinstance(one, SluicegateError | OSError) for one in found):
        raise error
    log = structlog.get_logger(__name__)
    for one in found:
        log.error(event, error=str(one))
    return max(getattr(one, "exit_code", Unavailable.exit_code) for one in found)
