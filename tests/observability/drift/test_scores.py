"""Scores and p-values of counts against closed forms, published numbers and scipy."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.observability.drift import chi_square, counts, divergence

INF = math.inf


def p_of(table: counts.Table) -> float:
    """By the G-test."""
    p, method = counts.p_value(table)
    assert method == "G-test"
    return p


def normal(mean: float, sd: float) -> stats.rv_continuous:
    return stats.norm(mean, sd)


CONTINUOUS = {
    # Closed forms: KL of normals ln(s2/s1) + (s1² + (m1-m2)²)/(2 s2²) - 1/2; of exponentials ln(a/b) + b/a - 1;
    # of Laplace with unit scale |d| + exp(-|d|) - 1; of lognormals with equal sigma (m1-m2)²/(2 s²).
    "N(0,1) N(1,1)": (normal(0, 1), normal(1, 1), 0.5),
    "N(0,1) N(0,4)": (normal(0, 1), normal(0, 2), 0.3181471806),
    "N(0,4) N(0,1)": (normal(0, 2), normal(0, 1), 0.8068528194),
    "N(0,1) N(1,4)": (normal(0, 1), normal(1, 2), 0.4431471806),
    "N(1,4) N(0,1)": (normal(1, 2), normal(0, 1), 1.3068528194),
    "exponential 1 2": (stats.expon(scale=1), stats.expon(scale=0.5), 0.3068528194),
    "exponential 2 1": (stats.expon(scale=0.5), stats.expon(scale=1), 0.1931471806),
    "Laplace 0 1": (stats.laplace(0), stats.laplace(1), 0.3678794412),
    "lognormal 0 0.2": (stats.lognorm(0.5), stats.lognorm(0.5, scale=math.exp(0.2)), 0.08),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_binned_kl_tends_to_the_closed_form(name: str) -> None:
    """Cells fine enough: binning only takes away, and here less than one in a thousand."""
    p, q, expected = CONTINUOUS[name]
    low, high = min(d.ppf(1e-12) for d in (p, q)), max(d.ppf(1 - 1e-12) for d in (p, q))
    borders = np.linspace(low, high, 100_001)
    shares = []
    for d in (p, q):
        cells = np.where(borders[1:] < d.median(), np.diff(d.cdf(borders)), -np.diff(d.sf(borders)))
        shares.append(np.concatenate([[d.cdf(borders[0])], cells, [d.sf(borders[-1])]]))
    assert divergence.kl(*(list(cells) for cells in shares)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(3, 5, 0.4675231287), (5, 3, 0.5541281188), (1, 2, 0.3068528194), (2, 1, 0.3862943611)],
)
def test_kl_of_poisson(a: float, b: float, expected: float) -> None:
    # Closed form: a ln(a/b) + b - a.
    k = np.arange(100)
    assert divergence.kl(stats.poisson(a).pmf(k), stats.poisson(b).pmf(k)) == pytest.approx(
        expected, abs=1e-10
    )


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (0.5, 0.1, 0.5108256238),
        (0.9, 0.5, 0.3680642072),
        (0.95, 0.9, 0.0167065012),
        (0.9, 0.95, 0.0206542189),
        (0.99, 0.95, 0.0247361498),
        (0.3, 0.2, 0.0281675576),
    ],
)
def test_kl_of_coins(p: float, q: float, expected: float) -> None:
    # Closed form: p ln(p/q) + (1-p) ln((1-p)/(1-q)).
    assert divergence.kl((p, 1 - p), (q, 1 - q)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((0.5, 0.3, 0.2), (0.4, 0.4, 0.2), 0.0252671539),
        ((0.4, 0.4, 0.2), (0.5, 0.3, 0.2), 0.0258154085),
        ((0.36, 0.48, 0.16), (1 / 3, 1 / 3, 1 / 3), 0.0852996013),
        ((1 / 3, 1 / 3, 1 / 3), (0.36, 0.48, 0.16), 0.0974550068),
    ],
)
def test_kl_of_three_values(p: tuple[float, ...], q: tuple[float, ...], expected: float) -> None:
    # Cover and Thomas, Elements of Information Theory, 2.3; the last two: Wikipedia, Kullback-Leibler divergence.
    assert divergence.kl(p, q) == pytest.approx(expected, abs=1e-10)


def test_what_the_baseline_never_has_is_infinite() -> None:
    assert divergence.kl((0.5, 0.5), (1.0, 0.0)) == INF


def test_a_known_baseline_gives_chi_square() -> None:
    # Source: scipy power_divergence(lambda_="log-likelihood"): 2 N KL = G.
    observed = (50, 30, 20)
    g = 200 * divergence.kl([count / 100 for count in observed], (0.4, 0.4, 0.2))
    oracle = stats.power_divergence(observed, [40, 40, 20], lambda_="log-likelihood")
    assert (g, chi_square.survival(g, 2)) == pytest.approx((5.05343, 0.07992), abs=1e-5)
    assert (g, chi_square.survival(g, 2)) == pytest.approx(tuple(oracle), rel=1e-9)


def test_two_samples_give_g() -> None:
    table = ((50.0, 30.0, 20.0), (120.0, 150.0, 30.0))
    assert counts.g_statistic(table) == pytest.approx(14.393764, abs=1e-6)
    assert p_of(table) == pytest.approx(7.489e-4, abs=1e-7)


tables = st.integers(2, 8).flatmap(
    lambda k: st.tuples(*(st.lists(st.integers(20, 400), min_size=k, max_size=k) for _ in range(2)))
)


@given(tables)
def test_g_is_scipys(table: tuple[list[int], list[int]]) -> None:
    oracle = stats.chi2_contingency(np.array(table), correction=False, lambda_="log-likelihood")
    floats = (tuple(map(float, table[0])), tuple(map(float, table[1])))
    assume(oracle.expected_freq.min() >= 5.0)
    assert counts.g_statistic(floats) == pytest.approx(oracle.statistic, rel=1e-9, abs=1e-9)
    assert counts.least_expected(floats) == pytest.approx(oracle.expected_freq.min())
    assert p_of(floats) == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)


@given(st.floats(0.0, 400.0), st.integers(1, 60))
def test_chi_square_is_scipys(x: float, df: int) -> None:
    assert chi_square.survival(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-8, abs=1e-14)


@given(st.floats(1e-4, 1 - 1e-4), st.integers(1, 60))
def test_quantiles_are_scipys(probability: float, df: int) -> None:
    assert chi_square.quantile(probability, df) == pytest.approx(stats.chi2.ppf(probability, df), rel=1e-8)


NULL_99 = {  # 99 % quantile of KL against a known baseline at N = 50, 100, 200, 500, 1000: chi2(k-1) / (2N)
    5: (0.1328, 0.0664, 0.0332, 0.0133, 0.0066),
    10: (0.2167, 0.1083, 0.0542, 0.0217, 0.0108),
    20: (0.3619, 0.1810, 0.0905, 0.0362, 0.0181),
}


@pytest.mark.parametrize("values", NULL_99)
def test_the_null_quantile_of_kl(values: int) -> None:
    found = [divergence.null_quantile(values, n, INF) for n in (50, 100, 200, 500, 1000)]
    assert found == pytest.approx(NULL_99[values], abs=6e-5)


def test_equal_arms_stay_below_the_quantile_and_average_the_bias() -> None:
    """10 Zipf values, 500 units each: simulated, 2,000 draws; smoothing takes a little away."""
    generator = np.random.default_rng(31)
    shares = 1.0 / np.arange(1, 11)
    shares /= shares.sum()
    found = []
    for _ in range(2000):
        mine, theirs = (
            {str(k): float(c) for k, c in enumerate(generator.multinomial(500, shares))} for _ in "ab"
        )
        found.append(divergence.smoothed_kl(mine, theirs))
    assert np.mean(found) == pytest.approx(divergence.bias(10, 500, 500), rel=0.1)
    assert np.mean(np.array(found) > divergence.null_quantile(10, 500, 500)) <= 0.02
    assert divergence.bias(10, 100, 100) == pytest.approx(0.09)


def test_a_first_new_value_is_finite_small_and_the_same_under_any_name() -> None:
    """Among 1,000 units one new value changes less than a thousandth: no test of the whole would see it."""
    baseline = {"a": 600.0, "b": 400.0}
    same = divergence.smoothed_kl({"a": 600.0, "b": 400.0}, baseline)
    new = divergence.smoothed_kl({"a": 600.0, "b": 399.0, "c": 1.0}, baseline)
    assert abs(new - same) < 1e-3
    assert new == divergence.smoothed_kl({"a": 600.0, "b": 399.0, "z": 1.0}, baseline)


def test_kolmogorov_smirnov_is_scipys() -> None:
    """Bins so fine that each holds one number: the statistic of ks_2samp; p by Kolmogorov's limit."""
    generator = np.random.default_rng(4)
    mine, theirs = generator.normal(0.0, 1.0, 300), generator.normal(0.3, 1.0, 500)
    order = np.sort(np.concatenate([mine, theirs]))
    table = (
        tuple(np.isin(order, mine).astype(float)),
        tuple(np.isin(order, theirs).astype(float)),
    )
    distance, p = counts.ks(table)
    assert distance == pytest.approx(stats.ks_2samp(mine, theirs).statistic)
    assert p == pytest.approx(stats.kstwobign.sf(distance * math.sqrt(300 * 500 / 800)), rel=1e-9)


@given(st.floats(0.05, 6.0))
def test_kolmogorovs_limit_is_scipys(x: float) -> None:
    assert counts.kolmogorov(x) == pytest.approx(stats.kstwobign.sf(x), rel=1e-7, abs=1e-15)


def test_few_units_are_drawn_from_a_seed_made_of_them() -> None:
    table = ((9.0, 3.0, 1.0), (5.0, 6.0, 2.0))
    first = counts.p_value(table)
    assert first == counts.p_value(table)
    assert first[1] == "Monte Carlo"
    assert first[0] == pytest.approx(
        stats.chi2_contingency(np.array(table), correction=False, lambda_="log-likelihood").pvalue, abs=0.1
    )


def test_drawn_p_values_of_equal_arms_are_not_too_small() -> None:
    """20 values and 40 units, where G itself is far off: at most 5 % below 0.05, by the 99.9 % quantile of 200 draws."""
    generator = np.random.default_rng(8)
    shares = np.full(20, 0.05)
    found = []
    for _ in range(200):
        rows = [tuple(map(float, generator.multinomial(40, shares))) for _ in range(2)]
        found.append(counts.p_value((rows[0], rows[1]))[0])
    assert sum(p < 0.05 for p in found) <= stats.binom.ppf(0.999, 200, 0.05)


def test_rare_values_of_many_units_are_taken_together() -> None:
    table = ((300.0, 190.0, 2.0, 1.0, 3.0), (310.0, 180.0, 3.0, 2.0, 1.0))
    merged = np.array([[300, 190, 6], [310, 180, 6]])
    oracle = stats.chi2_contingency(merged, correction=False, lambda_="log-likelihood")
    assert p_of(table) == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("table", [((), ()), ((0.0, 0.0), (3.0, 1.0)), ((5.0,), (7.0,))])
def test_one_value_or_one_arm_says_nothing(table: counts.Table) -> None:
    assert counts.p_value(table)[0] == 1.0
    assert counts.g_statistic(table) == 0.0
    assert divergence.debiased_kl({}, {"a": 1.0}, 0, 1) == 0.0
