"""What a gateway says of itself in its Lease, and which gateways live. Pure.

labels       sluicegate.io/gateway: "true"
annotations  sluicegate.io/serves   *  or  shop,team
             sluicegate.io/applied  4711  or  shop=4711,team=4688: every worker serves the plans up to there
             sluicegate.io/broken   {"shop/bot": {"version": 7, "reason": "…"}}: plans that a worker cannot serve
spec         holderIdentity (none: the gateway has left), leaseDurationSeconds, renewTime
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from sluicegate.contracts.resources.base import GROUP
from sluicegate.gateway.plan_table import Broken, WorkflowKey
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.ports import LEASES
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.objects import stamp

EVERYWHERE: Final = "*"
BROKEN: Final = f"{GROUP}/broken"
ALIVE_SECONDS: Final = 15.0
"""Three heartbeats."""
MOST_BROKEN: Final = 100
_REASON: Final = 300
_DIGITS: Final = 20
"""Of a resourceVersion, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A gateway's word. applied: by namespace; of a gateway that serves all, under `EVERYWHERE`."""

    serves: tuple[str, ...]  # EVERYWHERE or namespaces
    applied: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[WorkflowKey, tuple[int, str]] = field(default_factory=dict)

    def does_serve(self, namespace: str) -> bool:
        """Whether plans of the namespace are its business."""
        return EVERYWHERE in self.serves or namespace in self.serves

    def has_applied(self, namespace: str) -> int:
        """Up to which resourceVersion; 0: nothing yet."""
        return self.applied.get(EVERYWHERE if EVERYWHERE in self.serves else namespace, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """The pod that a gateway runs in."""

    name: str
    uid: str


def lease_name(gateway: str) -> str:
    """Of a gateway."""
    return f"sluicegate-gateway-{gateway}"


def encode(gateway: str, namespace: str, said: Acknowledged, now: datetime, pod: Pod | None = None) -> Json:
    """The Lease."""
    annotations = {names.SERVES: ",".join(said.serves), names.APPLIED: _applied(said)}
    if said.broken:
        shown = {
            f"{key.namespace}/{key.workflow}": {"version": version, "reason": reason[:_REASON]}
            for key, (version, reason) in sorted(said.broken.items())
        }
        annotations[BROKEN] = orjson.dumps(shown).decode()
    metadata: Json = {
        "name": lease_name(gateway),
        "namespace": namespace,
        "labels": {names.GATEWAY_LABEL: "true"},
        "annotations": annotations,
    }
    if pod is not None:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}]
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": {
            "holderIdentity": gateway,
            "leaseDurationSeconds": int(ALIVE_SECONDS),
            "renewTime": stamp(now),
        },
    }


LEFT: Final[Json] = {"op": "add", "path": "/spec/holderIdentity", "value": ""}
"""JSON patch of a gateway's Lease: nobody has to wait for it any more."""


def decode(item: Json) -> Acknowledged:
    """What the Lease says; what cannot be read is nothing said."""
    annotations = item["metadata"].get("annotations") or {}
    serves = tuple(part.strip() for part in annotations.get(names.SERVES, "").split(",") if part.strip())
    return Acknowledged(
        serves=serves,
        applied=dict(_pairs(annotations.get(names.APPLIED, ""))),
        broken=_broken(annotations.get(BROKEN, "")),
    )


@dataclass(slots=True)
class _Known:
    said: Acknowledged
    sign: tuple[str, str]
    moved: float
    is_deleted: bool = False

    def is_alive(self, now: float) -> bool:
        return now - self.moved < ALIVE_SECONDS


class Liveness:
    """Gateways by their Leases; alive: its Lease was seen to change in the last seconds of the caller's own clock.

    A deletion says nothing of the gateway, whoever deleted: one that lives writes its Lease again before it counts as
    silent, and one that leaves says so.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def seen(self, item: Json, now: float, *, deleted: bool) -> tuple[Acknowledged, ...]:
        """What was and is said, when that differs; what is said alone of a gateway that came, came back or left."""
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        known = self._known.get(key)
        if "spec" in item and not item["spec"].get("holderIdentity"):
            self._known.pop(key, None)
            return (known.said,) if known is not None else ()
        if deleted:
            self._deleted(key, now)
            return ()
        sign = ((item.get("spec") or {}).get("renewTime", ""), item["metadata"]["resourceVersion"])
        said = decode(item)
        if known is None:
            self._known[key] = _Known(said, sign, now)
            return (said,)
        was_alive = known.is_alive(now)
        before, moved = known.said, sign != known.sign
        known.is_deleted = False
        known.said, known.sign, known.moved = said, sign, now if moved else known.moved
        if moved and not was_alive:
            return (said,)
        return (before, said) if before != said else ()

    def alive(self, namespace: str, now: float) -> tuple[tuple[str, Acknowledged], ...]:
        """Living gateways that serve the namespace, with their Leases' names."""
        return tuple(
            (name, known.said)
            for (_, name), known in sorted(self._known.items())
            if known.is_alive(now) and known.said.does_serve(namespace)
        )

    def _deleted(self, key: tuple[str, str], now: float) -> None:
        if key in self._known:
            self._known[key].is_deleted = True
        for name, known in list(self._known.items()):
            if known.is_deleted and not known.is_alive(now):
                del self._known[name]


def listed(broken: Iterable[Broken]) -> dict[WorkflowKey, tuple[int, str]] | None:
    """For `Acknowledged.broken`; None when there are too many to say."""
    found = {one.key: (one.version, one.reason) for one in broken}
    return found if len(found) <= MOST_BROKEN else None


def _applied(said: Acknowledged) -> str:
    if EVERYWHERE in said.serves:
        return str(said.applied.get(EVERYWHERE, 0))
    return ",".join(f"{name}={said.applied.get(name, 0)}" for name in said.serves)


def _pairs(text: str) -> Iterable[tuple[str, int]]:
    for part in text.split(","):
        name, _, number = part.strip().rpartition("=")
        if number.isdecimal() and len(number) <= _DIGITS:
            yield name or EVERYWHERE, int(number)


def _broken(text: str) -> dict[WorkflowKey, tuple[int, str]]:
    try:
        loaded = orjson.loads(text) if text else {}
        return {
            WorkflowKey(*name.split("/", 1)): (int(one["version"]), str(one["reason"]))
            for name, one in loaded.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
