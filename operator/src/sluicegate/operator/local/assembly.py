"""The parts of local mode, made and joined in one place."""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from sluicegate.contracts.errors import SluicegateError
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.api import server as api
from sluicegate.operator.api.admitter import RolloutAdmitter
from sluicegate.operator.api.context import Api
from sluicegate.operator.api.intake import Intake
from sluicegate.operator.api.lineage_view import StoredLineage
from sluicegate.operator.external import providers
from sluicegate.operator.external.http import Fetcher
from sluicegate.operator.external.pool import MeasuringPool
from sluicegate.operator.external.processes import ProcessEvidence
from sluicegate.operator.external.tokens import EnvironmentTokens
from sluicegate.operator.local import retention
from sluicegate.operator.local.config import LocalConfig
from sluicegate.operator.local.ingest import IngestThread
from sluicegate.operator.local.metrics_server import MetricsServer
from sluicegate.operator.local.plans import LocalPlans
from sluicegate.operator.local.progress import Progress, ShownEvents
from sluicegate.operator.local.reservation import PortReservation
from sluicegate.operator.local.state_dir import StateDir, UpFile
from sluicegate.operator.local.telemetry import Telemetry
from sluicegate.operator.local.workers import Fleet, Supervisor, boot_name
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.loop.controller import Controller
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import Gatherer
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.events import LocalEvents
from sluicegate.operator.resources.objects import stamp
from sluicegate.operator.resources.store import SqliteStore
from sluicegate.operator.resources.watch import LocalStore
from sluicegate.rollout.model import Capabilities, Event, Ref, Severity

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Parts:
    """Everything that runs."""

    config: LocalConfig
    state: StateDir
    stores: "Stores"
    telemetry: Telemetry
    controller: Controller
    measuring: MeasuringPool
    ingest: IngestThread
    supervisor: Supervisor
    progress: Progress
    facts: UpFile
    is_ready: bool = False

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What runs until cancelled."""
        return (
            self.controller.run(),
            self.measuring.run(),
            self.supervisor.run(),
            retention.keep(self.stores.store, self.stores.lineage, self.state.logs / "gateway.log"),
        )

    async def ready(self) -> None:
        """Wait until everything listens, then say so."""
        await self.controller.synced.wait()
        await self.supervisor.wait_ready(self.config.start_seconds)
        self.facts.write(self.state.up)
        self.is_ready = True
        log.info("up_ready", gateway_port=self.facts.gateway_port, metrics_port=self.facts.metrics_port)
        self.progress.ready(self.facts, str(self.state.root))

    def leaving(self) -> None:
        """Nobody should come any more."""
        self.is_ready = False
        self.state.up.unlink(missing_ok=True)
        self.progress.line("stopping: waiting for the runs in flight")

    async def unready(self) -> list[str]:
        """Why not ready."""
        reasons = [] if self.is_ready else ["starting or stopping"]
        live = self.supervisor.ready()
        if live < self.config.workers:
            reasons.append(f"{live} of {self.config.workers} gateway workers listen")
        if self.ingest.failing:
            reasons.append("the lineage store cannot be written; runs wait in the spool")
        return reasons

    def about(self) -> Json:
        """For /version."""
        facts = self.facts
        return {
            "version": facts.version,
            "pid": facts.pid,
            "startedAt": facts.started_at,
            "gatewayUrl": f"http://{facts.gateway_host}:{facts.gateway_port}",
            "metricsUrl": f"http://{facts.gateway_host}:{facts.metrics_port}/metrics",
            "stateDir": str(self.state.root),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """What is kept on disk."""

    store: LocalStore
    plans: LocalPlans
    kept: LocalEvents
    events: ShownEvents
    lineage: LineageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """Tells of gateway workers that ended unasked."""

    stores: Stores
    telemetry: Telemetry
    state: StateDir

    async def told(self, name: str, code: int, delay: float) -> None:
        """To the log, the metrics, the events; and nobody waits for its acknowledgement."""
        self.telemetry.processes.restarted()
        log.warning("gateway_worker_died", worker=name, code=code, restart_in=delay)
        message = f"a worker ended with {code} and is started again; see {self.state.logs / 'gateway.log'}"
        about = Ref("Gateway", "default", "gateway")
        event = Event(about=about, reason="GatewayWorkerDied", message=message, severity=Severity.WARNING)
        try:
            await self.stores.plans.forget(name)
            await self.stores.events.record(event)
        except SluicegateError as error:  # telling must not end what still serves
            log.warning("gateway_worker_death_untold", worker=name, error=str(error))


async def assemble(config: LocalConfig, state: StateDir, stack: AsyncExitStack) -> Parts:
    """Open, start and join everything but the long jobs; `stack` undoes it."""
    clock, registry = HostClock(), CollectorRegistry()
    telemetry, progress = Telemetry(registry), Progress(quiet=config.quiet)
    port = PortReservation(config.host, config.gateway_port)
    stack.callback(port.close)
    metrics = MetricsServer(registry, config.host, config.metrics_port)
    await metrics.start()
    stack.push_async_callback(metrics.stop)
    stores = await _stores(state, clock, progress, stack)
    fetcher = Fetcher()
    stack.push_async_callback(fetcher.close)
    measuring = MeasuringPool(
        providers(fetcher, ProcessEvidence() if config.allow_jobs else None),
        EnvironmentTokens(),
        clock,
        told=lambda ref: controller.add(ref),  # noqa: PLW0108 - made below
    )
    controller = _controller(stores, clock, telemetry, measuring)
    parts = Parts(
        config=config,
        state=state,
        stores=stores,
        telemetry=telemetry,
        controller=controller,
        measuring=measuring,
        ingest=IngestThread(
            Ingester(state.spool, stores.lineage, telemetry.entry),
            on_lag=telemetry.processes.lag,
            on_failure=telemetry.processes.ingest_failed,
        ),
        supervisor=Supervisor(
            Fleet(state=state.root, host=config.host, port=port.port, count=config.workers, boot=boot_name()),
            clock,
            on_death=Deaths(stores=stores, telemetry=telemetry, state=state).told,
            on_ready=telemetry.processes.workers,
        ),
        progress=progress,
        facts=UpFile(
            pid=os.getpid(),
            gateway_host=config.host,
            gateway_port=port.port,
            metrics_port=metrics.port,
            workers=config.workers,
            version=product_version(),
            started_at=stamp(clock.now()),
        ),
    )
    await _open(parts, clock, stack)
    return parts


async def _stores(state: StateDir, clock: HostClock, progress: Progress, stack: AsyncExitStack) -> Stores:
    store = LocalStore(SqliteStore(state.resources))
    stack.callback(store.close)
    plans = LocalPlans(state.plans, clock)
    stack.push_async_callback(plans.close)
    for worker in await plans.workers():  # of earlier runs; one that still lives says so again
        await plans.forget(worker)
    kept = LocalEvents(state.events)
    stack.push_async_callback(kept.close)
    lineage = LineageStore(state.lineage)
    stack.callback(lineage.close)
    return Stores(store=store, plans=plans, kept=kept, events=ShownEvents(kept, progress), lineage=lineage)


def _controller(
    stores: Stores, clock: HostClock, telemetry: Telemetry, measuring: MeasuringPool
) -> Controller:
    evidence = FoldedEvidence(stores.lineage)
    return Controller(
        store=stores.store,
        gatherer=Gatherer(store=stores.store, gateways=stores.plans, evidence=evidence, external=measuring),
        executor=Executor(store=stores.store, plans=stores.plans, events=stores.events),
        clock=clock,
        metrics=telemetry,
    )


async def _open(parts: Parts, clock: HostClock, stack: AsyncExitStack) -> None:
    """Start what answers and what takes in."""
    stores, ingest = parts.stores, parts.ingest
    can = Capabilities(jobs=parts.config.allow_jobs)
    ingest.start()
    stack.push_async_callback(asyncio.to_thread, ingest.stop, parts.config.stop_seconds)
    served = await api.serve(
        Api(
            store=stores.store,
            intake=Intake(stores.store, RolloutAdmitter(stores.store, clock, can)),
            events=stores.kept,
            lineage=StoredLineage(stores.lineage, clock),
            about=parts.about,
            unready=parts.unready,
        ),
        parts.state.socket,
    )
    stack.push_async_callback(served.cleanup)


def product_version() -> str:
    """As installed."""
    try:
        return version("sluicegate")
    except PackageNotFoundError:
        return "unknown"
