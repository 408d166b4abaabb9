"""A workflow of runtime Service with its HTTPRoute, and the part of a Gateway's controller, which the test plays."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.rollout.decisions import HASTE
from tests.cluster.client import MERGE, Client, Json
from tests.cluster.product import Place, Product
from tests.controlplane import installation
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

GATEWAY_API = "gateway.networking.k8s.io"
ROUTES = f"/apis/{GATEWAY_API}/v1/namespaces"
CONTROLLER = "test.sluicegate.io/gateway"
PATCH = "application/json-patch+json"
STAGES = ("Canary", "Controlled", "Full")
TIMES = "2026-03-01T00:00:00Z"


def edge(namespace: str) -> tuple[Json, Json]:
    """A GatewayClass and its Gateway."""
    made = {"apiVersion": f"{GATEWAY_API}/v1", "metadata": {"name": "edge"}}
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    spec = {"gatewayClassName": "edge", "listeners": [listener]}
    return (
        made | {"kind": "GatewayClass", "spec": {"controllerName": CONTROLLER}},
        made | {"kind": "Gateway", "metadata": {"name": "edge", "namespace": namespace}, "spec": spec},
    )


def condition(kind: str, generation: int) -> Json:
    """It holds, of this generation."""
    return {
        "type": kind,
        "status": "True",
        "reason": kind,
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": TIMES,
    }


def open_edge(plane: ControlPlane, namespace: str) -> None:
    """The Gateway is programmed, and its class mirrors shares."""
    plane.apply(*edge(namespace))
    admin, root = Client(plane), f"/apis/{GATEWAY_API}/v1"
    able = {"status": {"supportedFeatures": [{"name": "HTTPRouteRequestPercentageMirror"}]}}
    admin.got("PATCH", f"{root}/gatewayclasses/edge/status", able, MERGE)
    ready = {"status": {"conditions": [condition(kind, 1) for kind in ("Accepted", "Programmed")]}}
    admin.got("PATCH", f"{root}/namespaces/{namespace}/gateways/edge/status", ready, MERGE)


@contextmanager
def without_gateway_api(plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Its CRDs are gone inside, with every object; afterwards they are served again, and the Gateway is there."""
    admin = Client(plane)
    held = admin.got("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    names = [one["metadata"]["name"] for one in held if one["spec"]["group"] == GATEWAY_API]
    try:
        plane.kubectl(
            "delete", "customresourcedefinitions", *names, seconds=240
        )  # with every object, on a busy machine
        yield
    finally:
        installation.install(plane)
        until(
            "HTTPRoutes are served",
            lambda: admin.request("GET", f"{ROUTES}/{namespace}/httproutes")[0] == 200,
        )
        open_edge(plane, namespace)


@dataclass(frozen=True, slots=True)
class ServicePlace(Place):
    """Its HTTPRoute has the workflow's name, its Services are `<name>-v<major>`."""

    def prepared(self) -> "ServicePlace":
        """Route and Services are there; the route leads to version 1."""
        backends = [self.backend(version) for version in ("1.0.0", "2.0.0")]
        objects = [made for name in backends for made in self._answering(name)]
        self.product.plane.apply(*objects, self.route_made())
        return self

    def backend(self, version: str) -> str:
        """The Service of a version."""
        return f"{self.name}-v{version[0]}"

    def _answering(self, name: str) -> tuple[Json, Json]:
        port = {"port": 8080, "protocol": "TCP"}
        metadata = {"name": name, "namespace": self.namespace}
        labels = {"kubernetes.io/service-name": name}
        return (
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [port]}},
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": metadata | {"labels": labels},
                "addressType": "IPv4",
                "ports": [port],
                "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
            },
        )

    def route_made(self) -> Json:
        """As its owner writes it."""
        backend = {"name": self.backend("1"), "port": 8080, "weight": 100}
        rules = [{"name": "agent", "backendRefs": [backend]}]
        return {
            "apiVersion": f"{GATEWAY_API}/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"parentRefs": [{"name": "edge"}], "rules": rules},
        }

    def wish(self, version: str, *gates: Json) -> Json:
        """Apply a version; one second in a stage is enough for a person. gates: of Canary."""
        where = {
            "route": {"name": self.name, "rule": "agent"},
            "backend": {"name": self.backend(version), "port": 8080},
        }
        shares = {"Canary": 100, "Controlled": 4, "Full": 1}
        stages: list[Json] = [
            {
                "name": stage,
                "share": {"numerator": 1, "denominator": shares[stage]},
                "minDurationSeconds": 0,
            }
            for stage in STAGES
        ]
        if gates:
            stages[0]["gates"] = list(gates)
        rollout = {"skipStages": ["Shadow"], "evaluationIntervalSeconds": 1, "stages": stages}
        spec = {"version": version, "runtime": "Service", "service": where, "rollout": rollout}
        return self.apply({"apiVersion": API_VERSION, "kind": "AgentWorkflow", "metadata": {}, "spec": spec})

    @property
    def path(self) -> str:
        """Of the route."""
        return f"{ROUTES}/{self.namespace}/httproutes/{self.name}"

    def route(self) -> Json:
        """The HTTPRoute; it has to be there."""
        return self.product.admin.got("GET", self.path)

    def rule(self) -> Json:
        """Ours."""
        found: Json = self.route()["spec"]["rules"][0]
        return found

    def shares(self) -> dict[str, float]:
        """Of the requests that users send, by backend; without those that get none."""
        weights = {ref["name"]: ref["weight"] for ref in self.rule()["backendRefs"]}
        return {name: weight / sum(weights.values()) for name, weight in weights.items() if weight}

    def mirrors(self) -> dict[str, float]:
        """Of the requests that are copied, by backend."""
        filters = [one["requestMirror"] for one in self.rule().get("filters", ())]
        return {
            one["backendRef"]["name"]: one["fraction"]["numerator"] / one["fraction"]["denominator"]
            for one in filters
        }

    def take_up(self) -> bool:
        """As the Gateway's controller: the route as it is now is accepted, and its references resolve."""
        try:
            route = self.route()
        except http.client.HTTPException:
            return True
        generation, parents = route["metadata"]["generation"], route.get("status", {}).get("parents", ())
        if [one["conditions"][0]["observedGeneration"] for one in parents] != [generation]:
            conditions = [condition(kind, generation) for kind in ("Accepted", "ResolvedRefs")]
            answer = {"parentRef": {"name": "edge"}, "controllerName": CONTROLLER, "conditions": conditions}
            path = f"{self.path}/status"
            self.product.admin.got("PATCH", path, {"status": {"parents": [answer]}}, MERGE)
        return True

    def edit(self, weight: int, manager: str) -> Json:
        """Somebody else changes the first weight."""
        change = {"op": "replace", "path": "/spec/rules/0/backendRefs/0/weight", "value": weight}
        return self.product.admin.got("PATCH", f"{self.path}?fieldManager={manager}", [change], PATCH)

    def condition(self, kind: str) -> tuple[Any, ...]:
        """Status and reason of a condition of the workflow; nothing while it is not there."""
        held = self.workflow().get("status", {}).get("conditions", [])
        return next(((one["status"], one["reason"]) for one in held if one["type"] == kind), ())

    def message(self, kind: str) -> str:
        """What a condition says to people."""
        held = self.workflow()["status"]["conditions"]
        return next((str(one["message"]) for one in held if one["type"] == kind), "")

    def settled(self) -> "ServicePlace":
        """Version 1 is stable, and the Gateway serves it."""
        self.prepared().wish("1.0.0")
        until(
            f"{self.name} is served", lambda: self.take_up() and self.condition("Ready") == ("True", "Stable")
        )
        return self

    def reach_by_people(self, state: str, version: str) -> None:
        """Somebody promotes from stage to stage, and the Gateway follows; until the state is programmed."""
        for stage in STAGES:
            self.follow(stage, version)
            if stage == state:
                return
            self.promote(version)
        self.follow(state, version)

    def promote(self, version: str) -> None:
        """Somebody promotes the stage, after a look at it: sooner a promotion is refused."""
        status = self.status(version)
        seen = datetime.fromisoformat(status["stageStartedAt"]) + HASTE + timedelta(seconds=1)
        until("there was time for a look", lambda: SystemClock().now() > seen)
        code, said = self.decide("Promote", version, name=f"{self.name}-leaves-{status['state'].lower()}")
        assert code == 201, said

    def follow(self, state: str, version: str) -> None:
        """The Gateway takes up what there is until the rollout is in `state` and programmed."""

        def there() -> bool:
            self.take_up()
            status = self.status(version)
            if status["state"] != state:
                return False
            found = {one["type"]: one["status"] for one in status["conditions"]}
            return state == "Done" or found["TrafficProgrammed"] == "True"

        try:
            until(f"{self.name} {version} in {state}", there, 240)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {json.dumps(self.status(version), indent=1)}") from error


def service(product: Product, namespace: str, name: str) -> ServicePlace:
    """Settled on version 1."""
    return ServicePlace(product, namespace, name).settled()
