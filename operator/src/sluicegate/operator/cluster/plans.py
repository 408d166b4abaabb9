"""`ports.PlanSink` and `ports.GatewayView` over ConfigMaps and the gateways' Leases.

Told of both by `seen_plan` and `seen_gateway`; own writes are visible at once. Plans are held packed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts.errors import Conflict, NotFound
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import WorkflowKey
from sluicegate.operator.cluster import gateways, names, plan_codec
from sluicegate.operator.cluster.gateways import Acknowledged
from sluicegate.operator.cluster.plan_codec import Stored
from sluicegate.operator.cluster.ports import CONFIG_MAPS, Fence, KubeApi
from sluicegate.operator.ports import Json, LoopClock, Programmed
from sluicegate.rollout.model import Trouble

OwnerOf = Callable[[str, str], str | None]
"""The uid of an AgentWorkflow by namespace and name; None when it is not known."""

_HISTORY: Final = 8
"""Versions of one plan that are remembered with the resourceVersion at which they were first seen."""


@dataclass(slots=True)
class _Known:
    """A workflow's plan as last seen. since: the newest versions, oldest first, with where they were first seen."""

    stored: Stored
    since: tuple[tuple[int, int], ...]

    def follow(self, found: Stored) -> None:
        """The ConfigMap is now `found`."""
        if found.uid != self.stored.uid:
            self.since = ()
        if not self.since or self.since[-1][0] != found.version:
            kept = tuple(one for one in self.since if one[0] < found.version)
            self.since = (*kept, (found.version, found.revision))[-_HISTORY:]
        self.stored = found


class ConfigMapPlans:
    """Plans of every watched namespace. Only the leader writes; `fence` is asked before each write."""

    def __init__(self, api: KubeApi, fence: Fence, clock: LoopClock, owner_of: OwnerOf) -> None:
        self._api, self._fence, self._clock, self._owner_of = api, fence, clock, owner_of
        self._plans: dict[WorkflowKey, _Known] = {}
        self._removed: dict[WorkflowKey, str] = {}
        self._gateways = gateways.Liveness()
        self._last: tuple[Stored, RoutePlan] | None = None  # decoded: a look asks for a plan more than once

    async def write(self, plan: RoutePlan) -> None:
        """Publish. An older version than the published one has no effect, the same one only moves its lease. Conflict
        when somebody else wrote meanwhile; Refused, with sizes, when the plan is too large.
        """
        key = WorkflowKey(plan.namespace, plan.workflow)
        known = self._plans.get(key)
        if not plan_codec.is_news(known.stored if known else None, plan):
            return
        if known is not None:
            uid, version = known.stored.uid, known.stored.resource_version
        else:
            uid, version = await self._begun(key)
        owner = self._owner_of(*key)
        item = plan_codec.encode(plan, owner=owner, resource_version=version)
        item["metadata"]["uid"] = uid
        self._fence.epoch()
        try:
            self.seen_plan(await self._api.apply(CONFIG_MAPS, item, manager=names.PLANS), deleted=False)
        except (Conflict, NotFound) as error:
            await self._look_again(key)
            raise Conflict(f"the plan of {plan.namespace}/{plan.workflow} was written meanwhile") from error

    async def remove(self, namespace: str, workflow: str) -> None:
        """Forget the workflow; nothing when there is no plan."""
        key = WorkflowKey(namespace, workflow)
        known = self._plans.get(key)
        try:
            uid = known.stored.uid if known else (await self._held(key))["metadata"]["uid"]
            self._fence.epoch()
            if known:  # marked before the answer, since the watch may tell of the end first, and never again
                self._removed[key] = uid
            await self._api.delete(CONFIG_MAPS, namespace, names.plan_name(workflow), uid=uid)
        except BaseException as error:
            self._removed.pop(key, None)
            if not isinstance(error, NotFound):
                raise
        self._plans.pop(key, None)

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        """As published."""
        known = self._plans.get(WorkflowKey(namespace, workflow))
        if known is None:
            return None
        if self._last is None or self._last[0] is not known.stored:
            self._last = known.stored, plan_codec.decode(known.stored)
        return self._last[1]

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        """The version that every living gateway of the namespace serves at least."""
        key = WorkflowKey(namespace, workflow)
        alive = self._gateways.alive(namespace, self._clock.monotonic())
        known = self._plans.get(key)
        if known is None or not alive:
            return Programmed(version=0, gateways=len(alive))
        version = min(_served(said, key, known) for _, said in alive)
        return Programmed(version=version, gateways=len(alive), trouble=_trouble(alive, key, known))

    def seen_plan(self, item: Json, *, deleted: bool) -> WorkflowKey | None:
        """A plan's ConfigMap as it is now, or was last. The workflow whose plan moved; None when nothing is new."""
        workflow = (item["metadata"].get("labels") or {}).get(names.PLAN_LABEL)
        if not workflow:
            return None
        key = WorkflowKey(item["metadata"]["namespace"], workflow)
        known, uid = self._plans.get(key), item["metadata"]["uid"]
        if deleted:
            if self._removed.get(key) == uid:
                del self._removed[key]
            if known is None or known.stored.uid != uid:
                return None
            del self._plans[key]
            return key
        found = plan_codec.readable(item)
        if found is None:
            return self._spoilt(key)
        if self._removed.get(key) == uid or (known is not None and known.stored.revision >= found.revision):
            return None
        if known is None:
            self._plans[key] = _Known(found, ((found.version, found.revision),))
        else:
            known.follow(found)
        return key

    def seen_gateway(self, item: Json, *, deleted: bool) -> frozenset[WorkflowKey]:
        """A gateway's Lease as it is now, or was last. The workflows whose `programmed` it may have moved."""
        told = self._gateways.seen(item, self._clock.monotonic(), deleted=deleted)
        if not told:
            return frozenset()
        return frozenset(key for key, known in self._plans.items() if _moves(told, key, known))

    async def _begun(self, key: WorkflowKey) -> tuple[str, str]:
        """An empty ConfigMap, so that the plan itself is written with a precondition: (uid, resourceVersion).

        Gateways do not see it: it has no label yet.
        """
        bare: Json = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {"name": names.plan_name(key.workflow), "namespace": key.namespace},
        }
        self._fence.epoch()
        try:
            made = await self._api.create(CONFIG_MAPS, bare, manager=names.PLANS)
        except Conflict:
            made = await self._held(key)
            if self.seen_plan(made, deleted=False) is not None:
                raise
        self._removed.pop(key, None)
        return made["metadata"]["uid"], made["metadata"]["resourceVersion"]

    async def _held(self, key: WorkflowKey) -> Json:
        return await self._api.get(CONFIG_MAPS, key.namespace, names.plan_name(key.workflow))

    async def _look_again(self, key: WorkflowKey) -> None:
        try:
            held = await self._held(key)
        except NotFound:
            self._plans.pop(key, None)
            return
        if plan_codec.readable(held) is None:  # spoilt, or no more labelled as this workflow's: written anew
            self._plans.pop(key, None)
        self.seen_plan(held, deleted=False)

    def _spoilt(self, key: WorkflowKey) -> WorkflowKey | None:
        """Somebody took the plan out of its ConfigMap: there is none, so it is written anew."""
        return key if self._plans.pop(key, None) is not None else None


def _served(said: Acknowledged, key: WorkflowKey, known: _Known) -> int:
    """The version that a gateway serves at least; 0: none that is remembered."""
    applied = said.has_applied(key.namespace)
    broken = said.broken.get(key)
    below = broken[0] if broken is not None else known.stored.version + 1
    return max((version for version, at in known.since if at <= applied and version < below), default=0)


def _trouble(alive: tuple[tuple[str, Acknowledged], ...], key: WorkflowKey, known: _Known) -> Trouble | None:
    for name, said in alive:
        version, reason = said.broken.get(key, (0, ""))
        if version == known.stored.version:
            message = (
                f"gateway {name.removeprefix(gateways.lease_name(''))} cannot serve plan {version}: {reason}"
            )
            return Trouble(reason="Programming", message=message)
    return None


def _moves(told: tuple[Acknowledged, ...], key: WorkflowKey, known: _Known) -> bool:
    """Whether a gateway's new word may change what is programmed of a workflow."""
    if not any(said.does_serve(key.namespace) for said in told):
        return False
    if len(told) == 1:
        return True
    before, after = told
    return (
        before.serves != after.serves
        or before.broken.get(key) != after.broken.get(key)
        or _served(before, key, known) != _served(after, key, known)
    )
