"""Kinds whose behaviour comes later: kept with a warning, or refused where keeping would surprise."""

from typing import Any

import pytest

from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.rollout import rule_sets
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import AdmissionContext, RuleSetObserved
from tests.contracts import kinds
from tests.gateway.rules import TABLE
from tests.rollout.samples import T0

CONTEXT = AdmissionContext(now=T0)


def admitted(item: dict[str, Any]) -> Any:
    return admit(None, parse_data(item), "ada", CONTEXT)


@pytest.mark.parametrize("kind", ["ChangeProposal", "GovernancePolicy"])
def test_what_nothing_acts_on_is_kept_with_a_warning(kind: str) -> None:
    answer = admitted(kinds.of(kind))
    assert answer.allowed
    assert answer.warnings == (f"{kind} is kept; this version does not act on it",)


def rule_set(**spec: Any) -> Any:
    whole = {
        "apiVersion": API_VERSION,
        "kind": "FallbackRuleSet",
        "metadata": {"name": "care"},
        "spec": TABLE | spec,
    }
    return parse_data(whole)


def test_a_table_that_answers_every_input_is_accepted() -> None:
    assert admit(None, rule_set(), "ada", CONTEXT).problems == ()


def test_a_table_with_a_gap_is_refused_with_an_input_that_falls_through() -> None:
    (problem,) = admit(None, rule_set(default=None), "ada", CONTEXT).problems
    assert problem.message.startswith("RuleGap: ")
    assert problem.value


def test_all_mistakes_of_a_table_are_told_at_once() -> None:
    rules = [{"id": "r", "when": {"intnt": {"oneOf": ["a"]}, "amont": {"below": "1"}}, "answer": {}}]
    problems = admit(None, rule_set(rules=rules), "ada", CONTEXT).problems
    assert {"spec.rules[0].when.intnt", "spec.rules[0].when.amont"} <= {one.path for one in problems}


def test_a_version_names_one_table() -> None:
    changed = rule_set(default={"answer": "another"})
    (problem,) = admit(rule_set(), changed, "ada", CONTEXT).problems
    assert (problem.path, problem.value) == ("spec.version", TABLE["version"])
    assert admit(rule_set(), rule_set(default={"answer": "another"}, version="9"), "ada", CONTEXT).allowed


def test_a_name_that_was_given_before_does_not_come_back_with_another_table() -> None:
    first, second = rule_set(), rule_set(default={"answer": "another"}, version="9")
    seen = None
    for item in (first, second):
        met = RuleSetObserved(rule_set=item.model_copy(update={"status": seen}))
        seen = rule_sets.reconcile_rule_set(met, rule_sets.judge(item), T0).status
    held = second.model_copy(update={"status": seen})
    (problem,) = admit(held, rule_set(default={"answer": "a third"}), "ada", CONTEXT).problems
    assert (problem.path, problem.value) == ("spec.version", TABLE["version"])
    assert "another table" in problem.message
    assert admit(held, first, "ada", CONTEXT).allowed, "with its own table it is the way back"


def test_words_about_a_table_change_under_the_same_version() -> None:
    assert admit(rule_set(), rule_set(description="for nights"), "ada", CONTEXT).allowed


def test_a_stored_table_that_would_be_refused_now_keeps_its_labels_changeable() -> None:
    stored = rule_set(default=None)
    labelled = stored.model_copy(
        update={"metadata": stored.metadata.model_copy(update={"labels": {"a": "b"}})}
    )
    assert admit(stored, labelled, "ada", CONTEXT).allowed


def test_an_order_to_train_is_not_kept_for_a_later_version() -> None:
    (problem,) = admitted(kinds.of("RetrainingRun")).problems
    assert "trains nothing" in problem.message


def test_a_component_is_accepted_in_silence() -> None:
    answer = admitted(kinds.of("AgentComponent"))
    assert answer.allowed
    assert not answer.warnings


@pytest.mark.parametrize("kind", ["AgentWorkflow", "ChangeProposal", "RetrainingRun", "FallbackRuleSet"])
def test_decisions_about_anything_but_a_rollout_are_refused(kind: str) -> None:
    item = kinds.of("Decision")
    target = {"kind": kind, "name": "agent", "uid": "u"}
    item = {**item, "spec": {**item["spec"], "target": target, "expiresAt": None}}
    (problem,) = admitted(item).problems
    assert problem.path == "spec.target.kind"
    assert problem.value == kind


def test_a_drill_without_a_schedule_is_refused() -> None:
    drill = {"schedule": "0 9 31 2 *", "timeZone": "Asia/Shangai"}
    problems = admit(None, rule_set(drill=drill), "ada", CONTEXT).problems
    assert {one.path for one in problems} == {"spec.drill.schedule", "spec.drill.timeZone"}
