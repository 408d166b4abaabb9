"""Which writes are accepted: a table for every kind, caller and change."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.errors import Forbidden, Refused
from sluicegate.contracts.resources import AgentWorkflow, Decision, Resource
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, Outcome, Stage, State
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import CONTROLLER, AdmissionContext
from sluicegate.rollout.permissions import Verb
from sluicegate.rollout.revisions import CHANGED_BY
from tests.rollout.samples import (
    SHORT,
    STABLE,
    T0,
    decision,
    in_stage,
    remember,
    rollout,
    workflow,
    workflow_spec,
)

CANARY = in_stage(Stage.CANARY)
DONE = rollout(
    observed_generation=1, state=State.DONE, stage=Stage.FULL, outcome=Outcome.PROMOTED, ended_at=T0
)
PROMOTE = decision(Action.PROMOTE, CANARY)
WISH = workflow(workflow_spec("2.0.0", **SHORT), stable_revision=STABLE.metadata.name).model_copy(
    update={"metadata": workflow().metadata.model_copy(update={"annotations": {CHANGED_BY: "alice"}})}
)


def changed(item: AgentWorkflow, **changes: Any) -> AgentWorkflow:
    body = {**item.spec.to_json(), **changes}
    return item.model_copy(update={"spec": WorkflowSpec.model_validate(body)})


def with_component(**changes: Any) -> AgentWorkflow:
    (component,) = WISH.spec.to_json()["components"]
    return changed(WISH, components=[component | changes])


def with_stage(**changes: Any) -> AgentWorkflow:
    return changed(WISH, rollout={"stages": [changes]})


def annotated(item: AgentWorkflow, who: str) -> AgentWorkflow:
    metadata = item.metadata.model_copy(update={"annotations": {CHANGED_BY: who}})
    return item.model_copy(update={"metadata": metadata})


def approval(by: str) -> tuple[Decision, Any]:
    stages = [dict(stage) for stage in SHORT["stages"]]
    stages[0]["approvals"] = {"required": 1}
    item = in_stage(Stage.CANARY, remember(workflow_spec("2.0.0", stages=stages)))
    return decision(Action.APPROVE, item, by=by), item


def context(**changes: Any) -> AdmissionContext:
    values: dict[str, Any] = {"now": T0, "revisions": (STABLE,), "target": CANARY}
    return AdmissionContext(**(values | changes))


OPENAI = {"protocol": "OpenAI", "url": "http://x", "model": "m"}
Case = tuple[Resource | None, Resource | None, str, AdmissionContext]

ALLOWED: dict[str, Case] = {
    "a first workflow": (None, WISH, "alice", context(revisions=())),
    "a workflow again as it is": (WISH, WISH, "alice", context()),
    "a workflow annotated with its caller": (WISH, annotated(WISH, "alice"), "alice", context()),
    "a workflow that keeps its author": (annotated(WISH, "bob"), annotated(WISH, "bob"), "alice", context()),
    "deletion of a workflow in mid rollout": (WISH, None, "alice", context()),
    "a promote by its caller": (None, PROMOTE, "alice", context()),
    "an abort without expectations": (None, decision(Action.ABORT, CANARY, expected={}), "alice", context()),
    "an abort of what has ended": (None, decision(Action.ABORT, DONE), "alice", context(target=DONE)),
    "an undo of a promotion": (None, decision(Action.UNDO, DONE), "alice", context(target=DONE)),
    "an approval by another person": (None, approval("bob")[0], "bob", context(target=approval("bob")[1])),
    "a rollout by the controller": (None, CANARY, CONTROLLER, context()),
    "a status by the controller": (CANARY, CANARY, CONTROLLER, context(is_status=True)),
    "deletion of a decision by the controller": (PROMOTE, None, CONTROLLER, context()),
}


@pytest.mark.parametrize("sentence", ALLOWED)
def test_allowed(sentence: str) -> None:
    answer = admit(*ALLOWED[sentence])
    assert answer.problems == ()
    answer.require()


FORBIDDEN: dict[str, tuple[Case, str]] = {
    "a rollout by a person": ((None, CANARY, "alice", context()), "kind"),
    "a revision by a person": ((None, STABLE, "alice", context()), "kind"),
    "deletion of a rollout by a person": ((CANARY, None, "alice", context()), "kind"),
    "a status by a person": ((WISH, WISH, "alice", context(is_status=True)), "status"),
    "a decision in another's name": ((None, PROMOTE, "mallory", context()), "spec.decidedBy"),
    "an action without the permission": (
        (None, PROMOTE, "alice", context(permissions=frozenset({Verb.APPROVE}))),
        "spec.action",
    ),
    "deletion of a decision by a person": ((PROMOTE, None, "alice", context()), "kind"),
    "a workflow in another's name": (
        (WISH, annotated(WISH, "bob"), "alice", context()),
        f"metadata.annotations[{CHANGED_BY}]",
    ),
}


@pytest.mark.parametrize("sentence", FORBIDDEN)
def test_forbidden(sentence: str) -> None:
    case, path = FORBIDDEN[sentence]
    answer = admit(*case)
    assert answer.forbidden
    assert path in [problem.path for problem in answer.problems]
    with pytest.raises(Forbidden):
        answer.require()


def other_spec(item: Any) -> Any:
    return item.model_copy(update={"spec": item.spec.model_copy(update={"salt": "other"})})


REFUSED: dict[str, tuple[Callable[[], Case], str]] = {
    "a changed decision": (
        lambda: (PROMOTE, decision(Action.PROMOTE, CANARY, reason="other"), "alice", context()),
        "spec",
    ),
    "a changed rollout, even by the controller": (
        lambda: (CANARY, other_spec(CANARY), CONTROLLER, context()),
        "spec",
    ),
    "a moved workflow": (
        lambda: (
            WISH,
            WISH.model_copy(update={"metadata": WISH.metadata.model_copy(update={"namespace": "other"})}),
            "alice",
            context(),
        ),
        "metadata.namespace",
    ),
    "a used version with another body": (
        lambda: (WISH, workflow(workflow_spec("1.0.0", url="http://new")), "author", context()),
        "spec.version",
    ),
    "a new version at the same address": (
        lambda: (
            WISH,
            workflow(workflow_spec("2.0.0", url="http://agent-1.0.0.local:8080")),
            "author",
            context(),
        ),
        "spec.components[0].endpoint",
    ),
    "runtime Service": (lambda: (None, changed(WISH, runtime="Service"), "alice", context()), "spec.runtime"),
    "protocol MCP": (
        lambda: (None, with_component(endpoint={"protocol": "MCP", "url": "http://x"}), "alice", context()),
        "spec.components[0].endpoint.protocol",
    ),
    "a prompt in a config map": (
        lambda: (
            None,
            with_component(endpoint=OPENAI | {"promptRef": {"configMap": "p"}}),
            "alice",
            context(),
        ),
        "spec.components[0].endpoint.promptRef.configMap",
    ),
    "a credential in a secret": (
        lambda: (
            None,
            with_component(endpoint=OPENAI | {"credentialRef": {"secretKeyRef": {"name": "s", "key": "k"}}}),
            "alice",
            context(),
        ),
        "spec.components[0].endpoint.credentialRef.secretKeyRef",
    ),
    "drift where no output is observed": (
        lambda: (
            None,
            with_stage(
                name="Shadow",
                gates=[
                    {"name": "s", "signal": "WorkflowSuccessRate"},
                    {"name": "d", "signal": "ComponentDrift"},
                ],
            ),
            "alice",
            context(),
        ),
        "spec.rollout.stages[0].gates[1].signal",
    ),
    "disagreement without a noise floor": (
        lambda: (None, with_stage(name="Shadow", controlShare={"numerator": 0}), "alice", context()),
        "spec.rollout.stages[0].controlShare",
    ),
    "only Full, which has nothing to compare with": (
        lambda: (
            None,
            changed(WISH, rollout={"skipStages": ["Canary", "Shadow", "Controlled"]}),
            "alice",
            context(),
        ),
        "spec.rollout",
    ),
    "an unknown component in a step": (
        lambda: (None, changed(WISH, steps=[{"name": "a", "component": "nobody"}]), "alice", context()),
        "spec.steps[0].component",
    ),
    "a decision about nothing": (lambda: (None, PROMOTE, "alice", context(target=None)), "spec.target.name"),
    "a decision about another object of that name": (
        lambda: (
            None,
            decision(Action.PROMOTE, CANARY, target={"name": "bot-1", "uid": "old"}),
            "alice",
            context(),
        ),
        "spec.target.uid",
    ),
    "a decision about a workflow": (
        lambda: (
            None,
            decision(Action.ABORT, CANARY, target={"kind": "AgentWorkflow", "name": "bot", "uid": "wf-1"}),
            "alice",
            context(target=WISH),
        ),
        "spec.target.kind",
    ),
    "a promote for a stage that was left": (
        lambda: (None, PROMOTE, "alice", context(target=in_stage(Stage.SHADOW))),
        "spec.expected",
    ),
    "an expired decision": (
        lambda: (
            None,
            decision(Action.ABORT, CANARY, expires_at=T0 - timedelta(seconds=1)),
            "alice",
            context(),
        ),
        "spec.expiresAt",
    ),
    "an override without a reason": (
        lambda: (None, decision(Action.OVERRIDE, CANARY, reason="  "), "alice", context()),
        "spec.reason",
    ),
    "a full promote without a reason": (
        lambda: (None, decision(Action.PROMOTE, CANARY, full=True, reason=""), "alice", context()),
        "spec.reason",
    ),
    "a review of nothing": (
        lambda: (None, decision(Action.REVIEW, CANARY), "alice", context()),
        "spec.review",
    ),
    "an approval by the author": (
        lambda: (None, approval("author")[0], "author", context(target=approval("author")[1])),
        "spec.decidedBy",
    ),
    "a pause of what has ended": (
        lambda: (None, decision(Action.PAUSE, DONE), "alice", context(target=DONE)),
        "spec.action",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(sentence: str) -> None:
    make, path = REFUSED[sentence]
    answer = admit(*make())
    assert path in [problem.path for problem in answer.problems]
    assert not answer.forbidden
    with pytest.raises(Refused):
        answer.require()


def test_every_problem_is_told_at_once() -> None:
    broken = changed(
        with_component(endpoint={"protocol": "MCP", "url": "http://x"}),
        businessFallback={"ruleSet": "r"},
        steps=[{"name": "a", "component": "nobody"}],
        rollout={"stages": [{"name": "Canary", "share": {"numerator": 0}}]},
    )
    paths = {problem.path for problem in admit(None, broken, "alice", context()).problems}
    assert {
        "spec.rollout.stages[0].share",
        "spec.components[0].endpoint.protocol",
        "spec.steps[0].component",
    } <= paths


def test_slow_traffic_is_a_warning() -> None:
    slow = changed(WISH, expectedRunsPerHour=None)
    assert "expectedRunsPerHour" in admit(None, slow, "alice", context()).warnings[0]


def test_a_version_that_is_all_that_differs_from_stable_is_a_warning() -> None:
    body = STABLE.spec.body.to_json()
    other = [{**body["components"][0], "timeoutMs": 1234}, *body["components"][1:]]
    for spec, is_told in (
        (body | {"version": "9.9.9"}, True),
        (body, False),
        (body | {"version": "9.9.9", "components": other}, False),
    ):
        new = WISH.model_copy(update={"spec": WorkflowSpec.model_validate(spec)})
        answer = admit(WISH, new, "alice", context())
        assert not answer.problems
        assert any("is all that differs" in text for text in answer.warnings) is is_told
