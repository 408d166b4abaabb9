"""The same commands on a real API server: objects are shown, applied, compared, deleted, watched."""

import json
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from sluicegate.console.client import WORKFLOWS, Client
from sluicegate.console.places import Place
from sluicegate.console.session import open_session
from sluicegate.contracts.errors import SluicegateError
from sluicegate.contracts.resources.base import CHANGED_BY
from tests.console import objects
from tests.console.kube import Room, write

pytestmark = pytest.mark.cluster
Json = dict[str, Any]
SECONDS = 30.0


def test_apply_signs_the_change_and_says_what_became_of_it(room: Room, tmp_path: Path) -> None:
    file = write(tmp_path / "two.yaml", named("one"), named("two"))
    first = room.cli("apply", "-f", file, user="carol")
    assert (first.code, first.out) == (0, "agentworkflow/one created\nagentworkflow/two created\n"), first.err
    write(tmp_path / "two.yaml", named("one"), named("two", "2.5.0"))
    second = room.cli("apply", "-f", file, user="carol")
    assert second.out == "agentworkflow/one unchanged\nagentworkflow/two configured\n"
    kubeconfig = room.plane.kubeconfig("carol", namespace=room.namespace)
    assert (
        f"next: sluicegate rollout status two -n {room.namespace} -w --kubeconfig {kubeconfig}" in second.err
    )
    stored = room.get("AgentWorkflow", "two")
    assert stored["metadata"]["annotations"][CHANGED_BY] == "carol"
    managed = room.plane.get("awf", "two", "-n", room.namespace, "--show-managed-fields")["metadata"]
    assert [(one["manager"], one["operation"]) for one in managed["managedFields"]] == [
        ("sluicegate-cli", "Apply")
    ]


def named(name: str, version: str = "2.4.0") -> Json:
    """Without a namespace: that of the context."""
    made = objects.workflow(name, version=version)
    del made["metadata"]["namespace"]
    return made


def test_the_author_stays_who_it_was_while_the_spec_does_not_change(room: Room, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", named("one"))
    room.cli("apply", "-f", file, user="carol")
    labelled = named("one")
    labelled["metadata"]["labels"] = {"team": "x"}
    said = room.cli("apply", "-f", write(tmp_path / "x.yaml", labelled), user="admin")
    assert said.out == "agentworkflow/one configured\n", said.err
    stored = room.get("AgentWorkflow", "one")["metadata"]
    assert (stored["labels"], stored["annotations"][CHANGED_BY]) == ({"team": "x"}, "carol")
    changed = named("one", "2.5.0")
    assert room.cli("apply", "-f", write(tmp_path / "x.yaml", changed), user="admin").code == 0
    assert room.get("AgentWorkflow", "one")["metadata"]["annotations"][CHANGED_BY] == "admin"


def test_one_document_that_the_server_refuses_keeps_all_others_out(room: Room, tmp_path: Path) -> None:
    elsewhere = objects.workflow("far", namespace="nowhere-at-all")
    file = write(tmp_path / "x.yaml", named("fine"), elsewhere)
    said = room.cli("apply", "-f", file, user="admin")
    assert (said.code, said.out) == (3, "")
    assert 'agentworkflow/far: namespaces "nowhere-at-all" not found' in said.err
    assert room.listing("AgentWorkflow") == []


def test_every_problem_that_the_server_finds_is_told_with_its_path(room: Room, tmp_path: Path) -> None:
    foreign = named("one")
    foreign["metadata"]["annotations"] = {CHANGED_BY: "alice"}
    again = {**named("two"), "metadata": {"name": "two", "annotations": {CHANGED_BY: "bob"}}}
    said = room.cli("apply", "-f", write(tmp_path / "x.yaml", named("fine"), foreign, again), user="carol")
    assert said.code == 4
    where = "metadata.annotations[sluicegate.io/changed-by]: must be the caller, who changes the spec"
    for name, author in (("one", "alice"), ("two", "bob")):
        assert f"agentworkflow/{name} {where}; got {author}; allowed: carol; hint: name yourself" in said.err
    assert room.listing("AgentWorkflow") == []


def test_a_dry_run_and_a_diff_store_nothing(room: Room, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", named("one"))
    said = room.cli("apply", "-f", file, "--dry-run", user="carol")
    assert (said.code, said.out) == (0, "agentworkflow/one created (dry run)\n"), said.err
    assert room.listing("AgentWorkflow") == []
    room.cli("apply", "-f", file, user="carol")
    assert (room.cli("diff", "-f", file, user="carol").code, room.cli("diff", "-f", file).out) == (0, "")
    changed = write(tmp_path / "y.yaml", named("one", "2.5.0"))
    difference = room.cli("diff", "-f", changed, user="carol")
    assert difference.code == 1
    assert "-  version: 2.4.0" in difference.out
    assert "managedFields" not in difference.out
    assert room.get("AgentWorkflow", "one")["spec"]["version"] == "2.4.0"


def test_a_field_of_another_manager_is_a_conflict_until_it_is_forced(room: Room, tmp_path: Path) -> None:
    room.plane.kubectl(
        "apply", "--server-side", "--field-manager=argocd", "-n", room.namespace, "-f", "-",
        input=json.dumps({**named("one"), "metadata": {"name": "one", "annotations": {CHANGED_BY: "admin"}}}),
    )  # fmt: skip
    file = write(tmp_path / "x.yaml", named("one", "2.5.0"))
    said = room.cli("apply", "-f", file, user="carol")
    assert said.code == 5
    assert ".spec.version: argocd" in said.err
    assert "--force-conflicts" in said.err
    assert room.cli("apply", "-f", file, "--force-conflicts", user="carol").code == 0
    assert room.get("AgentWorkflow", "one")["spec"]["version"] == "2.5.0"


def test_a_person_without_rights_is_told_who_may_not_what(room: Room, tmp_path: Path) -> None:
    said = room.cli("apply", "-f", write(tmp_path / "x.yaml", named("one")), user="mallory")
    assert said.code == 4
    assert 'User "mallory" cannot' in said.err
    assert room.cli("get", "awf", user="mallory").code == 4


def test_get_describe_and_status_show_what_the_loop_wrote(room: Room) -> None:
    room.running()
    listed = room.cli("get", "awf")
    assert listed.code == 0, listed.err
    assert listed.out.split("\n")[1].split()[:3] == ["support-bot", "Progressing", "Shadow"]
    everywhere = room.cli("get", "aro", "-A", "-o", "name", user="admin")
    assert "workflowrollout/support-bot-2\n" in everywhere.out
    told = room.cli("describe", "awf", "support-bot")
    assert told.code == 0, told.err
    for words in ("support-bot", "Shadow", "success in one sentence"):
        assert words in told.out
    status = room.cli("rollout", "status", "support-bot", "-o", "json")
    assert json.loads(status.out)["rollout"]["status"]["stage"] == "Shadow"
    assert "Controlled" in room.cli("rollout", "status", "support-bot").out
    assert "support-bot-2" in room.cli("rollout", "history", "support-bot").out
    assert "error budget" in room.cli("rollout", "plan", "support-bot").out


def test_a_wrong_name_is_answered_with_what_was_meant_also_without_the_right_to_list_all(room: Room) -> None:
    room.running()
    room.plane.allow("user:mallory", "view", room.namespace)
    said = room.cli("get", "awf", "suport-bot", user="mallory")
    assert said.code == 3
    assert "did you mean support-bot?" in said.err


def test_wait_and_follow_end_when_the_rollout_ends(room: Room) -> None:
    room.running(state="Done", outcome="Promoted", stage="Full")
    room.status("AgentWorkflow", "support-bot", {"observedGeneration": 1, "phase": "Healthy"})
    assert room.cli("wait", "support-bot", "--for", "phase=Healthy", "--timeout", "20").code == 0
    said = room.cli("rollout", "status", "support-bot-2", "-w", "--timeout", "20")
    assert said.code == 0
    assert "Promoted" in said.out
    assert room.cli("wait", "support-bot", "--for", "delete", "--timeout", "0").code == 8


def test_delete_by_name_and_by_file(room: Room, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", named("one"), named("two"))
    room.cli("apply", "-f", file, user="carol")
    assert room.cli("delete", "awf", "one", "--dry-run", user="carol").code == 0
    assert len(room.listing("AgentWorkflow")) == 2
    said = room.cli("delete", "awf", "one", user="carol")
    assert (said.code, said.out) == (0, "agentworkflows/one deleted\n"), said.err
    assert room.cli("delete", "-f", file, user="carol").code == 3
    assert room.cli("delete", "-f", file, "--ignore-not-found", user="carol").code == 0
    assert room.cli("delete", "awf", "two", user="alice").code == 4
    assert room.listing("AgentWorkflow") == []


def test_events_of_the_workflow_and_its_rollouts_in_the_shape_of_local_mode(room: Room) -> None:
    room.running()
    for kind, name, reason in (
        ("AgentWorkflow", "support-bot", "RolloutStarted"),
        ("WorkflowRollout", "support-bot-2", "StageEntered"),
        ("WorkflowRollout", "other-7", "StageEntered"),
    ):
        room.plane.apply(event(room.namespace, kind, name, reason))
    found = client(room).events(room.namespace, workflow="support-bot")
    assert [(one["reason"], one["about"]["name"]) for one in found] == [
        ("StageEntered", "support-bot-2"),
        ("RolloutStarted", "support-bot"),
    ]
    assert found[0] | {"about": None} == {
        "type": "Normal",
        "reason": "StageEntered",
        "message": "in one sentence",
        "about": None,
        "count": 3,
        "firstAt": "2026-03-01T11:00:00.000000Z",
        "lastAt": "2026-03-01T11:30:01.000000Z",
    }
    assert "StageEntered" in room.cli("describe", "aro", "support-bot-2").out


def event(namespace: str, kind: str, name: str, reason: str) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": namespace},
        "type": "Normal",
        "reason": reason,
        "note": "in one sentence",
        "action": "Reconcile",
        "reportingController": "sluicegate.io/operator",
        "reportingInstance": "x",
        "eventTime": "2026-03-01T11:00:00.000000Z",
        "series": {"count": 3, "lastObservedTime": f"2026-03-01T11:30:0{kind.startswith('Work'):d}.000000Z"},
        "regarding": {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": kind,
            "namespace": namespace,
            "name": name,
        },
    }


def client(room: Room, user: str = "alice") -> Client:
    return open_session(Place(kubeconfig=room.plane.kubeconfig(user, namespace=room.namespace))).client


def test_a_watch_goes_on_when_the_api_server_was_away(room: Room) -> None:
    seen: Queue[Any] = Queue()

    def look() -> None:
        try:
            for change, item in client(room).watch(WORKFLOWS, room.namespace):
                seen.put((change, item["metadata"]["name"]))
                if (change, item["metadata"]["name"]) == ("DELETED", "b"):
                    return
        except SluicegateError as error:
            seen.put(error)

    room.put(objects.workflow("a"))
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    assert seen.get(timeout=SECONDS) == ("ADDED", "a")
    room.plane.processes.stop("kube-apiserver")
    room.plane.start_apiserver()
    room.put(objects.workflow("b"))
    assert seen.get(timeout=SECONDS) == ("ADDED", "b")
    room.plane.kubectl("delete", "awf", "b", "-n", room.namespace)
    assert seen.get(timeout=SECONDS) == ("DELETED", "b")
    thread.join(SECONDS)
