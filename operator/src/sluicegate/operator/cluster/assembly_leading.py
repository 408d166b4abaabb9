"""What only the leader does: look, tell of events, keep routes. A controller of its own for each leadership."""

import asyncio
from dataclasses import dataclass, field

from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.events import KubernetesEvents
from sluicegate.operator.cluster.jobs import JobEvidence
from sluicegate.operator.cluster.routes import RoutedPlans
from sluicegate.operator.external import providers
from sluicegate.operator.external.http import Fetcher
from sluicegate.operator.external.pool import MeasuringPool
from sluicegate.operator.loop.controller import Controller, Pace
from sluicegate.operator.loop.executor import Executor
from sluicegate.operator.loop.gather import EvidenceView, Gatherer
from sluicegate.operator.ports import LoopClock, LoopMetrics, ResourceStore, SourceTokens
from sluicegate.rollout.model import Ref


@dataclass(slots=True, kw_only=True)
class Leading:
    """`run` until cancelled, as often as this replica leads."""

    store: ResourceStore
    cache: Cache
    plans: RoutedPlans
    evidence: EvidenceView
    events: KubernetesEvents
    clock: LoopClock
    metrics: LoopMetrics
    pace: Pace
    tokens: SourceTokens
    jobs: JobEvidence
    _controller: Controller | None = field(default=None, init=False)

    async def run(self) -> None:
        """Look at everything, for ever."""
        fetcher = Fetcher()
        measuring = MeasuringPool(
            providers(fetcher, self.jobs),
            self.tokens,
            self.clock,
            told=self._measured,
            discard=self.jobs.discard,
        )
        self._controller = Controller(
            store=self.store,
            gatherer=Gatherer(
                store=self.store, gateways=self.plans, evidence=self.evidence, external=measuring
            ),
            executor=Executor(store=self.store, plans=self.plans, events=self.events),
            clock=self.clock,
            metrics=self.metrics,
            pace=self.pace,
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._controller.run())
                group.create_task(measuring.run())
                group.create_task(self.events.run())
                group.create_task(self.plans.run())
        finally:
            self._controller = None
            await fetcher.close()

    async def drain(self) -> None:
        """Begin nothing; returns when the looks that began have ended."""
        if self._controller is not None:
            await self._controller.drain()

    def _measured(self, rollout: Ref) -> None:
        """A gate with a source has a new measurement."""
        if self._controller is not None:
            self._controller.add(rollout)

    def moved(self, namespace: str, workflow: str) -> None:
        """What gateways or routes say of a workflow's plan has changed."""
        if self._controller is None:
            return
        ref = Ref("AgentWorkflow", namespace, workflow)
        self._controller.add(ref)
        held = self.cache.get(ref)
        rollout = ((held or {}).get("status") or {}).get("rollout")
        if rollout:
            self._controller.add(Ref("WorkflowRollout", namespace, rollout))
