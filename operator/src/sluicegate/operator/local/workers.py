"""Gateway workers as child processes: started, watched, started again, stopped.

    up ──pipe──► worker     the worker ends when the pipe closes, so none outlives a killed parent
       ◄─files── workers/NAME.json says that it listens

Every start has a new name, because names are those of spools: an old worker that still finishes its requests
after a kill of its parent never shares one with a new worker.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.ports import LoopClock

HEALTHY = 10.0
"""A worker that lived so long (seconds) was fine: the next start is not delayed."""
LONGEST = 10.0
"""Longest delay before a start, seconds."""
_POLL = 0.02
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What to run."""

    state: Path
    host: str
    port: int
    count: int
    boot: str  # makes names unique over restarts of `up`
    logs_to_stderr: bool = False  # else to a file below `state`


@dataclass(slots=True, kw_only=True)
class Worker:
    """One running process."""

    name: str
    process: asyncio.subprocess.Process
    pipe: int  # write end; closing it stops the worker
    started: float
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Supervisor:
    """Keeps `fleet.count` workers alive. on_death(name, code, delay) tells of each that died unasked."""

    def __init__(
        self,
        fleet: Fleet,
        clock: LoopClock,
        *,
        on_death: Callable[[str, int, float], Awaitable[None]],
        on_ready: Callable[[int], None],
    ) -> None:
        self._fleet, self._clock = fleet, clock
        self._on_death, self._on_ready = on_death, on_ready
        self._live: dict[int, Worker] = {}
        self._starts = 0
        self._stopping = False

    def ready(self) -> int:
        """Workers that listen."""
        return sum(worker.ready.is_set() for worker in self._live.values())

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for slot in range(self._fleet.count):
                group.create_task(self._keep(slot))

    async def wait_ready(self, seconds: float) -> None:
        """Until every worker listens; Unavailable when it takes longer."""
        try:
            async with asyncio.timeout(seconds):
                while self.ready() < self._fleet.count:
                    await self._clock.sleep(_POLL)
        except TimeoutError as error:
            where = self._fleet.state / "logs" / "gateway.log"
            logs = "the log" if self._fleet.logs_to_stderr else where
            raise Unavailable(f"the gateway did not start in {seconds:g} s; see {logs}") from error

    async def stop(self, seconds: float) -> None:
        """Ask all to finish their requests; kill what is left after `seconds`."""
        self._stopping = True
        live = list(self._live.values())
        for worker in live:
            with suppress(ProcessLookupError):
                worker.process.terminate()
        waits = [asyncio.create_task(worker.process.wait()) for worker in live]
        if waits:
            _, late = await asyncio.wait(waits, timeout=seconds)
            for worker, wait in zip(live, waits, strict=True):
                if wait in late:
                    log.warning("gateway_worker_killed", worker=worker.name, pid=worker.process.pid)
                    with suppress(ProcessLookupError):
                        worker.process.kill()
            await asyncio.gather(*waits)

    async def _keep(self, slot: int) -> None:
        quick = 0  # deaths in a row soon after their start
        while not self._stopping:
            try:
                worker = self._live[slot] = await self._start(slot)
            except OSError as error:  # no process or file to be had just now; the others go on
                quick += 1
                log.warning("gateway_worker_not_started", error=str(error))
                await self._clock.sleep(_delay(quick))
                continue
            watch = asyncio.create_task(self._watch_ready(worker))
            try:
                code = await worker.process.wait()
            finally:
                watch.cancel()
                os.close(worker.pipe)
                del self._live[slot]
                self._card(worker.name).unlink(missing_ok=True)
                self._on_ready(self.ready())
            if self._stopping:
                return
            quick = quick + 1 if self._clock.monotonic() - worker.started < HEALTHY else 0
            delay = _delay(quick) if quick > 1 else 0.0
            await self._on_death(worker.name, code, delay)
            await self._clock.sleep(delay)

    async def _start(self, slot: int) -> Worker:
        self._starts += 1
        name = f"{self._fleet.boot}-{slot}-{self._starts}"
        read, write = os.pipe()
        fleet = self._fleet
        command = ("-m", "sluicegate.gateway", "--state", str(fleet.state), "--host", fleet.host)
        options = ("--port", str(fleet.port), "--worker", name, "--watch-parent-fd", str(read))
        try:
            with self._output() as output:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *command,
                    *options,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(read,),
                    start_new_session=True,  # Ctrl-C is for the parent, which stops its workers in order
                )
        except BaseException:
            os.close(write)
            raise
        finally:
            os.close(read)
        log.info("gateway_worker_started", worker=name, pid=process.pid)
        return Worker(name=name, process=process, pipe=write, started=self._clock.monotonic())

    def _output(self) -> BinaryIO:
        if self._fleet.logs_to_stderr:
            return os.fdopen(os.dup(sys.stderr.fileno()), "wb")
        return (self._fleet.state / "logs" / "gateway.log").open("ab")

    def _card(self, name: str) -> Path:
        """Where the worker says that it listens."""
        return self._fleet.state / "workers" / f"{name}.json"

    async def _watch_ready(self, worker: Worker) -> None:
        path = self._card(worker.name)
        while not _says_ready(path, worker.process.pid):
            await self._clock.sleep(_POLL)
        worker.ready.set()
        self._on_ready(self.ready())


def _delay(quick: int) -> float:
    return min(LONGEST, 0.1 * 2.0 ** min(quick, 10))


def boot_name() -> str:
    """Different for every start of `up`, short, sorted by time."""
    return f"b{int(system.unix_ms()):x}"


def _says_ready(path: Path, pid: int) -> bool:
    try:
        return bool(json.loads(path.read_bytes())["pid"] == pid)
    except (OSError, ValueError, KeyError):
        return False
