"""A rule of an HTTPRoute while several have to do with it, and while nobody can say what it is. Without a cluster."""

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sluicegate.contracts.errors import Conflict, Unavailable
from sluicegate.contracts.routes import RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.operator.cluster.ports import HTTP_ROUTES, Api, NotServed
from sluicegate.operator.cluster.routes import RoutedPlans
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import Json, Programmed

KEY = ("shop", "bot")


def body(backend: str) -> RevisionBody:
    service = {"route": {"name": "edge"}, "backend": {"name": backend, "port": 80}}
    spec = {"version": backend, "runtime": "Service", "service": service}
    return RevisionBody(name=backend, digest=f"sha256:{backend}", version=backend, spec=spec)


STABLE = RoutePlan(namespace="shop", workflow="bot", version=3, stable=body("v1"))
SPLIT = RoutePlan(
    namespace="shop",
    workflow="bot",
    version=2,
    stable=body("v1"),
    candidate=body("v2"),
    mode=TrafficMode.SPLIT,
    share=Share(1, 5),
)


@dataclass
class Held:
    """`Plans`, in memory."""

    plans: dict[tuple[str, str], RoutePlan] = field(default_factory=dict)

    async def write(self, plan: RoutePlan) -> None:
        self.plans[plan.namespace, plan.workflow] = plan

    async def remove(self, namespace: str, workflow: str) -> None:
        self.plans.pop((namespace, workflow), None)

    async def plan(self, namespace: str, workflow: str) -> RoutePlan | None:
        return self.plans.get((namespace, workflow))

    async def programmed(self, namespace: str, workflow: str) -> Programmed:
        raise AssertionError


class Leads:
    def epoch(self) -> int:
        return 1


@dataclass
class Routes:
    """One HTTPRoute. slow: endpoints are answered only when it is set."""

    slow: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    route: Json = field(
        default_factory=lambda: {
            "metadata": {"namespace": "shop", "name": "edge", "uid": "u", "resourceVersion": "1"},
            "spec": {"rules": [{"backendRefs": [{"name": "v1", "port": 80, "weight": 1}]}]},
        }
    )

    async def get(self, api: Api, _namespace: str | None, name: str) -> Json:
        if self.error is not None:
            raise self.error
        if api == HTTP_ROUTES:
            return copy.deepcopy(self.route)
        return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}

    async def list(self, *_: Any, **__: Any) -> Any:
        self.asked.set()
        await self.slow.wait()
        ports = [{"port": 80}]
        slices = (
            {"ports": ports, "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]},
        )
        return type("Page", (), {"items": slices})

    async def patch(
        self, _api: Api, _namespace: str, _name: str, operations: Sequence[Json], *, manager: str
    ) -> Json:
        version = self.route["metadata"]["resourceVersion"]
        if operations[0]["value"] != version:
            raise Conflict("another version")
        for operation in operations[1:]:
            _apply(self.route, operation)
        self.route["metadata"]["resourceVersion"] = str(int(version) + 1)
        return copy.deepcopy(self.route)

    def leads_to(self) -> set[str]:
        return {ref["name"] for ref in self.route["spec"]["rules"][0]["backendRefs"] if ref["weight"]}


def _apply(document: Any, operation: Json) -> None:
    *way, last = [part.replace("~1", "/") for part in operation["path"].split("/")[1:]]
    for part in way:
        document = document[int(part)] if isinstance(document, list) else document[part]
    if operation["op"] == "remove":
        del document[int(last) if isinstance(document, list) else last]
    elif isinstance(document, list):
        document.append(operation["value"])
    else:
        document[last] = operation["value"]


async def half_programmed(api: Routes) -> tuple[RoutedPlans, asyncio.Task[None]]:
    """The split is being programmed: the candidate's endpoints are asked for."""
    plans = RoutedPlans(Held(), api, Leads(), HostClock())  # type: ignore[arg-type]
    task = asyncio.ensure_future(plans.write(SPLIT))
    await api.asked.wait()
    return plans, task


async def test_who_programs_a_plan_that_is_over_does_not_write_over_the_next_one() -> None:
    api = Routes()
    plans, late = await half_programmed(api)
    await plans.write(STABLE)
    api.slow.set()
    await late
    assert api.leads_to() == {"v1"}


async def test_who_programs_a_plan_that_is_over_does_not_write_into_what_was_left() -> None:
    api = Routes()
    plans, late = await half_programmed(api)
    await plans.remove(*KEY)
    api.slow.set()
    await late
    assert api.leads_to() == {"v1"}
    assert not api.route["metadata"].get("annotations")


async def test_a_look_goes_on_while_nobody_can_say_what_the_route_is() -> None:
    api = Routes(error=Unavailable("no answer"))
    plans = RoutedPlans(Held({KEY: SPLIT}), api, Leads(), HostClock())  # type: ignore[arg-type]
    found = await plans.programmed(*KEY)
    assert found.version == 0
    assert found.trouble is not None
    assert found.trouble.lasting
    assert not found.trouble.stalls


async def test_routes_that_are_not_served_lead_nobody_anywhere_and_a_workflow_can_go() -> None:
    api = Routes(error=NotServed("no such kind"))
    held = Held({KEY: SPLIT})
    plans = RoutedPlans(held, api, Leads(), HostClock())  # type: ignore[arg-type]
    found = await plans.programmed(*KEY)
    assert found.trouble is not None
    assert (found.trouble.reason, found.trouble.lasting, found.gateways) == ("RoutesNotServed", False, 0)
    assert "httproutes.gateway.networking.k8s.io v1" in found.trouble.message
    await plans.remove(*KEY)
    assert held.plans == {}
