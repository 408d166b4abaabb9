"""Local mode in one process tree: what ``sluicegate up`` calls.

    up ─┬─ event loop: resource API (Unix socket), control loop, /metrics, supervisor
        ├─ thread: ingester (spool → lineage store)
        └─ gateway workers (processes), tied to `up` by a pipe

Start: lock → port → stores → ingester → API → control loop → workers → up.json. Stop: the same backwards, the
workers first, so that their last runs are still taken in. Nothing needs the stop: a kill at any point is a start
like any other.
"""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack

import structlog

from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.operator.local.config import LocalConfig
from sluicegate.operator.local.state_dir import StateDir

_STDIN = 0
log = structlog.get_logger(__name__)


class LocalRunner:
    """One `up`. `serve` returns after `stop` (or a signal)."""

    def __init__(self, config: LocalConfig) -> None:
        self.config = config
        self.state = StateDir(config.state_dir.expanduser().absolute())
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Ask for a graceful stop."""
        self._stop.set()

    async def serve(self) -> None:
        """Run until stopped. Conflict when another `up` holds the state folder, Unavailable for ports."""
        from sluicegate.operator.local import assembly  # noqa: PLC0415 - the lock comes before anything heavy

        async with AsyncExitStack() as stack:
            parts = await assembly.assemble(self.config, self.state, stack)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(job) for job in parts.jobs()]
                try:
                    await parts.ready()
                    await self._stop.wait()
                finally:
                    parts.leaving()
                    await parts.supervisor.stop(self.config.stop_seconds)
                    for task in tasks:
                        task.cancel()


def run_local(config: LocalConfig) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP.

    Exit code: 0 stopped on request, 5 another `up` holds the state folder, 6 a port or file cannot be used.
    """
    from sluicegate.operator.local import logs  # noqa: PLC0415 - reading the settings needs none of this

    os.umask(0o077)  # runs, prompts and logs are for their owner only, in a folder that others may enter too
    state = StateDir(config.state_dir.expanduser().absolute())
    try:
        state.make()
        with state.held():
            logs.configure(state.logs / "up.log")
            asyncio.run(_until_signal(config))
    except (SluicegateError, OSError, BaseExceptionGroup) as error:
        return _told(error)
    return 0


async def _until_signal(config: LocalConfig) -> None:
    runner = LocalRunner(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, _asked, runner, signal.Signals(number).name)
    if config.stop_with_stdin:
        loop.add_reader(_STDIN, _heard, runner)
    log.info("up_starts", pid=os.getpid(), state=str(runner.state.root))
    await runner.serve()
    log.info("up_stopped")


def _asked(runner: LocalRunner, why: str) -> None:
    log.info("up_stops", signal=why)
    runner.stop()


def _heard(runner: LocalRunner) -> None:
    """Words on standard input mean nothing, its end does."""
    if not os.read(_STDIN, 4096):
        asyncio.get_running_loop().remove_reader(_STDIN)
        _asked(runner, "end of input")


def _told(error: BaseException) -> int:
    """Say what went wrong; anything that is not an expected failure goes on as it is."""
    found = leaves(error)
    if not all(isinstance(one, SluicegateError | OSError) for one in found):
        raise error
    for one in found:
        sys.stderr.write(f"error: {one}\n")
        if structlog.is_configured():  # else the folder, and with it the log, is another's
            log.error("up_failed", error=str(one))
    return max(getattr(one, "exit_code", Unavailable.exit_code) for one in found)


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions themselves, out of their groups."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in leaves(one)]
