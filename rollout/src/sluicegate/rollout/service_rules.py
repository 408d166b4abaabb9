"""From a rule as it is to the rule as wanted: operations on its backends and on our mirror. Pure."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sluicegate.contracts.resources.service import ServiceBackend
from sluicegate.contracts.routes import Share
from sluicegate.rollout.service_wishes import Wanted

Json = dict[str, Any]


def is_backend(ref: Json, backend: ServiceBackend, namespace: str) -> bool:
    """Whether a backendRef leads to the Service `backend` of the route's namespace."""
    return (
        ref.get("group", "") == ""
        and ref.get("kind", "Service") == "Service"
        and ref.get("namespace", namespace) == namespace
        and (ref.get("name"), ref.get("port")) == (backend.name, backend.port)
    )


def backends(rule: Json, target: Wanted, at: str, namespace: str) -> Iterator[Json]:
    """Weights of those that stay, then those that go from the end, then those that come."""
    refs = rule.get("backendRefs")
    if not refs:
        yield {"op": "add", "path": at, "value": [_ref(*pair) for pair in target.weights]}
        return
    place = {
        number: next((one for one, ref in enumerate(refs) if is_backend(ref, backend, namespace)), None)
        for number, (backend, _) in enumerate(target.weights)
    }
    kept = {found for found in place.values() if found is not None}
    gone = [number for number in range(len(refs)) if number not in kept]
    absent = [number for number, found in place.items() if found is None]
    if not gone and not absent and _is_same_split(refs, target, place):
        return
    for number, found in place.items():
        weight = target.weights[number][1]
        if found is not None and refs[found].get("weight", 1) != weight:
            yield {"op": "add", "path": f"{at}/{found}/weight", "value": weight}
    yield from ({"op": "remove", "path": f"{at}/{number}"} for number in reversed(gone))
    yield from ({"op": "add", "path": f"{at}/-", "value": _ref(*target.weights[number])} for number in absent)


def _is_same_split(refs: Sequence[Json], target: Wanted, place: dict[int, int | None]) -> bool:
    now = {number: refs[found].get("weight", 1) for number, found in place.items() if found is not None}
    here, there = sum(now.values()), sum(weight for _, weight in target.weights)
    return here > 0 and all(
        now[number] * there == weight * here for number, (_, weight) in enumerate(target.weights)
    )


def _ref(backend: ServiceBackend, weight: int) -> Json:
    """With the API server's defaults, so that what comes back is what was sent."""
    return {"group": "", "kind": "Service", "name": backend.name, "port": backend.port, "weight": weight}


def all_mirrors(rule: Json) -> list[tuple[int, Json]]:
    """RequestMirror filters, with their places."""
    filters = rule.get("filters") or ()
    return [(number, item) for number, item in enumerate(filters) if item.get("type") == "RequestMirror"]


def mirrors(rule: Json, target: Wanted, at: str, claim: Json) -> Iterator[Json]:
    """Ours as wanted; those of others stay."""
    namespace, wish = target.namespace, target.mirror
    own = [
        (number, item["requestMirror"])
        for number, item in all_mirrors(rule)
        if (wish is not None and is_backend(item["requestMirror"]["backendRef"], wish[0], namespace))
        or _named(item["requestMirror"]["backendRef"]) == claim.get("mirror")
    ]
    keep = next(
        (pair for pair in own if wish and is_backend(pair[1]["backendRef"], wish[0], namespace)), None
    )
    gone = [number for number, _ in own if keep is None or number != keep[0]]
    if keep is not None and wish is not None and _fraction(keep[1]) != Fraction(*_share(wish[1]).values()):
        if "percent" in keep[1]:
            yield {"op": "remove", "path": f"{at}/{keep[0]}/requestMirror/percent"}
        yield {"op": "add", "path": f"{at}/{keep[0]}/requestMirror/fraction", "value": _share(wish[1])}
    filters = rule.get("filters") or ()
    if gone and len(gone) == len(filters) and wish is None:
        yield {"op": "remove", "path": at}
        return
    yield from ({"op": "remove", "path": f"{at}/{number}"} for number in reversed(gone))
    if wish is not None and keep is None:
        made = {"type": "RequestMirror", "requestMirror": _mirror(*wish)}
        yield (
            {"op": "add", "path": f"{at}/-", "value": made}
            if "filters" in rule
            else {
                "op": "add",
                "path": at,
                "value": [made],
            }
        )


def _mirror(backend: ServiceBackend, share: Share) -> Json:
    ref = {"group": "", "kind": "Service", "name": backend.name, "port": backend.port}
    return {"backendRef": ref, "fraction": _share(share)}


def _share(share: Share) -> dict[str, int]:
    return {"numerator": share.numerator, "denominator": share.denominator}


def _fraction(mirror: Json) -> Fraction:
    if "fraction" in mirror:
        return Fraction(mirror["fraction"]["numerator"], mirror["fraction"].get("denominator", 100))
    return Fraction(mirror.get("percent", 100), 100)


def _named(ref: Json) -> str:
    return f"{ref.get('name')}:{ref.get('port')}"
