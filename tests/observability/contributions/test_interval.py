"""The width of intervals: known multipliers, and how often they hold over a whole stage."""

import math

import numpy as np
import pytest

from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.estimate import Model, estimate
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.contributions.interval import multiplier
from tests.observability.contributions import games

PIPELINE = games.pipeline(["0.95", "0.9", "0.8"], ["0.5", "0.4", "0.3"])


@pytest.mark.parametrize(
    ("units", "known"),
    [(5000, 3.035209), (500, 3.855055), (1000, 3.363888), (20_000, 3.127114), (100_000, 3.336858)],
)
def test_multipliers(units: int, known: float) -> None:
    """research §4.3, cross-checked there with confseq's normal_mixture_bound to 1e-9."""
    assert multiplier(units, 0.05, tuned_for=5000) == pytest.approx(known, abs=5e-7)


def test_a_handful_of_runs_bounds_nothing() -> None:
    assert math.isinf(multiplier(49, 0.05))
    assert multiplier(50, 0.05) < 6


@pytest.mark.parametrize("model", list(Model))
def test_intervals_hold_at_every_look(model: Model) -> None:
    """150 stages of 1,500 noisy runs, looked at every 100: at most the promised 5 % may ever miss; three sigma allowed."""
    names, values = ("planner", "tools", "writer"), games.table(3, PIPELINE)
    truth, rng = shapley(values), np.random.default_rng(11)
    chances = np.array([probability(3, mask) for mask in range(8)])
    missed, looks = np.zeros(3), 0
    for _ in range(150):
        cells, out = Cells(names), np.zeros(3, bool)
        masks = rng.choice(8, size=1500, p=chances)
        rewards = (rng.random(1500) < values[masks]).astype(float)
        for number, (mask, reward) in enumerate(zip(masks.tolist(), rewards.tolist(), strict=True), 1):
            cells.add(mask, reward)
            if number % 100 == 0:
                found = estimate(cells, model)
                looks += bool(found.each)
                for i, item in enumerate(found.each):
                    out[i] |= not item.low <= truth[i] <= item.high
        missed += out
    assert looks > 2000
    assert missed.max() <= 150 * 0.05 + 3 * math.sqrt(150 * 0.05 * 0.95)
