"""Our admission server in this process, and the API server told of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from aiohttp import web

from sluicegate.contracts.adapters import system
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.admitter import ClusterAdmitter
from sluicegate.operator.cluster.assembly import CAPABILITIES
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.certificates import Ages
from sluicegate.operator.cluster.certificates_keeper import Address, Keeper
from sluicegate.operator.cluster.kube import DynamicApi, connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.webhook import WebhookServer
from tests.controlplane.plane import ControlPlane

SYSTEM = names.SYSTEM_NAMESPACE


@dataclass
class Counts:
    """Of the server: paths and codes."""

    admissions: list[tuple[str, int]] = field(default_factory=list)

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        pass

    def admitted(self, path: str, code: int, seconds: float) -> None:
        self.admissions.append((path, code))


@dataclass
class MovedClock:
    """The host's, `behind` ago. What it makes is valid now, as long as it is not behind for too long."""

    behind: timedelta = timedelta()

    def now(self) -> datetime:
        return system.now() - self.behind


class Watched(WebhookServer):
    """Remembers the connection over which each path was asked last."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connections: dict[str, Any] = {}

    async def _answer(self, kind: str, request: web.Request, *args: Any, **more: Any) -> web.Response:
        assert request.transport is not None
        self.connections[request.path] = request.transport.get_extra_info("peername")
        return await super()._answer(kind, request, *args, **more)


@dataclass
class Served:
    """The parts of it, for tests to turn."""

    api: DynamicApi
    keeper: Keeper
    server: Watched
    cache: Cache
    counts: Counts
    is_synced: bool = True


@asynccontextmanager
async def serving(plane: ControlPlane, clock: MovedClock, ages: Ages) -> AsyncIterator[Served]:
    """One replica's webhook, and the API server told of it."""
    counts, cache = Counts(), Cache()
    async with connect(KubeConfig(kubeconfig=plane.kubeconfig()), counts) as api:
        admitter = ClusterAdmitter(
            api=api,
            cache=cache,
            clock=clock,
            controller=names.account(names.OPERATOR_ACCOUNT),
            synced=lambda: served.is_synced,
            capabilities=CAPABILITIES,
        )
        server = Watched("127.0.0.1", 0, admitter, counts)
        await server.start()
        address = Address(namespace=SYSTEM, url=f"https://127.0.0.1:{server.port}")
        keeper = Keeper(api=api, address=address, clock=clock, serve=server.use, ages=ages)
        served = Served(api, keeper, server, cache, counts)
        _forget_certificates(plane)  # of an operator that ran here before
        try:
            await keeper.once()
            yield served
        finally:
            await server.stop()
            _forget_certificates(plane)


def _forget_certificates(plane: ControlPlane) -> None:
    plane.kubectl("delete", "secret", names.WEBHOOK_SECRET, "-n", SYSTEM, "--ignore-not-found")
