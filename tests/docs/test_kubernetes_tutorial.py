"""The commands of docs/tutorials/first-rollout-on-kubernetes.md, in order, by the real kubectl on a real API server with
the real operator, gateway and lineage process. What needs nodes, Helm or another machine is left out.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.charts import installation
from tests.cluster.product import Product, running
from tests.console.kube import WEBHOOKS, ungovern
from tests.controlplane.plane import ControlPlane
from tests.docs.test_pages import _FENCE
from tests.operator.up import component_server, until
from tests.support import scripts
from tests.support.golden import ROOT

pytestmark = pytest.mark.cluster
PAGE = ROOT / "docs/tutorials/first-rollout-on-kubernetes.md"
ELSEWHERE = ("helm ", "pip ", "curl ", "kubectl -n sluicegate-system ")
NODES = (" create deployment ", " expose deployment ")
FOLLOWS = "kubectl sluicegate rollout status my-agent -n shop -w"
DIFFERS = "kubectl sluicegate diff"
SECONDS = 90.0
HOME = "tutorial"
"""Other files share the control plane, and the namespace `shop` with it."""


def lines() -> Iterator[str]:
    """Every command line of the page that can run here."""
    for kind, text in _FENCE.findall(PAGE.read_text()):
        if kind in {"sh", "console"}:
            for line in text.splitlines():
                command = line.removeprefix("$ ")
                if not command.startswith(ELSEWHERE) and not any(word in command for word in NODES):
                    yield command


@pytest.fixture
def product(unruled: ControlPlane, tmp_path: Path) -> Iterator[Product]:
    installed = unruled
    installation.install(installed, (*installation.ROLES, *installation.POLICIES, *WEBHOOKS))
    try:
        with running(installed, tmp_path / "product") as product:
            yield product
    finally:
        ungovern(installed)


def test_the_tutorial_does_what_it_says(product: Product, tmp_path: Path) -> None:
    plane = product.plane
    path = [scripts.install(tmp_path / "bin"), plane.binaries.path("kubectl").parent, os.environ["PATH"]]
    environ = os.environ | {
        "PATH": os.pathsep.join(map(str, path)),
        "KUBECONFIG": str(plane.kubeconfig()),
        "COLUMNS": "140",
    }
    said: dict[str, str] = {}
    with component_server() as base:
        for command in lines():
            if command == FOLLOWS:
                until("a rollout", lambda: stage(plane), SECONDS)
                continue
            here = command.replace("http://agent-v1.shop.svc/", f"{base}/agent-v1/")
            here = here.replace("-n shop", f"-n {HOME}").replace("namespace shop", f"namespace {HOME}")
            done = subprocess.run(
                ["bash", "-c", here],
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            expected = 1 if command.startswith(DIFFERS) else 0
            assert done.returncode == expected, (
                f"{command}\n{done.stdout}{done.stderr}\n{product.logs()[-3000:]}"
            )
            said[command] = done.stdout
    assert "component agent: v1 → v2" in said["kubectl sluicegate diff -f my-agent.yaml -n shop"]
    assert "Aborted" in said["kubectl sluicegate rollout history my-agent -n shop"]
    assert re.search(r"admin\b", said["kubectl sluicegate rollout history my-agent -n shop"])
    gone = until(
        "the workflow is gone", lambda: not plane.get("agentworkflows", "-n", HOME)["items"], SECONDS
    )
    assert gone


def stage(plane: ControlPlane) -> str | None:
    """Of the first rollout."""
    found = plane.get("workflowrollouts", "-n", HOME)["items"]
    return (found[0].get("status") or {}).get("stage") if found else None
