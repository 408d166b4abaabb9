"""A replica of the operator: what ``python -m sluicegate.operator controller`` calls.

    main thread ── event loop: election, control loop (leader), webhook, probes, certificates
    thread      ── kopf: lists and watches

Start: settings → rights and kinds → everything read → webhook → election. Stop, on SIGTERM: no other look begins, the
looks under way end (but a proof, which the next leader makes), the Lease is given back, and the webhook closes last.
Nothing needs the stop.
"""

import argparse
import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import structlog

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.operator.cluster import assembly, assembly_checks, certificates
from sluicegate.operator.cluster.assembly_feeds import follow_home
from sluicegate.operator.cluster.certificates import Pair
from sluicegate.operator.cluster.certificates_keeper import Address, Keeper
from sluicegate.operator.cluster.config import ControllerConfig, config_of
from sluicegate.operator.cluster.elector import Stuck, Work, boottime
from sluicegate.operator.cluster.health import Health
from sluicegate.operator.cluster.informer import Informer
from sluicegate.operator.cluster.informer_sinks import TellingSink
from sluicegate.operator.cluster.webhook import WebhookServer
from sluicegate.operator.local import logs
from sluicegate.operator.local.metrics_server import MetricsServer
from sluicegate.operator.process import stop_by_signal, told

REPORT_SECONDS = 15.0
LINGER_SECONDS = 3.0
"""Behind a Service requests still come for a moment after the pod is no more ready."""
log = structlog.get_logger(__name__)


def main(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Exit code: 0 asked to stop; 2 a wrong setting or missing kinds, 4 missing rights, 6
    the API server or a port cannot be used, or the informer ended; 1 a leader's work that did not stop, or a bug.
    """
    logs.configure_stderr()
    logging.getLogger("kopf").setLevel(logging.WARNING)  # below it tells whole objects
    try:
        asyncio.run(_until_signal(config_of(arguments)))
    except (SluicegateError, OSError, BaseExceptionGroup) as error:
        return told("controller_failed", error)
    return 0


async def _until_signal(config: ControllerConfig) -> None:
    stop = stop_by_signal()
    async with AsyncExitStack() as stack:
        replica = Replica(await assembly.assemble(config, stack))
        await replica.open(stack)
        life, asked = asyncio.ensure_future(replica.live()), asyncio.ensure_future(stop.wait())
        await asyncio.wait({life, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        try:
            await replica.leave()
            life.cancel()
            await asyncio.wait({life})
            if not life.cancelled():
                life.result()
        except (Stuck, BaseExceptionGroup) as error:
            _require_stoppable(error)
            raise
    log.info("controller_stopped")


def _require_stoppable(error: BaseException) -> None:
    """A loop whose work does not stop cannot be closed either; nobody may write in its name."""
    stuck = (
        error
        if isinstance(error, Stuck)
        else error.subgroup(Stuck)
        if isinstance(error, BaseExceptionGroup)
        else None
    )
    if stuck is not None:
        log.error("controller_stuck", error=str(error))
        os._exit(1)


@dataclass(slots=True)
class Replica:
    """One process. `live` until cancelled, then `leave`."""

    parts: assembly.Parts
    informer: Informer | None = None
    webhook: WebhookServer | None = None
    keeper: Keeper | None = None
    is_leaving: bool = False
    _election: asyncio.Task[None] | None = field(default=None)

    async def open(self, stack: AsyncExitStack) -> None:
        """Probes answer from now on."""
        config = self.parts.config
        health = Health(
            silent=lambda: self.informer.silent() if self.informer else [],
            answered=lambda: boottime() - self.parts.elector.answered,
            facts={
                "everything is read": self._is_synced,
                "the certificate is there": lambda: (
                    self.keeper is not None and self.keeper.served is not None
                ),
                "the webhook listens": lambda: self.webhook is not None and self.webhook.is_listening,
                "it goes on": lambda: not self.is_leaving,
            },
            about=lambda: {"identity": config.identity, "leader": self.parts.elector.holder()},
        )
        server = MetricsServer(
            self.parts.registry,
            config.metrics_host,
            config.metrics_port,
            ready=health.ready,
            ailing=health.ailing,
        )
        await server.start()
        stack.push_async_callback(server.stop)
        log.info("controller_starts", identity=config.identity, pid=os.getpid(), metrics_port=server.port)

    async def live(self) -> None:
        """Everything, in its order; raises when something ends that should not."""
        parts, config = self.parts, self.parts.config
        with_routes = await self._checked()
        gateways = TellingSink(parts.feeds.gateway)
        self.informer = Informer(
            access=parts.access,
            sources=parts.feeds.sources(gateways, with_routes=with_routes),
            monotonic=boottime,
            namespaces=config.watch,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informer.run())
            group.create_task(self._report())
            home = asyncio.Event()
            if config.watch and config.namespace not in config.watch:
                group.create_task(follow_home(parts.api, config.namespace, gateways, home))
            else:
                home.set()
            async with asyncio.timeout(config.start_seconds):
                await self.informer.synced.wait()
                await home.wait()
            group.create_task((await self._serve()).run())
            self._election = group.create_task(parts.elector.run(self._work()))

    async def leave(self) -> None:
        """End well: nothing is lost, nobody waits for us."""
        self.is_leaving = True
        begun = asyncio.get_running_loop().time()
        config = self.parts.config
        log.info("controller_stops")
        if self._election is not None:
            try:
                async with asyncio.timeout(config.stop_seconds):
                    await self.parts.leading.drain()
            except (TimeoutError, SluicegateError) as error:
                log.warning("looks_cut_off", reason=str(error) or "they took too long")
            self._election.cancel()
            await asyncio.wait({self._election})
            await self._tell_the_rest()
            await self.parts.elector.release()
        if self.webhook is not None:
            if config.webhook_url is None:
                await asyncio.sleep(begun + LINGER_SECONDS - asyncio.get_running_loop().time())
            await self.webhook.stop()

    async def _tell_the_rest(self) -> None:
        """Events of the last looks, while this replica still leads."""
        try:
            async with asyncio.timeout(1.0):
                await self.parts.leading.events.flush()
        except (TimeoutError, SluicegateError) as error:
            log.warning("events_untold", reason=str(error) or "they took too long")

    async def _checked(self) -> bool:
        """Rights and kinds; whether routes may be followed."""
        config, api = self.parts.config, self.parts.api
        wanted = list(assembly_checks.rights(config.namespace, config.watch))
        await self._patiently(lambda: assembly_checks.require_rights(api, wanted))
        await self._patiently(
            lambda: assembly_checks.require_kinds(api, config.watch[0] if config.watch else config.namespace)
        )
        return await assembly_checks.may_route(api, config.watch)

    async def _serve(self) -> Keeper:
        """The webhook answers, and is trusted."""
        parts, config = self.parts, self.parts.config
        self.webhook = webhook = WebhookServer(
            config.webhook_host, config.webhook_port, parts.admitter(self._is_synced), parts.telemetry
        )
        await webhook.start()
        url = config.webhook_url.replace("{port}", str(webhook.port)) if config.webhook_url else None

        def serve(pair: Pair) -> None:
            webhook.use(pair)
            parts.telemetry.certificate(certificates.expires(pair).timestamp())

        address = Address(namespace=config.namespace, url=url)
        keeper = Keeper(api=parts.api, address=address, clock=SystemClock(), serve=serve)
        await self._patiently(keeper.once)
        self.keeper = keeper
        log.info("webhook_listening", port=webhook.port, url=url)
        return keeper

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """An API server that is not there yet is waited for."""
        deadline = boottime() + self.parts.config.start_seconds
        while True:
            try:
                return await step()
            except Unavailable as error:
                if boottime() > deadline:
                    raise
                log.warning("waiting_for_the_api_server", reason=str(error))
                await asyncio.sleep(1.0)

    async def _report(self) -> None:
        while True:
            self.parts.telemetry.cached(self.parts.cache.counts())
            await asyncio.sleep(REPORT_SECONDS)

    def _work(self) -> Work:
        parts = self.parts
        return Work(
            run=parts.leading.run,
            told=parts.telemetry.leads,
            floor=lambda: parts.epochs.highest,
            stop_seconds=parts.config.stop_seconds,
        )

    def _is_synced(self) -> bool:
        return self.informer is not None and self.informer.synced.is_set()
