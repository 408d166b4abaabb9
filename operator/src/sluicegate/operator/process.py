"""What the processes of a cluster share: a stop by signal, exit codes, a client that counts nothing."""

import argparse
import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

import structlog

from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.operator.local import logs
from sluicegate.operator.local.runner import leaves
from sluicegate.operator.local.state_dir import StateDir


class Settings(Protocol):
    """Of a process that keeps files."""

    @property
    def state(self) -> Path:
        """Their folder."""
        ...


C = TypeVar("C", bound=Settings)


class Uncounted:
    """`kube.CallMetrics` for who shows none."""

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Nothing."""


def run(
    name: str,
    arguments: argparse.Namespace,
    config_of: Callable[[argparse.Namespace], C],
    serve: Callable[[C, StateDir, asyncio.Event], Awaitable[None]],
) -> int:
    """`serve`, with the state folder held, until SIGTERM or SIGINT sets its event. Exit code: 0 asked to stop, 5 the
    state folder is held, 6 a port or file cannot be used, 2 a wrong setting.
    """
    os.umask(0o077)
    logs.configure_stderr()
    try:
        config = config_of(arguments)
        state = StateDir(config.state.expanduser().absolute())
        state.make()
        with state.held():
            asyncio.run(_until_signal(serve, config, state))
    except (SluicegateError, OSError, BaseExceptionGroup) as error:
        return told(f"{name}_failed", error)
    structlog.get_logger(__name__).info(f"{name}_stopped")
    return 0


async def _until_signal(
    serve: Callable[[C, StateDir, asyncio.Event], Awaitable[None]], config: C, state: StateDir
) -> None:
    await serve(config, state, stop_by_signal())


def stop_by_signal() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def kept(name: str, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a job that has no end, again when it fails by a bug, until cancelled."""
    log = structlog.get_logger(__name__)
    while True:
        try:
            await job()
        except Exception:  # the top of the job: the others go on
            log.exception("job_failed", job=name)
        await asyncio.sleep(1.0)


def told(event: str, error: BaseException) -> int:
    """Say what went wrong, and the exit code; anything that is no expected failure goes on as it is."""
    found = leaves(error)
    if not all(isinstance(one, SluicegateError | OSError) for one in found):
        raise error
    log = structlog.get_logger(__name__)
    for one in found:
        log.error(event, error=str(one))
    return max(getattr(one, "exit_code", Unavailable.exit_code) for one in found)
