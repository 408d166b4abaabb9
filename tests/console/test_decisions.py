"""What people decide: sent with what they saw, followed until it was used."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

Json = dict[str, Any]


@pytest.fixture
def server(server: ApiServer) -> ApiServer:
    server.put(objects.running_workflow())
    server.put(objects.rollout())
    return server


def answered(result: str, message: str, **status: Any) -> Callable[[Json, Json], Json]:
    """The control loop's answer to a decision."""
    return lambda decision, rollout: {
        **rollout["status"],
        "decisions": [objects.record(decision, result, message)],
        **status,
    }


def sent(server: ApiServer) -> Json:
    (decision,) = server.listing("Decision")
    return dict(decision["spec"])


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        (("promote",), "Promote"),
        (("abort",), "Abort"),
        (("approve",), "Approve"),
        (("reject", "--reason", "no"), "Reject"),
        (("pause",), "Pause"),
        (("resume",), "Resume"),
        (("retry",), "Retry"),
        (("override", "-r", "known"), "Override"),
        (("undo",), "Undo"),
        (("rollout", "pause"), "Pause"),
    ],
)
def test_every_act_carries_what_was_seen(
    server: ApiServer, cli: Cli, arguments: tuple[str, ...], action: str
) -> None:
    held = server.get("WorkflowRollout", "support-bot-2")
    with server.on_decision(answered("Applied", "done")):
        said = cli(*arguments, "support-bot")
    assert said.code == 0, said.err
    spec = sent(server)
    assert spec["action"] == action
    assert spec["target"] == {
        "kind": "WorkflowRollout",
        "name": "support-bot-2",
        "uid": held["metadata"]["uid"],
    }
    assert spec["expected"] == {"candidate": objects.CANDIDATE, "stage": "Shadow", "attempt": 1}
    assert spec["evidenceDigest"] == held["status"]["evidenceDigest"]


def test_the_result_and_the_move_are_told(server: ApiServer, cli: Cli) -> None:
    moved = answered("Applied", "Shadow is left before its time", stage="Controlled", state="Controlled")
    with server.on_decision(moved):
        said = cli("promote", "support-bot", "--reason", "seen enough")
    assert said.out == (
        "Promote of support-bot-2 (2.4.0): Applied, Shadow is left before its time\n"
        "  Shadow, attempt 1 → Controlled, attempt 1\n"
    )
    assert sent(server)["reason"] == "seen enough"


def test_a_refused_decision_exits_2_with_the_loops_reason(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Refused", "gate success failed: 0.81 against 0.97")):
        said = cli("promote", "support-bot")
    assert (said.code, said.out) == (2, "")
    assert "gate success failed: 0.81 against 0.97" in said.err


def test_the_record_of_another_decision_is_not_taken_for_the_answer(server: ApiServer, cli: Cli) -> None:
    earlier = {"metadata": {"uid": "x", "name": "y"}, "spec": {"action": "Promote", "decidedBy": "bob"}}
    server.put(objects.rollout(decisions=[objects.record(earlier, "Applied", "long ago")]))
    assert cli("promote", "support-bot", "--timeout", "0").code == 8


def test_an_expired_decision_exits_5(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Expired", "expired at noon")):
        said = cli("approve", "support-bot")
    assert said.code == 5
    assert "expired at noon" in said.err


def test_without_a_control_loop_the_wait_is_bounded(server: ApiServer, cli: Cli) -> None:
    said = cli("pause", "support-bot", "--timeout", "0")
    assert said.code == 8
    assert "not used within 0 s" in said.err
    assert sent(server)["action"] == "Pause"


def test_acting_for_another_user_is_recorded_with_both_names(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Counted", "1 of 2 approvals")):
        assert cli("approve", "support-bot", "--as", "bob").code == 0
    assert sent(server)["decidedBy"].startswith("bob (by ")


def test_json_holds_the_decision_and_its_result(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Counted", "1 of 2 approvals")):
        said = cli("approve", "support-bot", "-o", "json")
    answer = json.loads(said.out)
    assert answer["decision"]["spec"]["action"] == "Approve"
    assert answer["result"]["message"] == "1 of 2 approvals"


@pytest.mark.parametrize(
    "arguments",
    [
        ("promote", "support-bot", "--full"),
        ("override", "support-bot"),
        ("reject", "support-bot", "--reason", " "),
        ("review", "support-bot", "--run", "r"),
    ],
)
def test_an_act_that_needs_a_reason_or_a_judgement_is_not_sent_without(
    server: ApiServer, cli: Cli, arguments: tuple[str, ...]
) -> None:
    assert cli(*arguments).code == 2
    assert server.listing("Decision") == ()


def test_full_promotion_says_so(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Applied", "past all stages")):
        assert cli("promote", "support-bot", "--full", "-r", "incident 7").code == 0
    assert sent(server)["full"] is True


def test_a_review_carries_run_component_and_verdict(server: ApiServer, cli: Cli) -> None:
    with server.on_decision(answered("Counted", "acceptable")):
        said = cli("review", "support-bot", "--run", "r1", "--component", "orders", "--verdict", "acceptable")
    assert said.code == 0, said.err
    assert sent(server)["review"] == {"runId": "r1", "component": "orders", "verdict": "Acceptable"}


def test_review_without_a_run_lists_what_waits(server: ApiServer, cli: Cli) -> None:
    server.lineage.reviewable = [
        {"runId": "r1", "component": "orders", "reason": "Timeout", "strategy": "Value"}
    ]
    said = cli("review", "support-bot")
    assert said.out.split("\n")[1].split() == ["r1", "orders", "Timeout", "Value"]
    assert said.err == "1 fallback to review\n"
    uid = server.get("WorkflowRollout", "support-bot-2")["metadata"]["uid"]
    assert server.lineage.asked[-1][0]["rollout"] == uid


@pytest.mark.parametrize("action", ["promote", "approve"])
def test_before_the_first_stage_there_is_nothing_to_leave(server: ApiServer, cli: Cli, action: str) -> None:
    server.put(objects.rollout(state="Pending", stage=None))
    said = cli(action, "support-bot")
    assert said.code == 2
    assert "not entered a stage yet" in said.err
    assert server.listing("Decision") == ()


def test_a_workflow_without_a_rollout_has_nothing_to_decide(server: ApiServer, cli: Cli) -> None:
    server.put(objects.workflow("quiet"))
    said = cli("abort", "quiet")
    assert said.code == 2
    assert "there is no rollout to abort" in said.err


@pytest.mark.parametrize(
    ("name", "meant"), [("support-bot", "support-bot-1"), ("support-bot-2", "support-bot-2")]
)
def test_undo_of_a_workflow_means_its_last_promotion(
    name: str, meant: str, server: ApiServer, cli: Cli
) -> None:
    server.put(objects.running_workflow(rollout=None))
    server.put(objects.rollout("support-bot-1", state="Done", outcome="Promoted"))
    server.put(objects.rollout("support-bot-2", state="Done", outcome="Aborted"))
    cli("undo", name, "--timeout", "0")
    assert sent(server)["target"]["name"] == meant
