"""Least privilege, from the audit log: everything that the product does is allowed, and what it never does is not granted."""

import copy
import json
import urllib.request

import pytest

from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.operator.cluster import names
from tests.charts import helm
from tests.cluster import rights
from tests.cluster.client import Client
from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import SYSTEM, Place, Product, running
from tests.cluster.test_leaders import leader
from tests.cluster.test_rollouts import NEW, OLD, STAGES, left
from tests.controlplane.audit import Entry
from tests.controlplane.plane import ControlPlane
from tests.e2e import life
from tests.operator.samples import Json, staged
from tests.operator.up import until

pytestmark = pytest.mark.cluster

SERVICES = (
    "workflows of runtime Service, on clusters with the Gateway API: tests/operator/cluster/test_routes.py"
)
JOBS = "gates with a Job: tests/operator/cluster/test_jobs.py"
HISTORY = "beyond the history that a workflow keeps, tests/rollout; the rest goes with its owner"
WATCHING = "with `watchNamespaces`, its own namespace is no longer among those that it follows"
RARE = {
    "operator delete workflowrevisions.sluicegate.io": HISTORY,
    "operator delete workflowrollouts.sluicegate.io": HISTORY,
    "operator delete decisions.sluicegate.io": "those that a rollout no longer has room for",
    f"operator update secrets {names.WEBHOOK_SECRET} in {SYSTEM}": "a certificate is renewed after months",
    f"operator list leases.coordination.k8s.io in {SYSTEM}": WATCHING,
    f"operator watch leases.coordination.k8s.io in {SYSTEM}": WATCHING,
    "operator get events.events.k8s.io": "an Event that an earlier process made",
    "operator patch events.events.k8s.io": "an Event that repeats, once a minute at most",
    **{
        f"operator {verb} httproutes.gateway.networking.k8s.io": SERVICES
        for verb in ("get", "list", "watch", "patch")
    },
    "operator get gateways.gateway.networking.k8s.io": SERVICES,
    "operator get gatewayclasses.gateway.networking.k8s.io": SERVICES,
    "operator get services": SERVICES,
    **{f"operator {verb} jobs.batch": JOBS for verb in ("create", "get", "delete")},
    "operator list pods": JOBS,
    "operator patch fallbackrulesets/status.sluicegate.io": "what a rule set comes to: tests/operator/cluster/test_runner.py",
    "operator list endpointslices.discovery.k8s.io": SERVICES,
}
"""Granted, and not used below: what it is for."""


@pytest.fixture(scope="module")
def entries(cluster: ControlPlane, url: str, tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    """The audit log of a life in which everything happens, from the first start on an empty system namespace."""
    for kind, name in (("lease", names.LEADER_LEASE), ("secret", names.WEBHOOK_SECRET)):
        cluster.kubectl("delete", kind, name, "-n", SYSTEM, "--ignore-not-found")
    after = cluster.audit_position()
    with running(cluster, tmp_path_factory.mktemp("rights") / "p", operators=2) as product:
        lived(product, url)
        until("runs are kept for as long as workflows say", lambda: retained(cluster, after))
    return cluster.audit(after)


def lived(product: Product, url: str) -> None:
    place = Place(product, NAMESPACE, "rights")
    product.plane.kubectl("create", "secret", "generic", "model", "-n", NAMESPACE, "--from-literal=token=x")
    place.apply(with_credential(staged(OLD, url)))
    place.serving()
    wish = with_credential(staged(NEW, url))
    wish["spec"]["rollout"]["stages"][STAGES.index("Canary")]["approvals"] = {"required": 1}
    place.apply(wish)
    place.reach("Canary", NEW)
    code, said = place.decide("Approve", NEW, name="rights-yes")
    assert code == 201, said
    assert place.reach("Done", NEW)["status"]["outcome"] == "Promoted"
    attested(place, with_credential(staged("3.0.0", url, needs=dict.fromkeys(STAGES, life.NEVER))))
    place.in_state("Canary", "3.0.0")
    code, said = place.decide("Abort", "3.0.0", name="rights-stop")
    assert code == 201, said
    place.in_state("Done", "3.0.0")
    read_runs(product)
    old = leader(product)
    assert old.stop() == 0
    until("the other leads", lambda: leader(product) is not old)
    old.start()
    assert product.admin.delete("agentworkflows", NAMESPACE, place.name) in {200, 202}
    until("nothing is left", lambda: left(place) == [])
    assert product.gateway is not None
    assert product.gateway.stop() == 0
    product.plane.kubectl("delete", "secret", "model", "-n", NAMESPACE)


def attested(place: Place, item: Json) -> None:
    """Applied by a bot, which names whose change it is: that is asked of the API server."""
    plane, bot = place.product.plane, f"system:serviceaccount:{place.namespace}:bot"
    for role in ("edit", "attester"):
        plane.allow(f"account:{place.namespace}:bot", f"sluicegate-{role}", place.namespace)
    item["metadata"] |= {
        "namespace": place.namespace,
        "name": place.name,
        "annotations": {CHANGED_BY: "carol"},
    }
    applied = Client(plane, acting=bot).apply("agentworkflows", item)
    assert applied["metadata"]["annotations"][CHANGED_BY] == "carol"


def with_credential(item: Json) -> Json:
    for component in item["spec"]["components"]:
        component["endpoint"]["credentialRef"] = {"secretKeyRef": {"name": "model", "key": "token"}}
    return item


def read_runs(product: Product) -> None:
    """As a person of the namespace."""
    product.plane.kubectl("create", "serviceaccount", "reader", "-n", NAMESPACE, check=False)
    product.plane.allow(f"account:{NAMESPACE}:reader", "view", NAMESPACE)
    url = f"http://127.0.0.1:{product.lineage_port}/v1/runs?namespace={NAMESPACE}&limit=1"
    header = {"Authorization": f"Bearer {product.plane.token(NAMESPACE, 'reader')}"}

    def stored() -> list[Json]:
        with urllib.request.urlopen(urllib.request.Request(url, headers=header), timeout=60) as answer:
            found: list[Json] = json.load(answer)["items"]
        return found

    until("a run can be read", stored)


def retained(plane: ControlPlane, after: int) -> bool:
    return any(
        account == "sluicegate-lineage" and one.resource == "agentworkflows"
        for account, one in rights.requests(plane.audit(after), SYSTEM)
    )


def test_nothing_that_the_product_does_is_forbidden(entries: list[Entry]) -> None:
    refused = {
        (account, one.verb, one.group, one.resource, one.subresource, one.name)
        for account, one in rights.requests(entries, SYSTEM)
        if one.code == 403 and not one.reason.startswith("RBAC: allowed")
    }
    assert refused == set()


def test_what_nobody_uses_is_not_granted(entries: list[Entry]) -> None:
    grants = rights.granted(helm.placed(helm.render()), SYSTEM)
    assert {one.account for one in grants} == set(rights.ACCOUNTS)
    unused = {str(one) for one in rights.unused(grants, rights.used(entries, SYSTEM))}
    assert sorted(unused - RARE.keys()) == [], "granted, not used and not in the table"
    assert sorted(RARE.keys() - {str(one) for one in grants}) == [], "in the table and not granted"


@pytest.mark.parametrize("role", ["sluicegate-operator", "sluicegate-gateway", "sluicegate-lineage"])
def test_a_right_that_is_added_is_seen(entries: list[Entry], role: str) -> None:
    manifests = copy.deepcopy(helm.placed(helm.render()))
    for item in manifests:
        if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", role):
            item["rules"].append(
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["deletecollection"]}
            )
    found = rights.unused(rights.granted(manifests, SYSTEM), rights.used(entries, SYSTEM))
    assert {str(one) for one in found} - RARE.keys() == {
        f"{role.removeprefix('sluicegate-')} deletecollection configmaps"
    }
