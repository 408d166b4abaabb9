"""Plans out of the API server into the plan table: list, watch, resume; for hours without it the last plans stay."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import SluicegateError, Unavailable
from sluicegate.contracts.resources.workflow import Runtime
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import Broken, WorkflowKey
from sluicegate.operator.cluster import names, plan_codec
from sluicegate.operator.cluster.gateways import EVERYWHERE
from sluicegate.operator.cluster.ports import CONFIG_MAPS, KubeReader, Seen
from sluicegate.operator.edge import credentials
from sluicegate.operator.edge.board import PlanBoard
from sluicegate.operator.ports import ChangeType, Json, LoopClock
from sluicegate.operator.resources.store import Expired

PAUSE: Final = 0.2
WORST: Final = 10.0
log = structlog.get_logger(__name__)


class Needed(Protocol):
    """What a plan needs before it is served."""

    async def need(self, plan: RoutePlan) -> None:
        """Fetch its credentials, for a short while at most; never raises for what is missing."""
        ...

    def forget(self, key: WorkflowKey) -> None:
        """The workflow is gone."""
        ...


@dataclass(slots=True, kw_only=True)
class PlanFeed:
    """One scope: a namespace, or all (None). on_written(scope, resourceVersion, generation) after each change."""

    api: KubeReader
    board: PlanBoard
    needed: Needed
    clock: LoopClock
    namespace: str | None
    on_written: Callable[[str, int, int], None]
    trouble: str | None = None
    unreadable: dict[WorkflowKey, Broken] = field(default_factory=dict)
    _version: str | None = None

    async def run(self) -> None:
        """Until cancelled."""
        failures = 0
        while True:
            try:
                if self._version is None:
                    self._version = await self._list()
                self._well()
                failures = 0
                async for seen in self.api.watch(
                    CONFIG_MAPS, self.namespace, labels=plan_codec.LABELS, after=self._version
                ):
                    await self._take(seen)
                    self._version = seen.version
                await self.clock.sleep(PAUSE)
            except Expired:
                self._version = None
            except (SluicegateError, OSError) as error:
                failures += 1
                self._unwell(error)
                await self.clock.sleep(PAUSE + system.jitter(min(WORST, PAUSE * 2.0 ** min(failures, 10))))

    @property
    def _scope(self) -> str:
        return self.namespace or EVERYWHERE

    async def _list(self) -> str:
        page = await self.api.list(CONFIG_MAPS, self.namespace, labels=plan_codec.LABELS)
        self.unreadable.clear()
        held = {WorkflowKey(one.namespace, one.workflow): one for one in await self.board.plans()}
        plans: dict[WorkflowKey, RoutePlan] = {}
        for item in page.items:
            key = _key(item)
            plan = self._read(item) or held.get(key)  # the last one that could be read stays
            if plan is not None and _is_ours(plan):
                plans[key] = plan
        for key in held.keys() - plans.keys():
            if self.namespace in {None, key.namespace}:
                self.needed.forget(key)
        for plan in plans.values():
            await self.needed.need(plan)
        namespaces = None if self.namespace is None else (self.namespace,)
        generation = await self.board.adopt_all(plans.values(), namespaces)
        self.on_written(self._scope, int(page.version), generation)
        return page.version

    async def _take(self, seen: Seen) -> None:
        generation = 0
        if seen.item is not None:
            generation = await self._change(seen.type, seen.item)
        self.on_written(self._scope, int(seen.version), generation or await self.board.generation())

    async def _change(self, kind: ChangeType | None, item: Json) -> int:
        key = _key(item)
        if kind is ChangeType.DELETED:
            self.unreadable.pop(key, None)
            self.needed.forget(key)
            return await self.board.drop(*key)
        plan = self._read(item)
        if plan is None:
            return 0
        if not _is_ours(plan):
            self.needed.forget(key)
            return await self.board.drop(*key)
        await self.needed.need(plan)
        return await self.board.adopt(plan)

    def _read(self, item: Json) -> RoutePlan | None:
        key, found = _key(item), plan_codec.stored(item)
        self.unreadable.pop(key, None)
        if found is None:
            log.warning("plan_spoilt", namespace=key.namespace, workflow=key.workflow)
            return None
        try:
            plan = plan_codec.decode(found)
            credentials.wanted(plan)
        except (Unavailable, TypeError, AttributeError, KeyError) as error:  # the other plans go on
            log.error("plan_unreadable", namespace=key.namespace, workflow=key.workflow, error=str(error))  # noqa: TRY400
            self.unreadable[key] = Broken(key, found.version, str(error))
            return None
        return plan

    def _well(self) -> None:
        if self.trouble is not None:
            log.info("plans_followed_again", scope=self._scope)
        self.trouble = None

    def _unwell(self, error: Exception) -> None:
        if self.trouble is None:
            log.warning("plans_not_followed", scope=self._scope, error=str(error))
        self.trouble = str(error)


def _is_ours(plan: RoutePlan) -> bool:
    """Not a Service's, which answers behind an HTTPRoute: no worker could serve it, and all of them would say so."""
    return plan.stable.spec.get("runtime") != Runtime.SERVICE


def _key(item: Json) -> WorkflowKey:
    labels = item["metadata"].get("labels") or {}
    return WorkflowKey(item["metadata"]["namespace"], labels.get(names.PLAN_LABEL, ""))
