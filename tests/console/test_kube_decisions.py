"""People decide on a real API server under the chart's policies; the test writes what the control loop would answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.console import objects
from tests.console.kube import OPERATOR, Room, answered, write

pytestmark = pytest.mark.cluster
Json = dict[str, Any]


def sent(room: Room) -> Json:
    (decision,) = room.listing("Decision")
    return decision


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        (("promote",), "Promote"),
        (("abort",), "Abort"),
        (("approve",), "Approve"),
        (("reject", "--reason", "no"), "Reject"),
        (("review", "--run", "r", "--component", "agent", "--verdict", "acceptable"), "Review"),
    ],
)
def test_every_act_is_the_callers_and_carries_what_was_seen(
    room: Room, arguments: tuple[str, ...], action: str
) -> None:
    held = room.running()
    with room.loop(answered("Applied", "done")):
        said = room.cli(*arguments, "support-bot")
    assert said.code == 0, said.err
    found = sent(room)
    target = {"kind": "WorkflowRollout", "name": "support-bot-2", "uid": held["metadata"]["uid"]}
    assert found["spec"]["action"] == action
    assert found["spec"]["decidedBy"] == "alice"
    assert found["spec"]["target"] == target
    assert found["spec"]["expected"] == {"candidate": objects.CANDIDATE, "stage": "Shadow", "attempt": 1}
    assert found["spec"]["evidenceDigest"] == held["status"]["evidenceDigest"]
    (owner,) = found["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "sluicegate.io/v1alpha1", **target}


def test_the_result_and_the_move_are_told(room: Room) -> None:
    room.running()
    moved = answered("Applied", "Shadow is left before its time", stage="Controlled", state="Controlled")
    with room.loop(moved):
        said = room.cli("promote", "support-bot", "--reason", "seen enough", user="bob")
    assert said.out == (
        "Promote of support-bot-2 (2.4.0): Applied, Shadow is left before its time\n"
        "  Shadow, attempt 1 → Controlled, attempt 1\n"
    )
    assert sent(room)["spec"]["decidedBy"] == "bob"


@pytest.mark.parametrize(
    ("result", "message", "code"),
    [("Refused", "gate success failed: 0.81 against 0.97", 2), ("Expired", "expired at noon", 5)],
)
def test_what_the_loop_refuses_is_told_with_its_reason(
    room: Room, result: str, message: str, code: int
) -> None:
    room.running()
    with room.loop(answered(result, message)):
        said = room.cli("promote", "support-bot")
    assert (said.code, said.out) == (code, "")
    assert message in said.err


def test_without_a_control_loop_the_wait_is_bounded_and_the_decision_stays(room: Room) -> None:
    room.running()
    said = room.cli("approve", "support-bot", "--timeout", "0")
    assert said.code == 8
    name = sent(room)["metadata"]["name"]
    assert f"see `sluicegate get decision/{name} --kubeconfig " in said.err


@pytest.mark.parametrize(
    ("user", "arguments", "words"),
    [
        (
            "alice",
            ("override", "--reason", "known"),
            "alice may not Override; got Override; allowed: holders of the verb override on workflowrollouts support-bot-2",
        ),
        (
            "alice",
            ("promote", "--full", "--reason", "incident"),
            "spec.full: alice may not Promote past all stages",
        ),
        ("mallory", ("approve",), 'User "mallory" cannot'),
        ("carol", ("approve",), 'User "carol" cannot create resource "decisions"'),
    ],
)
def test_who_may_not_decide_is_told_by_the_policy_in_its_words_and_exits_4(
    room: Room, user: str, arguments: tuple[str, ...], words: str
) -> None:
    room.running()
    said = room.cli(*arguments, "support-bot", user=user)
    assert (said.code, said.out) == (4, "")
    assert words in said.err
    assert "ValidatingAdmissionPolicy" not in said.err
    assert room.listing("Decision") == []


def test_nobody_decides_in_anothers_name_by_a_file(room: Room, tmp_path: Path) -> None:
    held = room.running()
    target = {"kind": "WorkflowRollout", "name": "support-bot-2", "uid": held["metadata"]["uid"]}
    decision = {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "Decision",
        "metadata": {"name": "forged"},
        "spec": {"action": "Abort", "target": target, "decidedBy": "bob", "reason": "x"},
    }
    said = room.cli("apply", "-f", write(tmp_path / "x.yaml", decision))
    assert said.code == 4
    assert "spec.decidedBy: must be the caller" in said.err
    assert "got bob; allowed: alice" in said.err
    assert room.listing("Decision") == []


def test_a_decision_in_a_file_is_created_once(room: Room, tmp_path: Path) -> None:
    held = room.running()
    target = {"kind": "WorkflowRollout", "name": "support-bot-2", "uid": held["metadata"]["uid"]}
    decision: Json = {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "Decision",
        "metadata": {"name": "stop-it"},
        "spec": {"action": "Abort", "target": target, "decidedBy": "alice", "reason": "x"},
    }
    file = write(tmp_path / "x.yaml", decision)
    assert room.cli("apply", "-f", file).out == "decision/stop-it created\n"
    assert room.cli("apply", "-f", file).out == "decision/stop-it unchanged\n"
    decision["spec"]["reason"] = "y"
    said = room.cli("apply", "-f", write(tmp_path / "x.yaml", decision))
    assert said.code == 2
    assert "a Decision is immutable" in said.err


def test_acting_for_another_needs_the_right_to_impersonate(room: Room) -> None:
    room.running()
    said = room.cli("abort", "support-bot", "--as", "bob", "--timeout", "0")
    assert said.code == 4
    assert 'cannot impersonate resource "users"' in said.err
    allowed = room.cli("abort", "support-bot", "--as", OPERATOR, "--timeout", "0", user="admin")
    assert allowed.code == 4, "the operator may not decide"


def test_a_decision_is_used_once_and_listed_with_its_result(room: Room) -> None:
    room.running()
    with room.loop(answered("Counted", "1 of 2 approvals")):
        said = room.cli("approve", "support-bot", "-o", "json")
    answer = json.loads(said.out)
    assert answer["decision"]["spec"]["decidedBy"] == "alice"
    assert answer["result"]["message"] == "1 of 2 approvals"
    listed = room.cli("get", "decisions")
    assert "Counted" in listed.out


@pytest.mark.parametrize(
    ("user", "groups", "held"),
    [
        ("alice", "board", {"approve", "promote", "abort", "review"}),
        ("mallory", "", set()),
        (
            "admin",
            "system:masters",
            {"approve", "promote", "abort", "override", "review", "breakglass", "attest"},
        ),
    ],
)
def test_whoami_tells_the_name_and_every_verb(room: Room, user: str, groups: str, held: set[str]) -> None:
    """Against `kubectl auth can-i`."""
    said = room.cli("whoami", "-o", "json", user=user)
    facts = json.loads(said.out)
    assert (facts["user"], facts["namespace"]) == (user, room.namespace)
    assert groups in {*facts["groups"], ""}
    assert {verb for verb, may in facts["verbs"].items() if may} == held
    for verb, may in facts["verbs"].items():
        kind = "agentworkflows" if verb == "attest" else "workflowrollouts"
        asked = ("auth", "can-i", verb, f"{kind}.sluicegate.io", "-n", room.namespace)
        done = room.plane.kubectl(*asked, user=user, check=False)
        assert (done.stdout.strip() == "yes") is may, verb


def test_whoami_is_a_table_for_people(room: Room) -> None:
    lines = room.cli("whoami").out.splitlines()
    assert lines[0] == "alice"
    assert "board" in lines[1]
    assert lines[2] == f"in namespace {room.namespace}:"
    assert lines[4].split() == ["approve", "yes", "approve,", "reject"]
