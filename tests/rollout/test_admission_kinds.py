"""Kinds whose behaviour comes later: kept with a warning, or refused where keeping would surprise."""

from typing import Any

import pytest

from sluicegate.contracts.parsing import parse_data
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import AdmissionContext
from tests.contracts import kinds
from tests.rollout.samples import T0

CONTEXT = AdmissionContext(now=T0)


def admitted(item: dict[str, Any]) -> Any:
    return admit(None, parse_data(item), "ada", CONTEXT)


@pytest.mark.parametrize("kind", ["ChangeProposal", "FallbackRuleSet", "GovernancePolicy"])
def test_what_nothing_acts_on_is_kept_with_a_warning(kind: str) -> None:
    answer = admitted(kinds.of(kind))
    assert answer.allowed
    assert answer.warnings == (f"{kind} is kept; this version does not act on it",)


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
