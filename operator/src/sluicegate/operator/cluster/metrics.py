"""Metrics of a replica, in the terms of who counts."""

from prometheus_client import CollectorRegistry

from sluicegate.observability.metrics import ClusterMetrics
from sluicegate.operator.local.telemetry import LoopTelemetry
from sluicegate.rollout.model import Ref


class ClusterTelemetry(LoopTelemetry):
    """`ports.LoopMetrics`, `kube.CallMetrics`, `webhook.AdmissionMetrics`, `events.EventMetrics`, `RouteMetrics`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self._cluster = ClusterMetrics(registry)
        self.called, self.admitted = self._cluster.called, self._cluster.admitted
        self.event, self.repaired = self._cluster.event, self._cluster.repaired
        self.cached, self.certificate = self._cluster.cached, self._cluster.certificate

    def leads(self, epoch: int | None) -> None:
        """Leadership began, or ended: where rollouts stand is the next leader's to tell."""
        self._cluster.leads(epoch)
        if epoch is None:
            self.forget_all()

    def gone(self, ref: Ref) -> None:
        """Drop what is labelled with the object."""
        super().gone(ref)
        if ref.kind == "AgentWorkflow":
            self._cluster.forget(ref.namespace, ref.name)
