"""Clouds of points: the energy distance, its permutation p, and what a p is worth."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats  # type: ignore[import-untyped]

from sluicegate.observability.drift import energy


def cloud(
    generator: np.random.Generator, n: int, moved: float = 0.0, dimension: int = 3
) -> list[energy.Pair]:
    """Pairs of normal points; a share of the first points lies four standard deviations away."""
    x, y = generator.standard_normal((2, n, dimension))
    x[generator.random(n) < moved] += 4.0
    return [(tuple(a), tuple(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def squared_distance(x: list[energy.Point], y: list[energy.Point]) -> float:
    """2E|X - Y| - E|X - X'| - E|Y - Y'| from its definition (Székely and Rizzo 2013)."""

    def mean(a: list[energy.Point], b: list[energy.Point]) -> float:
        return math.fsum(math.dist(one, other) for one in a for other in b) / (len(a) * len(b))

    return 2.0 * mean(x, y) - mean(x, x) - mean(y, y)


def test_the_sum_is_the_energy_distance_of_scipy() -> None:
    pairs = cloud(np.random.default_rng(1), 25, moved=0.5, dimension=1)
    x, y = ([point[0] for point in side] for side in zip(*pairs, strict=True))
    own = 2.0 * math.fsum(math.dist(a, b) for a, b in pairs)
    seen = math.fsum(map(math.fsum, energy.kernel(pairs))) + own
    assert seen / len(pairs) ** 2 == pytest.approx(stats.energy_distance(x, y) ** 2)


def test_of_four_and_four_points_every_exchange_gives_the_distance_of_its_definition() -> None:
    pairs = cloud(np.random.default_rng(2), 4)
    kernel, own = energy.kernel(pairs), 2.0 * math.fsum(math.dist(a, b) for a, b in pairs)
    seen = math.fsum(map(math.fsum, kernel))
    for chosen in itertools.product((False, True), repeat=4):
        turned = [pair[::-1] if turn else pair for turn, pair in zip(chosen, pairs, strict=True)]
        expected = squared_distance(*(list(side) for side in zip(*turned, strict=True)))
        assert (seen - 4.0 * energy.cut(kernel, chosen) + own) / 16 == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_drawn_p_is_that_of_all_sixteen_exchanges(seed: int) -> None:
    pairs = cloud(np.random.default_rng(seed), 4, moved=0.5)
    every = []
    for chosen in itertools.product((False, True), repeat=4):
        turned = [pair[::-1] if turn else pair for turn, pair in zip(chosen, pairs, strict=True)]
        every.append(squared_distance(*(list(side) for side in zip(*turned, strict=True))))
    exact = sum(one >= every[0] - 1e-9 for one in every) / 16
    drawn = np.mean([energy.p_value(pairs, n) for n in range(150)])
    # of a p that stops at its h-th hit the mean is p (1 + (1 - p) / h) and its error below p / sqrt(h) a draw
    h = energy.ENOUGH
    assert drawn == pytest.approx(exact * (1 + (1 - exact) / h), abs=5 * exact / math.sqrt(150 * h) + 0.01)


def test_p_of_equal_clouds_is_uniform_or_larger() -> None:
    generator = np.random.default_rng(3)
    found = np.array([energy.p_value(cloud(generator, 8), n) for n in range(600)])
    for level in (0.02, 0.05, 0.1, 0.25, 0.5):
        most = stats.binom.ppf(0.9999, found.size, level)
        assert (found <= level).sum() <= most, level
    worth = np.array([math.exp(energy.log_e(p)) for p in found])
    assert worth.mean() <= 1.0 + 4.0 * worth.std() / math.sqrt(found.size)


def test_a_fifth_of_the_points_elsewhere_is_seen() -> None:
    generator = np.random.default_rng(4)
    found = [energy.p_value(cloud(generator, 32, moved=0.2), n) for n in range(30)]
    assert np.median(found) <= 0.03


def test_the_same_seed_gives_the_same_p_whichever_arm_is_first() -> None:
    pairs = cloud(np.random.default_rng(5), 12, moved=0.3)
    swapped = [(y, x) for x, y in pairs]
    assert energy.p_value(pairs, 7) == energy.p_value(swapped, 7)


def test_what_a_p_is_worth() -> None:
    """The integral of k p^(k-1) over k in [0, 1]; over p from e^-600 to 1 it is 1 - 1/600, as (p - 1) / ln p is its integral."""
    for p in (0.001, 0.05, 0.3, 0.9):
        mixture, _ = integrate.quad(lambda k, p=p: k * p ** (k - 1.0), 0.0, 1.0)
        assert math.exp(energy.log_e(p)) == pytest.approx(mixture)
    whole, _ = integrate.quad(lambda u: math.exp(energy.log_e(math.exp(-u)) - u), 0.0, 600.0, limit=500)
    assert whole == pytest.approx(1.0 - 1.0 / 600.0)
    assert math.exp(energy.log_e(1.0)) == pytest.approx(0.5)
