"""The estimate of the gate on contributions: against simulated rollouts, and what lint and plan say of it."""

from typing import Any

import numpy as np
import pytest

from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Stage
from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.contributions.outcomes import Outcomes
from sluicegate.rollout import decidable, pairs
from sluicegate.rollout.lint import warnings
from sluicegate.rollout.outlook import outlook
from sluicegate.rollout.pairs import PairSight
from tests.observability import designs as units
from tests.observability.contributions import designs
from tests.observability.contributions.paired import VALUES
from tests.observability.simulation import Array
from tests.rollout.samples import workflow_spec

ROWS = 40
CHANCES = np.array([probability(5, mask) for mask in range(32)])


def spec_with(runs_per_hour: int | None = None, **stage: Any) -> WorkflowSpec:
    """Two components that can be left out and one that cannot, and the gate in Shadow."""
    body = workflow_spec("2.0.0").to_json()
    first = body["components"][0]
    names = {"planner": "Skip", "tools": "Skip", "answerer": "Fail"}
    body["components"] = [first | {"name": name, "onFailure": {"type": kind}} for name, kind in names.items()]
    body["steps"] = [{"name": name, "component": name} for name in names]
    body["output"] = {"text": "steps.answerer.text"}
    gate = {"name": "contributions", "signal": "RewardShapleyVariance", "delta": "0.02", "deltaPhi": "0.1"}
    shadow = {"name": "Shadow", "ablationShare": {"numerator": 1, "denominator": 2}, "gates": [gate]}
    body |= {"reward": "0.5", "expectedRunsPerHour": runs_per_hour, "rollout": {"stages": [shadow | stage]}}
    return WorkflowSpec.model_validate({name: value for name, value in body.items() if value is not None})


def sight(truth: designs.Truth) -> PairSight:
    """What is known of the simulated game: the noise of both rewards, and how its contributions spread."""
    noise = float(CHANCES @ (VALUES * (1 - VALUES) + truth.candidate * (1 - truth.candidate)))
    return PairSight(
        players=5,
        delta=truth.delta,
        margin=truth.delta_phi,
        abort_alpha=units.ALPHA,
        promote_alpha=units.ALPHA,
        seen=1.0,
        spread=float(shapley(VALUES).var()),
        variance=noise,
    )


def independent(generator: np.random.Generator, chances: Array) -> Array:
    return (generator.random(chances.shape) < chances).astype(np.float64)


@pytest.mark.parametrize(
    ("truth", "kind"),
    [
        (designs.Truth(VALUES, delta=0.016, delta_phi=0.2), "equal"),
        (designs.Truth(VALUES, delta=0.5, delta_phi=0.12), "equal"),
        (designs.Truth(designs._lowered(designs.PLANNER, 0.15), delta=0.5, delta_phi=0.05), "moved"),
    ],
    ids=["the variance binds", "a contribution binds", "one has moved by 15 points"],
)
def test_the_chance_of_a_decision_is_that_of_simulated_rollouts(
    truth: designs.Truth, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within four standard deviations of a binomial."""
    monkeypatch.setitem(designs.DESIGNS, kind, (truth, independent))
    failed, passed = designs.wrong(np.random.default_rng(11), kind, ROWS, units.ALPHA)
    known = sight(truth)
    if kind == "equal":
        found, expected = passed, known.alike(designs.LOOKS)
    else:
        found, expected = failed, known.differs(designs.LOOKS, 0.15)
    assert 0.15 < expected < 0.9, "a case that tells something"
    assert abs(found / ROWS - expected) <= 4 * (expected * (1 - expected) / ROWS) ** 0.5


@pytest.mark.parametrize("players", [2, 5, 9])
def test_a_rewards_noise_is_enlarged_as_the_outcomes_are(players: int) -> None:
    """Oracle: the first outcome of a reward of 1 is W(S)/p(S), over all draws."""
    rows = [Outcomes(players).add(mask, 1.0) for mask in range(1 << players)]
    chances = np.array([probability(players, mask) for mask in range(1 << players)])
    moments = np.einsum("m,mi,mj->ij", chances, rows, rows)
    own, shared = pairs._powers(players)
    assert np.diag(moments) == pytest.approx(own)
    assert moments[0, 1] == pytest.approx(shared)


def test_plan_tells_pairs_as_units_of_the_candidate() -> None:
    found = {stage.stage: stage for stage in outlook(spec_with())}[Stage.SHADOW]
    (gate,) = found.gates
    assert gate.modelled
    assert gate.needed is not None
    assert gate.needed_late is not None
    assert 2 * 1050 <= gate.needed < gate.needed_late
    assert found.binding == "contributions"
    assert gate.margin == 0.1
    twice = {
        stage.stage: stage for stage in outlook(spec_with(ablationShare={"numerator": 1, "denominator": 1}))
    }
    assert twice[Stage.SHADOW].gates[0].needed == pytest.approx(gate.needed / 2, rel=0.02)


def test_too_little_traffic_for_the_pairs_that_it_always_needs_is_refused() -> None:
    few = spec_with(100, share={"numerator": 1, "denominator": 10}, maxDurationSeconds=86_400)
    (problem,) = [one for one in decidable.problems(few) if "contributions" in one.message]
    assert "can never pass: it takes 1050 pairs in which both versions are ablated" in problem.message
    assert problem.path == "spec.rollout.stages[0].maxDurationSeconds"
    assert "ablationShare" in (problem.hint or "")
    enough = spec_with(100_000, share={"numerator": 1, "denominator": 10}, maxDurationSeconds=86_400)
    assert not [one for one in decidable.problems(enough) if "contributions" in one.message]
    assert not [one for one in warnings(enough) if "contributions" in one]


def test_a_gate_that_is_undecided_at_its_deadline_more_often_than_not_is_warned_of() -> None:
    slow = spec_with(1_000, share={"numerator": 1, "denominator": 10}, maxDurationSeconds=86_400)
    assert not [one for one in decidable.problems(slow) if "contributions" in one.message]
    assert [one for one in warnings(slow) if one.startswith("Shadow: about") and "(contributions)" in one]
