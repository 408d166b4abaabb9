"""What has to be there before a candidate gets traffic: endpoints, and a gateway that mirrors a share."""

from typing import Final

from sluicegate.contracts.errors import Forbidden, NotFound
from sluicegate.contracts.resources.service import ServiceBackend
from sluicegate.operator.cluster.ports import Api, KubeReader, NotServed
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Trouble

SERVICES: Final = Api(group="", version="v1", kind="Service", plural="services")
ENDPOINT_SLICES: Final = Api(
    group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices"
)
GATEWAYS: Final = Api(group="gateway.networking.k8s.io", version="v1", kind="Gateway", plural="gateways")
GATEWAY_CLASSES: Final = Api(
    group="gateway.networking.k8s.io",
    version="v1",
    kind="GatewayClass",
    plural="gatewayclasses",
    namespaced=False,
)
PERCENTAGE_MIRROR: Final = "HTTPRouteRequestPercentageMirror"
"""The feature's name in GatewayClass status.supportedFeatures (Gateway API, pkg/features)."""


async def backend_trouble(api: KubeReader, namespace: str, backend: ServiceBackend) -> Trouble | None:
    """None when the Service has the port and at least one ready endpoint."""
    try:
        service = await api.get(SERVICES, namespace, backend.name)
    except NotFound:
        return _not_ready(backend, "is not there")
    ports = [port["port"] for port in service["spec"].get("ports") or ()]
    if backend.port not in ports:
        listed = ", ".join(str(port) for port in ports) or "none"
        return _not_ready(backend, f"has no port {backend.port}; its ports: {listed}")
    labels = {"kubernetes.io/service-name": backend.name}
    slices = await api.list(ENDPOINT_SLICES, namespace, labels=labels)
    if not any(_is_ready(endpoint) for item in slices.items for endpoint in item.get("endpoints") or ()):
        return _not_ready(backend, "has no ready endpoint")
    return None


def _is_ready(endpoint: Json) -> bool:
    """Unknown counts as ready (EndpointConditions)."""
    return (endpoint.get("conditions") or {}).get("ready") is not False


def _not_ready(backend: ServiceBackend, why: str) -> Trouble:
    return Trouble(
        reason="BackendNotReady",
        message=f"Service {backend.name} {why}; the candidate gets no traffic before",
    )


async def mirror_trouble(api: KubeReader, route: Json) -> Trouble | None:
    """None when every parent's GatewayClass says that it mirrors a share; else it might mirror everything."""
    for parent in route["spec"].get("parentRefs") or ():
        who = f"{parent.get('kind', 'Gateway')} {parent['name']}"
        if parent.get("kind", "Gateway") != "Gateway":
            return _unsupported(f"{who} says nothing of its features")
        namespace = parent.get("namespace", route["metadata"]["namespace"])
        try:
            gateway = await api.get(GATEWAYS, namespace, parent["name"])
            name = gateway["spec"]["gatewayClassName"]
            found = await api.get(GATEWAY_CLASSES, None, name)
        except (NotFound, NotServed):
            return _unsupported(f"{who}, or its class, is not there")
        except Forbidden:
            return _unsupported(f"the class of {who} may not be read")
        if PERCENTAGE_MIRROR not in _features(found):
            return _unsupported(
                f"GatewayClass {name} does not list {PERCENTAGE_MIRROR} in its supportedFeatures"
            )
    return None


def _features(gateway_class: Json) -> set[str]:
    """Of both forms: objects with a name, and names."""
    held = (gateway_class.get("status") or {}).get("supportedFeatures") or ()
    return {item["name"] if isinstance(item, dict) else str(item) for item in held}


def _unsupported(why: str) -> Trouble:
    said = (
        f"{why}: a share of the requests cannot be mirrored for certain; abort, and skip Canary (skipStages)"
    )
    return Trouble(reason="MirrorUnsupported", message=said, stalls=True)
