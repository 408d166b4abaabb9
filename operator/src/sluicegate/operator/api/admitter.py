"""`intake.Admitter`: the rules of rollout.admission, with what they look at read from the store."""

import asyncio

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.resources import (
    AgentWorkflow,
    Decision,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.operator.api.callers import Peer
from sluicegate.operator.loop.gather import typed
from sluicegate.operator.ports import ResourceReader
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import Admission, AdmissionContext, Capabilities, Ref


class RolloutAdmitter:
    """One for the API. Whoever reaches the socket may decide; who it was is what is checked."""

    def __init__(self, store: ResourceReader, clock: Clock, capabilities: Capabilities | None = None) -> None:
        self._store, self._clock = store, clock
        self._capabilities = capabilities or Capabilities()

    async def admit(self, old: Resource | None, new: Resource | None, peer: Peer) -> Admission:
        """May the caller turn `old` into `new`?"""
        subject = new or old
        context = AdmissionContext(
            now=self._clock.now(),
            revisions=await self._revisions(old) if isinstance(old, AgentWorkflow) else (),
            target=await self._target(subject) if isinstance(subject, Decision) else None,
            capabilities=self._capabilities,
        )
        return await asyncio.to_thread(admit, old, new, peer.name, context)  # a large table takes its time

    async def _revisions(self, workflow: AgentWorkflow) -> tuple[WorkflowRevision, ...]:
        found = await self._store.owned("WorkflowRevision", workflow.metadata.uid or "")
        return tuple(typed(item, WorkflowRevision) for item in found)

    async def _target(self, decision: Decision) -> AgentWorkflow | WorkflowRollout | None:
        target = decision.spec.target
        if target.kind not in {"WorkflowRollout", "AgentWorkflow"}:
            return None
        try:
            held = await self._store.get(Ref(target.kind, decision.metadata.namespace, target.name))
        except NotFound:
            return None
        if target.kind == "WorkflowRollout":
            return typed(held, WorkflowRollout)
        return typed(held, AgentWorkflow)
