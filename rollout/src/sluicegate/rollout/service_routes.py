"""What a rule of an HTTPRoute has to be under a routing plan, and the JSON patch that makes it so. Pure.

One rule is ours, and of it two things: which Services `backendRefs` holds, with which weights, and one RequestMirror
filter. All else stays as it is: other rules, matches, filters, timeouts, and the filters of a backend. A split that
is as wanted is left alone, however its numbers are written.
"""

from collections.abc import Sequence
from typing import Any

from sluicegate.contracts.resources.service import ServiceBackend
from sluicegate.rollout import service_claims, service_rules
from sluicegate.rollout.model import Trouble
from sluicegate.rollout.service_rules import is_backend
from sluicegate.rollout.service_wishes import Wanted

Json = dict[str, Any]


def patch(route: Json, target: Wanted) -> tuple[Json, ...] | Trouble:
    """Operations of a JSON patch that only this very version of the route takes; none when all is as wanted."""
    index = _place(route, target)
    if isinstance(index, Trouble):
        return index
    rule, claims = route["spec"]["rules"][index], service_claims.claims_of(route)
    refused = _not_ours(route, rule, target, claims)
    if refused is not None:
        return refused
    at = f"/spec/rules/{index}"
    changes = [
        *service_rules.backends(rule, target, f"{at}/backendRefs", route["metadata"]["namespace"]),
        *service_rules.mirrors(rule, target, f"{at}/filters", claims.get(target.workflow, {})),
        *service_claims.changes(route, {**claims, target.workflow: service_claims.claim_of(target)}),
    ]
    return guarded(route, changes)


def release(route: Json, workflow: str) -> tuple[Json, ...]:
    """Take the workflow's claim off."""
    claims = service_claims.claims_of(route)
    if workflow not in claims:
        return ()
    left = {name: claim for name, claim in claims.items() if name != workflow}
    return guarded(route, list(service_claims.changes(route, left)))


def guarded(route: Json, changes: Sequence[Json]) -> tuple[Json, ...]:
    """`changes`, for exactly the version of the route that they were made from."""
    if not changes:
        return ()
    version = route["metadata"]["resourceVersion"]
    return ({"op": "test", "path": "/metadata/resourceVersion", "value": version}, *changes)


def mentions(route: Json, target: Wanted, backend: ServiceBackend) -> bool:
    """Whether the rule leads to `backend` already, with a weight or with copies."""
    index = _place(route, target)
    if isinstance(index, Trouble):
        return False
    rule, namespace = route["spec"]["rules"][index], route["metadata"]["namespace"]
    refs = [ref for ref in rule.get("backendRefs") or () if ref.get("weight", 1)]
    refs += [item["requestMirror"]["backendRef"] for _, item in service_rules.all_mirrors(rule)]
    return any(is_backend(ref, backend, namespace) for ref in refs)


def _place(route: Json, target: Wanted) -> int | Trouble:
    """Which rule is meant."""
    rules = route["spec"].get("rules") or []
    names = [rule.get("name") for rule in rules]
    if target.rule is not None:
        if target.rule in names:
            return names.index(target.rule)
        known = ", ".join(name for name in names if name) or "none"
        said = f"HTTPRoute {target.route} has no rule named {target.rule}; its rules: {known}"
        return _stalled("RouteMissing", f"{said}; name one of them in spec.service.route.rule")
    leading = [number for number, rule in enumerate(rules) if _leads(rule, target, route)]
    if len(leading) == 1:
        return leading[0]
    if not leading and len(rules) == 1:
        return 0
    service = target.weights[0][0].name
    found = "no rule leads" if not leading else f"rules {', '.join(str(number) for number in leading)} lead"
    said = f"HTTPRoute {target.route}: {found} to {service}"
    return _stalled("RouteAmbiguous", f"{said}; name the rule, and say so in spec.service.route.rule")


def _leads(rule: Json, target: Wanted, route: Json) -> bool:
    known = [backend for backend, _ in target.weights]
    namespace = route["metadata"]["namespace"]
    refs = rule.get("backendRefs") or ()
    return any(is_backend(ref, backend, namespace) for ref in refs for backend in known)


def _not_ours(route: Json, rule: Json, target: Wanted, claims: dict[str, Json]) -> Trouble | None:
    """Another workflow has the rule, or it leads elsewhere and was never ours."""
    others = [name for name in sorted(claims) if name != target.workflow]
    taken = [name for name in others if target.rule is not None and claims[name].get("rule") == target.rule]
    if taken:
        said = f"rule {target.rule} of HTTPRoute {target.route} is routed by workflow {taken[0]}"
        return _stalled("RouteTaken", f"{said}; give this workflow a rule of its own")
    claim = claims.get(target.workflow)
    unnamed = [name for name in others if "rule" not in claims[name]]
    if claim is not None and claim.get("rule") == target.rule and not (target.rule is None and unnamed):
        return None
    known = [backend for backend, _ in target.weights] + list(target.backends)
    namespace = route["metadata"]["namespace"]
    refs = rule.get("backendRefs") or ()
    foreign = [ref for ref in refs if not any(is_backend(ref, one, namespace) for one in known)]
    if not foreign:
        return None
    said = f"the rule of HTTPRoute {target.route} leads to {foreign[0].get('name')} as well"
    return _stalled("RouteAmbiguous", f"{said}; leave only {target.weights[0][0].name} in it")


def _stalled(reason: str, message: str) -> Trouble:
    """A rule that is not there leads nobody to the candidate."""
    return Trouble(reason=reason, message=message, stalls=True, lasting=reason != "RouteMissing")
