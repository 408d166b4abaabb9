"""What a routing plan asks of a rule of an HTTPRoute. Pure."""

from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.resources.service import ServiceBackend, ServiceRuntime
from sluicegate.contracts.routes import RoutePlan, Share, TrafficMode
from sluicegate.contracts.verification.services import FINEST

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the rule has to do. weights: in order, of the backends that answer; mirror: who gets copies, and of how much."""

    namespace: str
    workflow: str
    route: str
    rule: str | None
    weights: tuple[tuple[ServiceBackend, int], ...]
    mirror: tuple[ServiceBackend, Share] | None = None

    @property
    def backends(self) -> tuple[ServiceBackend, ...]:
        """All that get traffic or copies."""
        answering = tuple(backend for backend, weight in self.weights if weight)
        return answering if self.mirror is None else (*answering, self.mirror[0])


def service_of(body: Json) -> ServiceRuntime | None:
    """Of a revision's spec; None when a gateway runs it."""
    held = body.get("service") if body.get("runtime") == "Service" else None
    return None if held is None else ServiceRuntime.model_validate(held)


def wanted(plan: RoutePlan) -> Wanted | None:
    """None when the plan is not of a Service."""
    stable = service_of(plan.stable.spec)
    if stable is None:
        return None
    candidate = None if plan.candidate is None else service_of(plan.candidate.spec)
    mirror = None
    weights: tuple[tuple[ServiceBackend, int], ...] = ((stable.backend, 1),)
    if candidate is not None and plan.mode is TrafficMode.MIRROR and plan.share.numerator:
        mirror = (candidate.backend, plan.share)
    elif candidate is not None and plan.mode is TrafficMode.SPLIT:
        rest, part = weights_of(plan.share)
        weights = ((stable.backend, rest), (candidate.backend, part))
    return Wanted(
        namespace=plan.namespace,
        workflow=plan.workflow,
        route=stable.route.name,
        rule=stable.route.rule,
        weights=weights,
        mirror=mirror,
    )


def weights_of(share: Share) -> tuple[int, int]:
    """Of stable and candidate. Exact up to a denominator of a million; beyond it the candidate gets a little less."""
    if share.denominator <= FINEST:
        return share.denominator - share.numerator, share.numerator
    part = share.numerator * FINEST // share.denominator
    return FINEST - part, part


def stable_only(target: Wanted) -> Wanted:
    """The same rule without a candidate, as it is left behind."""
    return Wanted(
        namespace=target.namespace,
        workflow=target.workflow,
        route=target.route,
        rule=target.rule,
        weights=((target.weights[0][0], 1),),
    )
