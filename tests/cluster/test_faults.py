"""An API server that fails in every way, and an operator that is killed at its writes: the same end, nothing twice."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.cluster.client import Json
from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import SYSTEM, Place, Product, running
from tests.cluster.test_rollouts import NEW, OLD, STAGES, left, stable
from tests.controlplane.plane import ControlPlane
from tests.e2e import life
from tests.operator.samples import staged
from tests.operator.up import until
from tests.support import faults
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Exchange, Rule

pytestmark = pytest.mark.cluster
KILLS = 12
WRITES = "create|update|patch|delete"
OURS = r".*\.sluicegate\.io(/.*)?|configmaps|events\.events\.k8s\.io"


@pytest.fixture(scope="module")
def proxy(cluster: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(cluster) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def product(
    cluster: ControlPlane, proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    root: Path = tmp_path_factory.mktemp("faulty") / "p"
    with running(cluster, root, through=proxy.url) as product:
        yield product


@pytest.fixture(autouse=True)
def healed(product: Product, proxy: FaultProxy) -> Iterator[None]:
    """Without faults again, and with an operator that admits."""
    yield
    proxy.plan()
    operator = product.operators[0]
    if operator.running is None or operator.running.poll() is not None:
        operator.start()


FAULTS: dict[str, tuple[Rule, ...]] = {
    "conflicts": (Rule(faults.conflict(), verb=WRITES, resource=OURS, when=faults.every(3)),),
    "refused connections": (Rule(faults.refused, when=faults.every(4)),),
    "too many requests": (Rule(faults.too_many(1), resource=OURS, when=faults.every(3)),),
    "server errors": (Rule(faults.broken(), when=faults.every(3)),),
    "lost answers": (Rule(faults.lost, verb=WRITES, resource=OURS, when=faults.every(3)),),
    "no answer": (Rule(faults.hang, verb=WRITES, resource=OURS, when=faults.every(9)),),
    "watches cut": (Rule(faults.cut(2), verb="watch"),),
    "watches expired": (Rule(faults.error_event(410, "Expired", 1), verb="watch", when=faults.every(2)),),
    "slow lists": (Rule(faults.slow(2.0), verb="list"),),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_rollout_ends_right_whatever_the_api_server_does(
    product: Product, proxy: FaultProxy, url: str, kind: str
) -> None:
    place = stable(product, url, f"fault-{kind.replace(' ', '-')}")
    rules = FAULTS[kind]
    proxy.plan(*rules)
    if rules[0].verb in {"watch", "list"}:
        proxy.cut_all()  # watches that are open began before
    if rules[0].verb == "list":
        product.operators[0].kill()
        product.operators[0].start()
    place.apply(staged(NEW, url))
    done = place.reach("Done", NEW, 180)
    assert sum(rule.done for rule in rules) > 0, "the fault never happened"
    until("the end is told", lambda: told(place, done).get("Completed"))
    check_once(place, done)
    assert place.crowd() == {NEW: 24}


def check_once(place: Place, done: Json) -> None:
    """Promoted, every stage once, nothing made twice."""
    status = done["status"]
    assert (status["outcome"], status["attempt"]) == ("Promoted", 1)
    assert [one["stage"] for one in status["history"]] == STAGES
    assert len(place.rollouts()) == 1
    admin = place.product.admin
    revisions = [
        one["spec"]["version"]
        for one in admin.objects("workflowrevisions", NAMESPACE)
        if one["spec"]["workflow"] == place.name
    ]
    assert sorted(revisions) == [OLD, NEW]
    assert set(told(place, done).values()) <= {1}, told(place, done)


def told(place: Place, rollout: Json) -> Counter[str]:
    """How often each event about the rollout was told, by reason and message."""
    path = f"/apis/events.k8s.io/v1/namespaces/{place.namespace}/events"
    found: Counter[str] = Counter()
    for one in place.product.admin.got("GET", path)["items"]:
        if one["regarding"].get("name") == rollout["metadata"]["name"]:
            key = one["reason"] if one["reason"] == "Completed" else f"{one['reason']}: {one.get('note', '')}"
            found[key] += (one.get("series") or {}).get("count", 1)
    return found


class Killer:
    """kill -9 of the operator at a request: before it is done, or after, with the answer lost. Not before `since` holds,
    and `most` times.
    """

    def __init__(
        self, product: Product, *, since: Callable[[], object] = lambda: True, most: int = 1000
    ) -> None:
        self.product, self.kills, self.since, self.most = product, 0, since, most

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        if self.kills >= self.most or not self.since():
            return await exchange.relay(await exchange.forward())
        self.kills += 1
        if self.kills % 2:
            upstream = await exchange.forward()
            await upstream.read()
        self.product.operators[0].kill()
        return exchange.abort()


def test_killed_at_its_writes_all_the_way_it_goes_on(product: Product, proxy: FaultProxy, url: str) -> None:
    """Every other write is the last thing that an operator does, a dozen times; then it may go on to the end."""
    place = stable(product, url, "killed")
    killer = Killer(product, most=KILLS)
    mine = r"(agentworkflows|workflowrevisions|workflowrollouts)\.sluicegate\.io(/status)?|configmaps"
    proxy.plan(Rule(killer, verb=WRITES, resource=mine, when=faults.every(2)))
    place.apply(staged(NEW, url))
    operator = product.operators[0]
    moments: list[Json] = []

    def is_done() -> bool:
        assert operator.running is not None
        if operator.running.poll() is not None:
            moments.append(place.status(NEW))
            operator.spawn()
        place.crowd(4)
        return bool(place.status(NEW)["state"] == "Done")

    until("it is done", is_done, 400)
    proxy.plan()
    if operator.running is not None and operator.running.poll() is not None:
        operator.start()
    assert killer.kills == KILLS
    done = place.rollout(NEW)
    assert done is not None
    check_once(place, done)
    for one, other in itertools.pairwise(moment for moment in moments if moment.get("startedAt")):
        assert one["startedAt"] == other["startedAt"], "a restart begins nothing anew"
        assert len(one.get("history", [])) <= len(other.get("history", []))
    assert place.crowd() == {NEW: 24}


@pytest.mark.parametrize("stage", STAGES)
def test_an_abort_is_never_lost(product: Product, proxy: FaultProxy, url: str, stage: str) -> None:
    """Killed at the first three writes after an abort in this stage."""
    place = stable(product, url, f"dying-{stage.lower()}")
    place.apply(staged(NEW, url, needs={stage: life.NEVER}))
    place.reach(stage, NEW)
    decision = f"stop-{place.name}"
    killer = Killer(product, since=lambda: product.admin.find("decisions", NAMESPACE, decision), most=3)
    mine = r"(agentworkflows|workflowrollouts)\.sluicegate\.io/status|configmaps"
    proxy.plan(Rule(killer, verb=WRITES, resource=mine))
    code, said = place.decide("Abort", NEW, name=decision)
    assert code == 201, said
    operator = product.operators[0]

    def is_stable() -> bool:
        assert operator.running is not None
        if operator.running.poll() is not None:
            operator.spawn()
        return bool(place.status(NEW)["state"] == "Done") and place.crowd() == {OLD: 24}

    until("everybody gets stable", is_stable, 240)
    assert killer.kills == 3
    until("ready", operator.is_ready)
    assert place.status(NEW)["outcome"] == "Aborted"
    assert [one["result"] for one in place.status(NEW)["decisions"]] == ["Applied"]


def test_a_flaky_api_server_does_not_hold_a_deletion(product: Product, proxy: FaultProxy, url: str) -> None:
    place = stable(product, url, "flaky")
    place.apply(staged(NEW, url, needs={"Controlled": life.NEVER}))
    place.reach("Controlled", NEW)
    proxy.plan(
        Rule(faults.lost, verb=WRITES, when=faults.chance(0.3, 1)),
        Rule(faults.broken(), when=faults.chance(0.3, 2)),
        Rule(faults.conflict(), verb=WRITES, resource=OURS, when=faults.chance(0.3, 3)),
    )
    assert product.admin.delete("agentworkflows", NAMESPACE, place.name) in {200, 202}
    until("it is gone", lambda: product.admin.find("agentworkflows", NAMESPACE, place.name) is None)
    until("nothing is left", lambda: left(place) == [])


def test_the_system_namespace_holds_what_it_held(product: Product) -> None:
    """All this made no Lease, Secret or ConfigMap more than the product has."""
    leases = product.admin.got("GET", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases")["items"]
    assert {one["metadata"]["name"] for one in leases} == {
        "sluicegate-operator",
        "sluicegate-gateway-gateway-0",
    }
