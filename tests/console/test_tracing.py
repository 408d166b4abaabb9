"""A run as a tree: what rules of business did for it."""

from io import StringIO
from typing import Any

from rich.console import Console

from sluicegate.console.tracing import run_tree
from tests.console.objects import run_document


def drawn(**facts: Any) -> str:
    out = StringIO()
    Console(file=out, width=160).print(run_tree([run_document(**facts)]))
    return out.getvalue()


def test_a_run_that_rules_answered_shows_the_chain_and_what_they_saw() -> None:
    business = {
        "trigger": "session",
        "rule_set": "care",
        "version": "1.2.0",
        "answered_by": "Static",
        "probe": True,
        "values": {"topic": "order"},
        "answer": {"text": "later"},
        "hand_off": "queue 7",
        "chain": [
            {"link": "Workflow", "outcome": "Failed", "message": "Timeout"},
            {"link": "Rules", "outcome": "NoRule", "message": "no rule holds"},
            {"link": "Static", "outcome": "Answered"},
        ],
    }
    shown = drawn(outcome="Failed", business=business)
    for words in (
        "business fallback: care 1.2.0, asked for the session, a probe",
        "Rules  NoRule  no rule holds",
        "Static  Answered",
        "hand-off: queue 7",
    ):
        assert words in shown


def test_a_violation_says_what_was_done_about_it() -> None:
    violation = {"code": "Pattern", "path": "input/phone", "message": "is no number"}
    shown = drawn(violations=[violation | {"policy": "Redact"}, violation | {"policy": "Fail"}])
    assert "violation Pattern input/phone: is no number (Redact)" in shown
    assert shown.count("(Fail)") == 0
