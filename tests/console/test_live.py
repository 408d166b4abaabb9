"""The view of a rollout and the loop that follows it to its end."""

import itertools
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from sluicegate.console import live
from sluicegate.console.local import LocalClient
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.stages import Outcome, Verdict
from tests.console import objects
from tests.console.apiserver import NOW, ApiServer
from tests.console.conftest import Cli

Json = dict[str, Any]
ABORTED: Json = {
    "state": "Done",
    "phase": "Degraded",
    "outcome": "Aborted",
    "message": "gate fallback failed",
    "endedAt": "2026-03-01T12:00:00Z",
}
ARRIVED = {Outcome.PROMOTED, Outcome.FAST_PROMOTED, Outcome.FAST_ROLLED_BACK}
PROMOTED: Json = {"state": "Done", "phase": "Healthy", "outcome": "Promoted", "stage": "Full", "gates": []}


def text_of(rollout: Json | None, workflow: Json, events: tuple[Json, ...] = ()) -> str:
    file = StringIO()
    Console(file=file, width=140, color_system=None).print(live.render(rollout, workflow, events, now=NOW))
    return file.getvalue()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks follow each other at once."""
    monkeypatch.setattr(LocalClient, "poll_seconds", 0.001)


@pytest.mark.parametrize(
    ("sentence", "rollout", "words"),
    [
        (
            "a running stage has a bar and samples",
            objects.rollout(),
            ["✔ Canary ▸ Shadow ━━━━╌╌╌╌╌╌╌╌ 412/1000"],
        ),
        (
            "a pending rollout shows all stages to come",
            objects.rollout(state="Pending", stage=None),
            ["Canary ▸ Shadow"],
        ),
        (
            "an aborted one marks its stage",
            objects.rollout(**ABORTED),
            ["✘ Shadow", "Aborted", "gate fallback failed"],
        ),
        ("a promoted one has passed all", objects.rollout(**PROMOTED), ["✔ Controlled ▸ ✔ Full", "Promoted"]),
        (
            "flags are told",
            objects.rollout(paused=True, held=True, holdReason="ask bob"),
            ["· paused", "· held", "ask bob"],
        ),
        (
            "gateways that lag are told",
            objects.rollout(programmedVersion=2),
            ["gateways not yet on this plan"],
        ),
        ("a rollout without status yet", {**objects.rollout(), "status": {}}, ["Pending", "attempt 1"]),
    ],
)
def test_the_view(sentence: str, rollout: Json, words: list[str]) -> None:
    shown = text_of(rollout, objects.running_workflow())
    for word in words:
        assert word in shown, sentence


def test_without_traffic_the_view_asks_for_it() -> None:
    assert "does traffic go through" in text_of(objects.rollout(samples=0), objects.running_workflow())
    assert "does traffic go through" not in text_of(objects.rollout(), objects.running_workflow())


def test_an_undo_passes_no_stage_and_fails_none() -> None:
    shown = text_of(
        objects.rollout(state="Done", outcome="FastRolledBack", stage=None), objects.running_workflow()
    )
    assert "│ Canary ▸ Shadow ▸ Controlled ▸ Full " in shown


def test_a_finding_repeats_its_numbers_only_when_it_failed() -> None:
    message = "candidate 90 % of 50 units, stable 97 %: worse (e = 400)"
    gates = [
        objects.gate(verdict, "WorkflowSuccessRate", verdict, message=message) for verdict in ("Wait", "Fail")
    ]
    wait, fail = (row for row in text_of(objects.rollout(gates=gates), {**objects.running_workflow()}).splitlines()
                  if "worse" in row)  # fmt: skip
    assert "97 %: worse" not in wait
    assert message in fail


def test_the_summary_says_a_sentence_once() -> None:
    failed = objects.gate("success", "WorkflowSuccessRate", "Fail", message="much worse")
    rollout = objects.rollout(**ABORTED | {"message": "Fail of gate success: much worse", "gates": [failed]})
    text = live.summary(live.Snapshot(workflow=objects.running_workflow(), rollout=rollout))
    assert text.count("much worse") == 1
    assert "✘ success: candidate 98.1 %, stable 97.4 %, n 412" in text


def test_every_verdict_has_a_mark_and_a_style() -> None:
    assert set(live.MARKS) == set(live.STYLES) == set(Verdict)


def test_text_of_objects_is_never_read_as_markup() -> None:
    rollout = objects.rollout(
        holdReason="[bold]kept[/bold]", gates=[objects.gate("a", "WorkflowReward", "Wait", message="[x]")]
    )
    shown = text_of(rollout, objects.running_workflow())
    assert "[bold]kept[/bold]" in shown
    assert "[x]" in shown


def test_a_line_changes_only_with_a_decision() -> None:
    before = live.line(objects.rollout(), objects.running_workflow())
    assert before == live.line(objects.rollout(samples=413, needed=999), objects.running_workflow())
    changes: tuple[Json, ...] = (
        {"attempt": 2},
        {"paused": True},
        {"stage": "Full"},
        {"outcome": "Aborted"},
        {"gates": []},
    )
    for changed in changes:
        assert before != live.line(objects.rollout(**changed), objects.running_workflow()), changed


def follow(
    server: ApiServer, *steps: Callable[[], object], timeout: float | None = 20.0
) -> tuple[live.Ended, list[str]]:
    """Follow support-bot; after each look the next step happens."""
    seen: list[str] = []
    remaining = iter(steps)

    def show(snapshot: live.Snapshot) -> None:
        seen.append(live.line(snapshot.rollout, snapshot.workflow))
        for step in itertools.islice(remaining, 1):
            step()

    return live.follow(
        LocalClient(server.state.root), "default", "support-bot", show=show, timeout=timeout
    ), seen


def test_following_ends_with_the_outcome(server: ApiServer) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout())
    ended, _ = follow(
        server,
        lambda: server.put(objects.rollout(stage="Controlled", state="Controlled")),
        lambda: server.put(objects.rollout(state="Draining", outcome="Promoted")),
        lambda: server.put(objects.rollout(**PROMOTED)),
    )
    assert ended.outcome is Outcome.PROMOTED


def test_a_rollout_that_was_superseded_is_not_confused_with_its_successor(server: ApiServer) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout())

    def supersede() -> None:
        server.put(objects.rollout(state="Done", outcome="Superseded"))
        server.put(objects.rollout("support-bot-3"))
        server.put(objects.running_workflow(rollout="support-bot-3"))

    ended, _ = follow(server, supersede)
    assert ended.outcome is Outcome.SUPERSEDED


def test_a_change_that_was_not_observed_yet_is_waited_for(server: ApiServer) -> None:
    """The last rollout has ended; its end says nothing about the spec that was applied a moment ago."""
    server.put(objects.running_workflow(observedGeneration=0))
    server.put(objects.rollout(**ABORTED))

    def begin() -> None:
        server.put(objects.rollout("support-bot-3"))
        server.put(objects.running_workflow(rollout="support-bot-3"))

    ended, _ = follow(server, begin, lambda: server.put(objects.rollout("support-bot-3", **PROMOTED)))
    assert ended.outcome is Outcome.PROMOTED


def test_a_first_version_ends_healthy_without_a_rollout(server: ApiServer) -> None:
    server.put(objects.workflow())
    ended, _ = follow(server, lambda: server.put(objects.running_workflow(phase="Healthy", rollout=None)))
    assert (ended.outcome, ended.timed_out) == (None, False)


def test_the_time_given_is_kept(server: ApiServer) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout())
    ended, seen = follow(server, timeout=0.0)
    assert ended.timed_out
    assert len(seen) == 1


def test_a_server_that_restarts_is_waited_for_and_one_that_never_ran_is_not(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout())
    real, calls = live.look, itertools.count()

    def flaky(*arguments: Any, **options: Any) -> live.Snapshot:
        if next(calls) in {1, 2}:
            raise Unavailable("restarting")
        return real(*arguments, **options)

    monkeypatch.setattr(live, "look", flaky)
    ended, seen = follow(server, lambda: server.put(objects.rollout(**PROMOTED)))
    assert ended.outcome is Outcome.PROMOTED
    assert len(seen) == 2
    with pytest.raises(Unavailable, match="sluicegate up"):
        live.follow(LocalClient(tmp_path / "nothing"), "default", "support-bot", show=print)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(one, 0 if one in ARRIVED else 7) for one in Outcome],
)
def test_the_exit_code_says_how_it_ended(server: ApiServer, cli: Cli, outcome: Outcome, code: int) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout(state="Done", outcome=outcome.value))
    assert cli("rollout", "status", "support-bot", "-w").code == code
    assert cli("rollout", "status", "support-bot").code == code


def test_without_a_terminal_the_end_is_told_with_numbers_runs_and_commands(
    server: ApiServer, cli: Cli
) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout(**ABORTED))
    said = cli("rollout", "status", "support-bot", "-w")
    for words in (
        "default/support-bot  Shadow#1",
        "2.3.0 → 2.4.0: Aborted in Shadow",
        "✘ fallback: candidate 98.1 %, stable 97.4 %, n 412",
        "sluicegate run show run-1",
        "sluicegate describe aro support-bot-2",
    ):
        assert words in said.out


def test_timeout_exits_8_and_a_healthy_workflow_0(server: ApiServer, cli: Cli) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout())
    assert cli("rollout", "status", "support-bot", "-w", "--timeout", "0").code == 8
    assert cli("rollout", "status", "support-bot").code == 0
    server.put(objects.with_status(objects.workflow("calm"), observedGeneration=1, phase="Healthy"))
    assert cli("rollout", "status", "calm", "-w").code == 0


def test_a_small_terminal_sees_the_whole_view() -> None:
    """80 columns and 24 lines hold six gates, the stages, and the last events."""
    gates = [objects.gate(f"gate-{n}", "WorkflowP95Latency", "Wait", message="long " * 20) for n in range(6)]
    events = [{"reason": "StageEntered", "message": "many words " * 9, "lastAt": None} for _ in range(5)]
    file = StringIO()
    assert live.is_cramped((80, 24))
    assert live.is_cramped((200, 24))
    assert not live.is_cramped((120, 40))
    view = live.render(
        objects.rollout(gates=gates), objects.running_workflow(), events, now=NOW, compact=True
    )
    Console(file=file, width=80, color_system=None).print(view)
    lines = file.getvalue().splitlines()
    assert len(lines) < 24
    assert sum("gate-" in line for line in lines) == len(gates)
    assert sum("StageEntered  many" in line for line in lines) == 3


@pytest.mark.parametrize(
    ("sentence", "verdict", "conditions", "words"),
    [
        (
            "what it still needs",
            "Pass",
            {"EvidenceSufficient": "3 s of 10 s"},
            "every gate passes; 3 s of 10 s",
        ),
        (
            "who is waited for",
            "Wait",
            {"AwaitingApproval": "0 of 1 approvals"},
            "0 of 1 approvals: sluicegate approve support-bot",
        ),
        ("why it stands", "Wait", {"Stalled": "the same endpoint as before"}, "the same endpoint as before"),
    ],
)
def test_in_a_stage_the_view_says(sentence: str, verdict: str, conditions: Json, words: str) -> None:
    said = [objects.condition(name, "True", "Some", text) for name, text in conditions.items()]
    gates = [objects.gate("success", "WorkflowSuccessRate", verdict)]
    rollout = objects.rollout(gates=gates, conditions=said, message="Pass: of the stage before")
    shown = text_of(rollout, objects.running_workflow())
    assert words in shown, sentence
    assert "of the stage before" not in shown
