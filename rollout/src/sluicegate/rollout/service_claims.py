"""Whose rule it is, kept as an annotation of the HTTPRoute. Pure.

So a mirror is found again after its candidate has gone from the plan, and two workflows never take the same rule.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from sluicegate.contracts.resources.base import GROUP
from sluicegate.rollout.service_wishes import Wanted

Json = dict[str, Any]
CLAIMS: Final = f"{GROUP}/routes"
"""Annotation: {workflow: {rule, mirror}} as JSON; rule is absent where the workflow names none."""


def claims_of(route: Json) -> dict[str, Json]:
    """By workflow; what is not as we write it counts as nothing."""
    text = (route["metadata"].get("annotations") or {}).get(CLAIMS)
    try:
        held = json.loads(text) if text else {}
    except ValueError:
        return {}
    if not isinstance(held, dict):
        return {}
    return {name: claim for name, claim in held.items() if isinstance(claim, dict)}


def claim_of(target: Wanted) -> Json:
    """Of `target`."""
    rule = {} if target.rule is None else {"rule": target.rule}
    if target.mirror is None:
        return rule
    return {**rule, "mirror": f"{target.mirror[0].name}:{target.mirror[0].port}"}


def changes(route: Json, claims: dict[str, Json]) -> Iterator[Json]:
    """Operations that make `claims` the route's."""
    if claims == claims_of(route):
        return
    annotations = route["metadata"].get("annotations")
    at = f"/metadata/annotations/{CLAIMS.replace('/', '~1')}"
    text = json.dumps(claims, sort_keys=True, separators=(",", ":"))
    if not claims:
        yield {"op": "remove", "path": at}
    elif annotations is None:
        yield {"op": "add", "path": "/metadata/annotations", "value": {CLAIMS: text}}
    else:
        yield {"op": "add", "path": at, "value": text}
