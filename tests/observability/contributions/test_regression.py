"""Regression on odd functions: exact where it must be, close where it may be, honest about its noise."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.contributions.regression import Rows, odd_regression
from tests.observability.contributions import games

Array = NDArray[np.float64]


def rows(values: Array, masks: list[int] | None = None) -> Rows:
    n = values.size.bit_length() - 1
    chosen = np.array(masks if masks is not None else range(1 << n), dtype=np.int64)
    counts = np.array([1e6 * probability(n, int(mask)) for mask in chosen])
    return Rows(players=n, masks=chosen, means=values[chosen], counts=counts, variances=np.zeros(len(chosen)))


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("name", [name for name, (n, _, _) in games.REFERENCE.items() if n <= 9])
def test_with_every_coalition_it_is_the_shapley_value(name: str, order: int) -> None:
    """Lundberg & Lee 2017: least squares under the kernel is φ, whatever the game."""
    n, game, known = games.REFERENCE[name]
    fit = odd_regression(rows(games.table(n, game)), order)
    assert fit is not None
    assert fit.phi == pytest.approx([float(value) for value in known], abs=1e-6)


def test_third_order_games_need_few_coalitions() -> None:
    """A game with interactions of at most three players has no odd part beyond: a part of the coalitions is enough."""
    n, rng = 13, np.random.default_rng(3)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    values = bits @ rng.random(n) + (bits[:, 0] * bits[:, 3] * bits[:, 7]) * 2.0 - bits[:, 1] * bits[:, 2]
    some = rng.choice(np.arange(1, (1 << n) - 1), 1400, replace=False)
    pairs = sorted({0, (1 << n) - 1, *some.tolist(), *((1 << n) - 1 - some).tolist()})
    fit = odd_regression(rows(values, pairs))
    assert fit is not None
    assert fit.order == 3
    assert fit.phi == pytest.approx(shapley(values), abs=1e-9)


def test_a_pipeline_of_20_is_close() -> None:
    """research §1.5: relative error 0.094 with 10 evaluations per player; with 240 and order 3 far below."""
    n, rng = 20, np.random.default_rng(5)
    masks = {0, (1 << n) - 1}
    sizes = np.array([1 / (s * (n - s)) for s in range(1, n)])
    while len(masks) < 240 * n:
        size = rng.choice(np.arange(1, n), p=sizes / sizes.sum())
        mask = int(sum(1 << int(i) for i in rng.choice(n, size, replace=False)))
        masks |= {mask, mask ^ (1 << n) - 1}
    chosen = np.array(sorted(masks), dtype=np.int64)
    bits = (chosen[:, None] >> np.arange(n)) & 1
    present = np.linspace(0.9, 0.99, n)
    means = np.where(bits == 1, present, 0.6).prod(axis=1)
    nothing = np.zeros(len(chosen))
    fit = odd_regression(Rows(players=n, masks=chosen, means=means, counts=nothing + 1, variances=nothing))
    assert fit is not None
    assert fit.order == 3
    every = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    phi = shapley(np.where(every == 1, present, 0.6).prod(axis=1))
    assert np.sqrt(((fit.phi - phi) ** 2).mean() / (phi**2).mean()) < 0.05


@pytest.mark.parametrize("missing", [0, 7])
def test_nobody_and_everybody_must_have_been_seen(missing: int) -> None:
    values = games.table(3, games.glove(1))
    assert odd_regression(rows(values, [mask for mask in range(8) if mask != missing])) is None


def test_players_that_always_go_together_cannot_be_told_apart() -> None:
    values = games.table(3, games.glove(1))
    assert odd_regression(rows(values, [0, 7, 1, 6])) is None


def test_one_player_gets_all() -> None:
    fit = odd_regression(rows(np.array([0.25, 1.0])))
    assert fit is not None
    assert fit.phi == pytest.approx([0.75])


def test_its_covariance_is_that_of_repeated_samples() -> None:
    """Five players, 3,200 noisy runs drawn by the kernel: the estimated variance against 400 repetitions."""
    n, rng = 5, np.random.default_rng(8)
    values = games.table(
        n, games.pipeline(["0.95", "0.97", "0.98", "0.96", "0.99"], ["0.6", "0.5", "0.9", "0.9", "0.97"])
    )
    chances = np.array([probability(n, mask) for mask in range(1 << n)])
    found, said = [], []
    for _ in range(400):
        counts = np.maximum(rng.multinomial(3200, chances), 2)
        means = rng.binomial(counts, values) / counts
        variances = np.maximum(means * (1 - means), 1e-3) / counts
        fit = odd_regression(
            Rows(
                players=n,
                masks=np.arange(1 << n, dtype=np.int64),
                means=means,
                counts=counts.astype(float),
                variances=variances,
            ),
            1,
        )
        assert fit is not None
        found.append(fit.phi)
        said.append(np.diag(fit.covariance))
    assert np.mean(found, axis=0) == pytest.approx(shapley(values), abs=0.005)
    assert np.sqrt(np.mean(said, axis=0)) == pytest.approx(np.std(found, axis=0), rel=0.25)
