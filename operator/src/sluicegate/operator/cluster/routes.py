"""Plans of Services: kept like all plans, and programmed into a rule of their HTTPRoute.

Told of routes by `seen_route`, and that somebody watches them by `follows`; routes that nobody watches (the account may not,
or the kind came later) are read every RETRY_SECONDS. Own writes are visible at once. What others change in our rule is put right within one
event; one who goes on is left alone and named (`route_fights`). The order is capacity, identity, weight: a candidate's
Service is seen to answer before the rule leads to it, and all of a rule's change is one write.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from sluicegate.contracts.routes import RoutePlan
from sluicegate.operator.cluster.ports import Fence, KubeApi
from sluicegate.operator.cluster.route_held import Key
from sluicegate.operator.cluster.route_rules import Line, RouteMetrics, Rules, Uncounted
from sluicegate.operator.ports import GatewayView, Json, LoopClock, PlanSink, Programmed
from sluicegate.rollout import service_routes, service_wishes
from sluicegate.rollout.model import Trouble
from sluicegate.rollout.service_parents import acknowledged

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 5.0


class Plans(PlanSink, GatewayView, Protocol):
    """Both sides of the plans."""


def untold(namespace: str, workflow: str) -> None:
    """Nobody is told."""


class RoutedPlans:
    """`PlanSink` and `GatewayView`. Only the leader writes; `fence` is asked before each write.

    told: called with namespace and workflow when what `programmed` answers may have changed without an event of the
    route, from `run`.
    """

    def __init__(
        self,
        inner: Plans,
        api: KubeApi,
        fence: Fence,
        clock: LoopClock,
        *,
        metrics: RouteMetrics | None = None,
        told: Callable[[str, str], None] = untold,
    ) -> None:
        self._inner, self._clock, self._told = inner, clock, told
        self._rules = Rules(api, fence, clock, metrics or Uncounted())
        self._lines: dict[Key, Line] = {}
        self._due: set[Key] = set()
        self._wake = asyncio.Event()

    async def write(self, plan: RoutePlan) -> None:
        """Publish, and program the route. What the route does not take is told by `programmed`, and tried again."""
        target = service_wishes.wanted(plan)
        if target is None:
            await self._inner.write(plan)
            return
        key = (plan.namespace, plan.workflow)
        held = await self._inner.plan(*key)
        left = None if held is None else service_wishes.wanted(held)
        if left is not None and (left.route, left.rule) != (target.route, target.rule):
            self._end(key)
            await self._rules.leave(left)
        await self._inner.write(plan)
        stored = await self._inner.plan(*key)
        line = None if stored is None else self._line(key, stored)
        if line is not None:
            await self._rules.program(line)

    async def remove(self, namespace: str, workflow: str) -> None:
        """The rule leads to stable alone and is nobody's, then the plan goes."""
        held = await self._inner.plan(namespace, workflow)
        left = None if held is None else service_wishes.wanted(held)
        line = self._end((namespace, workflow))
        if left is not None:
            await self._rules.leave(left)
        if line is not None and not any(other.route == line.route for other in self._lines.values()):
            self._rules.routes.forget(line.route)
        await self._inner.remove(namespace, workflow)

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        """As published."""
        return await self._inner.plan(namespace, workflow)

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        """Of a Service: its version when the rule is as wanted and every parent accepted it, else 0 and why."""
        held = await self._inner.plan(namespace, workflow)
        line = None if held is None else self._line((namespace, workflow), held)
        if line is None:
            return await self._inner.programmed(namespace, workflow)
        route = await self._rules.route(line)
        if isinstance(route, Trouble):
            return Programmed(
                version=0, gateways=int(route.lasting), trouble=route
            )  # no route: nobody to wait for
        operations = service_routes.patch(route, line.target)
        if operations:
            trouble = operations if isinstance(operations, Trouble) else line.trouble
            return Programmed(version=0, gateways=1, trouble=trouble)
        line.settled = True
        answer = acknowledged(route)
        if isinstance(answer, Trouble):
            return Programmed(version=0, gateways=1, trouble=answer)
        return Programmed(version=line.version if answer else 0, gateways=1)

    def seen_route(self, item: Json, *, deleted: bool) -> tuple[Key, ...]:
        """An HTTPRoute as it is now, or was last, with its managedFields. The workflows to look at."""
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        if not self._rules.routes.seen(item, deleted=deleted):
            return ()
        found = tuple(workflow for workflow, line in self._lines.items() if line.route == key)
        self._queue(*found)
        return found

    def follows(self, namespace: str | None) -> None:
        """`seen_route` is told of the routes there (None: everywhere). Not said for long: they are read now and then."""
        self._rules.routes.follows(namespace)

    async def run(self) -> None:
        """Put right what was changed, and try again what could not be done; until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._serve())
            group.create_task(self._try_again())

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = self._due, set()
            for key in sorted(due):
                line = self._lines.get(key)
                if line is not None and await self._safely(line):
                    self._told(*key)

    async def _try_again(self) -> None:
        while True:
            await self._clock.sleep(RETRY_SECONDS)
            self._queue(*(key for key, line in self._lines.items() if self._is_open(line)))

    def _is_open(self, line: Line) -> bool:
        followed = self._rules.routes.is_followed(line.target.namespace)
        return line.trouble is not None or not line.settled or not followed

    async def _safely(self, line: Line) -> bool:
        """Whether something came of it."""
        before = (line.trouble, self._rules.routes.get(line.route))
        try:
            await self._rules.program(line)
        except Exception:  # a bug in one route must not stop the others
            log.exception("route_crashed", route=line.target.route, namespace=line.target.namespace)
        return before != (line.trouble, self._rules.routes.get(line.route))

    def _queue(self, *keys: Key) -> None:
        self._due.update(keys)
        if self._due:
            self._wake.set()

    def _line(self, key: Key, plan: RoutePlan) -> Line | None:
        """Of the plan as stored; a new plan starts anew, also with those who fought the one before."""
        target, held = service_wishes.wanted(plan), self._lines.get(key)
        if target is None:
            self._end(key)
            return None
        if held is not None and (held.version, held.target) == (plan.version, target):
            return held
        self._end(key)
        self._lines[key] = line = Line(version=plan.version, target=target)
        self._queue(key)
        return line

    def _end(self, key: Key) -> Line | None:
        """Its plan holds no more: who is programming it just now must not write over what comes after it."""
        line = self._lines.pop(key, None)
        if line is not None:
            line.over = True
        return line
