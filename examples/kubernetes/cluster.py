"""The demo's cluster: a control plane, the chart's objects as Helm renders them, and the people of people.yaml."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.charts import helm
from tests.charts import installation as chart
from tests.cluster.client import Client
from tests.controlplane import installation as kinds
from tests.controlplane.plane import ControlPlane

HERE = Path(__file__).parent
NAMESPACE = "shop"
NAME = "support-bot"
WORKLOADS = frozenset({"Deployment", "StatefulSet", "PodDisruptionBudget", "HorizontalPodAutoscaler"})
Json = dict[str, Any]


def install(plane: ControlPlane) -> int:
    """All of the chart but its workloads: there are no nodes, and this machine runs the processes. The number of objects."""
    kinds.install(plane)
    with _silent():
        found = [item for item in helm.placed(helm.render()) if item["kind"] not in WORKLOADS]
        chart.install(plane, {item["kind"] for item in found})
    plane.kubectl("apply", "-f", str(HERE / "people.yaml"))
    return len(found)


def rollout(plane: ControlPlane, version: str) -> Json | None:
    """The newest towards `version`, as the team sees it."""
    found = Client(plane, "carol").objects("workflowrollouts", NAMESPACE)
    towards = [item for item in found if item["spec"]["candidate"]["version"] == version]
    return max(towards, key=lambda item: item["metadata"]["creationTimestamp"], default=None)


def is_healthy(plane: ControlPlane, version: str) -> bool:
    """Whether this version is stable, and served everywhere."""
    found = Client(plane, "carol").find("agentworkflows", NAMESPACE, NAME) or {"spec": {"version": ""}}
    status = found.get("status") or {}
    return status.get("phase") == "Healthy" and found["spec"]["version"] == version


def approval(held: Json, name: str) -> Json:
    """A Decision to approve exactly what is seen; the API server notes whose it is."""
    about, status = held["metadata"], held["status"]
    target = {"kind": "WorkflowRollout", "name": about["name"], "uid": about["uid"]}
    return {
        "apiVersion": held["apiVersion"],
        "kind": "Decision",
        "metadata": {
            "name": name,
            "namespace": about["namespace"],
            "ownerReferences": [{"apiVersion": held["apiVersion"], **target}],
        },
        "spec": {
            "action": "Approve",
            "target": target,
            "expected": {
                "candidate": held["spec"]["candidate"]["digest"],
                "stage": status["stage"],
                "attempt": status["attempt"],
            },
            "reason": "read the evidence of Shadow",
        },
    }


def send(plane: ControlPlane, item: Json, user: str) -> str:
    """`kubectl create` as a user; "" when it was taken, else why not."""
    done = plane.kubectl("create", "-f", "-", user=user, input=json.dumps(item), check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


@contextmanager
def _silent() -> Iterator[None]:
    """Helm's own log goes to the file descriptor, past Python."""
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
