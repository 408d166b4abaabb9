"""The store on a real kube-apiserver with its garbage collector; the cache is fed by real watches."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from sluicegate.contracts.errors import Conflict, NotFound, Refused, Unavailable
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.kube import DynamicApi
from sluicegate.operator.cluster.ports import CONFIG_MAPS, own
from sluicegate.operator.cluster.store import KubernetesStore
from sluicegate.operator.ports import Json, ResourceStore
from sluicegate.rollout.model import FINALIZER, Ref
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.kubes import Counted, Open, cleared, client, eventually, fed
from tests.operator.samples import component, owned, workflow
from tests.operator.store_contract import HISTORY, StoreContract, at, generation_in, reported, spec_of
from tests.support import faults
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Rule

pytestmark = pytest.mark.cluster
ECHO = Ref("AgentWorkflow", "default", "echo")


@pytest.fixture(scope="module")
def plane_(installed: ControlPlane) -> ControlPlane:
    installed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    return installed


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
async def api(plane_: ControlPlane, counted: Counted) -> AsyncIterator[DynamicApi]:
    async with client(plane_.kubeconfig(), counted) as found:
        await cleared(found)
        counted.calls.clear()
        yield found
        await cleared(found)


@pytest.fixture
def fence() -> Open:
    return Open()


@pytest.fixture
def cache() -> Cache:
    return Cache()


@pytest.fixture
def unfed(api: DynamicApi, cache: Cache, fence: Open) -> KubernetesStore:
    """A store whose cache knows only its own writes: as if every watch were late."""
    return KubernetesStore(api, cache, fence)


class TestKubernetes(StoreContract):
    @pytest.fixture
    async def store(self, api: DynamicApi) -> AsyncIterator[ResourceStore]:
        cache = Cache(history=HISTORY)
        async with fed(api, cache, "AgentComponent", "AgentWorkflow"):
            yield KubernetesStore(api, cache, Open())

    async def eventually(self, condition: Callable[[], Awaitable[bool]]) -> None:
        await eventually(condition)


async def managers(api: DynamicApi, ref: Ref) -> set[tuple[str, str, str]]:
    """Who manages fields of the object: manager, operation, subresource."""
    held = await api.get(own(ref.kind), ref.namespace, ref.name)
    found = held["metadata"]["managedFields"]
    return {(one["manager"], one["operation"], one.get("subresource", "")) for one in found}


async def test_own_writes_are_read_at_once_whatever_the_watch_does(unfed: KubernetesStore) -> None:
    made = await unfed.create(workflow())
    assert await unfed.get(ECHO) == made
    told = await unfed.update_status(reported(made, 1))
    assert await unfed.get(ECHO) == told
    await unfed.delete(ECHO)
    with pytest.raises(NotFound):
        await unfed.get(ECHO)


async def test_writes_whose_answers_are_lost_are_done_once(
    plane_: ControlPlane, api: DynamicApi, fence: Open, cache: Cache
) -> None:
    plane_.kubectl("create", "serviceaccount", "shaky", "-n", "shop", check=False)
    plane_.allow("account:shop:shaky", "cluster-admin")
    with FaultProxy(plane_) as proxy:
        async with client(proxy.account_kubeconfig("shop", "shaky")) as shaky:
            store = KubernetesStore(shaky, cache, fence)
            proxy.plan(
                *(Rule(faults.lost, verb=verb, when=faults.nth(1)) for verb in ("create", "patch", "delete"))
            )
            made = await store.create(workflow())
            told = await store.update_status(reported(made, 1))
            proxy.plan(*(Rule(faults.lost, verb=verb, when=faults.nth(1)) for verb in ("patch", "delete")))
            await store.finalizer(ECHO, made["metadata"]["uid"], FINALIZER, present=True)
            held = await api.get(own("AgentWorkflow"), "default", "echo")
            assert held["metadata"]["finalizers"] == [FINALIZER]
            assert generation_in(await store.get(ECHO)) == generation_in(told) == 1
            await store.delete(ECHO)
            assert (await store.get(ECHO))["metadata"]["deletionTimestamp"]
            await store.finalizer(ECHO, made["metadata"]["uid"], FINALIZER, present=False)
    for read in (store.get(ECHO), api.get(own("AgentWorkflow"), "default", "echo")):
        with pytest.raises(NotFound):
            await read


async def test_each_concern_has_its_field_manager(unfed: KubernetesStore, api: DynamicApi) -> None:
    made = await unfed.create(workflow())
    await unfed.update_status(reported(made, 1))
    await unfed.finalizer(ECHO, made["metadata"]["uid"], FINALIZER, present=True)
    assert await managers(api, ECHO) == {
        (names.CHILDREN, "Update", ""),
        (names.STATUS, "Apply", "status"),
        (names.FINALIZERS, "Apply", ""),
    }


async def test_a_status_names_the_epoch_and_a_new_epoch_alone_is_no_write(
    unfed: KubernetesStore, fence: Open, counted: Counted
) -> None:
    told = await unfed.update_status(reported(await unfed.create(workflow()), 1))
    assert told["status"]["epoch"] == 7
    fence.term = 8
    counted.calls.clear()
    assert await unfed.update_status(reported(told, 1)) == told
    assert counted.calls == []
    assert (await unfed.update_status(reported(told, 2)))["status"]["epoch"] == 8


async def test_a_deposed_leader_writes_no_status(unfed: KubernetesStore, fence: Open) -> None:
    """The CRD forbids a falling epoch, should the fence ever fail."""
    told = await unfed.update_status(reported(await unfed.create(workflow()), 1))
    fence.term = 6
    with pytest.raises(Refused, match="another operator leads"):
        await unfed.update_status(reported(told, 2))


async def test_a_closed_fence_stops_every_write(
    unfed: KubernetesStore, fence: Open, counted: Counted
) -> None:
    made = await unfed.create(workflow())
    uid = made["metadata"]["uid"]
    fence.error = Unavailable("not the leader")
    counted.calls.clear()
    for write in (
        unfed.create(component()),
        unfed.update(spec_of(made, version="2.0.0")),
        unfed.update_status(reported(made, 1)),
        unfed.finalizer(ECHO, uid, FINALIZER, present=True),
        unfed.delete(ECHO),
    ):
        with pytest.raises(Unavailable, match="not the leader"):
            await write
    assert counted.calls == []
    assert await unfed.get(ECHO) == made


async def test_a_finalizer_goes_also_when_a_manifest_had_it(
    unfed: KubernetesStore, api: DynamicApi, plane_: ControlPlane, cache: Cache
) -> None:
    """Restored from a backup, say: its manager is kubectl, and no apply of ours could take it off."""
    item = workflow()
    item["metadata"]["finalizers"] = ["example.com/other", FINALIZER]
    plane_.kubectl("create", "-f", "-", input=json.dumps(item))
    held = await api.get(own("AgentWorkflow"), "default", "echo")
    cache.put(held)
    uid = held["metadata"]["uid"]
    await unfed.finalizer(ECHO, uid, FINALIZER, present=True)
    await unfed.finalizer(ECHO, uid, FINALIZER, present=False)
    left = await api.get(own("AgentWorkflow"), "default", "echo")
    assert left["metadata"]["finalizers"] == ["example.com/other"]


async def test_a_finalizer_never_makes_an_object_and_the_cache_learns_that_it_is_gone(
    unfed: KubernetesStore, api: DynamicApi
) -> None:
    made = await unfed.create(workflow())
    await api.delete(own("AgentWorkflow"), "default", "echo")  # by somebody else; no watch tells
    with pytest.raises((Conflict, NotFound)):
        await unfed.finalizer(ECHO, made["metadata"]["uid"], FINALIZER, present=True)
    with pytest.raises(NotFound):
        await api.get(own("AgentWorkflow"), "default", "echo")
    with pytest.raises(NotFound):
        await unfed.delete(ECHO)
    with pytest.raises(NotFound):
        await unfed.get(ECHO)


async def test_a_status_never_makes_an_object(unfed: KubernetesStore, api: DynamicApi) -> None:
    made = await unfed.create(workflow())
    await api.delete(own("AgentWorkflow"), "default", "echo")
    with pytest.raises((Conflict, NotFound)):
        await unfed.update_status(reported(made, 1))
    with pytest.raises(NotFound):
        await api.get(own("AgentWorkflow"), "default", "echo")


async def test_a_deletion_never_hits_another_object_than_the_one_that_was_seen(
    unfed: KubernetesStore, api: DynamicApi
) -> None:
    await unfed.create(workflow())
    await api.delete(own("AgentWorkflow"), "default", "echo")
    again = await api.create(own("AgentWorkflow"), workflow(), manager="somebody")
    with pytest.raises(Conflict):
        await unfed.delete(ECHO)
    held = await api.get(own("AgentWorkflow"), "default", "echo")
    assert held["metadata"]["uid"] == again["metadata"]["uid"]


async def test_owners_are_complete_for_the_garbage_collector_and_short_for_models(
    unfed: KubernetesStore, api: DynamicApi
) -> None:
    owner = await unfed.create(component("owner"))
    child = await unfed.create(owned("child", owner))
    reference = {"kind": "AgentComponent", "name": "owner", "uid": owner["metadata"]["uid"]}
    assert child["metadata"]["ownerReferences"] == [reference]
    stored = await api.get(own("AgentComponent"), "default", "child")
    whole = {"apiVersion": "sluicegate.io/v1alpha1", "controller": True, "blockOwnerDeletion": False}
    assert stored["metadata"]["ownerReferences"] == [{**reference, **whole}]


async def test_an_update_leaves_what_the_product_does_not_see(
    unfed: KubernetesStore, api: DynamicApi, plane_: ControlPlane, cache: Cache
) -> None:
    """kubectl's last-applied annotation and the other fields of an owner are somebody else's."""
    owner = await unfed.create(component("owner"))
    item = owned("planner", owner)
    item["metadata"]["ownerReferences"][0] |= {
        "apiVersion": "sluicegate.io/v1alpha1",
        "controller": False,
        "blockOwnerDeletion": True,
    }
    plane_.kubectl("apply", "-f", "-", input=json.dumps(item))
    before = await api.get(own("AgentComponent"), "default", "planner")
    cache.put(before)
    held = await unfed.get(at("planner"))
    await unfed.update(spec_of(held, owner="other"))
    after = await api.get(own("AgentComponent"), "default", "planner")
    assert after["spec"]["owner"] == "other"
    for key in ("annotations", "ownerReferences"):
        assert after["metadata"][key] == before["metadata"][key]


async def test_what_kubectl_applied_is_an_object_of_the_models(
    unfed: KubernetesStore, api: DynamicApi, plane_: ControlPlane, cache: Cache
) -> None:
    plane_.kubectl("apply", "-f", "-", input=json.dumps(workflow()))
    plane_.kubectl("annotate", "agentworkflow", "echo", "a=b")
    raw = await api.get(own("AgentWorkflow"), "default", "echo")
    assert {"managedFields", "annotations"} <= raw["metadata"].keys()
    cache.put(raw)
    parsed = AgentWorkflow.model_validate(await unfed.get(ECHO))
    assert parsed.metadata.annotations == {"a": "b"}
    assert parsed.metadata.uid == raw["metadata"]["uid"]


async def test_kinds_that_nobody_watches_are_read_one_by_one(
    api: DynamicApi, fence: Open, counted: Counted
) -> None:
    store = KubernetesStore(api, Cache(), fence, watched=frozenset({"AgentWorkflow"}))
    await api.create(own("AgentComponent"), component(), manager="somebody")
    counted.calls.clear()
    assert (await store.get(at("planner")))["spec"]["owner"] == "team-a"
    with pytest.raises(NotFound):
        await store.get(ECHO)
    assert counted.calls == [("get", "agentcomponents", 200)]


async def test_whatever_is_wrong_with_an_object_is_told_at_once(unfed: KubernetesStore) -> None:
    bad: Json = workflow()
    bad["spec"]["components"][0]["sideEffects"] = "Many"
    bad["spec"]["runtime"] = "Elsewhere"
    with pytest.raises(Refused) as refused:
        await unfed.create(bad)
    paths = {problem.path for problem in refused.value.problems}
    assert {"spec.components[0].sideEffects", "spec.runtime"} <= paths
    with pytest.raises(Refused, match="unknown field"):
        await unfed.create({**component(), "spec": {"owner": "a", "oner": "b"}})


async def test_core_kinds_come_with_their_kind_in_lists(api: DynamicApi) -> None:
    """The server leaves it out there."""
    page = await api.list(CONFIG_MAPS, "kube-system")
    assert page.items
    assert {(item["apiVersion"], item["kind"]) for item in page.items} == {("v1", "ConfigMap")}
