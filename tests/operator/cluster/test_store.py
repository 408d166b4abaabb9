"""The contract of every store, on a real kube-apiserver with its garbage collector; the cache is fed by real watches."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.kube import DynamicApi
from sluicegate.operator.cluster.store import KubernetesStore
from sluicegate.operator.ports import ResourceStore
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.kubes import Open, cleared, client, eventually, fed
from tests.operator.store_contract import HISTORY, StoreContract

pytestmark = pytest.mark.cluster
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


@pytest.fixture
async def api(installed: ControlPlane) -> AsyncIterator[DynamicApi]:
    installed.apply(NAMESPACE)
    async with client(installed.kubeconfig()) as found:
        await cleared(found)
        yield found
        await cleared(found)


class TestKubernetes(StoreContract):
    @pytest.fixture
    async def store(self, api: DynamicApi) -> AsyncIterator[ResourceStore]:
        cache = Cache(history=HISTORY)
        async with fed(api, cache, "AgentComponent", "AgentWorkflow"):
            yield KubernetesStore(api, cache, Open())

    async def eventually(self, condition: Callable[[], Awaitable[bool]]) -> None:
        await eventually(condition)
