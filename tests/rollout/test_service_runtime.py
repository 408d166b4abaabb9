"""Runtime Service: admission, the plan of its stages, and a rollout that only people advance."""

from dataclasses import replace
from typing import Any

import pytest

from sluicegate.contracts import verification
from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.base import CHANGED_BY, Metadata
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec
from sluicegate.contracts.stages import Action, Outcome, Stage, State
from sluicegate.rollout import conditions, planning
from sluicegate.rollout.admission import admit
from sluicegate.rollout.lint import lint
from sluicegate.rollout.model import (
    AdmissionContext,
    Capabilities,
    Plan,
    RolloutObserved,
    Trouble,
    WorkflowObserved,
)
from sluicegate.rollout.rollouts import reconcile_rollout
from sluicegate.rollout.workflows import reconcile_workflow
from tests.rollout.samples import T0, decision, in_stage, later, revision, workflow, workflow_spec

CAN = Capabilities(runtimes=frozenset(Runtime))
SHORT: dict[str, Any] = {
    "skipStages": ["Shadow"],
    "stages": [
        {"name": "Canary", "minDurationSeconds": 60, "maxDurationSeconds": 3600},
        {"name": "Controlled", "minDurationSeconds": 60, "maxDurationSeconds": 3600},
        {"name": "Full", "minDurationSeconds": 60, "maxDurationSeconds": 3600},
    ],
}


def service(version: str = "2.0.0", backend: str | None = None, **fields: Any) -> WorkflowSpec:
    where = {"route": {"name": "shop"}, "backend": {"name": backend or f"agent-v{version[0]}", "port": 8080}}
    return WorkflowSpec.model_validate(
        {"version": version, "runtime": "Service", "service": where, "rollout": SHORT} | fields
    )


STABLE = revision(service("1.0.0"))
CONTESTED = Trouble(
    reason="TrafficContested", message="argocd-controller keeps changing it", stalls=True, lasting=True
)


def look(
    stage: Stage, *decisions: Action, seconds: float = 30.0, trouble: Trouble | None = None, **status: Any
) -> Plan[RolloutStatus]:
    """One look, `seconds` after the stage began, with everything programmed."""
    spec = service()
    item = in_stage(stage, spec, **status)
    observed = RolloutObserved(
        rollout=item,
        workflow=workflow(spec, rollout="bot-1", stable_revision=STABLE.metadata.name),
        stable=STABLE,
        candidate=revision(spec, 2),
        decisions=tuple(decision(action, item) for action in decisions),
        programmed=3,
        live_gateways=1,
        trouble=trouble,
    )
    return reconcile_rollout(observed, later(seconds))


def said(plan: Plan[Any], type: str) -> tuple[str, str] | None:
    found = conditions.find(plan.status.conditions, type)
    return None if found is None else (found.status, found.reason)


def wish(spec: WorkflowSpec) -> AgentWorkflow:
    named = {CHANGED_BY: "alice"}
    return AgentWorkflow(
        metadata=Metadata(name="bot", uid="wf-1", generation=1, annotations=named), spec=spec
    )


def test_the_digest_is_of_the_backend_and_not_of_the_route() -> None:
    here = service().service
    assert here is not None
    elsewhere = here.model_copy(update={"route": here.route.model_copy(update={"name": "q"})})
    moved = service().model_copy(update={"service": elsewhere})
    assert revision_digest(moved) == revision_digest(service())
    assert revision_digest(service(backend="other")) != revision_digest(service())


def test_a_plain_service_is_admitted_and_told_what_it_does_without() -> None:
    answer = admit(None, wish(service()), "alice", AdmissionContext(now=T0, capabilities=CAN))
    assert answer.problems == ()
    assert "no gate is fed" in answer.warnings[0]
    assert "no lease" in answer.warnings[1]
    assert "copies of users' requests" in answer.warnings[2]
    assert lint(wish(service()), CAN).seconds is None


def test_without_a_cluster_it_is_refused() -> None:
    assert "spec.runtime" in {problem.path for problem in lint(wish(service())).problems}


def with_stage(**fields: Any) -> WorkflowSpec:
    return service(rollout=SHORT | {"stages": [{"name": "Canary"} | fields]})


COMPONENT = workflow_spec().to_json()["components"]
REFUSED: dict[str, tuple[WorkflowSpec, str]] = {
    "no service": (service().model_copy(update={"service": None}), "spec.service"),
    "Shadow is not skipped": (service(rollout={}), "spec.rollout.skipStages"),
    "a gate": (
        with_stage(gates=[{"name": "success", "signal": "WorkflowSuccessRate"}]),
        "spec.rollout.stages[0].gates",
    ),
    "samples": (with_stage(minRuns=10), "spec.rollout.stages[0].minRuns"),
    "a control copy": (
        with_stage(controlShare={"numerator": 1}),
        "spec.rollout.stages[0].controlShare",
    ),
    "an ablation": (with_stage(ablationShare={"numerator": 1}), "spec.rollout.stages[0].ablationShare"),
    "reviews": (
        service(rollout=SHORT | {"stages": [{"name": "Controlled", "reviewFallbacks": 3}]}),
        "spec.rollout.stages[0].reviewFallbacks",
    ),
    "a share finer than a weight": (
        service(
            rollout=SHORT
            | {"stages": [{"name": "Controlled", "share": {"numerator": 1, "denominator": 1_000_001}}]}
        ),
        "spec.rollout.stages[0].share.denominator",
    ),
    "a mirror budget": (
        service(rollout=SHORT | {"mirrorBudget": {"maxConcurrency": 1}}),
        "spec.rollout.mirrorBudget",
    ),
    "components": (service(components=COMPONENT), "spec.components"),
    "a contract": (service(contract={"sla": {"maxLatencyMs": 5}}), "spec.contract"),
    "sessions": (service(routing={"key": "headers.session"}), "spec.routing"),
    "a rule set": (service(businessFallback={"ruleSet": "r"}), "spec.businessFallback"),
    "a service of a managed workflow": (
        workflow_spec().model_copy(update={"service": service().service}),
        "spec.service",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_the_mesh_cannot_do_is_refused(sentence: str) -> None:
    spec, path = REFUSED[sentence]
    assert [problem.path for problem in verification.verify(wish(spec))] == [path]


def test_its_stages_have_no_gates_and_count_nothing() -> None:
    stages = planning.plan_stages(service())
    assert [stage.name for stage in stages] == [Stage.CANARY, Stage.CONTROLLED, Stage.FULL]
    assert {(stage.gates, stage.min_runs, stage.control_share.numerator) for stage in stages} == {((), 0, 0)}


def test_no_evidence_is_asked_for() -> None:
    assert planning.look(in_stage(Stage.CANARY, service())) is None


BACKENDS: dict[str, tuple[WorkflowSpec, WorkflowSpec, str | None]] = {
    "another service": (service("1.0.0"), service("2.0.0"), None),
    "another port": (
        service("1.0.0"),
        service("2.0.0", service={"route": {"name": "shop"}, "backend": {"name": "agent-v1", "port": 81}}),
        None,
    ),
    "the same service": (service("1.0.0"), service("2.0.0", backend="agent-v1"), "spec.service.backend"),
    "another runtime": (workflow_spec("1.0.0"), service("2.0.0"), "spec.runtime"),
    "back to a gateway": (service("1.0.0"), workflow_spec("2.0.0"), "spec.runtime"),
}


@pytest.mark.parametrize("sentence", BACKENDS)
def test_both_arms_can_be_told_apart_by_one_route(sentence: str) -> None:
    before, after, path = BACKENDS[sentence]
    found = planning.endpoint_problems(before, after)
    assert [problem.path for problem in found] == ([] if path is None else [path])


def test_another_runtime_stalls_the_workflow() -> None:
    managed = revision(workflow_spec("1.0.0"))
    held = workflow(service(), stable_revision=managed.metadata.name, plan_version=3)
    plan = reconcile_workflow(WorkflowObserved(workflow=held, revisions=(managed,)), T0)
    assert said(plan, "Stalled") == ("True", "RuntimeChanged")


@pytest.mark.parametrize("seconds", [0, 30, 60, 3599, 3600, 10**7])
@pytest.mark.parametrize("stage", [Stage.CANARY, Stage.CONTROLLED, Stage.FULL])
def test_it_never_promotes_by_itself(stage: Stage, seconds: float) -> None:
    assert look(stage, seconds=seconds).status.state.value == stage.value


def test_after_its_time_a_stage_waits_for_a_promotion_and_says_so() -> None:
    assert said(look(Stage.CANARY, seconds=59), "Reconciling") == ("True", "Canary")
    assert said(look(Stage.CANARY, seconds=60), "Reconciling") == ("True", "AwaitingPromotion")
    assert said(look(Stage.CANARY, seconds=60), "EvidenceSufficient") is None


def test_a_person_promotes() -> None:
    plan = look(Stage.CANARY, Action.PROMOTE)
    assert plan.status.state is State.CONTROLLED
    assert look(Stage.FULL, Action.PROMOTE).status.outcome is Outcome.PROMOTED


def test_at_the_deadline_it_is_held_and_only_an_override_with_a_reason_goes_on() -> None:
    held = look(Stage.CANARY, seconds=3600)
    assert held.status.held
    assert "nobody promoted" in (held.status.hold_reason or "")
    assert said(held, "Stalled") == ("True", "Held")
    again: dict[str, Any] = {"held": True, "hold_reason": held.status.hold_reason}
    assert look(Stage.CANARY, Action.PROMOTE, seconds=3601, **again).status.state is State.CANARY
    assert look(Stage.CANARY, Action.OVERRIDE, seconds=3601, **again).status.state is State.CONTROLLED


def test_contested_traffic_stalls_it_and_nothing_advances_meanwhile() -> None:
    plan = look(Stage.CANARY, Action.PROMOTE, trouble=CONTESTED)
    assert plan.status.state is State.CANARY
    assert plan.status.decisions[-1].result == "Refused"
    assert "argocd-controller" in plan.status.decisions[-1].message
    assert said(plan, "Stalled") == ("True", "TrafficContested")
    assert said(plan, "TrafficProgrammed") == ("False", "TrafficContested")
    assert said(plan, "Ready") == ("False", "Canary")
    assert said(plan, "Reconciling") is None


def test_a_fight_can_be_left_by_abort_and_by_retry() -> None:
    assert look(Stage.CANARY, Action.ABORT, trouble=CONTESTED).status.outcome is Outcome.ABORTED
    assert look(Stage.CANARY, Action.RETRY, trouble=CONTESTED).status.attempt == 2


def test_a_trouble_that_may_pass_waits_and_is_told() -> None:
    waiting = Trouble(reason="BackendNotReady", message="Service agent-v2 has no ready endpoint")
    plan = look(Stage.CANARY, Action.PROMOTE, trouble=waiting)
    assert plan.status.state is State.CANARY
    assert said(plan, "Stalled") is None
    assert said(plan, "Reconciling") == ("True", "Canary")
    assert said(plan, "TrafficProgrammed") == ("False", "BackendNotReady")


def drains(trouble: Trouble | None, *, deleted: bool = False) -> State:
    spec = service()
    item = in_stage(Stage.CANARY, spec)
    status = item.status
    assert status is not None
    ends = {"state": State.DRAINING, "outcome": Outcome.ABORTED, "draining_since": T0}
    owner = workflow(spec, rollout="bot-1", stable_revision=STABLE.metadata.name)
    if deleted:
        gone = owner.metadata.model_copy(update={"deletion_timestamp": T0})
        owner = owner.model_copy(update={"metadata": gone})
    observed = RolloutObserved(
        rollout=item.model_copy(update={"status": status.model_copy(update=ends)}),
        workflow=owner,
        stable=STABLE,
        candidate=revision(spec, 2),
        live_gateways=1,
        trouble=trouble,
    )
    return reconcile_rollout(observed, later(600)).status.state


def test_an_abort_is_not_done_while_somebody_holds_the_traffic_on_the_candidate() -> None:
    assert drains(CONTESTED) is State.DRAINING
    assert drains(replace(CONTESTED, lasting=False)) is State.DONE
    assert drains(None) is State.DONE


def test_a_fight_does_not_keep_a_workflow_from_being_deleted_for_ever() -> None:
    assert drains(CONTESTED, deleted=True) is State.DONE


def test_a_settled_workflow_whose_route_is_contested_is_stalled() -> None:
    held = workflow(service("1.0.0"), stable_revision=STABLE.metadata.name, plan_version=1)
    observed = WorkflowObserved(workflow=held, revisions=(STABLE,), live_gateways=1, trouble=CONTESTED)
    plan = reconcile_workflow(observed, T0)
    assert said(plan, "Stalled") == ("True", "TrafficContested")
    assert said(plan, "Ready") == ("False", "TrafficContested")
    assert plan.status.phase == "Degraded"
