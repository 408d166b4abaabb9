"""What the gateways say of an HTTPRoute: its status, read as Gateway API means it. Pure."""

from collections.abc import Iterator
from typing import Any

from sluicegate.rollout.model import Trouble

Json = dict[str, Any]
_NAMES = ("group", "kind", "namespace", "name", "sectionName", "port")
_DEFAULTS = {"group": "gateway.networking.k8s.io", "kind": "Gateway"}


def acknowledged(route: Json) -> Trouble | bool:
    """True: every parent accepted this generation and resolved its references. False: not every one has looked at it.

    A Trouble says who refuses it and why, or that no gateway has taken it up.
    """
    parents = route["spec"].get("parentRefs") or ()
    name = route["metadata"]["name"]
    if not parents:
        said = f"HTTPRoute {name} has no parentRefs; attach it to a Gateway"
        return Trouble(reason="NoParents", message=said)
    answers = [(parent, _conditions(route, parent)) for parent in parents]
    silent = [parent for parent, found in answers if not found]
    if silent:
        said = f"HTTPRoute {name}: {_who(silent[0])} has not taken it up; is its controller running?"
        return Trouble(reason="NoParents", message=said)
    generation = route["metadata"].get("generation")
    current = True
    for parent, held in answers:
        for condition in held:
            if condition.get("observedGeneration") != generation:
                current = False
                continue
            if _is_refusal(condition):
                said = f"{_who(parent)}: {condition['type']} is {condition['status']}, {condition.get('reason')}: {condition.get('message', '')}"
                return Trouble(reason="NotAccepted", message=f"HTTPRoute {name}, {said}".rstrip(": "))
        current = current and {"Accepted", "ResolvedRefs"} <= {item["type"] for item in held}
    return current


def _is_refusal(condition: Json) -> bool:
    bad = {"PartiallyInvalid": "True"}.get(condition["type"])
    if bad is not None:
        return bool(condition["status"] == bad)
    return condition["type"] in {"Accepted", "ResolvedRefs"} and condition["status"] != "True"


def _conditions(route: Json, parent: Json) -> list[Json]:
    """Of every controller that speaks for this parent."""
    return list(_spoken(route, _identity(parent, route)))


def _spoken(route: Json, identity: tuple[Any, ...]) -> Iterator[Json]:
    known = {"Accepted", "ResolvedRefs", "PartiallyInvalid"}
    for answer in (route.get("status") or {}).get("parents") or ():
        if _identity(answer["parentRef"], route) == identity:
            yield from (item for item in answer.get("conditions") or () if item["type"] in known)


def _identity(parent: Json, route: Json) -> tuple[Any, ...]:
    values = {**_DEFAULTS, "namespace": route["metadata"]["namespace"], **parent}
    return tuple(values.get(name) for name in _NAMES)


def _who(parent: Json) -> str:
    return f"{parent.get('kind', 'Gateway')} {parent['name']}"
