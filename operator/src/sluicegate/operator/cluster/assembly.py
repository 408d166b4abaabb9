"""The parts of a replica of the operator, made and joined in one place."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, NoReturn

from prometheus_client import CollectorRegistry

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.resources.workflow import Runtime
from sluicegate.contracts.watch import WatchEvidence, WatchLook
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.admitter import ClusterAdmitter
from sluicegate.operator.cluster.assembly_checks import FOLLOWED
from sluicegate.operator.cluster.assembly_feeds import Feeds
from sluicegate.operator.cluster.assembly_leading import Leading
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.config import ControllerConfig
from sluicegate.operator.cluster.election import Candidate, Terms
from sluicegate.operator.cluster.elector import Elector
from sluicegate.operator.cluster.events import EventSettings, KubernetesEvents
from sluicegate.operator.cluster.evidence import RemoteEvidence
from sluicegate.operator.cluster.informer_sinks import Highest
from sluicegate.operator.cluster.jobs import JobEvidence
from sluicegate.operator.cluster.kube import connect
from sluicegate.operator.cluster.kube_access import Access, FileToken, KubeConfig, access_of
from sluicegate.operator.cluster.metrics import ClusterTelemetry
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.cluster.ports import KubeApi
from sluicegate.operator.cluster.remote import LineageClient
from sluicegate.operator.cluster.routes import RoutedPlans
from sluicegate.operator.cluster.store import KubernetesStore
from sluicegate.operator.cluster.tokens import ClusterTokens
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.loop.controller import Pace
from sluicegate.operator.loop.gather import EvidenceView
from sluicegate.rollout.model import Capabilities, Look, Ref

CAPABILITIES: Final = Capabilities(
    runtimes=frozenset({Runtime.MANAGED, Runtime.SERVICE}), secrets=True, services=True, jobs=True
)
PACE: Final = Pace(resync=600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is made once for a process; who starts it, and in which order, is for `runner` to say."""

    config: ControllerConfig
    access: Access
    api: KubeApi
    cache: Cache
    epochs: Highest
    elector: Elector
    leading: Leading
    feeds: Feeds
    registry: CollectorRegistry
    telemetry: ClusterTelemetry

    def admitter(self, synced: Callable[[], bool]) -> ClusterAdmitter:
        """The rules of the webhook."""
        return ClusterAdmitter(
            api=self.api,
            cache=self.cache,
            clock=SystemClock(),
            controller=names.account(names.OPERATOR_ACCOUNT, self.config.namespace),
            synced=synced,
            capabilities=CAPABILITIES,
        )


async def assemble(config: ControllerConfig, stack: AsyncExitStack) -> Parts:
    """Make and join everything; nothing runs yet. `stack` undoes it."""
    kube = KubeConfig(kubeconfig=config.kubeconfig, context=config.context)
    registry, clock, cache = CollectorRegistry(), HostClock(), Cache()
    telemetry, access = ClusterTelemetry(registry), access_of(kube)
    api = await stack.enter_async_context(connect(kube, telemetry))
    elector = Elector(api, _candidate(config))
    leads = api.guarded(elector)
    plans = ConfigMapPlans(
        leads, elector, clock, lambda namespace, name: cache.uid(Ref("AgentWorkflow", namespace, name))
    )
    routes = RoutedPlans(
        plans,
        leads,
        elector,
        clock,
        metrics=telemetry,
        told=lambda *key: leading.moved(*key),  # noqa: PLW0108 - made below
    )
    leading = Leading(
        store=KubernetesStore(leads, cache, elector, watched=frozenset(FOLLOWED)),
        cache=cache,
        plans=routes,
        evidence=_evidence(config, access, stack),
        events=KubernetesEvents(
            api=leads,
            cache=cache,
            fence=elector,
            clock=clock,
            metrics=telemetry,
            settings=EventSettings(instance=config.identity),
        ),
        clock=clock,
        metrics=telemetry,
        pace=PACE,
        tokens=ClusterTokens(leads),
        jobs=JobEvidence(leads, clock),
    )
    epochs = Highest()
    return Parts(
        config=config,
        access=access,
        api=api,
        cache=cache,
        epochs=epochs,
        elector=elector,
        leading=leading,
        feeds=Feeds(cache=cache, epochs=epochs, plans=plans, routes=routes, moved=leading.moved),
        registry=registry,
        telemetry=telemetry,
    )


def _candidate(config: ControllerConfig) -> Candidate:
    return Candidate(
        identity=config.identity,
        namespace=config.namespace,
        name=names.LEADER_LEASE,
        terms=Terms.of(config.lease_seconds),
    )


def _evidence(config: ControllerConfig, access: Access, stack: AsyncExitStack) -> EvidenceView:
    if config.lineage_url is None:
        return NoEvidence()
    token = FileToken(config.lineage_token) if config.lineage_token else access.token
    client = LineageClient(config.lineage_url, token, authority=config.lineage_ca)
    stack.push_async_callback(client.close)
    return RemoteEvidence(client)


class NoEvidence:
    """`gather.EvidenceView` without a lineage process: rollouts wait, and say why."""

    async def evidence(self, wanted: Look) -> StageEvidence:  # noqa: ARG002 - of the port
        """Never."""
        self._refuse()

    async def watch(self, wanted: WatchLook) -> WatchEvidence:  # noqa: ARG002 - of the port
        """Never."""
        self._refuse()

    async def drill(self, wanted: DrillLook) -> DrillCounts:  # noqa: ARG002 - of the port
        """Never."""
        self._refuse()

    async def sampled_fallbacks(self, wanted: Look) -> frozenset[str]:  # noqa: ARG002 - of the port
        """Never."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unavailable("there is no evidence: this operator was started without --lineage-url")
