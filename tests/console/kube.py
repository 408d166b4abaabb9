"""What the tests of the command line on a cluster share: one namespace, its people, and the operator's hand.

The control loop does not run: `Room.status` writes what it would write, as its account.
"""

import io
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml

from sluicegate.console import main, program
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import CHANGED_BY, GROUP
from sluicegate.operator.cluster import names
from tests.charts import installation
from tests.console import objects
from tests.console.said import Said
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

Json = dict[str, Any]
OPERATOR = names.account(names.OPERATOR_ACCOUNT)
SECONDS = 20.0
ROLES = {
    "group:board": (
        "view",
        "sluicegate-approver",
        "sluicegate-promoter",
        "sluicegate-aborter",
        "sluicegate-reviewer",
    ),
    "group:team": ("edit",),
}
"""The cluster's own view and edit, to which the chart adds, and the chart's roles."""
KUBECTL_READS_FIRST = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "console-status"},
    "rules": [
        {"apiGroups": [GROUP], "resources": ["*/status"], "verbs": ["get"]},
        # The tests play the control loop with kubectl, which applies what the loop creates.
        {"apiGroups": [GROUP], "resources": ["workflowrevisions", "workflowrollouts"], "verbs": ["patch"]},
    ],
}
_numbers = itertools.count(1)


WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def ungovern(plane: ControlPlane) -> None:
    """As it was: other files share the control plane."""
    installation.remove(plane, (*installation.ROLES, *installation.POLICIES, *WEBHOOKS))
    for subject, role in ((subject, role) for subject, roles in ROLES.items() for role in roles):
        plane.disallow(subject, role)


def govern(plane: ControlPlane) -> None:
    """The chart's roles and policies, and people who hold them everywhere; no webhook, for no operator runs."""
    ungovern(plane)
    installation.install(plane)
    plane.apply(KUBECTL_READS_FIRST)
    plane.allow(f"user:{OPERATOR}", "console-status")
    for subject, roles in ROLES.items():
        for role in roles:
            plane.allow(subject, role)
    until("view and edit know our kinds", lambda: _may_list(plane))


def _may_list(plane: ControlPlane) -> bool:
    asked = ("auth", "can-i", "list", "workflowrollouts.sluicegate.io", "-A")
    return all(plane.kubectl(*asked, user=user, check=False).returncode == 0 for user in ("alice", "carol"))


@dataclass(frozen=True)
class Room:
    """A namespace. carol (team) writes workflows, alice and bob (board) decide, mallory may nothing."""

    plane: ControlPlane
    namespace: str

    @classmethod
    def fresh(cls, plane: ControlPlane) -> "Room":
        """A namespace that was not there."""
        room = cls(plane, f"console-{next(_numbers)}")
        plane.kubectl("create", "namespace", room.namespace)
        return room

    def cli(self, *arguments: str, user: str = "alice", name: str = program.NAME) -> Said:
        """A command line in this process, with the user's kubeconfig."""
        file = self.plane.kubeconfig(user, namespace=self.namespace)
        return said(*arguments, "--kubeconfig", str(file), name=name)

    def apply(self, item: Json, user: str = "carol") -> Said:
        file = self.plane.folder / f"{self.namespace}-{item['metadata']['name']}.yaml"
        file.write_text(yaml.safe_dump(item))
        return self.cli("apply", "-f", str(file), user=user)

    def put(self, item: Json) -> Json:
        """Created as who may create it, with the status that the operator would write."""
        made = {**item, "metadata": {**item["metadata"], "namespace": self.namespace}}
        status = made.pop("status", None)
        if made["kind"] == "AgentWorkflow":
            made["metadata"]["annotations"] = {CHANGED_BY: "admin"}
            self.plane.apply(made)
        else:
            self._kubectl("apply", "--server-side", "-f", "-", input=json.dumps(made))
        if status is not None:
            self.status(made["kind"], made["metadata"]["name"], status)
        return self.get(made["kind"], made["metadata"]["name"])

    def status(self, kind: str, name: str, status: Json) -> None:
        patch = json.dumps([{"op": "add", "path": "/status", "value": status}])
        self._kubectl(
            "patch",
            KINDS[kind].plural,
            name,
            "-n",
            self.namespace,
            "--subresource=status",
            "--type=json",
            "-p",
            patch,
        )

    def get(self, kind: str, name: str) -> Json:
        return self.plane.get(f"{KINDS[kind].plural}.{GROUP}", name, "-n", self.namespace)

    def listing(self, kind: str) -> list[Json]:
        return list(self.plane.get(f"{KINDS[kind].plural}.{GROUP}", "-n", self.namespace)["items"])

    def running(self, name: str = "support-bot", **status: Any) -> Json:
        """A workflow and its second rollout, in Shadow; the rollout."""
        self.put(objects.running_workflow(name, rollout=f"{name}-2"))
        made = objects.rollout(f"{name}-2", **status)
        return self.put(made)

    @contextmanager
    def loop(self, answer: Callable[[Json, Json], Json]) -> Iterator[None]:
        """Until the block ends: the first decision gets `answer(decision, rollout)` as the rollout's status."""
        known = {item["metadata"]["uid"] for item in self.listing("Decision")}
        ended, failed = Event(), list[BaseException]()

        def work() -> None:
            try:
                while not ended.wait(0.05):
                    new = [one for one in self.listing("Decision") if one["metadata"]["uid"] not in known]
                    if new:
                        target = new[0]["spec"]["target"]["name"]
                        rollout = self.get("WorkflowRollout", target)
                        return self.status("WorkflowRollout", target, answer(new[0], rollout))
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)
            return None

        thread = Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(SECONDS)
        if failed:
            raise failed[0]

    def _kubectl(self, *arguments: str, input: str | None = None) -> None:
        self.plane.kubectl(f"--as={OPERATOR}", *arguments, input=input)


def said(*arguments: str, name: str = program.NAME) -> Said:
    """A command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main.run(arguments, name=name)
    return Said(code, out.getvalue(), err.getvalue())


def answered(result: str, message: str, **status: Any) -> Callable[[Json, Json], Json]:
    """The control loop's answer to a decision."""
    return lambda decision, rollout: {
        **rollout["status"],
        "decisions": [objects.record(decision, result, message)],
        **status,
    }


def write(path: Path, *documents: Json) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)
