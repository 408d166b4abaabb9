"""A routing plan as a ConfigMap, and back. Pure.

    metadata.labels       sluicegate.io/plan: <workflow>, sluicegate.io/kind: plan
    metadata.annotations  sluicegate.io/summary: one line for people
    data                  version, leaseUntil (RFC 3339, empty: none), plan.json
    binaryData            plan.json.z instead (zlib), above PLAIN bytes

What others put beside these is ignored.
"""

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Final

import orjson

from sluicegate.contracts.errors import Problem, Refused, Unavailable
from sluicegate.contracts.limits import MAX_PLAN
from sluicegate.contracts.resources.base import API_VERSION, GROUP
from sluicegate.contracts.routes import RoutePlan, TrafficMode
from sluicegate.gateway.plan_json import plan_from_json, plan_to_json
from sluicegate.gateway.plan_table import WorkflowKey
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.ports import CONFIG_MAPS
from sluicegate.operator.ports import Json
from sluicegate.rollout import plan_size, service_wishes

PLAIN: Final = 256 << 10
"""Bytes of JSON up to which a plan can be read in the ConfigMap as it is."""
LARGEST: Final = 16 << 20
"""Bytes of a plan's JSON that are unpacked."""
KIND_LABEL: Final = f"{GROUP}/kind"
LABELS: Final = {KIND_LABEL: "plan"}
"""Every plan has them, and nothing else has."""
SUMMARY: Final = f"{GROUP}/summary"
_LAST: Final = 2**63 - 1
_VERSION, _LEASE, _JSON, _PACKED = "version", "leaseUntil", "plan.json", "plan.json.z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A plan's ConfigMap: what is looked at without decoding the plan."""

    key: WorkflowKey
    uid: str
    resource_version: str
    version: int
    lease_until: str
    body: bytes  # zlib

    @property
    def revision(self) -> int:
        """The resourceVersion as a number; those of one kind can be compared."""
        return int(self.resource_version)


def encode(plan: RoutePlan, *, owner: str | None, resource_version: str | None = None) -> Json:
    """The ConfigMap. owner: uid of the AgentWorkflow. Refused when it cannot be stored."""
    text = orjson.dumps(plan_to_json(plan))
    lease = plan.lease_until.isoformat() if plan.lease_until is not None else ""
    metadata: Json = {
        "name": names.plan_name(plan.workflow),
        "namespace": plan.namespace,
        "labels": {**LABELS, names.PLAN_LABEL: plan.workflow},
        "annotations": {SUMMARY: summary(plan)},
    }
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": API_VERSION, "kind": "AgentWorkflow", "name": plan.workflow, "uid": owner}
        ]
    if resource_version:
        metadata["resourceVersion"] = resource_version
    item: Json = {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": metadata,
        "data": {_VERSION: str(plan.version), _LEASE: lease},
    }
    if len(text) <= PLAIN:
        item["data"][_JSON] = text.decode()
        return item
    packed = plan_size.packed(text)
    if len(packed) > MAX_PLAN:
        raise Refused((_too_large(plan, len(text), len(packed)),))
    item["binaryData"] = {_PACKED: packed.decode()}
    return item


def stored(item: Json) -> Stored | None:
    """What lies in a ConfigMap; None when it is no plan, or none yet, or was spoilt."""
    metadata, data = item["metadata"], item.get("data") or {}
    workflow = (metadata.get("labels") or {}).get(names.PLAN_LABEL)
    if not workflow or metadata["name"] != names.plan_name(workflow):
        return None
    try:
        if _JSON in data:
            body = zlib.compress(data[_JSON].encode(), 1)
        else:
            body = base64.b64decode((item.get("binaryData") or {})[_PACKED], validate=True)
        return Stored(
            key=WorkflowKey(metadata["namespace"], workflow),
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            version=int(data[_VERSION]),
            lease_until=data.get(_LEASE, ""),
            body=body,
        )
    except (KeyError, ValueError, binascii.Error, UnicodeEncodeError):
        return None


def decode(found: Stored) -> RoutePlan:
    """The plan. Unavailable when somebody spoilt it: the next write mends it."""
    try:
        unpack = zlib.decompressobj()
        text = unpack.decompress(found.body, LARGEST)
        plan = plan_from_json(orjson.loads(text), found.lease_until or None)
        _require_sound(plan)
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"the plan in ConfigMap {found.key.namespace}/{names.plan_name(found.key.workflow)} cannot be read: {error!r}"
        ) from error
    if (plan.namespace, plan.workflow, plan.version) != (*found.key, found.version):
        raise Unavailable(
            f"ConfigMap {found.key.namespace}/{names.plan_name(found.key.workflow)} holds the plan of "
            f"{plan.namespace}/{plan.workflow}, version {plan.version}"
        )
    return plan


def _require_sound(plan: RoutePlan) -> None:
    """What `plan_from_json` takes as it comes and everybody relies on."""
    if not all(isinstance(body.spec, dict) for body in (plan.stable, plan.candidate) if body is not None):
        raise TypeError("the spec of a revision is no object")
    if not 0 <= plan.version <= _LAST:
        raise ValueError(f"version {plan.version} is none")
    if plan.lease_until is not None and plan.lease_until.tzinfo is None:
        raise ValueError("leaseUntil has no time zone")
    service_wishes.wanted(plan)


def readable(item: Json) -> Stored | None:
    """`stored`, when the plan in it can be decoded too."""
    found = stored(item)
    try:
        return found if found is not None and decode(found) else None
    except Unavailable:
        return None


def is_news(known: Stored | None, plan: RoutePlan) -> bool:
    """Whether writing `plan` says anything: an older version never does, the same one only with another lease."""
    if known is None or plan.version > known.version:
        return True
    lease = plan.lease_until.isoformat() if plan.lease_until is not None else ""
    return plan.version == known.version and lease != known.lease_until


def summary(plan: RoutePlan) -> str:
    """One line: ``plan 7: Split 1/5 to 1.1.0, the rest to 1.0.0 (Controlled, attempt 1)``."""
    if plan.candidate is None or plan.mode is TrafficMode.STABLE_ONLY:
        return f"plan {plan.version}: everybody to {plan.stable.version}"
    stage = f"{plan.stage}, attempt {plan.attempt}" if plan.stage is not None else "no stage"
    share = f"{plan.share.numerator}/{plan.share.denominator}"
    how = {
        TrafficMode.SPLIT: f"{share} to {plan.candidate.version}, the rest to {plan.stable.version}",
        TrafficMode.MIRROR: f"everybody to {plan.stable.version}, a copy of {share} to {plan.candidate.version}",
    }
    return f"plan {plan.version}: {how[plan.mode]} ({stage})"


def _too_large(plan: RoutePlan, plain: int, packed: int) -> Problem:
    bodies = [body for body in (plan.stable, plan.candidate, *plan.rule_sets) if body is not None]
    parts = ", ".join(f"{body.name} {len(orjson.dumps(body.spec))} bytes" for body in bodies)
    return Problem(
        path="plan",
        message=f"the routing plan of {plan.namespace}/{plan.workflow} does not fit into a ConfigMap ({parts})",
        value=f"{plain} bytes, {packed} packed",
        allowed=f"{MAX_PLAN} bytes packed",
        hint="shorten prompts, values and schemas of the workflow, and the tables of its rule sets",
    )
