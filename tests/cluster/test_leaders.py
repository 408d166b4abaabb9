"""Two operators: one leads. A leader that was stopped beyond its lease writes nothing when it wakes up."""

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.client import Json
from tests.cluster.product import OPERATOR, SYSTEM, Place, Process, Product, running
from tests.cluster.test_rollouts import NEW, OLD, stable
from tests.controlplane.plane import ControlPlane
from tests.e2e import life
from tests.operator.samples import staged
from tests.operator.up import until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def product(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(cluster, tmp_path_factory.mktemp("two") / "p", operators=2) as product:
        yield product


def lease(product: Product) -> Json:
    found: Json = product.admin.got(
        "GET", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/sluicegate-operator"
    )["spec"]
    return found


def leader(product: Product) -> Process:
    """Who holds the Lease; its identity ends with the number of the process."""
    holder = until("somebody leads", lambda: lease(product).get("holderIdentity"))
    return product.operators[int(str(holder).rsplit("-", 1)[1])]


def other(product: Product, one: Process) -> Process:
    return next(item for item in product.operators if item is not one)


def test_a_stopped_leader_is_replaced_and_does_nothing_when_it_wakes(product: Product, url: str) -> None:
    place = stable(product, url, "stopped")
    place.apply(staged(NEW, url, needs=life.LONG))
    place.in_state("Canary", NEW)
    for count, action in enumerate(("Pause", "Resume", "Abort"), start=1):
        decided_while_stopped(product, place, action, count)
    done = place.in_state("Done", NEW)
    assert done["status"]["outcome"] == "Aborted"
    assert [one["result"] for one in done["status"]["decisions"]] == ["Applied"] * 3
    assert place.crowd() == {OLD: 24}
    assert done["status"]["epoch"] <= lease(product)["leaseTransitions"]


def decided_while_stopped(product: Product, place: Place, action: str, count: int) -> None:
    """The leader is stopped; another takes over and reads the decision; then the old one wakes up."""
    old, before = leader(product), lease(product)["leaseTransitions"]
    old.signal(signal.SIGSTOP)
    try:
        until("the other leads", lambda: leader(product) is not old)
        code, said = until("admitted", lambda: admitted(place, action, count))
        assert code == 201, said
        until("it is read", lambda: len(place.status(NEW).get("decisions", [])) == count)
    finally:
        old.signal(signal.SIGCONT)
    assert lease(product)["leaseTransitions"] > before
    until("awake", old.is_ready)
    assert leader(product) is not old


def admitted(place: Place, action: str, count: int) -> tuple[int, Json] | None:
    """A request that went to the stopped replica is refused, as admission fails closed; people try again."""
    code, said = place.decide(action, NEW, name=f"turn-{count}")
    return None if code == 500 else (code, said)


def test_a_falling_epoch_is_refused_by_the_api_server(product: Product, url: str) -> None:
    place = stable(product, url, "epoch")
    held = place.workflow()
    path = f"/apis/sluicegate.io/v1alpha1/namespaces/{place.namespace}/agentworkflows/{place.name}/status"
    code, said = product.operator_account.request(
        "PATCH", path, {"status": {"epoch": held["status"]["epoch"] - 1}}, "application/merge-patch+json"
    )
    assert code == 422, said
    assert "epoch" in said["message"]


def test_both_serve_admission_and_only_one_writes(product: Product, url: str) -> None:
    place = stable(product, url, "both")
    follower = other(product, leader(product))
    after = product.plane.audit_position()
    assert follower.stop() == 0
    place.apply(staged(NEW, url, needs=life.LONG))
    place.in_state("Canary", NEW)
    follower.start()
    leading = leader(product)
    assert leading is not follower
    assert leading.stop() == 0
    until("the other leads", lambda: leader(product) is follower)
    code, said = place.decide("Abort", NEW, name="both")
    assert code == 201, said
    place.in_state("Done", NEW)
    leading.start()
    conflicts = [one for one in product.plane.audit(after) if one.user == OPERATOR and one.code == 409]
    assert len([one for one in conflicts if one.resource != "leases"]) <= 5


def test_a_graceful_stop_hands_over_at_once(product: Product) -> None:
    old = leader(product)
    assert old.stop() == 0
    assert leader(product) is not old
    old.start()
