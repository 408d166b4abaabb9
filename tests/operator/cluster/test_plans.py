"""Plans on a real API server: versions never fall, renewals, removal, races, and what gateways acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.errors import Conflict, Unavailable
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import WorkflowKey
from sluicegate.operator.cluster import gateways, names, plan_codec
from sluicegate.operator.cluster.gateways import Acknowledged
from sluicegate.operator.cluster.kube import DynamicApi, connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.cluster.ports import CONFIG_MAPS, LEASES
from sluicegate.operator.edge.lease import Heart
from sluicegate.operator.ports import ChangeType, Programmed
from sluicegate.operator.process import Uncounted
from tests.console import objects
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.test_plan_codec import NOW, as_stored, plan
from tests.operator.edge import processes

pytestmark = pytest.mark.cluster

NAME = names.plan_name("bot")
KEY = WorkflowKey("shop", "bot")


class Leading:
    """A fence that can be closed."""

    open = True
    asked = 0

    def epoch(self) -> int:
        self.asked += 1
        if not self.open:
            raise Unavailable("not the leader")
        return 3


class Hand:
    """A clock that is moved by hand."""

    seconds = 100.0

    def now(self) -> Any:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class ToldFirst:
    """An API whose watch is faster than its answer to a deletion."""

    def __init__(self, api: DynamicApi, tell: Callable[[], object]) -> None:
        self._api, self._tell = api, tell

    async def delete(self, *place: Any, uid: str) -> None:
        await self._api.delete(*place, uid=uid)
        self._tell()


class Away(ToldFirst):
    """An API that cannot be reached for deletions."""

    def __init__(self, api: DynamicApi) -> None:
        super().__init__(api, lambda: None)

    async def delete(self, *_: Any, uid: str) -> None:
        raise Unavailable(f"{uid} cannot be deleted now")


@pytest.fixture(scope="module")
def people(installed: ControlPlane) -> ControlPlane:
    """The control plane with the accounts that this file speaks for."""
    processes.accounts(installed, "shop")
    return installed


@pytest.fixture
async def api(people: ControlPlane) -> AsyncIterator[DynamicApi]:
    people.kubectl("delete", "configmap", NAME, "-n", "shop", "--ignore-not-found")
    kubeconfig = people.account_kubeconfig(processes.SYSTEM, processes.OPERATOR)
    async with connect(KubeConfig(kubeconfig=kubeconfig), Uncounted()) as connected:
        yield connected


def plans_of(api: DynamicApi, owner: str | None = None) -> ConfigMapPlans:
    return ConfigMapPlans(api, Leading(), Hand(), lambda namespace, workflow: owner)


async def held(api: DynamicApi) -> Any:
    return await api.get(CONFIG_MAPS, "shop", NAME)


async def version_of(api: DynamicApi) -> str:
    return str((await held(api))["metadata"]["resourceVersion"])


@pytest.fixture
def owner(people: ControlPlane) -> Iterator[str]:
    """The uid of a workflow that is there: what belongs to nobody is taken away by the garbage collector."""
    people.apply(objects.workflow("bot", namespace="shop"))
    yield people.get("agentworkflow", "bot", "-n", "shop")["metadata"]["uid"]
    people.kubectl("delete", "agentworkflow", "bot", "-n", "shop")


async def test_what_is_written_is_seen_at_once_and_whole(api: DynamicApi, owner: str) -> None:
    plans = plans_of(api, owner=owner)
    assert await plans.plan("shop", "bot") is None
    await plans.write(plan(7))
    assert await plans.plan("shop", "bot") == plan(7)
    stored = await held(api)
    assert stored["data"]["version"] == "7"
    assert stored["metadata"]["annotations"][plan_codec.SUMMARY].startswith("plan 7: 1/5 to 1.1.0")
    (reference,) = stored["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["uid"]) == ("AgentWorkflow", owner)
    assert {one["manager"] for one in stored["metadata"]["managedFields"]} == {names.PLANS}


async def test_versions_never_fall_and_rest_writes_nothing(api: DynamicApi) -> None:
    plans = plans_of(api)
    await plans.write(plan(7))
    before = await version_of(api)
    await plans.write(plan(7))
    await plans.write(plan(6))
    assert await version_of(api) == before
    renewed = replace(plan(7), lease_until=NOW + timedelta(seconds=60))
    await plans.write(renewed)
    assert await plans.plan("shop", "bot") == renewed
    assert await version_of(api) != before


async def test_what_a_plan_lacks_is_gone_from_its_config_map(api: DynamicApi) -> None:
    plans = plans_of(api)
    await plans.write(plan(7, text="x" * 300_000))
    assert "binaryData" in await held(api)
    await plans.write(plan(8))
    stored = await held(api)
    assert "binaryData" not in stored
    assert "plan.json" in stored["data"]


async def test_another_writer_is_never_overwritten(api: DynamicApi) -> None:
    """A leader that was stopped has an old view; what it writes then is refused by the API server."""
    old, new = plans_of(api), plans_of(api)
    await old.write(plan(7))
    new.seen_plan(await held(api), deleted=False)
    await new.write(plan(9))
    with pytest.raises(Conflict):
        await old.write(plan(8))
    assert await old.plan("shop", "bot") == plan(9), "it has looked again"
    await old.write(plan(8))
    assert (await held(api))["data"]["version"] == "9"


async def test_two_first_writers_make_one_plan(api: DynamicApi) -> None:
    first, second = plans_of(api), plans_of(api)
    done = await asyncio.gather(first.write(plan(1)), second.write(plan(2)), return_exceptions=True)
    assert all(one is None or isinstance(one, Conflict) for one in done)
    for plans in (first, second):
        plans.seen_plan(await held(api), deleted=False)
        await plans.write(plan(2))
    assert (await held(api))["data"]["version"] == "2"


async def test_nothing_is_written_without_the_lead(api: DynamicApi) -> None:
    fence = Leading()
    plans = ConfigMapPlans(api, fence, Hand(), lambda *_: None)
    fence.open = False
    with pytest.raises(Unavailable, match="not the leader"):
        await plans.write(plan(1))
    fence.open = True
    await plans.write(plan(1))
    fence.open = False
    for act in (plans.write(plan(2)), plans.remove("shop", "bot")):
        with pytest.raises(Unavailable, match="not the leader"):
            await act
    assert (await held(api))["data"]["version"] == "1"


async def test_removal_takes_this_config_map_and_no_other(api: DynamicApi, plane: ControlPlane) -> None:
    plans = plans_of(api)
    await plans.remove("shop", "bot")
    await plans.write(plan(1))
    gone = await held(api)
    await plans.remove("shop", "bot")
    assert await plans.plan("shop", "bot") is None
    assert plans.seen_plan(gone, deleted=False) is None, "an event from before changes nothing"
    assert await plans.plan("shop", "bot") is None
    await plans.write(plan(1))
    plans.seen_plan(gone, deleted=True)
    assert await plans.plan("shop", "bot") == plan(1), "the workflow came again under its name"
    plane.kubectl("delete", "configmap", NAME, "-n", "shop")
    await plans.remove("shop", "bot")


@pytest.mark.parametrize("when", ["before the answer", "after the answer"])
async def test_what_was_removed_is_forgotten_once_the_watch_told_of_it(api: DynamicApi, when: str) -> None:
    plans = plans_of(api)
    await plans.write(plan(1))
    gone = await held(api)
    if when == "before the answer":
        plans._api = ToldFirst(api, lambda: plans.seen_plan(gone, deleted=True))  # type: ignore[assignment]
    await plans.remove("shop", "bot")
    if when == "after the answer":
        plans.seen_plan(gone, deleted=True)
    assert (plans._removed, plans._plans) == ({}, {})


async def test_a_removal_that_failed_leaves_the_plan_as_it_was(api: DynamicApi) -> None:
    plans = plans_of(api)
    await plans.write(plan(1))
    plans._api = Away(api)  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        await plans.remove("shop", "bot")
    other = plans_of(api)
    other.seen_plan(await held(api), deleted=False)
    await other.write(plan(2))
    plans.seen_plan(await held(api), deleted=False)
    assert await plans.plan("shop", "bot") == plan(2), "what comes later is still seen"


async def test_a_restart_without_a_view_removes_too(api: DynamicApi) -> None:
    await plans_of(api).write(plan(1))
    await plans_of(api).remove("shop", "bot")
    assert (await api.list(CONFIG_MAPS, "shop", labels=plan_codec.LABELS)).items == ()


async def test_a_plan_that_was_spoilt_or_deleted_is_written_anew(
    api: DynamicApi, plane: ControlPlane
) -> None:
    plans = plans_of(api)
    await plans.write(plan(7))
    patch = '{"data": {"plan.json": "{}"}}'
    plane.kubectl("patch", "configmap", NAME, "-n", "shop", "--type=merge", "-p", patch)
    assert plans.seen_plan(await held(api), deleted=False) == KEY
    assert await plans.plan("shop", "bot") is None
    await plans.write(plan(7))
    found = plan_codec.stored(await held(api))
    assert found is not None
    assert plan_codec.decode(found) == plan(7)
    plane.kubectl("delete", "configmap", NAME, "-n", "shop")
    with pytest.raises(Conflict):
        await plans.write(plan(8))
    await plans.write(plan(8))
    assert (await held(api))["data"]["version"] == "8"


class Gateways:
    """Leases as gateways write them, told to `plans`."""

    def __init__(self, plans: ConfigMapPlans) -> None:
        self.plans, self.revision = plans, 0

    def say(
        self, name: str, applied: int, *, serves: str = "*", broken: tuple[int, str] | None = None
    ) -> frozenset[WorkflowKey]:
        self.revision += 1
        said = Acknowledged(
            serves=(serves,), applied={serves: applied}, broken={KEY: broken} if broken else {}
        )
        item = as_stored(gateways.encode(name, processes.SYSTEM, said, NOW), self.revision)
        return self.plans.seen_gateway(item, deleted=False)


async def test_a_plan_is_programmed_when_every_living_gateway_has_it() -> None:
    clock = Hand()
    plans = ConfigMapPlans(None, Leading(), clock, lambda *_: None)  # type: ignore[arg-type]
    say = Gateways(plans).say

    def see(made: RoutePlan, revision: int) -> None:
        item = as_stored(plan_codec.encode(made, owner=None), revision)
        assert plans.seen_plan(item, deleted=False) == KEY

    async def programmed() -> tuple[int, int]:
        found = await plans.programmed("shop", "bot")
        return found.version, found.gateways

    assert await programmed() == (0, 0)
    see(plan(7), 50)
    assert await programmed() == (0, 0), "nobody lives"
    assert say("a", 50) == {KEY}
    assert say("b", 49) == {KEY}
    assert await programmed() == (0, 2), "b has not seen it"
    assert say("b", 50) == {KEY}
    assert say("b", 52) == frozenset(), "further, but nothing new of this plan"
    assert await programmed() == (7, 2)
    see(replace(plan(7), lease_until=NOW + timedelta(seconds=60)), 60)
    assert await programmed() == (7, 2), "a renewal waits for nobody"
    see(plan(8), 70)
    say("a", 71)
    assert await programmed() == (7, 2), "b is at the plan before"
    say("other", 0, serves="team")
    assert await programmed() == (7, 2), "not its business"
    clock.seconds += 14
    say("a", 72)
    clock.seconds += 2
    assert await programmed() == (8, 1), "b was silent for 15 s"
    assert say("b", 55) == {KEY}
    assert await programmed() == (7, 2)
    say("b", 75, broken=(8, "no such protocol"))
    found = await plans.programmed("shop", "bot")
    assert (found.version, found.gateways) == (7, 2), "it serves the one before"
    assert found.trouble is not None
    assert "gateway b cannot serve plan 8: no such protocol" in found.trouble.message
    see(plan(9), 80)
    say("a", 80)
    say("b", 80)
    assert await plans.programmed("shop", "bot") == Programmed(version=9, gateways=2)


async def test_after_a_restart_the_present_revision_counts() -> None:
    plans = ConfigMapPlans(None, Leading(), Hand(), lambda *_: None)  # type: ignore[arg-type]
    say = Gateways(plans).say
    plans.seen_plan(as_stored(plan_codec.encode(plan(7), owner=None), 90), deleted=False)
    say("a", 60)
    assert (await plans.programmed("shop", "bot")).version == 0, "older than what is known of version 7"
    say("a", 90)
    assert (await plans.programmed("shop", "bot")).version == 7


async def test_a_gateways_lease_is_as_the_api_server_wants_it(people: ControlPlane) -> None:
    kubeconfig = people.account_kubeconfig(processes.SYSTEM, processes.GATEWAY)
    said = Acknowledged(serves=("*",), applied={"*": 12}, broken={KEY: (7, "no")})
    async with connect(KubeConfig(kubeconfig=kubeconfig), Uncounted()) as api:
        item = gateways.encode("codec", processes.SYSTEM, said, NOW)
        stored = await api.apply(LEASES, item, manager=names.GATEWAY)
        await api.delete(LEASES, processes.SYSTEM, gateways.lease_name("codec"))
    assert gateways.decode(stored) == said
    assert stored["spec"]["renewTime"] == "2026-05-04T12:00:00.250000Z"


async def test_a_gateway_is_waited_for_until_it_leaves_or_falls_silent(people: ControlPlane) -> None:
    """A Lease that somebody deletes ends nothing early; the gateway's own farewell counts at once."""
    kubeconfig = people.account_kubeconfig(processes.SYSTEM, processes.GATEWAY)
    admin = people.kubeconfig("admin")
    said = Acknowledged(serves=("*",), applied={"*": 0})
    clock = Hand()
    plans = ConfigMapPlans(None, Leading(), clock, lambda *_: None)  # type: ignore[arg-type]
    async with (
        connect(KubeConfig(kubeconfig=kubeconfig), Uncounted()) as api,
        connect(KubeConfig(kubeconfig=admin), Uncounted()) as reader,
    ):
        heart = Heart(
            api=api,
            gateway="farewell",
            namespace=processes.SYSTEM,
            pod=None,
            clock=clock,
            said=lambda: asyncio.sleep(0, said),
            busy=lambda: False,
        )
        name, labels = gateways.lease_name("farewell"), {names.GATEWAY_LABEL: "true"}
        item = gateways.encode("farewell", processes.SYSTEM, said, NOW)
        before = await reader.list(LEASES, processes.SYSTEM, labels=labels)
        watched = aiter(reader.watch(LEASES, processes.SYSTEM, labels=labels, after=before.version))

        async def seen() -> tuple[ChangeType, int]:
            """The next event of this Lease, and how many gateways live then."""
            while True:
                event = await anext(watched)
                if (
                    event.item is not None
                    and event.type is not None
                    and event.item["metadata"]["name"] == name
                ):
                    plans.seen_gateway(event.item, deleted=event.type is ChangeType.DELETED)
                    return event.type, (await plans.programmed("shop", "bot")).gateways

        async with asyncio.timeout(60):
            await api.apply(LEASES, item, manager=names.GATEWAY)
            assert await seen() == (ChangeType.ADDED, 1)
            await reader.delete(LEASES, processes.SYSTEM, name)
            assert await seen() == (ChangeType.DELETED, 1)
            clock.seconds += gateways.ALIVE_SECONDS
            assert (await plans.programmed("shop", "bot")).gateways == 0
            await api.apply(LEASES, item, manager=names.GATEWAY)
            assert await seen() == (ChangeType.ADDED, 1)
            await heart.leave()
            assert await seen() == (ChangeType.MODIFIED, 0)
            assert await seen() == (ChangeType.DELETED, 0)
