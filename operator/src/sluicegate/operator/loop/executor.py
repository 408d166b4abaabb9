"""Apply: carries out what a decision asks for. Every act may be repeated without harm."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from sluicegate.contracts.errors import Conflict, NotFound, SluicegateError
from sluicegate.operator.ports import EventSink, Json, PlanSink, ResourceStore, ref_of
from sluicegate.rollout.model import (
    FINALIZER,
    Act,
    Apply,
    Delete,
    Discard,
    Emit,
    Hold,
    Ref,
    Release,
    Route,
    Unroute,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Turns acts into writes. A Conflict goes to the caller: look again."""

    store: ResourceStore
    plans: PlanSink
    events: EventSink

    async def carry_out(self, acts: Iterable[Act]) -> None:
        """In order; stops at the first that cannot be done."""
        for act in acts:
            match act:
                case Apply(resource):
                    await self._apply(resource.to_json())
                case Delete(ref):
                    await self._delete(ref)
                case Discard(ref):
                    await self._discard(ref)
                case Hold(ref, uid):
                    await self._mark(ref, uid, held=True)
                case Release(ref, uid):
                    await self._mark(ref, uid, held=False)
                case Route(plan):
                    await self.plans.write(plan)
                case Unroute(namespace, workflow):
                    await self.plans.remove(namespace, workflow)
                case Emit(event):
                    await self.events.record(event)

    async def _apply(self, item: Json) -> None:
        """Create; the same object again is no change, another under its name is a Conflict."""
        try:
            await self.store.create(item)
        except Conflict:
            held = await self.store.get(ref_of(item))
            if held["spec"] != item["spec"]:
                raise

    async def _delete(self, ref: Ref) -> None:
        try:
            await self.store.delete(ref)
        except NotFound:
            return

    async def _discard(self, ref: Ref) -> None:
        """Nothing waits for it, and nothing fails with it."""
        try:
            await self._delete(ref)
        except SluicegateError as error:
            log.info("left_behind", about=str(ref), reason=str(error))

    async def _mark(self, ref: Ref, uid: str, *, held: bool) -> None:
        try:
            await self.store.finalizer(ref, uid, FINALIZER, present=held)
        except NotFound:
            return
