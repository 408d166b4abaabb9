"""Errors of the static checks refuse a write, warnings are told with it, and what is stored already stays changeable."""

from typing import Any

from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.workflow import Retry, Step
from sluicegate.rollout import lint
from sluicegate.rollout.admission import admit
from tests.rollout.test_admission import WISH, changed, context


def _retried(attempts: int, **spec: Any) -> AgentWorkflow:
    """Its one component is tried so often by its own client."""
    (component,) = WISH.spec.to_json()["components"]
    return changed(WISH, components=[component | {"retry": {"attemptsBelow": attempts}}], **spec)


def test_an_error_refuses_with_code_place_and_witness() -> None:
    answer = admit(None, _retried(11), "alice", context())
    (problem,) = answer.problems
    assert "RetryAmplification" in problem.message
    assert problem.path == "spec.components[0].retry"
    assert problem.value is not None
    assert problem.value.endswith("client 11 = 11")
    assert not answer.warnings


def test_a_warning_is_told_and_lets_pass() -> None:
    answer = admit(None, _retried(5), "alice", context())
    assert answer.problems == ()
    assert any("RetryAmplification" in text for text in answer.warnings)


def test_an_error_that_is_stored_already_is_a_warning_when_something_else_changes() -> None:
    stored, other = _retried(11), _retried(11, changeReason="another")
    answer = admit(stored, other, "alice", context())
    assert answer.problems == ()
    assert any("RetryAmplification" in text for text in answer.warnings)
    assert admit(stored, _retried(12), "alice", context()).problems, "a worse one is a new one"


def test_a_stored_error_is_known_again_at_another_place_of_the_list() -> None:
    """The same component, behind another one."""
    stored = _retried(11)
    (agent,) = stored.spec.components
    elsewhere = agent.endpoint.model_copy(update={"url": "http://first.shop.svc"})
    first = agent.model_copy(update={"name": "first", "retry": Retry(), "endpoint": elsewhere})
    steps = (Step(name="first", component="first"), Step(name="agent", component=agent.name))
    spec = stored.spec.model_copy(update={"components": (first, agent), "steps": steps, "version": "2.0.0"})
    moved = stored.model_copy(update={"spec": spec})
    assert [one.path for one in lint.analysed(moved)[0]] == ["spec.components[1].retry"]
    assert lint.analysed(moved, stored)[0] == ()


def test_lint_shows_errors_as_problems_and_warnings_as_warnings() -> None:
    assert "RetryAmplification" in lint.lint(_retried(11)).problems[-1].message
    report = lint.lint(_retried(5))
    assert report.ok
    assert "RetryAmplification" in report.warnings[0]
