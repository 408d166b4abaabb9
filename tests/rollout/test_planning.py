"""Planned stages: defaults, α, questions, and the rule of endpoints."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.rollout import planning
from tests.rollout.samples import SHORT, STABLE, in_stage, rollout, workflow_spec


def spec(**changes: object) -> WorkflowSpec:
    return WorkflowSpec.model_validate({**workflow_spec("2.0.0").to_json(), **changes})


def test_defaults_are_those_of_the_architecture() -> None:
    canary, shadow, controlled, full = planning.plan_stages(workflow_spec())
    shares = [Fraction(s.share.numerator, s.share.denominator) for s in (canary, shadow, controlled, full)]
    assert shares == [Fraction(1, 100), Fraction(5, 100), Fraction(20, 100), Fraction(1)]
    assert shadow.min_runs == 1000
    assert controlled.min_duration_seconds == 48 * 3600
    assert {gate.margin for gate in canary.gates} == {"0.05"}
    assert shadow.control_share.numerator > 0
    assert [gate.signal for gate in shadow.gates][-1] is Signal.DISAGREEMENT


def test_reward_joins_the_default_gates_before_full() -> None:
    stages = planning.plan_stages(spec(reward="steps.judge.reward"))
    has = {stage.name: any(gate.signal is Signal.REWARD for gate in stage.gates) for stage in stages}
    assert has == {Stage.CANARY: True, Stage.SHADOW: True, Stage.CONTROLLED: True, Stage.FULL: False}


def test_half_of_shadows_mirrors_are_ablated_where_there_is_a_reward_to_explain() -> None:
    shares = {
        reward: [stage.ablation_share.numerator / stage.ablation_share.denominator for stage in found]
        for reward in (None, "steps.judge.reward")
        for found in [planning.plan_stages(spec(reward=reward))]
    }
    assert shares == {None: [0, 0, 0, 0], "steps.judge.reward": [0, 0.5, 0, 0]}


@given(
    budget=st.sampled_from(["0.05", "0.01", "0.1", "0.333"]),
    required=st.lists(st.booleans(), min_size=1, max_size=6),
    skip=st.sets(st.sampled_from(["Canary", "Shadow"])),
)
def test_required_guardrails_never_spend_more_than_the_budget(
    budget: str, required: list[bool], skip: set[str]
) -> None:
    gates = [
        {"name": f"g{number}", "signal": "WorkflowSuccessRate", "required": needed}
        for number, needed in enumerate(required)
    ]
    strategy = {
        "errorBudget": {"abort": budget},
        "stages": [{"name": "Controlled", "gates": gates}],
        "skipStages": sorted(skip),
    }
    stages = planning.plan_stages(spec(rollout=strategy))
    spent = sum(
        (Decimal(gate.abort_alpha) for stage in stages for gate in stage.gates if gate.required), Decimal(0)
    )
    assert spent <= Decimal(budget)
    assert spent > Decimal(budget) * Decimal("0.9999")


def test_full_asks_about_baselines_and_keeps_the_latency_boundary() -> None:
    item = in_stage(Stage.FULL).spec
    known = {"WorkflowSuccessRate": "0.9", "ComponentFallbackRateMax/agent": "0.01"}
    asked = {question.signal: question for question in planning.questions(item, Stage.FULL, known)}
    assert asked[Signal.SUCCESS_RATE].baseline == 0.9
    assert asked[Signal.FALLBACK_RATE_MAX].baseline == 0.01
    assert asked[Signal.CONTRACT_VIOLATIONS].baseline is None
    assert asked[Signal.P95_LATENCY].boundary_ms == 1000.0
    controlled = planning.questions(item, Stage.CONTROLLED, known)
    assert {question.baseline for question in controlled} == {None}


def test_copies_are_compared_with_copies_where_there_are_some() -> None:
    item = in_stage(Stage.SHADOW).spec
    copied = {
        stage: {q.signal for q in planning.questions(item, stage, {}) if q.against_control} for stage in Stage
    }
    assert copied == {
        Stage.CANARY: set(),
        Stage.SHADOW: {Signal.P95_LATENCY, Signal.DISAGREEMENT},
        Stage.CONTROLLED: set(),
        Stage.FULL: set(),
    }


def test_without_an_sla_full_uses_the_boundary_found_before() -> None:
    item = in_stage(Stage.FULL).spec.model_copy(update={"latency_boundary_ms": None})
    (latency,) = [
        q for q in planning.questions(item, Stage.FULL, {}, 321.5) if q.signal is Signal.P95_LATENCY
    ]
    assert latency.boundary_ms == 321.5


def test_look_names_the_evidence_of_this_stage_and_attempt() -> None:
    wanted = planning.look(in_stage(Stage.SHADOW, attempt=3))
    assert wanted is not None
    assert tuple(wanted.key) == ("ro-1", Stage.SHADOW, 3)
    assert planning.look(rollout()) is None


SAME_PROCESS = {
    "a new version at the same url is the same process": ({"version": "2.0.0"}, True),
    "another url is another process": ({"version": "2.0.0", "url": "http://other"}, False),
    "the same version may change its url": ({"version": "1.0.0", "url": "http://other"}, False),
    "the same version at the same url is not a change": ({"version": "1.0.0"}, False),
}


@pytest.mark.parametrize("sentence", SAME_PROCESS)
def test_endpoints(sentence: str) -> None:
    change, refused = SAME_PROCESS[sentence]
    old = STABLE.spec.body
    new = workflow_spec(change["version"], url=change.get("url") or "http://agent-1.0.0.local:8080", **SHORT)
    problems = planning.endpoint_problems(old, new)
    assert bool(problems) is refused
    if refused:
        assert problems[0].path == "spec.components[0].endpoint"
