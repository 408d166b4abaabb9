"""The controller as a process, with the chart's rights: what it does first, how it ends, who follows."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.resources.base import API_VERSION
from tests.charts import installation
from tests.cluster.conftest import WEBHOOKS
from tests.cluster.product import SYSTEM, Process, Product, get
from tests.controlplane.plane import ControlPlane
from tests.gateway.rules import TABLE
from tests.operator import samples
from tests.operator.up import no_traceback, until

pytestmark = pytest.mark.cluster
NAMESPACE = "runner"


@pytest.fixture(scope="module")
def ruled(unruled: ControlPlane) -> ControlPlane:
    installed = unruled
    installation.install(installed, (*installation.ROLES, *installation.POLICIES, *WEBHOOKS))
    installed.kubectl("create", "namespace", NAMESPACE, check=False)
    installed.allow("group:team", "sluicegate-edit", NAMESPACE)
    return installed


@pytest.fixture
def product(ruled: ControlPlane, tmp_path: Path) -> Iterator[Product]:
    """Nothing runs yet."""
    made = Product(ruled, tmp_path / "p")
    made.root.mkdir()
    try:
        yield made
        no_traceback(made.logs())
    finally:
        made.kill()


def holder(plane: ControlPlane) -> dict[str, Any]:
    found: dict[str, Any] = plane.get("lease", "sluicegate-operator", "-n", SYSTEM)["spec"]
    return found


def leads(process: Process) -> bool:
    return "sluicegate_operator_leader 1.0" in get(process.ready_url[0], "/metrics")[1]


def workflow(plane: ControlPlane, name: str) -> dict[str, Any]:
    return plane.get("agentworkflow", name, "-n", NAMESPACE)


def taken_up(plane: ControlPlane, name: str) -> dict[str, Any] | None:
    """The workflow, once its generation is observed: -1 until then, by the schema."""
    found = workflow(plane, name)
    return found if found["status"]["observedGeneration"] == found["metadata"]["generation"] else None


def test_a_workflow_is_taken_up_and_a_stop_is_graceful(ruled: ControlPlane, product: Product) -> None:
    one = product.add_operator()
    one.start()
    until("it leads", lambda: leads(one))
    ruled.apply(samples.workflow("first", namespace=NAMESPACE), user="carol")
    item = until("it is taken up", lambda: taken_up(ruled, "first"))
    status, annotations = item["status"], item["metadata"]["annotations"]
    assert status["epoch"] == holder(ruled)["leaseTransitions"]
    assert annotations["sluicegate.io/changed-by"] == "carol", "stamped by the webhook"
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "Unknown", "no gateway serves it"
    revisions = ruled.get("workflowrevisions", "-n", NAMESPACE)["items"]
    assert [one["metadata"]["ownerReferences"][0]["name"] for one in revisions] == ["first"]
    assert one.stop() == 0
    assert holder(ruled)["holderIdentity"] == ""
    ruled.kubectl("delete", "agentworkflow", "first", "-n", NAMESPACE, "--wait=false")


def rule_set(version: str, **spec: Any) -> dict[str, Any]:
    table = TABLE | {"rules": TABLE["rules"][:1], "version": version} | spec
    metadata = {"name": "care", "namespace": NAMESPACE}
    return {"apiVersion": API_VERSION, "kind": "FallbackRuleSet", "metadata": metadata, "spec": table}


def status_of(plane: ControlPlane, version: str) -> dict[str, Any] | None:
    """Of the rule set, once this version was proved."""
    status: dict[str, Any] = plane.get("fallbackruleset", "care", "-n", NAMESPACE).get("status", {})
    named = [one["version"] for one in status.get("versions", ())]
    return status if named[-1:] == [version] else None


def test_a_changed_table_reaches_the_status_and_wakes_the_workflow_that_names_it(
    ruled: ControlPlane, product: Product
) -> None:
    one = product.add_operator()
    one.start()
    until("it leads", lambda: leads(one))
    bot = samples.workflow("care-bot", namespace=NAMESPACE)
    bot["spec"]["businessFallback"] = {"ruleSet": "care"}
    ruled.apply(rule_set("1.0.0"), bot, user="carol")

    def carried(version: str) -> bool:
        held = workflow(ruled, "care-bot").get("status", {}).get("conditions", ())
        (found,) = [one for one in held if one["type"] == "FallbackReady"] or [{"status": ""}]
        return found["status"] == "True" and version in found["message"]

    until("the workflow has it", lambda: carried("1.0.0"))
    status = until("it is proved", lambda: status_of(ruled, "1.0.0"))
    assert (status["observedGeneration"], status["epoch"]) == (1, holder(ruled)["leaseTransitions"])
    ruled.apply(rule_set("1.1.0", default={"text": "another"}), user="carol")
    until("the new table wakes it", lambda: carried("1.1.0"))
    assert status_of(ruled, "1.1.0") is not None
    until("its user is known", lambda: status_of(ruled, "1.1.0")["usedBy"] == ["care-bot"])  # type: ignore[index]
    back = rule_set("1.0.0", default={"text": "a third"})
    refused = ruled.kubectl(
        "apply", "--server-side", "-f", "-", user="carol", check=False, input=json.dumps(back)
    )
    assert "1.0.0 was the name of another table" in refused.stderr
    columns = ruled.kubectl("get", "frs", "care", "-n", NAMESPACE).stdout.split("\n")[1].split()
    assert columns[:4] == ["care", "1.1.0", "true", "Unknown"], "no gateway serves it"
    assert one.stop() == 0
    ruled.kubectl("delete", "fallbackruleset", "care", "-n", NAMESPACE)
    ruled.kubectl("delete", "agentworkflow", "care-bot", "-n", NAMESPACE, "--wait=false")


def test_a_second_replica_serves_admission_and_follows_when_the_first_is_killed(
    ruled: ControlPlane, product: Product
) -> None:
    one, two = product.add_operator(), product.add_operator()
    one.start()
    until("it leads", lambda: leads(one))
    two.start()
    assert not leads(two)
    before = holder(ruled)["leaseTransitions"]
    one.kill()
    until("the other leads", lambda: leads(two))
    assert holder(ruled)["leaseTransitions"] > before
    ruled.apply(samples.workflow("second", namespace=NAMESPACE), user="carol")
    until("it is taken up", lambda: taken_up(ruled, "second"))
    refused = ruled.kubectl(
        "create", "-f", "-", user="carol", check=False, input=json.dumps(_broken("third"))
    )
    assert refused.returncode != 0
    assert "spec.steps" in refused.stderr, refused.stderr
    assert two.stop() == 0


def _broken(name: str) -> dict[str, Any]:
    """A step of a component that is not there: the schema takes it, the rules do not."""
    item = samples.workflow(name, namespace=NAMESPACE)
    item["spec"]["steps"] = [{"name": "one", "component": "nobody"}]
    return item


def test_probes_say_what_is_missing(ruled: ControlPlane, product: Product) -> None:
    one = product.add_operator()
    one.start()
    port = one.ready_url[0]
    code, body = get(port, "/readyz")
    assert code == 200
    assert json.loads(body)["missing"] == []
    assert get(port, "/healthz") == (200, "ok\n")
    metrics = get(port, "/metrics")[1]
    for name in (
        "sluicegate_operator_epoch",
        "sluicegate_operator_api_seconds_count",
        "sluicegate_queue_depth",
    ):
        assert name in metrics
    assert one.stop() == 0


def run(*words: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
    command = [sys.executable, "-m", "sluicegate.operator", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ, check=False)


def test_an_account_without_rights_is_told_every_one_of_them(ruled: ControlPlane) -> None:
    config = ruled.kubeconfig("mallory")
    done = run("controller", "--kubeconfig", str(config), "--metrics-port", "0", "--webhook-port", "0")
    assert done.returncode == 4
    for words in (
        "patch agentworkflows/status.sluicegate.io",
        "update leases.coordination.k8s.io sluicegate-operator",
        "create secrets",
    ):
        assert words in done.stderr


def test_wrong_settings_are_told_at_once() -> None:
    done = run(
        "controller",
        "--kubeconfig=/nowhere",
        "--lease-seconds=1",
        "--webhook-port=70000",
        "--webhook-url=http://x",
        "--lineage-url=ftp://x",
    )
    assert done.returncode == 2
    for flag in ("--kubeconfig", "--lease-seconds", "--webhook-port", "--webhook-url", "--lineage-url"):
        assert flag in done.stderr
    no_traceback(done.stderr)


def test_each_process_explains_its_flags() -> None:
    for process in ("controller", "gateway", "lineage"):
        done = run(process, "--help")
        assert done.returncode == 0
        assert "--kubeconfig" in done.stdout
