"""The spread of contributions: unbiased where the plug-in is not."""

import numpy as np
import pytest

from sluicegate.observability.contributions.exact import covariance, shapley
from sluicegate.observability.contributions.variance import spread
from tests.observability.contributions import games

NOTHING = np.zeros((4, 4))
GAME = games.pipeline(["0.98", "0.95", "0.9", "0.85"], ["0.6", "0.3", "0.7", "0.85"])


@pytest.mark.parametrize(
    ("phi", "known"),
    [
        ((0.4, 0.2, 0.15, 0.05), 0.01625),
        ((0.5, 0.2, 0.1, 0.0), 0.035),
        ((0.32, 0.24, 0.16, 0.08), 0.008),
        ((0.2,) * 4, 0.0),
    ],
    ids=["skewed", "more skewed", "graded", "equal"],
)
def test_known_spreads(phi: tuple[float, ...], known: float) -> None:
    """research §1.7."""
    assert spread(np.array(phi), NOTHING).value == pytest.approx(known, abs=1e-12)


def test_the_spread_of_a_pipeline() -> None:
    """research §2: population variance 0.0169279."""
    assert spread(shapley(games.table(4, GAME)), NOTHING).value == pytest.approx(0.0169279, abs=5e-8)


@pytest.mark.parametrize(("n", "most"), {3: 0.222, 4: 0.1875, 5: 0.16, 6: 0.139, 8: 0.109, 10: 0.09}.items())
def test_the_largest_spread(n: int, most: float) -> None:
    """One player has everything: (1/n)(1 − 1/n), research §1.7."""
    assert spread(np.eye(n)[0], np.zeros((n, n))).value == pytest.approx(most, abs=5e-4)


def test_noise_does_not_look_like_spread() -> None:
    """10 runs per coalition: the plug-in is far too high, the corrected value is right; so is its variance."""
    values = games.table(4, GAME)
    truth, rng = float(shapley(values).var()), np.random.default_rng(2)
    sigma = covariance(values * (1 - values) / 10)
    phis = np.array([shapley(rng.binomial(10, values) / 10) for _ in range(3000)])
    found = np.array([spread(phi, sigma).value for phi in phis])
    assert phis.var(axis=1).mean() > truth * 1.1
    assert found.mean() == pytest.approx(truth, abs=4 * found.std() / 3000**0.5)
    said = np.mean([spread(phi, sigma).variance for phi in phis])
    assert said**0.5 == pytest.approx(found.std(), rel=0.15)
