"""The gate on contributions keeps both error rates over 48 hours of looks, where the truth lies exactly at its limits.

The small version of `python -m benchmarks.evidence`. Tolerance: the 99.9 % quantile of Binomial(rows, alpha).
"""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.contracts.evidence import Question
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, planning
from sluicegate.rollout.judging import View
from tests.observability import designs as units
from tests.observability import facts
from tests.observability.contributions import designs, paired
from tests.observability.simulation import Array
from tests.rollout.samples import in_stage

ROWS = 60
MOST = stats.binom.ppf(0.999, ROWS, units.ALPHA)
SESSIONS = "sessions under a drifting load, a contribution moved by deltaPhi"


@pytest.mark.parametrize("design", ["pairs, the variance moved by delta", SESSIONS])
def test_the_gate_errs_no_more_often_than_promised(design: str) -> None:
    generator = np.random.default_rng([288, len(design)])
    aborted, promoted = designs.wrong(generator, design, ROWS, units.ALPHA)
    assert aborted <= MOST, f"{aborted} of {ROWS} candidates at the limit were aborted"
    assert promoted <= MOST, f"{promoted} of {ROWS} candidates at the limit were promoted"


def test_the_interval_of_one_look_would_break_the_promise() -> None:
    def one_look(numbers: Array, _alpha: float) -> Array:
        return np.full(numbers.shape, stats.norm.isf(units.ALPHA / 2.0))

    generator = np.random.default_rng(1)
    aborted, _ = designs.wrong(generator, SESSIONS, ROWS, units.ALPHA, reach_of=one_look)
    assert aborted > MOST


def test_the_coalitions_are_drawn_as_the_gateway_draws_them() -> None:
    assert sum(probability(5, mask) for mask in range(32)) == pytest.approx(1.0)
    outcome = designs._gains().T @ np.diag([probability(5, mask) for mask in range(32)]) @ paired.VALUES
    assert outcome == pytest.approx(shapley(paired.VALUES))


@pytest.mark.parametrize(("design", "verdict"), [("far", Verdict.FAIL), ("same", Verdict.PASS)])
def test_the_simulation_is_the_products_fold_and_gate(
    design: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rollout of 1,300 pairs: the same numbers, and the verdict by the same looks."""
    limits = {
        "far": designs.Truth(paired.DEGRADED, 0.003, 0.05),
        "same": designs.Truth(paired.VALUES, 0.06, 0.3),
    }
    monkeypatch.setitem(designs.DESIGNS, design, (limits[design], designs._bernoulli))
    masks, rewards = designs.drawn(np.random.default_rng(5), design, 1)
    masks, rewards = masks[:, :1300], rewards[..., :1300]
    *_, last = designs.looks(designs.outcomes(masks, rewards))
    delta = limits[design].delta
    fold = Fold(facts.key(), (Question(signal=Signal.SHAPLEY_VARIANCE, margin=delta, level=units.ALPHA),))
    for number, mask in enumerate(masks[0], start=1):
        fold.add(paired.pair(number, int(mask), *(float(side) for side in rewards[:, 0, number - 1])))
    (item,) = fold.evidence().signals
    assert item.likeness is not None
    assert item.candidate is not None
    assert item.stable is not None
    assert item.candidate - item.stable == pytest.approx(last.difference[0, -1], abs=1e-9)
    assert item.likeness.error == pytest.approx(last.error[0, -1], rel=1e-6)
    assert [one.value for one in item.likeness.shifts] == pytest.approx(list(last.shifts[0, -1]), abs=1e-9)
    assert [one.error for one in item.likeness.shifts] == pytest.approx(
        list(last.shift_errors[0, -1]), rel=1e-6
    )
    assert _verdict(fold, limits[design]) is verdict


def _verdict(fold: Fold, limits: designs.Truth) -> Verdict:
    spec = in_stage(Stage.SHADOW).spec
    stage = planning.stage_of(spec, Stage.SHADOW)
    gate = stage.gates[0].model_copy(
        update={
            "signal": Signal.SHAPLEY_VARIANCE,
            "delta": str(limits.delta),
            "delta_phi": str(limits.delta_phi),
            "abort_alpha": str(units.ALPHA),
            "promote_alpha": str(units.ALPHA),
        }
    )
    evidence = replace(fold.evidence(), last_at=facts.START)
    view = View(spec=spec, stage=stage, evidence=evidence, now=facts.START + timedelta(minutes=1))
    return gates.judge(view, gate).verdict
