"""Gates with a source on a real API server, of a Service whose runs nobody sees: a real Prometheus, and Jobs.

Nodes there are none: the test plays the kubelet of the Jobs' pods, the Job controller is real.
"""

import time
from collections.abc import Iterator

import pytest

from tests.cluster.client import MERGE, Json
from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import OPERATOR, Product
from tests.cluster.services import TIMES, ServicePlace, open_edge, service
from tests.operator.up import until
from tests.prometheus.exporter import Exporter, exporter
from tests.prometheus.server import Prometheus

pytestmark = pytest.mark.cluster
NEW = "2.0.0"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture(scope="module")
def shop(product: Product) -> Iterator[Product]:
    """With a Gateway, and a team that may not create Jobs yet."""
    open_edge(product.plane, NAMESPACE)
    yield product
    product.plane.kubectl("delete", "clusterrole", "job-maker", "--ignore-not-found")


def gate(place: ServicePlace) -> Json:
    """As the rollout's status has it."""
    return next((one for one in place.status(NEW).get("gates", ()) if one["name"] == "outside"), {})


# --- Prometheus ------------------------------------------------------------------------------------------------


def counted(target: Exporter, step: int, bad: int) -> None:
    target.text = (
        f'requests_total{{version="1.0.0"}} {1000 * step}\n'
        f'requests_total{{version="2.0.0"}} {1000 * step}\n'
        f'errors_total{{version="2.0.0"}} {bad * step}\n'
    )


@pytest.mark.parametrize(
    ("name", "bad", "state", "said"),
    [("counted-bad", 500, "Done", "50.0 % bad of"), ("counted-good", 0, "Controlled", "Pass")],
)
def test_what_prometheus_counts_decides(
    shop: Product, prometheus: Prometheus, name: str, bad: int, state: str, said: str
) -> None:
    """Nobody promotes, and nobody aborts."""
    place = service(shop, NAMESPACE, name)
    source = {
        "intervalSeconds": 1,
        "prometheus": {
            "url": prometheus.url,
            "bad": f'sum(errors_total{{job="{name}", version="{{{{version}}}}"}}) or vector(0)',
            "total": f'sum(requests_total{{job="{name}", version="{{{{version}}}}"}})',
        },
    }
    with exporter() as target, prometheus.scraping(name, target.port) as job:
        counted(target, 1, bad)
        job.fresh()
        place.wish(NEW, {"name": "outside", "margin": "0.2", "source": source})
        until("a measurement", lambda: place.take_up() and gate(place).get("reason") == "InsufficientSamples")
        step, deadline = 1, time.monotonic() + 60.0
        while place.status(NEW)["state"] == "Canary" and time.monotonic() < deadline:
            step += 1
            counted(target, step, bad)
            job.fresh()
    place.follow(state, NEW)
    status = place.status(NEW)
    assert said in status["history"][0]["leftBy"]
    assert place.shares() == ({f"{name}-v1": 1.0} if bad else {f"{name}-v1": 0.75, f"{name}-v2": 0.25})


# --- Jobs ------------------------------------------------------------------------------------------------------


def load(**source: object) -> Json:
    job = {"image": "load:1", "args": ["http://{{backend}}"]}
    return {"name": "outside", "source": {"intervalSeconds": 1, "consecutive": 2, "job": job} | source}


def allowed(shop: Product) -> None:
    shop.plane.kubectl(
        "create", "clusterrole", "job-maker", "--verb=create", "--resource=jobs.batch", check=False
    )
    shop.plane.allow("group:team", "job-maker", NAMESPACE)


def jobs(place: ServicePlace) -> list[Json]:
    """Of the place's rollout, by look."""
    uid = (place.rollout(NEW) or {"metadata": {"uid": "none"}})["metadata"]["uid"]
    found = place.product.admin.got("GET", f"{JOBS}?labelSelector=sluicegate.io/rollout={uid}")["items"]
    return sorted(found, key=lambda one: int(one["metadata"]["labels"]["sluicegate.io/look"]))


def ended(place: ServicePlace, look: int, code: int, message: str = "") -> None:
    """As the kubelet: the container of this look has ended so."""

    def pod() -> Json | None:
        place.take_up()
        name = {
            one["metadata"]["labels"]["sluicegate.io/look"]: one["metadata"]["name"] for one in jobs(place)
        }
        selector = f"batch.kubernetes.io/job-name={name.get(str(look), 'none')}"
        pods: list[Json] = place.product.admin.got("GET", f"{PODS}?labelSelector={selector}")["items"]
        return pods[0] if pods else None

    found = until(f"look {look} has a pod", pod)
    times = {"startedAt": TIMES, "finishedAt": TIMES}
    state = {"terminated": {"exitCode": code, "reason": "Error", "message": message, **times}}
    told = {
        "name": "look",
        "ready": False,
        "restartCount": 0,
        "image": "load:1",
        "imageID": "",
        "state": state,
    }
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [told]}
    path = f"{PODS}/{found['metadata']['name']}/status"
    place.product.admin.got("PATCH", path, {"status": status}, MERGE)


def test_who_may_not_create_jobs_gets_none_by_a_gate(shop: Product) -> None:
    place = service(shop, NAMESPACE, "job-forbidden")
    with pytest.raises(AssertionError, match="who may create jobs"):
        place.wish(NEW, load())
    forged = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sluicegate-look-00000000000000000000", "namespace": NAMESPACE},
        "spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        },
    }
    code, answer = shop.admin.request("POST", JOBS, forged)
    assert code == 403, answer
    assert "made by the control loop only" in answer["message"]


def test_jobs_that_complete_pass_and_a_restart_starts_none_twice(shop: Product) -> None:
    allowed(shop)
    place = service(shop, NAMESPACE, "job-good")
    since = shop.plane.audit_position()
    place.wish(NEW, load())
    until("the first Job", lambda: place.take_up() and jobs(place))
    shop.operators[0].kill()
    shop.operators[0].start()
    ended(place, 1, 0)
    ended(place, 2, 0)
    place.follow("Controlled", NEW)
    assert "Pass" in place.status(NEW)["history"][0]["leftBy"]
    until("the stage's Jobs are gone", lambda: not jobs(place))
    made = [
        one
        for one in shop.plane.audit(since)
        if (one.verb, one.resource, one.code) == ("create", "jobs", 201)
    ]
    assert {one.user for one in made} == {OPERATOR}
    assert len(made) in {2, 3}, "one for each look, and perhaps the third had begun"


def test_jobs_that_fail_abort(shop: Product) -> None:
    allowed(shop)
    place = service(shop, NAMESPACE, "job-bad")
    place.wish(NEW, load())
    ended(place, 1, 3)
    ended(place, 2, 3)
    place.follow("Done", NEW)
    status = place.status(NEW)
    assert status["outcome"] == "Aborted"
    assert "the Job failed" in status["message"]
    assert "exit code 3" in status["message"]


def test_a_job_that_does_not_end_decides_nothing_and_what_it_writes_is_read(shop: Product) -> None:
    allowed(shop)
    place = service(shop, NAMESPACE, "job-late")
    job = {"image": "load:1", "timeoutSeconds": 3, "result": "Value"}
    place.wish(NEW, load(job=job, consecutive=9, limit={"max": "1"}))
    until("it is too late", lambda: place.take_up() and gate(place).get("reason") == "ProviderTimeout")
    assert (gate(place)["verdict"], place.status(NEW)["state"]) == ("Wait", "Canary")

    def is_read() -> bool:
        """The newest Job ends with a value; on a busy machine that may be too late, and the next one is tried."""
        running = [one for one in jobs(place) if one["status"].get("active")]
        for one in running[-1:]:
            ended(place, int(one["metadata"]["labels"]["sluicegate.io/look"]), 0, 'done\n{"value": 0.5}')
        return gate(place).get("candidate") == "0.5"

    until("its value is read", is_read)
