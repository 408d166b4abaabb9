"""The commands of docs/guides/status-and-waiting.md, by kubectl on a real API server; the simulation writes the status."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.situations import situation
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.cluster
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "status-and-waiting.md"
NS = "waiting"

WAITS = "kubectl wait --for=condition=Ready agentworkflow/bot --timeout=2s"
STALLS = "kubectl wait --for=condition=Stalled agentworkflow/bot --timeout=2s"
PHASE = "kubectl wait --for=jsonpath='{.status.phase}'=Healthy agentworkflow/bot --timeout=2s"
DONE = "kubectl wait --for=condition=Completed workflowrollout/bot-1 --timeout=2s"
OUTCOME = "kubectl get workflowrollout/bot-1 -o jsonpath='{.status.outcome}'"

# (situation, command): exit status, words of standard output
CASES: dict[tuple[str, str], tuple[int, str]] = {
    ("settled", WAITS): (0, "condition met"),
    ("promoted", WAITS): (0, "condition met"),
    ("just created", WAITS): (1, ""),
    ("in Canary", WAITS): (1, ""),
    ("spec just updated", WAITS): (1, ""),
    ("aborted", WAITS): (1, ""),
    ("aborted", STALLS): (0, "condition met"),
    ("in Canary", STALLS): (1, ""),
    ("settled", PHASE): (0, "condition met"),
    ("aborted", PHASE): (1, ""),
    ("aborted", DONE): (0, "condition met"),
    ("aborted", OUTCOME): (0, "Aborted"),
    ("promoted", OUTCOME): (0, "Promoted"),
    ("in Canary", DONE): (1, ""),
}


@pytest.fixture(scope="module")
def namespace(installed: ControlPlane) -> ControlPlane:
    installed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    return installed


def place(plane: ControlPlane, item: dict[str, Any]) -> None:
    """The object with its status, at its generation; a wish that came after the status is applied after it."""
    metadata = {"name": item["metadata"]["name"], "namespace": NS}
    held = {**item, "metadata": metadata}
    status = held.pop("status", None)
    plane.apply(held)
    if status is None or not status.get("conditions"):
        return
    for condition in status["conditions"]:
        condition["observedGeneration"] = 1
    known = status["observedGeneration"] == item["metadata"]["generation"]
    text = json.dumps({"status": status | {"observedGeneration": 1}})
    where = ["-n", NS, "--subresource=status", "--type=merge", "-p", text]
    plane.kubectl("patch", item["kind"].lower(), metadata["name"], *where)
    if not known:
        newer = json.dumps({"spec": {"changeReason": "a later wish"}})
        plane.kubectl("patch", item["kind"].lower(), metadata["name"], "-n", NS, "--type=merge", "-p", newer)


def run(plane: ControlPlane, command: str) -> subprocess.CompletedProcess[str]:
    """As in the guide, in our namespace."""
    _, *args = shlex.split(command)
    return plane.kubectl(*args, "-n", NS, check=False)


@pytest.mark.parametrize(
    ("name", "command"), CASES, ids=[f"{name}: {command[8:60]}" for name, command in CASES]
)
def test_kubectl_waits_for_what_the_guide_says(namespace: ControlPlane, name: str, command: str) -> None:
    namespace.kubectl("delete", "agentworkflows,workflowrollouts", "--all", "-n", NS)
    found = situation(name)
    place(namespace, found.workflow)
    if found.rollout is not None:
        place(namespace, found.rollout)
    code, words = CASES[name, command]
    done = run(namespace, command)
    assert (done.returncode, words in done.stdout) == (code, True), done.stdout + done.stderr


def test_an_object_that_nobody_looked_at_has_a_status_that_says_so(namespace: ControlPlane) -> None:
    namespace.kubectl("delete", "agentworkflows", "--all", "-n", NS)
    place(namespace, situation("just created").workflow)
    held = namespace.get("agentworkflow", "bot", "-n", NS)
    assert held["status"] == {"observedGeneration": -1}


def test_the_guide_shows_exactly_these_commands() -> None:
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    shown = {
        line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")
    }
    tested = {re.sub(r"--timeout=\S+", "--timeout=10m", command) for _, command in CASES}
    assert shown == tested
