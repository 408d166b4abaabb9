"""Running means of pseudo-outcomes: unbiased for every game, as sharp as the table, and of any number of players."""

import json
import math
from itertools import product

import numpy as np
import pytest

from sluicegate.observability.contributions.coalitions import draw, probability
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.contributions.interval import multiplier
from sluicegate.observability.contributions.outcomes import Outcomes
from tests.observability.contributions import games

PIPELINE = games.pipeline(["0.97", "0.95", "0.93", "0.98", "0.99"], ["0.6", "0.45", "0.85", "0.9", "0.97"])
"""The game of research §1.4 and §1.7: φ = .2150 .3246 .0421 .0398 .0096, g = 0.01507 (solved for from these)."""
PHI = shapley(games.table(5, PIPELINE))


def simulated(units: int, seed: int) -> Outcomes:
    rng, values, made = np.random.default_rng(seed), games.table(5, PIPELINE), Outcomes(5)
    for _ in range(units):
        mask = draw(5, rng.bytes(32)).mask
        made.add(mask, float(rng.random() < values[mask]))
    return made


def test_the_game_is_the_one_of_the_research() -> None:
    assert list(PHI) == pytest.approx([0.2150, 0.3246, 0.0421, 0.0398, 0.0096], abs=5e-5)
    assert PHI.var() == pytest.approx(0.01507, abs=5e-6)


@pytest.mark.parametrize("name", ["glove 2+2", "voting 51; 50 49 1", "majority of 3", "A and B and (C or D)"])
@pytest.mark.parametrize("before", [(), ((0, 1.0), (3, 0.25), (5, 1.0))], ids=["first", "with a model"])
def test_the_mean_outcome_over_all_draws_is_shapleys_value(
    name: str, before: tuple[tuple[int, float], ...]
) -> None:
    """Whatever was learned before: Σ p(S)·z(S) is φ, exactly."""
    n, game, known = games.REFERENCE[name]
    values = games.table(n, game)
    scale = max(values.max(), 1.0)
    mean = [0.0] * n
    for mask in range(1 << n):
        made = Outcomes(n)
        for seen, reward in before:
            made.add(seen & (1 << n) - 1, reward)
        outcome = made.add(mask, float(values[mask] / scale))
        mean = [total + probability(n, mask) * z for total, z in zip(mean, outcome, strict=True)]
    assert mean == pytest.approx([float(value) / scale for value in known], abs=1e-12)


def test_as_sharp_as_the_table_and_not_biased_upwards() -> None:
    """Research §1.4: 0.0176 at 3,200 replays for the best designs; §1.7: plug-in mean 0.01787 at 320 replays, corrected
    0.01517 with sd 0.0068.
    """
    found = [simulated(320, seed) for seed in range(300)]
    spreads = [one.spread() for one in found]
    mean = math.fsum(spreads) / 300
    sd = (math.fsum((one - mean) ** 2 for one in spreads) / 299) ** 0.5
    assert abs(mean - PHI.var()) < 4 * sd / 300**0.5
    assert sd == pytest.approx(0.0068, rel=0.15)
    plug_in = [math.fsum((x - math.fsum(one.means()) / 5) ** 2 for x in one.means()) / 5 for one in found]
    assert math.fsum(plug_in) / 300 > PHI.var() + 6 * sd / 300**0.5
    errors = [one.errors()[0] * (320 / 3200) ** 0.5 for one in found]
    assert math.fsum(errors) / 300 == pytest.approx(0.0176, rel=0.15)
    covered = sum(
        abs(value - truth) < 1.96 * error
        for one in found
        for value, error, truth in zip(one.means(), one.errors(), PHI, strict=True)
    )
    assert 0.92 < covered / 1500 < 0.98


def test_a_sequence_of_intervals_covers_at_every_look() -> None:
    """A hundred runs of 600 units, looked at every 10: no more than 5 in 100 ever miss, and 4 standard deviations."""
    values, missed = games.table(5, PIPELINE), 0
    for seed in range(100):
        rng, made, is_missed = np.random.default_rng(1000 + seed), Outcomes(5), False
        for number in range(1, 601):
            mask = draw(5, rng.bytes(32)).mask
            made.add(mask, float(rng.random() < values[mask]))
            if number >= 50 and number % 10 == 0:
                reach = multiplier(number, 0.05)
                is_missed |= abs(made.means()[1] - PHI[1]) > reach * made.errors()[1]
        missed += is_missed
    assert missed <= 5 + 4 * (100 * 0.05 * 0.95) ** 0.5


def test_sixty_four_players() -> None:
    """An additive game: each adds 1/64 but the first, which adds nothing; no noise, so that the model learns it."""
    rng, made = np.random.default_rng(3), Outcomes(64)
    for _ in range(3000):
        mask = draw(64, rng.bytes(32)).mask
        made.add(mask, (mask >> 1).bit_count() / 64)
    for player, (value, error) in enumerate(zip(made.means(), made.errors(), strict=True)):
        assert abs(value - (1 / 64 if player else 0.0)) < 5 * error
        assert error < 0.01


def test_written_and_read_it_goes_on_bit_for_bit() -> None:
    whole, half = simulated(200, 1), simulated(100, 1)
    read = Outcomes.from_json(json.loads(json.dumps(half.to_json())))
    rng, values = np.random.default_rng(1), games.table(5, PIPELINE)
    for number in range(200):
        mask = draw(5, rng.bytes(32)).mask
        reward = float(rng.random() < values[mask])
        if number >= 100:
            read.add(mask, reward)
    assert read.to_json() == whole.to_json()


@pytest.mark.parametrize(("mask", "reward"), [*product([-1, 4], [0.5]), (1, 1.5), (1, float("nan"))])
def test_what_is_no_unit(mask: int, reward: float) -> None:
    with pytest.raises(ValueError, match="coalition"):
        Outcomes(2).add(mask, reward)
