"""The lineage process: what ``python -m sluicegate.operator lineage`` calls.

    gateways ── PUT spools ──► receiver ──► spool/ ──► ingester (thread) ──► lineage.db ◄── evidence, people

Start: state folder locked → segments adopted → ingester → server. Stop: the server first, then what lies in the spool.
Nothing needs the stop: a kill at any point is a start like any other.
"""

import argparse
import asyncio
import contextlib
import os
import sqlite3
import ssl
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.metrics import GatewayMetrics, ProcessMetrics
from sluicegate.operator import process
from sluicegate.operator.api.lineage_view import StoredLineage
from sluicegate.operator.cluster.kube import connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.ports import KubeApi, own
from sluicegate.operator.lineage_server.config import LineageConfig, config_of
from sluicegate.operator.lineage_server.identity import Accounts, Identity
from sluicegate.operator.lineage_server.receiver import Ledger, Receiver
from sluicegate.operator.lineage_server.server import Parts, application
from sluicegate.operator.local import retention
from sluicegate.operator.local.ingest import IngestThread
from sluicegate.operator.local.metrics_server import MetricsServer
from sluicegate.operator.local.state_dir import StateDir
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.process import Uncounted

HOUR = 3600.0
CERTIFICATE_SECONDS = 60.0
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Waiting:
    """Bytes that are taken in and not yet stored."""

    most: int
    bytes: int = 0
    on_lag: list[Callable[[int], None]] = field(default_factory=list)

    def seen(self, lag: int) -> None:
        """The ingester's word."""
        self.bytes = lag
        for tell in self.on_lag:
            tell(lag)

    def full(self) -> str | None:
        """Why nothing is taken in just now."""
        if self.bytes <= self.most:
            return None
        return f"{self.bytes} bytes of runs wait to be stored; keep the rest until there are fewer"


def main(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; the exit code (`process.run`)."""
    return process.run("lineage", arguments, config_of, _until)


async def _until(config: LineageConfig, state: StateDir, stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        kube = KubeConfig(kubeconfig=config.kubeconfig, context=config.context)
        api = await stack.enter_async_context(connect(kube, Uncounted()))
        jobs = await serve(config, state, api, stack)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
            await stop.wait()
            log.info("lineage_stops")
            for task in tasks:
                task.cancel()


async def serve(
    config: LineageConfig, state: StateDir, api: KubeApi, stack: AsyncExitStack
) -> list[Coroutine[Any, Any, None]]:
    """Open and start everything; `stack` undoes it. The long jobs."""
    clock, registry, waiting = HostClock(), CollectorRegistry(), Waiting(config.most_waiting)
    processes, runs = ProcessMetrics(registry), GatewayMetrics(registry)
    waiting.on_lag.append(processes.lag)
    metrics = MetricsServer(registry, config.host, config.metrics_port)
    await metrics.start()
    stack.push_async_callback(metrics.stop)
    store = LineageStore(state.lineage, survives_power_cuts=True)
    stack.callback(store.close)
    ledger = Ledger(state.root / "received.db")
    stack.callback(ledger.close)
    receiver = Receiver(state.spool, ledger, lambda: system.unix_ms() / 1000.0)
    stack.callback(receiver.close)
    adopted = await asyncio.to_thread(receiver.adopt)
    ingest = IngestThread(
        Ingester(state.spool, store, runs.entry), on_lag=waiting.seen, on_failure=processes.ingest_failed
    )
    ingest.start()
    stack.push_async_callback(asyncio.to_thread, ingest.stop, config.stop_seconds)
    accounts = Accounts(gateways=frozenset(config.gateways), operators=frozenset(config.operators))
    parts = Parts(
        identity=Identity(api, accounts, clock.monotonic, config.audiences),
        receiver=receiver,
        store=store,
        view=StoredLineage(store, clock),
        evidence=FoldedEvidence(store),
        unready=lambda: ["the store cannot be written; runs wait"] if ingest.failing else [],
        full=waiting.full,
    )
    context = _tls(config)
    runner = web.AppRunner(application(parts), access_log=None, handle_signals=False, shutdown_timeout=5.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    port = await _listen(runner, config, context)
    log.info(
        "listening",
        pid=os.getpid(),
        host=config.host,
        port=port,
        metrics_port=metrics.port,
        adopted=adopted,
    )
    jobs = [_expire(receiver), _keep(api, store, runs, config.watch)]
    if context is not None and config.tls is not None:
        jobs.append(_renewed(context, config.tls))
    return jobs


async def _listen(runner: web.AppRunner, config: LineageConfig, context: ssl.SSLContext | None) -> int:
    try:
        await web.TCPSite(runner, config.host, config.port, ssl_context=context).start()
    except OSError as error:
        raise Unavailable(f"port {config.host}:{config.port} cannot be used: {error.strerror}") from error
    port: int = runner.addresses[0][1]
    return port


def _tls(config: LineageConfig) -> ssl.SSLContext | None:
    if config.tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*config.tls)
    return context


async def _renewed(context: ssl.SSLContext, files: tuple[Path, Path]) -> None:
    """New connections get the certificate that lies there now."""
    known = _stamps(files)
    while True:
        await asyncio.sleep(CERTIFICATE_SECONDS)
        found = _stamps(files)
        if found != known:
            with contextlib.suppress(OSError):  # half of a new pair: the next look finds both
                context.load_cert_chain(*files)
                known = found


def _stamps(files: tuple[Path, Path]) -> list[int]:
    return [path.stat().st_mtime_ns if path.exists() else 0 for path in files]


async def _expire(receiver: Receiver) -> None:
    while True:
        await asyncio.sleep(HOUR)
        try:
            for name in await asyncio.to_thread(receiver.expire):
                log.warning("segment_abandoned", segment=name)
        except (sqlite3.Error, OSError) as error:  # a full disk: at the next hour again
            log.warning("segments_not_expired", error=repr(error))


async def _keep(api: KubeApi, store: LineageStore, runs: GatewayMetrics, watch: tuple[str, ...]) -> None:
    """Hourly, as the workflows say that there are; without the API server nothing is swept."""
    wait = retention.FIRST
    while True:
        await asyncio.sleep(wait + system.jitter(wait / 10))
        wait = retention.PERIOD
        try:
            pages = [await api.list(own("AgentWorkflow"), namespace) for namespace in watch or (None,)]
            items = [item for page in pages for item in page.items]
            runs.keep_workflows({(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items})
            await retention.sweep_all(store, retention.policy_of(items))
        except (SluicegateError, sqlite3.Error, OSError) as error:
            log.warning("retention_failed", error=repr(error))
