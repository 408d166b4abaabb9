"""The product's one test beside other people's: the published numbers of theirs, and what both say of the same values.

The numbers are of the research notes, section 4.4, recomputed there with confseq's source, scipy and ville. Wherever ours is
compared, it is the product's own class.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
import ville  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize  # type: ignore[import-untyped]

from sluicegate.observability.sequential import MeanTest
from tests.observability import oracles
from tests.observability.oracles import Array

ALPHA = 0.05
LIMIT = -math.log(ALPHA)
RATE = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 200)
STEADY = np.tile([0.75, 0.85, 0.8, 0.78, 0.82], 200)
BLOCKS = (np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 40), np.where(np.arange(200) % 20 == 0, 0.0, 1.0))
"""Outcomes of candidate and stable."""

INTERVALS = [
    (0, 10, 0.0, 0.41688),
    (9, 10, 0.45488, 0.99954),
    (95, 100, 0.83974, 0.99342),
    (950, 1000, 0.91983, 0.97176),
    (9500, 10000, 0.94068, 0.95834),
    (100, 100, 0.92672, 1.0),
    (99, 100, 0.9052, 1.0),
    (990, 1000, 0.97206, 0.99792),
]
COUNTS = [
    (80, 100, 0.9, "both", 2.134788),
    (50, 100, 0.9, "both", 48.998318),
    (10, 100, 0.02, "both", 5.841030),
    (0, 100, 0.02, "both", -2.594850),
    (98, 100, 0.9, "greater", 4.109038),
    (980, 1000, 0.95, "greater", 10.640809),
    (10, 100, 0.02, "greater", 5.861226),
    (80, 100, 0.9, "less", 2.239223),
]
BERNSTEIN = [
    (RATE[:100], 0.66068, 0.94052),
    (RATE[:500], 0.73576, 0.86519),
    (RATE, 0.752284, 0.848454),
    (STEADY[:100], 0.72521, 0.87479),
    (STEADY[:500], 0.78468, 0.81532),
    (STEADY, 0.79212, 0.80788),
]


def ours(values: Sequence[float], low: float, high: float, null: float) -> MeanTest:
    test = MeanTest(low, high, null)
    for value in values:
        test.add(value)
    return test


def of_counts(successes: int, n: int, p0: float, *, below: bool = False) -> float:
    """Ours against a rate of at most p0; below: of at least p0."""
    values = [1.0] * successes + [0.0] * (n - successes)
    if below:
        return ours([-value for value in values], -1.0, 0.0, -p0).log_e
    return ours(values, 0.0, 1.0, p0).log_e


class TestTheYardsticks:
    @pytest.mark.parametrize(("successes", "n", "low", "high"), INTERVALS)
    def test_beta_binomial_interval(self, successes: int, n: int, low: float, high: float) -> None:
        assert oracles.beta_interval(successes, n, ALPHA) == pytest.approx((low, high), abs=6e-5)

    @pytest.mark.parametrize(("successes", "n", "p0", "side", "known"), COUNTS)
    def test_beta_binomial_e_value(self, successes: int, n: int, p0: float, side: str, known: float) -> None:
        assert oracles.beta_log_e(successes, n, p0, side) == pytest.approx(known, abs=5e-7)
        if (successes, n, side) == (10, 100, "both"):
            assert math.exp(-known) == pytest.approx(0.0029059, abs=1e-7)

    @pytest.mark.parametrize(("values", "low", "high"), BERNSTEIN)
    def test_empirical_bernstein(self, values: Array, low: float, high: float) -> None:
        assert oracles.bernstein_interval(values, ALPHA) == pytest.approx((low, high), abs=6e-6)

    def test_betting(self) -> None:
        assert oracles.betting_interval(RATE, ALPHA) == pytest.approx((0.7530, 0.8532), abs=1.5e-4)

    def test_two_samples(self) -> None:
        path = oracles.two_sample_log_e(*BLOCKS)
        assert path[[49, 99, 199]] == pytest.approx([0.569014, 3.358313, 8.435319], abs=5e-7)

    @pytest.mark.parametrize(
        ("n", "mean", "known"),
        [(100, 0.2, 1.922116), (400, 0.1, 2.215063), (1000, 0.1, 28.403345), (1000, 0.05, 0.939334)],
    )
    def test_normal_mixture(self, n: int, mean: float, known: float) -> None:
        """Of Johari et al.; section 4.3. p = 1 / 28.403345 = 0.035207."""
        assert math.exp(oracles.msprt_log_e(mean, n, spread=0.1)) == pytest.approx(known, abs=5e-7)


class TestTheYardsticksAreVilles:
    """The package's numbers within 1e-9, but for the betting interval, which it has on a grid of 1e-4."""

    @pytest.mark.parametrize("rate", [0.02, 0.5, 0.95])
    def test_rates(self, rate: float) -> None:
        x = (np.random.default_rng(44).random(400) < rate).astype(float)
        sequence = ville.BernoulliCS(alpha=ALPHA, intersect=False).fit(x)
        path = ville.BernoulliTest(0.9).fit(x).log_e_values_
        for n in (1, 10, 100, 400):
            s = int(x[:n].sum())
            known = (sequence.lower_[n - 1], sequence.upper_[n - 1])
            assert oracles.beta_interval(s, n, ALPHA) == pytest.approx(known, abs=1e-9)
            assert oracles.beta_log_e(s, n, 0.9) == pytest.approx(path[n - 1], abs=1e-9)

    @pytest.mark.parametrize("values", [RATE, STEADY], ids=["rate", "steady"])
    def test_bounded_means(self, values: Array) -> None:
        values = values[:300]
        known = ville.EmpiricalBernsteinCS(alpha=ALPHA, intersect=False).fit(values).interval()
        assert oracles.bernstein_interval(values, ALPHA) == pytest.approx(known, abs=1e-9)
        known = ville.BettingCS(alpha=ALPHA, intersect=False, grid=10_001).fit(values).interval()
        assert oracles.betting_interval(values, ALPHA, 10_001) == pytest.approx(known, abs=1.01e-4)

    def test_normal_mixture(self) -> None:
        known = ville.MSPRT(tau=0.1).fit(np.full(400, 0.1)).log_e_values_[-1]
        assert oracles.msprt_log_e(0.1, 400, spread=0.1) == pytest.approx(known, abs=1e-9)


class TestOursBesideThem:
    @given(st.integers(1, 400), st.floats(0.0, 1.0), st.floats(0.01, 0.99))
    @example(100, 0.98, 0.9)
    @example(100, 0.1, 0.02)
    def test_never_more_than_the_values_say_and_never_the_wrong_side(
        self, n: int, share: float, p0: float
    ) -> None:
        # Oracle: the largest likelihood ratio of n coins is exp(n KL); Jensen: no capital where the mean is on the null's side.
        successes = round(share * n)
        rate = successes / n
        most = n * oracles.kl_bernoulli(rate, p0) + 1e-9
        assert of_counts(successes, n, p0) <= (most if rate > p0 else 1e-9)
        assert of_counts(successes, n, p0, below=True) <= (most if rate < p0 else 1e-9)

    @pytest.mark.parametrize(
        ("successes", "n", "p0", "side", "known"), [row for row in COUNTS if row[3] != "both"]
    )
    def test_within_one_nat_of_the_one_sided_mixture(
        self, successes: int, n: int, p0: float, side: str, known: float
    ) -> None:
        """A nat is a factor of 2.7 of e."""
        assert of_counts(successes, n, p0, below=side == "less") == pytest.approx(known, abs=1.0)

    def test_within_a_nat_of_the_two_sample_test(self) -> None:
        candidate, stable = BLOCKS
        known = oracles.two_sample_log_e(candidate, stable)
        test = MeanTest(-1.0, 1.0, 0.0)
        for n, worse in enumerate(stable - candidate):
            test.add(float(worse))
            if n + 1 in {50, 100, 200}:
                assert test.log_e == pytest.approx(known[n], abs=1.0), n + 1

    @pytest.mark.parametrize(("values", "low", "high"), BERNSTEIN)
    def test_turned_into_an_interval_it_is_no_wider_than_empirical_bernstein(
        self, values: Array, low: float, high: float
    ) -> None:
        mine = inverted(values)
        assert mine[0] < 0.8 < mine[1], "the mean of both sequences"
        assert mine[1] - mine[0] <= 1.0 * (high - low)

    @pytest.mark.parametrize("name", ["rate", "steady", "rewards"])
    def test_and_hardly_wider_than_hedged_betting(self, name: str) -> None:
        values = {"rate": RATE, "steady": STEADY, "rewards": np.random.default_rng(3).beta(8, 2, 1000)}[name]
        mine, theirs = inverted(values), oracles.betting_interval(values, ALPHA, 2001)
        assert mine[1] - mine[0] <= 1.2 * (theirs[1] - theirs[0])

    @pytest.mark.parametrize(
        ("truth", "p0", "most"),
        [(0.95, 0.90, 2000), (0.97, 0.90, 1000), (0.10, 0.05, 2000), (0.01, 0.05, 3000)],
    )
    def test_one_arm_stops_about_as_soon(self, truth: float, p0: float, most: int) -> None:
        """Means over 100 sequences: at most 1.15 times the units of the one-sided mixture, 1.25 times those of ville's bets."""
        generator = np.random.default_rng(4400)
        stops = []
        for _ in range(100):
            x = (generator.random(most) < truth).astype(float)
            side = "greater" if truth > p0 else "less"
            sign = 1.0 if truth > p0 else -1.0
            test = MeanTest(0.0, 1.0, p0) if truth > p0 else MeanTest(-1.0, 0.0, -p0)
            n, s = np.arange(1, most + 1), np.cumsum(x)
            mixture = (oracles.beta_log_e(int(b), int(a), p0, side) for a, b in zip(n, s, strict=True))
            bets = ville.BettingTest(p0, alternative=side).fit(x).log_e_values_
            stops.append((stopped(test, sign * x), crossed(mixture), crossed(bets)))
        mine, mixed, bet = np.mean(stops, axis=0)
        assert mine <= 1.15 * mixed
        assert mine <= 1.25 * bet

    @pytest.mark.parametrize(
        ("bad", "good", "most"), [(0.85, 0.95, 1500), (0.80, 0.90, 1500), (0.50, 0.60, 3000)]
    )
    def test_two_arms_stop_sooner_than_the_two_sample_test(self, bad: float, good: float, most: int) -> None:
        """Means over 50 sequences: fewer units than the test of two rates, at most 1.1 times those of ville's bets."""
        generator = np.random.default_rng(4401)
        stops = []
        for _ in range(50):
            candidate, stable = ((generator.random(most) < rate).astype(float) for rate in (bad, good))
            worse = stable - candidate
            bets = ville.BettingTest(0.0, bounds=(-1.0, 1.0), alternative="greater").fit(worse).log_e_values_
            blocks = oracles.two_sample_log_e(candidate, stable)
            stops.append((stopped(MeanTest(-1.0, 1.0, 0.0), worse), crossed(blocks), crossed(bets)))
        mine, blocked, bet = np.mean(stops, axis=0)
        assert mine < blocked
        assert mine <= 1.1 * bet


def stopped(test: MeanTest, values: Array) -> float:
    """Units until the product's test rejects."""
    for n, value in enumerate(values.tolist(), start=1):
        test.add(value)
        if test.log_e >= LIMIT:
            return n
    return math.inf


def crossed(path: Iterable[float]) -> float:
    return next((n for n, value in enumerate(path, start=1) if value >= LIMIT), math.inf)


def inverted(values: Array) -> tuple[float, float]:
    """Means that neither side rejects at half of alpha."""
    need, known = math.log(2 / ALPHA), values.tolist()
    mean = float(values.mean())
    low = optimize.brentq(lambda m: ours(known, 0.0, 1.0, m).log_e - need, 1e-6, mean, xtol=1e-7)
    high = optimize.brentq(
        lambda m: ours([-value for value in known], -1.0, 0.0, -m).log_e - need, mean, 1 - 1e-6, xtol=1e-7
    )
    return low, high
