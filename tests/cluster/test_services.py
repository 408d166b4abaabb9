"""Workflows of runtime Service with a real operator: what HTTPRoutes hold, what people are told, and that nothing is left.

The Gateway API's CRDs are real; who accepts the routes is the test, in the part of a Gateway's controller. Weights are compared
as shares of the requests, which is how Gateway API defines them.
"""

from functools import partial

import pytest

from sluicegate.operator.cluster.route_fights import MOST_FLIPS
from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import OPERATOR, Product
from tests.cluster.services import ServicePlace, open_edge, service, without_gateway_api
from tests.cluster.test_rollouts import left
from tests.controlplane.audit import Entry
from tests.operator.up import until

pytestmark = pytest.mark.cluster
OLD, NEW = "1.0.0", "2.0.0"
TOOL = "argocd-controller"


@pytest.fixture(scope="module")
def shop(product: Product) -> Product:
    """With a Gateway."""
    open_edge(product.plane, NAMESPACE)
    return product


def test_the_first_version_is_ready_once_the_gateway_took_its_route_up(shop: Product) -> None:
    place = ServicePlace(shop, NAMESPACE, "first").prepared()
    place.wish(OLD)
    until("it waits for the Gateway", lambda: place.condition("TrafficProgrammed") == ("False", "NoParents"))
    assert place.condition("Ready") == ("Unknown", "NoParents")
    place.take_up()
    until("it is ready", lambda: place.condition("Ready") == ("True", "Stable"))
    assert place.shares() == {"first-v1": 1.0}
    assert place.route()["metadata"]["generation"] == 1, "what is as wanted is left as its owner wrote it"


def test_people_promote_it_through_its_stages(shop: Product) -> None:
    place = service(shop, NAMESPACE, "served-good")
    place.wish(NEW)
    seen = {}
    for stage in ("Canary", "Controlled", "Full"):
        place.follow(stage, NEW)
        seen[stage] = place.shares(), place.mirrors()
        place.promote(NEW)
    place.follow("Done", NEW)
    assert seen == {
        "Canary": ({"served-good-v1": 1.0}, {"served-good-v2": 0.01}),
        "Controlled": ({"served-good-v1": 0.75, "served-good-v2": 0.25}, {}),
        "Full": ({"served-good-v2": 1.0}, {}),
    }
    assert place.status(NEW)["outcome"] == "Promoted"
    until("it is ready", lambda: place.take_up() and place.condition("Ready") == ("True", "Stable"))
    assert (place.shares(), place.mirrors()) == ({"served-good-v2": 1.0}, {})
    assert place.workflow()["status"]["stableVersion"] == NEW


def test_an_abort_is_done_when_the_gateway_leads_to_stable_again(shop: Product) -> None:
    place = service(shop, NAMESPACE, "served-bad")
    place.wish(NEW)
    place.reach_by_people("Controlled", NEW)
    code, said = place.decide("Abort", NEW, name="bad-stop")
    assert code == 201, said
    until("the weights are back", lambda: place.shares() == {"served-bad-v1": 1.0})
    assert place.in_state("Draining", NEW)["status"]["outcome"] == "Aborted", (
        "the Gateway has not followed yet"
    )
    place.follow("Done", NEW)
    assert place.status(NEW)["outcome"] == "Aborted"
    until("people are told", lambda: place.condition("Stalled") == ("True", "Aborted"))
    assert place.shares() == {"served-bad-v1": 1.0}


def test_a_weight_of_somebody_else_is_put_right_and_one_who_goes_on_is_named(shop: Product) -> None:
    place = service(shop, NAMESPACE, "fought")
    place.wish(NEW)
    place.reach_by_people("Controlled", NEW)
    wanted = {"fought-v1": 0.75, "fought-v2": 0.25}
    for number in range(MOST_FLIPS):
        place.edit(number + 10, TOOL)
        until("it is put right", lambda: place.shares() == wanted)
    place.edit(7, TOOL)
    until("it is left", lambda: place.condition("Stalled") == ("True", "TrafficContested"))
    assert f"{TOOL} changed backendRefs" in place.message("Stalled")
    until("the rollout says so too", lambda: said_of_rollout(place) == ("True", "TrafficContested"))
    since = shop.plane.audit_position()
    for number in range(20, 40):
        place.edit(number, TOOL)
    code, said = place.decide("Abort", NEW, name="fought-stop")
    assert code == 201, said
    until("the way back is open", lambda: place.shares() == {"fought-v1": 1.0})
    assert len(written(place, since)) <= 1, "nobody writes against the tool before a person acts"
    place.follow("Done", NEW)


def said_of_rollout(place: ServicePlace) -> tuple[str, ...]:
    held = place.status(NEW)["conditions"]
    return next(((one["status"], one["reason"]) for one in held if one["type"] == "Stalled"), ())


def written(place: ServicePlace, since: int) -> list[Entry]:
    """The operator's writes to the route; the entry of the last one may come later."""
    entries = place.product.plane.audit(since)
    about = ("patch", "httproutes", place.name)
    return [one for one in entries if one.user == OPERATOR and (one.verb, one.resource, one.name) == about]


def test_deletion_returns_traffic_before_the_finalizer_goes(shop: Product) -> None:
    place = service(shop, NAMESPACE, "gone")
    place.wish(NEW)
    place.reach_by_people("Controlled", NEW)
    assert shop.admin.delete("agentworkflows", NAMESPACE, place.name) in {200, 202}
    until("the weights are back", lambda: place.shares() == {"gone-v1": 1.0})
    assert place.in_state("Draining", NEW), "the Gateway has not followed yet"
    assert place.workflow()["metadata"]["finalizers"], "it stays until traffic is back"
    until("the workflow is gone", lambda: place.take_up() and is_gone(place))
    until("nothing is left", lambda: left(place) == [])
    route = place.route()
    assert "annotations" not in route["metadata"]
    assert (place.shares(), place.mirrors()) == ({"gone-v1": 1.0}, {})


def is_gone(place: ServicePlace) -> bool:
    return place.product.admin.find("agentworkflows", NAMESPACE, place.name) is None


def test_without_the_gateway_api_people_are_told_what_is_missing_and_workflows_can_go(shop: Product) -> None:
    """Its CRDs went, and every route with them: nobody is led to a candidate."""
    settled, moving = service(shop, NAMESPACE, "settled"), service(shop, NAMESPACE, "moving")
    moving.wish(NEW)
    moving.reach_by_people("Controlled", NEW)
    with without_gateway_api(shop.plane, NAMESPACE):
        for place in (settled, moving):
            until("it is told", partial(is_told, place))
            assert "does not serve httproutes.gateway.networking.k8s.io" in place.message("Stalled")
            assert shop.admin.delete("agentworkflows", NAMESPACE, place.name) in {200, 202}
        for place in (settled, moving):
            until("the workflow is gone", partial(is_gone, place))
            until("nothing is left", partial(is_left_nothing, place))


def is_told(place: ServicePlace) -> bool:
    return place.condition("Stalled") == ("True", "RoutesNotServed")


def is_left_nothing(place: ServicePlace) -> bool:
    return left(place) == []


def test_with_the_gateway_api_again_it_goes_on(shop: Product) -> None:
    """The same process follows the routes again: what somebody else changes is put right."""
    place = service(shop, NAMESPACE, "again")
    operator = shop.operators[0].running
    with without_gateway_api(shop.plane, NAMESPACE):
        until("it is told", lambda: is_told(place))
    shop.plane.apply(place.route_made())
    until("it is ready", lambda: place.take_up() and place.condition("Ready") == ("True", "Stable"))
    place.wish(NEW)
    place.reach_by_people("Controlled", NEW)
    place.edit(9, TOOL)
    until("it is put right", lambda: place.shares() == {"again-v1": 0.75, "again-v2": 0.25})
    assert operator is not None
    assert operator.poll() is None
