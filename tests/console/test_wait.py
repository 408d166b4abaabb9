"""`wait`: for scripts."""

import pytest

from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

ABORTED = {"state": "Done", "outcome": "Aborted", "message": "worse"}
PROMOTED = {"state": "Done", "outcome": "Promoted", "stage": "Full"}


@pytest.mark.parametrize(
    ("sentence", "status", "question", "code"),
    [
        ("the stage is reached", {}, "stage=Shadow", 0),
        ("words may be in any case", {}, "stage=shadow", 0),
        ("an earlier stage was reached before", {}, "stage=Canary", 0),
        ("a later stage is not reached", {}, "stage=Full", 8),
        ("a promoted rollout was in every stage", PROMOTED, "stage=Controlled", 0),
        ("an aborted one will never get there", ABORTED, "stage=Controlled", 7),
        ("the outcome is there", PROMOTED, "outcome=Promoted", 0),
        ("another outcome ends the wait", ABORTED, "outcome=Promoted", 7),
        ("an abort can be waited for", ABORTED, "outcome=Aborted", 0),
        (
            "a draining rollout is not done",
            {"state": "Draining", "outcome": "Promoted"},
            "outcome=Promoted",
            8,
        ),
        ("a condition of the workflow", {}, "condition=Ready=False", 0),
        ("which is not true", {}, "condition=Ready", 8),
        ("a condition of the rollout", {}, "condition=trafficprogrammed", 0),
        ("a rollout that goes on may still get there", {}, "condition=TrafficProgrammed=False", 8),
        ("one that has ended will not", ABORTED, "condition=TrafficProgrammed=False", 7),
        ("a condition that nobody set", {}, "condition=Nonsense", 8),
        ("the phase", {}, "phase=Progressing", 0),
        ("another phase", {}, "phase=Healthy", 8),
    ],
)
def test_for(
    server: ApiServer, cli: Cli, sentence: str, status: dict[str, str], question: str, code: int
) -> None:
    server.put(objects.running_workflow())
    server.put(objects.rollout(**status))
    assert cli("wait", "support-bot", "--for", question, "--timeout", "0").code == code, sentence


def test_what_was_not_observed_yet_does_not_count(server: ApiServer, cli: Cli) -> None:
    server.put(objects.running_workflow(observedGeneration=0))
    server.put(objects.rollout(**PROMOTED))
    for question in ("outcome=Promoted", "phase=Progressing", "condition=Ready=False", "stage=Canary"):
        assert cli("wait", "support-bot", "--for", question, "--timeout", "0").code == 8, question


def test_deletion(server: ApiServer, cli: Cli) -> None:
    server.put(objects.workflow("gone"))
    assert cli("wait", "gone", "--for", "delete", "--timeout", "0").code == 8
    cli("delete", "awf", "gone")
    assert cli("wait", "gone", "--for", "delete", "--timeout", "0").code == 0
    assert cli("wait", "gone", "--for", "outcome=Promoted", "--timeout", "0").code == 3


@pytest.mark.parametrize(
    "question", ["", "stage", "stage=Nowhere", "outcome=", "delete=yes", "condition", "x=y"]
)
def test_nonsense_is_refused_with_what_is_allowed(server: ApiServer, cli: Cli, question: str) -> None:
    said = cli("wait", "support-bot", "--for", question)
    assert said.code == 2
    assert "allowed:" in said.err
