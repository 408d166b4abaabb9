"""The evidence benchmark judges with the product's own decision, on traffic that is what it says."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from benchmarks import evidence_traffic as traffic
from benchmarks.evidence_judging import ALPHA, values
from benchmarks.judges import gates as vectorised
from sluicegate.contracts.evidence import ArmFacts, Question
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, judging, planning
from tests.observability import facts
from tests.rollout.samples import in_stage

BOUNDARY_MS = 1000.0
WORSE = True


def arm(signal: Signal, bad: float) -> ArmFacts:
    return ArmFacts(
        success=1.0 - bad if signal is Signal.SUCCESS_RATE else 1.0,
        latencies_ms=(2.0 * BOUNDARY_MS if signal is Signal.P95_LATENCY and bad else 1.0,),
        reward=1.0 - bad if signal is Signal.REWARD else None,
        disagrees=bad if signal is Signal.DISAGREEMENT else None,
    )


def observed(
    scenario: traffic.Scenario, bad: float, reference: traffic.Array
) -> Iterator[dict[str, ArmFacts]]:
    """A unit of the candidate, and the stable ones before it."""
    candidate, stable = arm(scenario.signal, bad), [arm(scenario.signal, float(one)) for one in reference]
    if scenario.paired:
        yield {"candidate": candidate, "stable": stable[0], "control": stable[0]}
        return
    yield from ({"stable": one} for one in stable)
    yield {"candidate": candidate}


def products_abort(
    scenario: traffic.Scenario, bad: traffic.Array, reference: traffic.Array, closed: list[int]
) -> float:
    """Fold and gate, looked at every minute."""
    stage = Stage.SHADOW if scenario.paired else Stage.CONTROLLED
    spec = in_stage(stage).spec
    planned = planning.stage_of(spec, stage)
    gate = planned.gates[0].model_copy(update={"signal": scenario.signal, "abort_alpha": str(ALPHA)})
    question = Question(
        signal=scenario.signal, margin=0.02, boundary_ms=BOUNDARY_MS, against_control=scenario.paired
    )
    fold, sequence, folded = Fold(facts.key(stage), (question,)), 0, 0
    for minute, upto in enumerate(closed):
        now = facts.START + timedelta(minutes=minute)
        for unit in range(folded, upto):
            for arms in observed(scenario, float(bad[unit]), reference[unit]):
                sequence += 1
                seen = facts.unit(sequence, stage)
                fold.add(replace(seen, at=now, **arms))  # type: ignore[arg-type]
        folded = upto
        view = judging.View(spec=spec, stage=planned, evidence=fold.evidence(), now=now)
        if gates.judge(view, gate).verdict is Verdict.FAIL:
            return minute
    return np.inf


@pytest.mark.parametrize("scenario", traffic.SCENARIOS, ids=lambda one: one.draw.__name__)
def test_the_benchmarks_gate_aborts_in_the_products_minute(scenario: traffic.Scenario) -> None:
    drawn = scenario.draw(np.random.default_rng(21), 2, WORSE)
    expected = vectorised.aborted_at(drawn.differences, drawn.closed, ALPHA, scenario.floor)
    assert np.isfinite(expected).all()
    for row, minute in enumerate(expected):
        assert products_abort(scenario, drawn.bad[row], drawn.reference[row], drawn.closed.tolist()) == minute


RATES = {
    "sparse_errors": (0.01, 0.03),
    "tenth_slow": (0.0416, 0.9 * 0.0416 + 0.1 * 0.9583),  # P(Z > ln 2 / 0.4); times four: P(Z > ln 0.5 / 0.4)
    "heavy_tails": (8.0**-1.5, (8.0 / 1.5) ** -1.5),
    "autocorrelated_load": (0.05, 0.10),
    "low_traffic": (0.05, 0.20),
    "reward_drop": (0.20, 0.25),
    "output_drift": (0.05, 0.15),
    "session_clusters": (0.05, 0.15),
}


@pytest.mark.parametrize("scenario", traffic.SCENARIOS, ids=lambda one: one.draw.__name__)
def test_traffic_has_the_rates_that_it_is_named_after(scenario: traffic.Scenario) -> None:
    for bad, rate in enumerate(RATES[scenario.draw.__name__]):
        drawn = scenario.draw(np.random.default_rng([3, bad]), 40, bool(bad))
        # 40 rollouts of 576 to 7,200 units; the load drifts together for an hour, hence 8 %.
        assert drawn.bad.mean() == pytest.approx(rate, rel=0.08)
        assert drawn.reference.mean() == pytest.approx(RATES[scenario.draw.__name__][0], rel=0.08)
        assert drawn.closed[-1] == drawn.bad.shape[1] == drawn.reference.shape[1]
        assert (np.diff(drawn.runs) >= 0).all()


def test_values_of_an_interval() -> None:
    runs = np.array([[[1.0, np.nan], [3.0, 5.0], [np.nan, np.nan], [np.nan, np.nan], [9.0, 9.0]]])
    assert values(runs, 2, p95=False)[0].tolist() == pytest.approx(
        [3.0, np.nan], nan_ok=True
    )  # the fifth minute is no interval
    assert values(np.arange(40.0).reshape(1, 2, 20), 2, p95=True)[0].tolist() == [37.05]  # 0.95 of 0 to 39


def test_a_sessions_run_is_seen_in_its_minute() -> None:
    drawn = traffic.session_clusters(np.random.default_rng(1), 1, bad=False)
    assert drawn.candidate is not None
    seen = (~np.isnan(drawn.candidate[0])).sum(axis=1)
    assert seen.cumsum().tolist() == drawn.runs.tolist()
    # The first session's runs lie on the diagonal.
    assert drawn.candidate[0, range(10), range(10)].mean() == pytest.approx(drawn.bad[0, 0])
    assert drawn.closed[:11].tolist() == [0] * 9 + [1, 2]
