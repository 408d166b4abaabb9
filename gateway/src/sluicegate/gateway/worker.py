"""One worker process: uvicorn around the application, the watch over plans, and the ways to stop."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import structlog
import uvicorn
import uvloop

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.routes import RuleSetBody
from sluicegate.gateway.adapters.client import make_client
from sluicegate.gateway.app import App
from sluicegate.gateway.aside import aside
from sluicegate.gateway.business import RuleSet
from sluicegate.gateway.engine.kernel import Kernel
from sluicegate.gateway.escalation_ledger import Ledger
from sluicegate.gateway.patience import PatientProtocol, sweep
from sluicegate.gateway.plan_table import PlanTable
from sluicegate.gateway.plans import PlanBook, compiled
from sluicegate.gateway.protocols.places import CREDENTIALS
from sluicegate.gateway.serving import RunService
from sluicegate.lineage import sqlite_files
from sluicegate.lineage.identity import load_salt
from sluicegate.lineage.spool import SpoolWriter

WATCH_SECONDS = 0.1
SPOOL_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0
GRACE_SECONDS = 30
"""How long a stopping worker waits for requests in flight."""
MIRROR_GRACE_SECONDS = 2.0
"""How long it waits for mirrors, which are then counted as dropped."""

log = structlog.get_logger("sluicegate.gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The command line of `python -m sluicegate.gateway`."""

    state: Path
    host: str = "127.0.0.1"
    port: int = 8080
    worker: str = "w0"
    fd: int | None = None
    parent_fd: int | None = None
    client: str | None = None


@dataclass(slots=True, kw_only=True)
class PlanWatch:
    """Keeps a PlanBook up to date with a PlanTable. Whatever happens to the table, the book keeps its last plans."""

    table: PlanTable
    book: PlanBook
    worker: str
    spool: SpoolWriter
    generation: int = -1
    told_generation: int = -1
    acknowledged_at: datetime | None = None
    trouble: str | None = None
    complaints: frozenset[tuple[str, str, str]] = frozenset()

    def look(self, now: datetime) -> None:
        """One look: a small read; more only when something changed."""
        try:
            generation = self.table.generation()
            if generation != self.generation:
                self._take(generation)
            self._tell(now)
        except Exception as error:  # the loop must not end; users are served by the last plans
            if self.trouble is None:
                bug = None if isinstance(error, Unavailable) else error
                log.warning("plans_unavailable", worker=self.worker, error=str(error), exc_info=bug)
            self.trouble = str(error) or repr(error)
            return
        if self.trouble is not None:
            log.info("plans_available", worker=self.worker)
        self.trouble = None

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """The document of /readyz: ready once plans were read, whatever happens to the control plane later."""
        now_ms = system.unix_ms()
        workflows = [
            {
                "namespace": key.namespace,
                "workflow": key.workflow,
                "version": live.plan.version,
                "mode": live.plan.mode.value,
                "stage": live.plan.stage.value if live.plan.stage is not None else None,
                "leased": live.is_leased(now_ms),
                "serving": "plan" if live.is_leased(now_ms) else "StableOnly: the lease has passed",
            }
            for key, live in self.book.by_key.items()
        ]
        broken = [
            {"workflow": f"{b.key.namespace}/{b.key.workflow}", "reason": b.reason} for b in self.book.broken
        ]
        ready = self.generation >= 0
        document: dict[str, Any] = {"ready": ready, "worker": self.worker, "workflows": workflows}
        spoilt = [
            {"workflow": f"{key.namespace}/{key.workflow}", "ruleSet": name, "reason": reason}
            for (key, name), reason in self.book.spoilt.items()
        ]
        document["spool"] = asdict(self.spool.counts)
        document |= {"ruleSetsNotUsed": spoilt} if spoilt else {}
        document |= {"broken": broken} if broken else {}
        document |= {"plansUnavailable": self.trouble} if self.trouble is not None else {}
        return ready, document

    def fill(self, wanted: RuleSetBody, made: RuleSet | str) -> None:
        """A rule set that was waited for."""
        self.book.fill(wanted, made)
        self._complain()

    def _complain(self) -> None:
        """Of what cannot be used, once."""
        found = {
            (f"{key.namespace}/{key.workflow}", name, why) for (key, name), why in self.book.spoilt.items()
        }
        found |= {(f"{one.key.namespace}/{one.key.workflow}", "", one.reason) for one in self.book.broken}
        for workflow, name, reason in sorted(found - self.complaints):
            if name:
                log.error(
                    "rule_set_not_used", worker=self.worker, workflow=workflow, rule_set=name, reason=reason
                )
            else:
                log.error("plan_not_served", worker=self.worker, workflow=workflow, reason=reason)
        self.complaints = frozenset(found)

    def _tell(self, now: datetime) -> None:
        """Acknowledge what is new, or give a sign of life; everything again when the table knows nothing of us."""
        age = (now - self.acknowledged_at).total_seconds() if self.acknowledged_at else HEARTBEAT_SECONDS
        is_due = self.told_generation != self.generation or not 0.0 <= age < HEARTBEAT_SECONDS
        if not (self.book.is_news or is_due):
            return
        try:
            if self.book.is_news or not self.table.still_alive(self.worker, now, self.generation):
                self.table.acknowledge(
                    self.worker, self.book.served, now, generation=self.generation, broken=self.book.broken
                )
        except Unavailable as error:
            if sqlite_files.is_busy(error.__cause__) and 0.0 <= age < 2 * HEARTBEAT_SECONDS:
                return  # somebody else writes just now; the next look tells it
            raise
        self.acknowledged_at, self.told_generation, self.book.is_news = now, self.generation, False

    def _take(self, generation: int) -> None:
        """What moved; everything at first, and after a look that came to no end."""
        if self.generation < 0 or self.trouble is not None:
            self.book.update(self.table.read_all())
        else:
            self.book.change(*self.table.read_moved())
        self.generation = generation
        self.book.defers = True  # ready: from now on users wait
        self._complain()


@dataclass(slots=True, kw_only=True)
class SpoolWatch:
    """Says when runs begin to be answered without a record (a full disk, too much pressure), and when that is over."""

    spool: SpoolWriter
    worker: str
    missed: int = 0
    is_missing: bool = False

    def look(self) -> None:
        """Compare with the last look."""
        counts = self.spool.counts
        missed = counts.lost + counts.dropped
        if missed > self.missed and not self.is_missing:
            log.error("runs_not_recorded", worker=self.worker, lost=counts.lost, dropped=counts.dropped)
        if missed == self.missed and self.is_missing:
            log.info("runs_recorded_again", worker=self.worker, lost=counts.lost, dropped=counts.dropped)
        self.is_missing = missed > self.missed
        self.missed = missed


class _Server(uvicorn.Server):
    """Signals are the worker's business: uvicorn would raise them again after a graceful stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run_worker(config: WorkerConfig) -> int:
    """Run until told to stop; the exit status."""
    _log_to_stderr()
    try:
        bound = _listening_socket(config)
    except OSError as error:
        log.error("cannot_listen", host=config.host, port=config.port, error=str(error))  # noqa: TRY400 - expected
        return Unavailable.exit_code
    try:
        salt = load_salt(config.state)
        (config.state / "workers").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.error("cannot_use_state", state=str(config.state), error=str(error))  # noqa: TRY400 - expected
        return Unavailable.exit_code
    with bound:
        return uvloop.run(_serve(config, bound, salt))


async def _serve(config: WorkerConfig, bound: socket.socket, salt: bytes) -> int:
    client = make_client(config.client)
    spool = SpoolWriter(config.state / "spool", config.worker)
    # A heartbeat that meets the operator's write gives up and comes again; users never wait for it.
    table = PlanTable(config.state / "plans.db", wait_ms=0, creates=False)
    watch = PlanWatch(
        table=table, book=PlanBook(credentials=config.state / CREDENTIALS), worker=config.worker, spool=spool
    )
    kernel = Kernel(
        client=client,
        monotonic=time.perf_counter,
        now=system.now,
        sleep=asyncio.sleep,
        jitter=system.jitter,
        new_id=system.uuid7,
    )
    ledger = Ledger(config.state / "escalation.db")
    service = RunService(kernel=kernel, spool=spool, salt=salt, worker=config.worker, ledger=ledger)
    app = App(service=service, book=watch.book, readiness=watch.readiness, on_crash=_crashed)
    server = _server(app)
    watch.look(system.now())
    gc.collect()
    gc.freeze()  # what is there now stays: a full collection would look at it for 30 ms and answer nobody
    try:
        async with (
            _announced(config, bound),
            aside(_look_on(watch)),
            aside(_compile_on(watch)),
            aside(_keep_telling(SpoolWatch(spool=spool, worker=config.worker))),
            _stoppable(server, service, config.parent_fd),
            aside(sweep(server.server_state.connections)),
        ):
            await server.serve(sockets=[bound])
    finally:
        await client.close()
        spool.close()
        ledger.close()
        with contextlib.suppress(Unavailable):
            table.forget(config.worker)
        table.close()
    return 0


def _server(app: App) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE_SECONDS,
            backlog=2048,
        )
    )


async def _look_on(watch: PlanWatch) -> None:
    """Look at the plans until cancelled."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        watch.look(system.now())


async def _compile_on(watch: PlanWatch) -> None:
    """Compile the rule sets that plans bring, one after the other in a thread, until cancelled; the last good one answers
    meanwhile, and no plan waits.
    """
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        while watch.book.waiting:
            wanted = next(iter(watch.book.waiting.values()))
            watch.fill(wanted, await asyncio.to_thread(compiled, wanted))


async def _keep_telling(recording: SpoolWatch) -> None:
    """Look at the spool until cancelled."""
    while True:
        await asyncio.sleep(SPOOL_SECONDS)
        recording.look()


@contextlib.asynccontextmanager
async def _stoppable(
    server: uvicorn.Server, service: RunService, parent_fd: int | None
) -> AsyncIterator[None]:
    """SIGTERM, SIGINT and the end of the parent stop the server after what is in flight."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        loop.call_later(MIRROR_GRACE_SECONDS, service.drop_mirrors)

    def parent_said(fd: int) -> None:
        if not os.read(fd, 64):
            loop.remove_reader(fd)
            stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if parent_fd is not None:
        loop.add_reader(parent_fd, parent_said, parent_fd)
    try:
        yield
    finally:
        if parent_fd is not None:
            loop.remove_reader(parent_fd)


@contextlib.asynccontextmanager
async def _announced(config: WorkerConfig, bound: socket.socket) -> AsyncIterator[None]:
    """`workers/NAME.json` while the worker listens; written whole or not at all."""
    host, port = bound.getsockname()[:2]
    path = config.state / "workers" / f"{config.worker}.json"
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(orjson.dumps({"worker": config.worker, "pid": os.getpid(), "host": host, "port": port}))
    draft.rename(path)
    log.info("listening", worker=config.worker, host=host, port=port)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _listening_socket(config: WorkerConfig) -> socket.socket:
    """Bound and listening before the announcement, so that an announced worker never refuses a connection."""
    if config.fd is not None:
        return socket.socket(fileno=config.fd)
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((config.host, config.port))
        bound.listen(2048)
        bound.setblocking(False)  # noqa: FBT003 - the standard library's signature
    except OSError:
        bound.close()
        raise
    return bound


def _crashed(error: BaseException) -> None:
    log.error("request_crashed", exc_info=error)


def _log_to_stderr() -> None:
    """One JSON object per line; whoever started the worker decides where it goes."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
