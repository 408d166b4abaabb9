"""A Service's HTTPRoute on a real kube-apiserver with the Gateway API's CRDs.

kubectl is who else changes the route, under a field manager of its own; the test plays the Gateway controller and
patches the route's status.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sluicegate.contracts.errors import NotFound, Unavailable
from sluicegate.contracts.routes import RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.kube import DynamicApi
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.cluster.ports import HTTP_ROUTES
from sluicegate.operator.cluster.route_fights import MOST_FLIPS, WINDOW_SECONDS
from sluicegate.operator.cluster.routes import RoutedPlans
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import ChangeType, Json
from sluicegate.rollout.service_claims import claims_of
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.kubes import Open, client, eventually

pytestmark = pytest.mark.cluster
NS = "routes"
FEATURE = "HTTPRouteRequestPercentageMirror"
CONTROLLER = "test.sluicegate.io/gateway"
HEADERS = {
    "type": "RequestHeaderModifier",
    "requestHeaderModifier": {"set": [{"name": "x-team", "value": "shop"}]},
}


def service(name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NS},
        "spec": {"ports": [{"port": 8080, "protocol": "TCP"}]},
    }


def endpoints(name: str, *, ready: bool = True) -> Json:
    labels = {"kubernetes.io/service-name": name}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-1", "namespace": NS, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
    }


def http_route(name: str = "shop") -> Json:
    first = {
        "name": "agent",
        "matches": [{"path": {"type": "PathPrefix", "value": "/agent"}}],
        "filters": [HEADERS],
        "timeouts": {"request": "30s"},
        "backendRefs": [{"name": "agent-v1", "port": 8080}],
    }
    other = {"name": "other", "backendRefs": [{"name": "agent-v1", "port": 8080, "weight": 3}]}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": NS},
        "spec": {"parentRefs": [{"name": "edge"}], "hostnames": ["shop.test"], "rules": [first, other]},
    }


GATEWAY_CLASS: Json = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": "edge"},
    "spec": {"controllerName": CONTROLLER},
}
GATEWAY: Json = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "Gateway",
    "metadata": {"name": "edge", "namespace": NS},
    "spec": {
        "gatewayClassName": "edge",
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
    },
}


def body(backend: str, route: str = "shop", rule: str | None = "agent") -> RevisionBody:
    where = {"name": route} | ({} if rule is None else {"rule": rule})
    spec = {
        "version": backend,
        "runtime": "Service",
        "service": {"route": where, "backend": {"name": backend, "port": 8080}},
    }
    return RevisionBody(name=backend, digest=f"sha256:{backend}", version=backend, spec=spec)


def stable(version: int = 1, workflow: str = "bot", **where: Any) -> RoutePlan:
    return RoutePlan(namespace=NS, workflow=workflow, version=version, stable=body("agent-v1", **where))


def staged(version: int, mode: TrafficMode, share: Share) -> RoutePlan:
    return replace(stable(version), candidate=body("agent-v2"), mode=mode, share=share)


def split(version: int = 2, part: int = 20) -> RoutePlan:
    return staged(version, TrafficMode.SPLIT, Share(part, 100))


def mirror(version: int = 2) -> RoutePlan:
    return staged(version, TrafficMode.MIRROR, Share(1, 100))


@dataclass
class Ahead(HostClock):
    """The host's time, moved on by tests; pauses are short."""

    by: float = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.by

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 50)


@dataclass
class Metrics:
    repairs: list[tuple[str, str, str]] = field(default_factory=list)

    def repaired(self, namespace: str, workflow: str, field: str) -> None:
        self.repairs.append((namespace, workflow, field))


@dataclass
class World:
    """The routed plans with their watch, and hands on the route."""

    plane: ControlPlane
    api: DynamicApi
    fence: Open = field(default_factory=Open)
    clock: Ahead = field(default_factory=Ahead)
    metrics: Metrics = field(default_factory=Metrics)
    told: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        inner = ConfigMapPlans(self.api, self.fence, self.clock, lambda namespace, workflow: None)
        self.plans = RoutedPlans(
            inner,
            self.api,
            self.fence,
            self.clock,
            metrics=self.metrics,
            told=lambda *key: self.told.add(key),
        )

    async def follow(self, version: str) -> None:
        """What the informer does."""
        self.plans.follows(NS)
        async with aclosing(self.api.watch(HTTP_ROUTES, NS, after=version)) as changes:
            async for seen in changes:
                if seen.item is not None:
                    self.plans.seen_route(seen.item, deleted=seen.type is ChangeType.DELETED)

    async def route(self, name: str = "shop") -> Json:
        return await self.api.get(HTTP_ROUTES, NS, name)

    async def rule(self, name: str = "agent", route: str = "shop") -> Json:
        rules = (await self.route(route))["spec"]["rules"]
        return next(rule for rule in rules if rule["name"] == name)

    async def weights(self, route: str = "shop") -> dict[str, int]:
        refs = (await self.rule(route=route))["backendRefs"]
        return {ref["name"]: ref.get("weight", 1) for ref in refs}

    async def kubectl(self, *args: str, input: str | None = None) -> str:
        done = await asyncio.to_thread(self.plane.kubectl, *args, "-n", NS, input=input)
        return done.stdout

    async def apply(self, *items: Json) -> None:
        await asyncio.to_thread(self.plane.apply, *items)

    async def edit(self, operations: list[Json], manager: str = "argocd-controller") -> None:
        """As somebody else."""
        text = json.dumps(operations)
        await self.kubectl(
            "patch", "httproute", "shop", "--type=json", "-p", text, f"--field-manager={manager}"
        )

    async def weigh(self, weight: int, manager: str = "argocd-controller") -> None:
        await self.edit(
            [{"op": "replace", "path": "/spec/rules/0/backendRefs/0/weight", "value": weight}], manager
        )

    async def answer(self, status: str = "True", *, generation: int | None = None) -> None:
        """As the Gateway controller."""
        held = await self.route()
        conditions = [
            {
                "type": kind,
                "status": status if kind == "Accepted" else "True",
                "reason": "Accepted" if status == "True" else "NotAllowedByListeners",
                "message": "no listener takes it" if status != "True" else "",
                "observedGeneration": generation or held["metadata"]["generation"],
                "lastTransitionTime": "2026-03-01T00:00:00Z",
            }
            for kind in ("Accepted", "ResolvedRefs")
        ]
        parents = [{"parentRef": {"name": "edge"}, "controllerName": CONTROLLER, "conditions": conditions}]
        text = json.dumps({"status": {"parents": parents}})
        await self.kubectl("patch", "httproute", "shop", "--subresource=status", "--type=merge", "-p", text)

    async def trouble(self, workflow: str = "bot") -> str | None:
        found = (await self.plans.programmed(NS, workflow)).trouble
        return None if found is None else found.reason

    async def version(self) -> int:
        return (await self.plans.programmed(NS, "bot")).version

    async def features(self, *found: str) -> None:
        text = json.dumps({"status": {"supportedFeatures": [{"name": name} for name in found]}})
        await self.kubectl(
            "patch", "gatewayclass", "edge", "--subresource=status", "--type=merge", "-p", text
        )


async def until(what: str, condition: Callable[[], Awaitable[bool]]) -> None:
    try:
        await eventually(condition)
    except TimeoutError:
        raise AssertionError(f"not in time: {what}") from None


@pytest.fixture(scope="module")
def shop(installed: ControlPlane) -> ControlPlane:
    installed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}, GATEWAY_CLASS)
    return installed


@pytest.fixture
async def world(shop: ControlPlane) -> AsyncIterator[World]:
    everything = "httproutes,gateways,services,endpointslices,configmaps"
    await asyncio.to_thread(shop.kubectl, "delete", everything, "--all", "-n", NS)
    await asyncio.to_thread(
        shop.apply,
        GATEWAY,
        service("agent-v1"),
        service("agent-v2"),
        endpoints("agent-v1"),
        endpoints("agent-v2"),
        http_route(),
    )
    async with client(shop.kubeconfig()) as api, asyncio.TaskGroup() as group:
        made = World(shop, api)
        await made.features(FEATURE)
        page = await api.list(HTTP_ROUTES, NS)
        tasks = [group.create_task(made.follow(page.version)), group.create_task(made.plans.run())]
        yield made
        for task in tasks:
            task.cancel()


async def test_a_split_becomes_weights_of_one_rule_and_nothing_else_is_touched(world: World) -> None:
    before = await world.route()
    await world.plans.write(split())
    assert await world.weights() == {"agent-v1": 80, "agent-v2": 20}
    after = await world.route()
    rules = [
        copied | {"backendRefs": None} for copied in (before["spec"]["rules"][0], after["spec"]["rules"][0])
    ]
    assert rules[0] == rules[1]
    assert before["spec"]["rules"][1] == after["spec"]["rules"][1]
    assert {**before["spec"], "rules": None} == {**after["spec"], "rules": None}
    assert claims_of(after) == {"bot": {"rule": "agent"}}
    assert names.ROUTES in {entry["manager"] for entry in after["metadata"]["managedFields"]}


async def test_at_rest_the_spec_of_the_user_is_not_changed(world: World) -> None:
    await world.plans.write(stable())
    assert (await world.route())["metadata"]["generation"] == 1


async def test_it_is_programmed_when_the_gateway_accepted_this_generation(world: World) -> None:
    await world.plans.write(split())
    assert await world.trouble() == "NoParents"
    generation = (await world.route())["metadata"]["generation"]
    await world.answer(generation=generation - 1)
    await until("an earlier answer is no trouble", lambda: is_(world.trouble(), None))
    assert await world.version() == 0
    await world.answer("False")
    await until("the refusal", lambda: is_(world.trouble(), "NotAccepted"))
    found = (await world.plans.programmed(NS, "bot")).trouble
    assert found is not None
    assert "no listener takes it" in found.message
    await world.answer()
    await until("it is programmed", lambda: is_(world.version(), 2))


async def is_(found: Awaitable[object], expected: object) -> bool:
    return await found == expected


async def test_no_weight_before_the_candidate_answers(world: World) -> None:
    await world.kubectl("delete", "service/agent-v2", "endpointslice/agent-v2-1")
    await world.plans.write(split())
    assert await world.trouble() == "BackendNotReady"
    await world.apply(endpoints("agent-v2", ready=False), service("agent-v2"))
    await until("a look at the service", lambda: says(world, "no ready endpoint"))
    assert await world.weights() == {"agent-v1": 1}
    await world.apply(endpoints("agent-v2"))
    await until("traffic", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
    await until("the loop is told", lambda: is_(told(world), True))


async def says(world: World, words: str) -> bool:
    found = (await world.plans.programmed(NS, "bot")).trouble
    return found is not None and words in found.message


async def told(world: World) -> bool:
    return (NS, "bot") in world.told


async def test_a_port_that_the_service_does_not_have_gets_nothing(world: World) -> None:
    text = json.dumps([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}])
    await world.kubectl("patch", "service", "agent-v2", "--type=json", "-p", text)
    await world.plans.write(split())
    assert await says(world, "has no port 8080; its ports: 81")


async def test_a_mirror_is_a_fraction_and_goes_with_its_stage(world: World) -> None:
    await world.plans.write(mirror())
    filters = (await world.rule())["filters"]
    assert filters[0] == HEADERS
    assert filters[1]["requestMirror"]["fraction"] == {"numerator": 1, "denominator": 100}
    assert filters[1]["requestMirror"]["backendRef"]["name"] == "agent-v2"
    await world.plans.write(stable(3))
    assert (await world.rule())["filters"] == [HEADERS]


async def test_a_gateway_that_might_mirror_everything_mirrors_nothing(world: World) -> None:
    await world.features("HTTPRouteRequestMirror")
    await world.plans.write(mirror())
    assert await says(world, "GatewayClass edge does not list HTTPRouteRequestPercentageMirror")
    assert (await world.rule())["filters"] == [HEADERS]
    await world.features(FEATURE)
    await until("it mirrors", lambda: mirrors(world))


async def mirrors(world: World) -> bool:
    return len((await world.rule())["filters"]) == 2


async def test_a_gateway_that_is_not_there_mirrors_nothing(world: World) -> None:
    await world.kubectl("delete", "gateway/edge")
    await world.plans.write(mirror())
    assert await says(world, "Gateway edge, or its class, is not there")


async def test_a_foreign_edit_is_put_right_and_counted(world: World) -> None:
    await world.plans.write(split())
    await world.weigh(0)
    await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
    foreign = {"name": "elsewhere", "port": 80}
    await world.edit([{"op": "add", "path": "/spec/rules/0/backendRefs/-", "value": foreign}])
    await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
    assert world.metrics.repairs == [(NS, "bot", "backendRefs")] * 2
    assert await world.trouble() != "TrafficContested"


async def test_edits_elsewhere_are_not_ours_to_put_right(world: World) -> None:
    await world.plans.write(split())
    await world.edit(
        [
            {"op": "replace", "path": "/spec/rules/1/backendRefs/0/weight", "value": 9},
            {"op": "replace", "path": "/spec/rules/0/timeouts/request", "value": "9s"},
        ]
    )
    await world.weigh(0)
    await until("the repair of ours", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
    assert (await world.rule("other"))["backendRefs"][0]["weight"] == 9
    assert (await world.rule())["timeouts"] == {"request": "9s"}


async def fought(world: World) -> None:
    """Until it is left to the fighter."""
    await world.plans.write(split())
    for number in range(MOST_FLIPS + 1):
        await world.weigh(number)
        if number < MOST_FLIPS:
            await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
    await until("the fight is left", lambda: is_(world.trouble(), "TrafficContested"))


async def test_a_fighter_is_left_alone_and_named(world: World) -> None:
    await fought(world)
    found = (await world.plans.programmed(NS, "bot")).trouble
    assert found is not None
    assert (found.stalls, found.lasting) == (True, True)
    assert "argocd-controller changed backendRefs" in found.message
    assert len(world.metrics.repairs) == MOST_FLIPS
    assert await world.weights() == {"agent-v1": MOST_FLIPS, "agent-v2": 20}


async def test_two_managers_with_few_edits_each_are_no_fight(world: World) -> None:
    await world.plans.write(split())
    for number in range(MOST_FLIPS + 1):
        await world.weigh(number, "kubectl-edit" if number % 2 else "helm")
        await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))


async def test_a_fight_is_over_when_the_rule_is_as_wanted(world: World) -> None:
    await fought(world)
    await world.weigh(80)
    await until("the end of the fight", lambda: is_(world.trouble(), "NoParents"))
    await world.weigh(7)
    await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))


async def test_a_fight_is_over_when_nobody_came_back_for_long(world: World) -> None:
    await fought(world)
    world.clock.by += WINDOW_SECONDS + 1
    await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))


async def test_a_new_plan_is_programmed_whoever_fought_the_one_before(world: World) -> None:
    await fought(world)
    await world.plans.write(stable(3))
    assert await world.weights() == {"agent-v1": 1}


async def test_a_route_that_is_deleted_is_missed_and_found_again(world: World) -> None:
    await world.plans.write(split())
    await world.kubectl("delete", "httproute/shop")
    await until("it is missed", lambda: is_(world.trouble(), "RouteMissing"))
    await world.apply(http_route())
    await until("traffic", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))


async def test_a_route_that_never_was_is_said_so(world: World) -> None:
    await world.plans.write(stable(route="nowhere"))
    assert await says(world, "HTTPRoute nowhere is not there in routes")


async def test_two_workflows_do_not_take_one_rule(world: World) -> None:
    await world.plans.write(split())
    await world.plans.write(stable(workflow="other"))
    assert await world.trouble("other") == "RouteTaken"
    assert await world.weights() == {"agent-v1": 80, "agent-v2": 20}


async def test_a_workflow_that_goes_leaves_stable_and_no_mark(world: World) -> None:
    await world.plans.write(mirror())
    await world.plans.write(split(3))
    await world.plans.remove(NS, "bot")
    assert await world.weights() == {"agent-v1": 1}
    left = await world.route()
    assert claims_of(left) == {}
    assert "annotations" not in left["metadata"]
    assert await world.plans.plan(NS, "bot") is None


async def test_a_workflow_goes_also_when_its_route_is_gone(world: World) -> None:
    await world.plans.write(split())
    await world.kubectl("delete", "httproute/shop")
    await world.plans.remove(NS, "bot")
    assert await world.plans.plan(NS, "bot") is None


async def test_another_route_gets_the_traffic_and_the_earlier_one_is_left_on_stable(world: World) -> None:
    await world.apply(http_route("second"))
    await world.plans.write(split())
    moved = replace(split(3), stable=body("agent-v1", "second"), candidate=body("agent-v2", "second"))
    await world.plans.write(moved)
    assert await world.weights() == {"agent-v1": 1}
    assert claims_of(await world.route()) == {}
    assert await world.weights("second") == {"agent-v1": 80, "agent-v2": 20}


async def test_an_older_read_ends_in_a_conflict_and_never_in_traffic(world: World) -> None:
    """A second process that sees no events, as after a cut watch."""
    blind = World(world.plane, world.api)
    await blind.plans.write(stable())
    foreign = {"name": "agent-v2", "port": 8080, "weight": 5}
    await world.edit([{"op": "add", "path": "/spec/rules/0/backendRefs/0", "value": foreign}])
    await blind.plans.write(split())
    assert await world.weights() == {"agent-v1": 80, "agent-v2": 20}


async def test_without_the_right_to_change_routes_it_says_so(world: World) -> None:
    plane = world.plane
    await world.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak", "namespace": NS}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "weak", "namespace": NS},
            "rules": [
                {"apiGroups": [""], "resources": ["configmaps", "services"], "verbs": ["*"]},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
                {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["httproutes"], "verbs": ["get"]},
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "weak", "namespace": NS},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "weak"},
            "subjects": [{"kind": "ServiceAccount", "name": "weak", "namespace": NS}],
        },
    )
    kubeconfig = await asyncio.to_thread(plane.account_kubeconfig, NS, "weak")
    async with client(kubeconfig) as api:
        weak = World(plane, api)
        await weak.plans.write(split())
        found = (await weak.plans.programmed(NS, "bot")).trouble
    assert found is not None
    assert (found.reason, found.stalls) == ("RouteRefused", True)
    assert "cannot patch resource" in found.message


async def test_who_no_longer_leads_writes_no_route(world: World) -> None:
    await world.plans.write(split())
    world.fence.error = Unavailable("the lease is lost")
    await world.weigh(7)
    await until("it would repair", lambda: says(world, "the lease is lost"))
    assert await world.weights() == {"agent-v1": 7, "agent-v2": 20}
    world.fence.error = None
    await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))


async def test_what_a_gateway_runs_goes_past(world: World) -> None:
    managed = RevisionBody(name="m", digest="sha256:m", version="1", spec={"version": "1", "components": []})
    await world.plans.write(replace(stable(workflow="managed"), stable=managed))
    assert (await world.plans.programmed(NS, "managed")).gateways == 0
    await world.plans.remove(NS, "managed")
    with pytest.raises(NotFound):
        await world.api.get(HTTP_ROUTES, NS, "managed")


async def test_routes_that_nobody_watches_are_put_right_as_well(world: World) -> None:
    """As for an account without the right to watch."""
    blind = World(world.plane, world.api)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(blind.plans.run())
        await blind.plans.write(split())
        await world.weigh(0)
        await until("the repair", lambda: is_(world.weights(), {"agent-v1": 80, "agent-v2": 20}))
        await world.answer()
        await until("the Gateway's answer is read", lambda: is_(blind.version(), 2))
        await until("the loop is told", lambda: is_(told(blind), True))
        task.cancel()
