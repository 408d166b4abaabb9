"""The parts of a gateway pod, made and joined in one place."""

import os
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from sluicegate.contracts.errors import SluicegateError
from sluicegate.gateway.protocols.places import CREDENTIALS
from sluicegate.observability.metrics import ProcessMetrics
from sluicegate.operator.cluster.kube import connect
from sluicegate.operator.cluster.kube_access import FileToken, KubeConfig, access_of
from sluicegate.operator.cluster.ports import KubeApi
from sluicegate.operator.cluster.remote import LineageClient
from sluicegate.operator.edge.board import Applied, PlanBoard
from sluicegate.operator.edge.config import EdgeConfig
from sluicegate.operator.edge.credentials import Credentials
from sluicegate.operator.edge.feed import PlanFeed
from sluicegate.operator.edge.lease import Heart
from sluicegate.operator.edge.shipper import Shipper
from sluicegate.operator.edge.voice import Voice
from sluicegate.operator.local.metrics_server import MetricsServer
from sluicegate.operator.local.reservation import PortReservation
from sluicegate.operator.local.state_dir import StateDir
from sluicegate.operator.local.workers import Fleet, Supervisor, boot_name
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import Json
from sluicegate.operator.process import Uncounted, kept

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Parts:
    """Everything that runs. had_plans: an earlier process of this pod left some."""

    config: EdgeConfig
    state: StateDir
    port: int
    supervisor: Supervisor
    credentials: Credentials
    voice: Voice
    heart: Heart
    shipper: Shipper | None
    had_plans: bool
    is_leaving: bool = False

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What runs until cancelled. A bug in one of them must not take the workers down."""
        named = {"credentials": self.credentials.run, "lease": self.heart.run}
        named |= {f"plans of {feed.namespace or 'all'}": feed.run for feed in self.voice.feeds}
        if self.shipper is not None:
            named["runs"] = self.shipper.run
        return (self.supervisor.run(), *(kept(name, job) for name, job in named.items()))

    def readiness(self) -> tuple[bool, Json]:
        """The document of /readyz. Once plans are known the API server's absence changes nothing."""
        live = self.supervisor.ready()
        reasons = ["it stops"] if self.is_leaving else []
        if not live:
            reasons.append(f"none of {self.config.workers} workers listens")
        if not self.had_plans and self.voice.last is None:
            reasons.append("no plans were read yet")
        document: Json = {"ready": not reasons, "reasons": reasons, "gateway": self.config.name}
        document |= {"workers": live, **self.voice.document(), "credentials": self.credentials.problems()}
        document["leaseUnwritten"] = self.heart.trouble
        document["runsUnshipped"] = self.shipper.failing if self.shipper is not None else None
        return not reasons, document

    def listening(self, metrics_port: int) -> None:
        """Say where."""
        host = self.config.host
        log.info("listening", pid=os.getpid(), host=host, port=self.port, metrics_port=metrics_port)


async def assemble(config: EdgeConfig, state: StateDir, stack: AsyncExitStack) -> tuple[Parts, MetricsServer]:
    """Open, start and join everything but the long jobs; `stack` undoes it."""
    clock, registry = HostClock(), CollectorRegistry()
    processes = ProcessMetrics(registry)
    port = PortReservation(config.host, config.port)
    stack.callback(port.close)
    board = PlanBoard(state.plans, clock)
    stack.push_async_callback(board.close)
    for worker in await board.workers():  # of an earlier process; one that still lives says so again
        await board.forget(worker)
    kube = KubeConfig(kubeconfig=config.kubeconfig, context=config.context)
    api = await stack.enter_async_context(connect(kube, Uncounted()))
    plans = await board.plans()
    credentials = Credentials(
        api=api, folder=state.root / CREDENTIALS, clock=clock, period=config.secret_seconds
    )
    credentials.start(plans)
    voice, heart = _voice(config, board, api, credentials, clock)
    parts = Parts(
        config=config,
        state=state,
        port=port.port,
        supervisor=_supervisor(config, state, port.port, board, processes),
        credentials=credentials,
        voice=voice,
        heart=heart,
        shipper=_shipper(config, state, kube, processes, stack),
        had_plans=bool(plans),
    )
    metrics = MetricsServer(registry, config.host, config.metrics_port, ready=parts.readiness)
    await metrics.start()
    stack.push_async_callback(metrics.stop)
    return parts, metrics


def _voice(
    config: EdgeConfig, board: PlanBoard, api: KubeApi, credentials: Credentials, clock: HostClock
) -> tuple[Voice, Heart]:
    voice = Voice(serves=config.watch, board=board, applied=Applied())
    heart = Heart(
        api=api,
        gateway=config.name,
        namespace=config.namespace,
        pod=config.pod,
        clock=clock,
        said=voice.acknowledged,
        busy=voice.applied.is_waiting,
    )

    def written(scope: str, revision: int, generation: int) -> None:
        voice.applied.written(scope, revision, generation)
        heart.wake.set()

    voice.feeds = tuple(
        PlanFeed(
            api=api, board=board, needed=credentials, clock=clock, namespace=namespace, on_written=written
        )
        for namespace in config.watch or (None,)
    )
    return voice, heart


def _supervisor(
    config: EdgeConfig, state: StateDir, port: int, board: PlanBoard, processes: ProcessMetrics
) -> Supervisor:
    async def died(name: str, code: int, delay: float) -> None:
        processes.restarted()
        log.warning("gateway_worker_died", worker=name, code=code, restart_in=delay)
        try:
            await board.forget(name)
        except SluicegateError as error:
            log.warning("gateway_worker_not_forgotten", worker=name, error=str(error))

    fleet = Fleet(
        state=state.root,
        host=config.host,
        port=port,
        count=config.workers,
        boot=boot_name(),
        logs_to_stderr=True,
    )
    return Supervisor(fleet, HostClock(), on_death=died, on_ready=processes.workers)


def _shipper(
    config: EdgeConfig, state: StateDir, kube: KubeConfig, processes: ProcessMetrics, stack: AsyncExitStack
) -> Shipper | None:
    if config.lineage_url is None:
        log.warning("runs_stay_here", reason="there is no --lineage-url")
        return None
    token = FileToken(config.lineage_token) if config.lineage_token is not None else access_of(kube).token
    client = LineageClient(config.lineage_url, token, authority=config.lineage_ca)
    stack.push_async_callback(client.close)
    shipper = Shipper(
        spool=state.spool,
        gateway=config.name,
        client=client,
        clock=HostClock(),
        on_lag=processes.lag,
        on_failure=processes.ingest_failed,
    )
    stack.callback(shipper.close)
    return shipper
