"""What comes in from the API server, and whom it is told to."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from sluicegate.contracts.errors import SluicegateError
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.assembly_checks import FOLLOWED
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.informer import Source
from sluicegate.operator.cluster.informer_sinks import CacheSink, Highest, TellingSink
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.cluster.ports import CONFIG_MAPS, HTTP_ROUTES, LEASES, KubeReader, own
from sluicegate.operator.cluster.routes import RoutedPlans
from sluicegate.operator.ports import ChangeType, Json
from sluicegate.operator.resources.store import Expired

GATEWAYS = {names.GATEWAY_LABEL: "true"}
RETRY_SECONDS = 5.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """moved: namespace and name of a workflow whose plan, gateways or route moved."""

    cache: Cache
    epochs: Highest
    plans: ConfigMapPlans
    routes: RoutedPlans
    moved: Callable[[str, str], None]

    def sources(self, gateways: TellingSink, *, with_routes: bool) -> tuple[Source, ...]:
        """Everything that the informer follows."""
        selector = ",".join(f"{key}={value}" for key, value in GATEWAYS.items())
        ours = (Source(api=own(kind), sink=CacheSink(kind, self.cache, self.epochs)) for kind in FOLLOWED)
        others = (
            Source(api=CONFIG_MAPS, sink=TellingSink(self._plan), labels=names.PLAN_LABEL),
            Source(api=LEASES, sink=gateways, labels=selector),
        )
        if not with_routes:
            return (*ours, *others)
        follows = self.routes.follows
        routes = Source(api=HTTP_ROUTES, sink=TellingSink(self._route), optional=True, alive=follows)
        return (*ours, *others, routes)

    def gateway(self, item: Json, deleted: bool) -> None:
        """A gateway's Lease."""
        self._tell(self.plans.seen_gateway(item, deleted=deleted))

    def _plan(self, item: Json, deleted: bool) -> None:
        key = self.plans.seen_plan(item, deleted=deleted)
        self._tell(() if key is None else (key,))

    def _route(self, item: Json, deleted: bool) -> None:
        self._tell(self.routes.seen_route(item, deleted=deleted))

    def _tell(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            self.moved(*key)


async def follow_home(api: KubeReader, namespace: str, sink: TellingSink, listed: asyncio.Event) -> None:
    """Gateways beside an operator that watches other namespaces only: kopf has one set of namespaces for all kinds.

    listed: set once those that there are were told; before, it would look as if nobody had to follow a plan.
    """
    while True:
        try:
            await _follow(api, namespace, sink, listed)
        except Expired:
            continue
        except SluicegateError as error:
            log.warning("gateways_not_followed", namespace=namespace, reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)


async def _follow(api: KubeReader, namespace: str, sink: TellingSink, listed: asyncio.Event) -> None:
    page = await api.list(LEASES, namespace, labels=GATEWAYS)
    sink.listed(page.items, page.version, namespace)
    listed.set()
    after = page.version
    while True:
        async for seen in api.watch(LEASES, namespace, labels=GATEWAYS, after=after):
            after = seen.version
            if seen.item is not None:
                sink.seen(seen.item, deleted=seen.type is ChangeType.DELETED)
        await asyncio.sleep(1.0)
