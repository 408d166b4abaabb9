"""Metrics of the loop, and of local mode's process tree, in the terms of the loop."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry

from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.resources.rollout import RolloutStatus, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage, State
from sluicegate.contracts.watch import WatchEvidence
from sluicegate.observability.metrics import ControlMetrics, GatewayMetrics, ProcessMetrics
from sluicegate.rollout import conditions, drills, fallbacks
from sluicegate.rollout.model import Ref


class LoopTelemetry:
    """`ports.LoopMetrics`. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._control = ControlMetrics(registry)
        self._running: set[str] = set()
        self._shown: dict[tuple[str, str], tuple[str, Stage | None, int]] = {}
        self.queued, self.waited = self._control.queued, self._control.waited
        self.retried, self.looked = self._control.retried, self._control.reconciled

    def rollout(
        self, rollout: WorkflowRollout, status: RolloutStatus, evidence: StageEvidence | None = None
    ) -> None:
        """Where the rollout stands; a finished one only counts once, when it is seen to finish."""
        namespace, workflow = rollout.metadata.namespace, rollout.spec.workflow
        uid = rollout.metadata.uid or ""
        if status.state is State.DONE:
            if uid in self._running and status.outcome is not None:
                self._control.ended(namespace, workflow, status.outcome)
                self._control.stage(namespace, workflow, None)
                self._control.held(namespace, workflow, held=False)
                self._control.declared_share(namespace, workflow, 0.0)
                self._control.forget_gates(namespace, workflow)
            self._running.discard(uid)
            return
        self._running.add(uid)
        self._control.stage(namespace, workflow, status.state)
        self._control.held(namespace, workflow, held=status.held)
        self._control.declared_share(namespace, workflow, _share(status))
        self._gates(rollout, status, evidence)

    def _gates(self, rollout: WorkflowRollout, status: RolloutStatus, evidence: StageEvidence | None) -> None:
        """The gates of the stage that was looked at; those of an earlier one are not shown any more."""
        key = (rollout.metadata.namespace, rollout.spec.workflow)
        place = (rollout.metadata.uid or "", status.stage, status.attempt)
        if self._shown.get(key, place) != place:
            self._control.forget_gates(*key)
        self._shown[key] = place
        if evidence is None or evidence.key != place:
            return
        planned = next((stage for stage in rollout.spec.stages if stage.name is status.stage), None)
        for gate in planned.gates if planned is not None else ():
            for item in evidence.of(gate.signal):
                if item.likeness is None:
                    self._control.gate(*key, gate.name, item)
                if item.output is not None:
                    self._control.drift(*key, rollout.spec.candidate.name, item)
        self._contributions(rollout, evidence)

    def _contributions(self, rollout: WorkflowRollout, evidence: StageEvidence) -> None:
        key, spec = (rollout.metadata.namespace, rollout.spec.workflow), rollout.spec
        for units, revision in (
            (evidence.ablated, spec.candidate),
            (evidence.stable_ablated, spec.stable),
            (evidence.mixed, spec.candidate),
        ):
            if units is not None:
                self._control.contributions(*key, revision.name, units)

    def watched(self, ref: Ref, found: WatchEvidence) -> None:
        """How near the watch is to an alarm; nothing of a signal that has no baseline yet."""
        self._control.forget_decay(ref.namespace, ref.name)
        for item in found.signals:
            if item.baseline is not None:
                self._control.decay(ref.namespace, ref.name, item)

    def fallback(self, ref: Ref, status: WorkflowStatus) -> None:
        """Whether the business fallback is ready, whether its drills pass, and when one did last."""
        passed = status.last_passed_drill_at
        self._control.fallback(
            ref.namespace,
            ref.name,
            ready=_truth(status, fallbacks.READY),
            passing=_truth(status, drills.PASSING),
            passed=None if passed is None else passed.timestamp(),
        )

    def gone(self, ref: Ref) -> None:
        """Drop what is labelled with the object."""
        if ref.kind == "AgentWorkflow":
            self._control.forget(ref.namespace, ref.name)
            self._shown.pop((ref.namespace, ref.name), None)

    def forget_all(self) -> None:
        """Another process runs the loop now, and tells where the rollouts stand."""
        self._control.forget_all()
        self._control.queued(0)
        self._running.clear()
        self._shown.clear()


class Telemetry(LoopTelemetry):
    """The loop, the runs that were taken in, and the processes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self._gateway = GatewayMetrics(registry)
        self.processes = ProcessMetrics(registry)

    def entry(self, entry: Mapping[str, Any]) -> None:
        """An entry was stored."""
        self._gateway.entry(entry)

    def gone(self, ref: Ref) -> None:
        """Drop what is labelled with the object."""
        super().gone(ref)
        if ref.kind == "AgentWorkflow":
            self._gateway.forget_workflow(ref.namespace, ref.name)


def _truth(status: WorkflowStatus, kind: str) -> bool | None:
    """Of a condition; None: Unknown, or nothing is said."""
    found = conditions.find(status.conditions, kind)
    return None if found is None or found.status == "Unknown" else found.status == "True"


def _share(status: RolloutStatus) -> float:
    """Of the users: a mirrored candidate answers nobody."""
    if status.share is None or status.stage is None or status.stage in MIRRORED_STAGES:
        return 0.0
    return status.share.numerator / status.share.denominator
