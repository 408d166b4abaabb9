"""One rule of an HTTPRoute at a time: read, compared, changed in one write, and left behind."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Refused, SluicegateError, Unavailable
from sluicegate.operator.cluster import names, route_checks, route_fights
from sluicegate.operator.cluster.ports import HTTP_ROUTES, Fence, KubeApi, NotServed
from sluicegate.operator.cluster.route_fights import Fight
from sluicegate.operator.cluster.route_held import HeldRoutes, Key
from sluicegate.operator.ports import Json, LoopClock
from sluicegate.rollout import service_routes, service_wishes
from sluicegate.rollout.model import Trouble
from sluicegate.rollout.service_wishes import Wanted

log = structlog.get_logger(__name__)

ATTEMPTS: Final = 4
"""Conflicts in a row before others are let go first."""


class RouteMetrics(Protocol):
    """What is counted."""

    def repaired(self, namespace: str, workflow: str, field: str) -> None:
        """A change of somebody else was put right. field: backendRefs, filters or annotations."""
        ...


class Uncounted:
    """RouteMetrics of nobody."""

    def repaired(self, namespace: str, workflow: str, field: str) -> None:
        """Nothing."""


@dataclass(slots=True, kw_only=True)
class Line:
    """A workflow's rule. settled: it was as wanted under this plan, so that whatever it is now, somebody changed it.
    over: another plan holds, or none; nothing is written for this one any more.
    """

    version: int
    target: Wanted
    trouble: Trouble | None = None
    settled: bool = False
    over: bool = False
    fight: Fight = field(default_factory=Fight)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def key(self) -> Key:
        """The workflow's."""
        return self.target.namespace, self.target.workflow

    @property
    def route(self) -> Key:
        """The HTTPRoute's."""
        return self.target.namespace, self.target.route


class Rules:
    """Changes to the routes that lines lead to."""

    def __init__(self, api: KubeApi, fence: Fence, clock: LoopClock, metrics: RouteMetrics) -> None:
        self._api, self._fence, self._clock, self._metrics = api, fence, clock, metrics
        self.routes = HeldRoutes(api, clock)

    async def route(self, line: Line, *, again: bool = False) -> Json | Trouble:
        """As last seen or written. again: what may be old is read anew."""
        namespace, name = line.route
        try:
            held = await self.routes.route(line.route, again=again)
        except NotServed:
            return _not_served(line.target)
        except (Forbidden, Unavailable) as error:  # a look goes on without it: people may abort meanwhile
            return _refused(line.target, error)
        if held is not None:
            return held
        said = (
            f"HTTPRoute {name} is not there in {namespace}: create it, or name another in spec.service.route"
        )
        return Trouble(reason="RouteMissing", message=said, stalls=True)

    async def program(self, line: Line) -> None:
        """Make the rule as wanted, or note why it is not."""
        async with line.lock:
            for _ in range(ATTEMPTS):
                try:
                    line.trouble = await self._once(line)
                except (Conflict, NotFound):
                    self.routes.forget(line.route)
                    continue
                except (Forbidden, Refused, Unavailable) as error:
                    line.trouble = _refused(line.target, error)
                return
            said = f"HTTPRoute {line.target.route} changes faster than it can be changed"
            line.trouble = Trouble(reason="RouteRefused", message=said, lasting=True)

    async def _once(self, line: Line) -> Trouble | None:
        route = await self.route(line, again=True)
        if isinstance(route, Trouble):
            return route
        operations = service_routes.patch(route, line.target)
        if isinstance(operations, Trouble):
            return operations
        if not operations:
            if line.fight.against is not None:
                line.fight.forget()
            line.settled = True
            return None
        trouble = self._fought(line, route, operations) or await self._unready(line, route)
        if trouble is not None or line.over:
            return trouble
        self.routes.keep(await self._written(route, operations))
        if line.settled:
            self._metrics.repaired(*line.key, route_fights.changed_by(operations))
        line.settled = True
        return None

    def _fought(self, line: Line, route: Json, operations: tuple[Json, ...]) -> Trouble | None:
        """Note who changed it, once for each version; a Trouble when it is left to them."""
        now, version = self._clock.monotonic(), route["metadata"]["resourceVersion"]
        if line.settled and line.fight.is_new(version):
            writer = route_fights.last_writer(route)
            line.fight.flip(writer, route_fights.changed_by(operations), version, now)
            namespace, workflow = line.key
            log.warning(
                "route_changed_by_others",
                namespace=namespace,
                workflow=workflow,
                route=line.target.route,
                manager=writer,
            )
        if line.fight.against is not None and line.fight.is_over(now):
            line.fight.forget()
        return line.fight.trouble(line.target.route)

    async def _unready(self, line: Line, route: Json) -> Trouble | None:
        """Why the rule may not lead to a backend that it does not lead to yet; stable is there already."""
        target = line.target
        for backend in target.backends:
            is_stable = backend == target.weights[0][0]
            if is_stable or service_routes.mentions(route, target, backend):
                continue
            found = await route_checks.backend_trouble(self._api, target.namespace, backend)
            if found is not None:
                return found
            if target.mirror is not None:
                return await route_checks.mirror_trouble(self._api, route)
        return None

    async def leave(self, left: Wanted) -> None:
        """Stable alone, and the claim off. What cannot be changed is told and left: it must not keep a workflow alive."""
        target = service_wishes.stable_only(left)
        line = Line(version=0, target=target)
        try:
            for _ in range(ATTEMPTS):
                try:
                    await self._let_go(line)
                except Conflict:
                    continue
                return
        except NotFound:
            return
        except NotServed as error:
            log.warning("route_not_left", route=target.route, namespace=target.namespace, reason=str(error))
            return
        except (Forbidden, Refused) as error:
            log.warning("route_not_left", route=target.route, namespace=target.namespace, reason=str(error))
            return
        raise Conflict(f"HTTPRoute {target.route} changes faster than it can be changed")

    async def _let_go(self, line: Line) -> None:
        """One write after another: the split first."""
        target = line.target
        route = await self._api.get(HTTP_ROUTES, *line.route)
        operations = service_routes.patch(route, target)
        if isinstance(operations, Trouble):
            log.warning(
                "route_not_left", route=target.route, namespace=target.namespace, reason=operations.message
            )
            operations = ()
        route = await self._written(route, operations)
        route = await self._written(route, service_routes.release(route, target.workflow))
        if self.routes.get(line.route) is not None:
            self.routes.keep(route)

    async def _written(self, route: Json, operations: Sequence[Json]) -> Json:
        """As stored; `route` itself when there is nothing to change."""
        if not operations:
            return route
        self._fence.epoch()
        metadata = route["metadata"]
        return await self._api.patch(
            HTTP_ROUTES, metadata["namespace"], metadata["name"], operations, manager=names.ROUTES
        )


def _not_served(target: Wanted) -> Trouble:
    """Without the kind there is no route, and nobody is led to the candidate."""
    kind = f"{HTTP_ROUTES.plural}.{HTTP_ROUTES.group} {HTTP_ROUTES.version}"
    said = f"the API server does not serve {kind}: install the Gateway API, then create HTTPRoute {target.route} in {target.namespace}"
    return Trouble(reason="RoutesNotServed", message=said, stalls=True)


def _refused(target: Wanted, error: SluicegateError) -> Trouble:
    """A person is needed, unless nobody answered."""
    said = f"HTTPRoute {target.route} is not changed: {error}"
    return Trouble(
        reason="RouteRefused", message=said, stalls=not isinstance(error, Unavailable), lasting=True
    )
