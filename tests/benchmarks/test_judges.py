"""The judges of other tools do what their rules say: expected values worked by hand or by scipy."""

import math

import numpy as np
import pytest
from scipy import optimize, stats  # type: ignore[import-untyped]

from benchmarks.judges import fixed, kayenta, mann_whitney, threshold
from benchmarks.judges.kayenta import Class, Verdict

NAN = math.nan


def samples(seed: int, *, tied: bool, shift: float = 0.0) -> tuple[mann_whitney.Array, mann_whitney.Array]:
    generator = np.random.default_rng(seed)
    x, y = generator.normal(10.0 + shift, 2.0, 53), generator.normal(10.0, 2.0, 61)
    return (np.round(x), np.round(y)) if tied else (x, y)


@pytest.mark.parametrize("tied", [False, True], ids=["no ties", "ties"])
@pytest.mark.parametrize("seed", range(5))
def test_the_statistic_is_scipys(seed: int, tied: bool) -> None:
    x, y = samples(seed, tied=tied)
    for correct in (True, False):
        expected = stats.mannwhitneyu(x, y, use_continuity=correct, method="asymptotic").pvalue
        z = mann_whitney.statistic(x, y, correct=correct)
        assert 2.0 * stats.norm.sf(abs(z)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_shift_is_the_median_of_all_differences(seed: int) -> None:
    x, y = samples(seed, tied=False, shift=1.0)
    # Oracle: Hodges and Lehmann's definition; 53 times 61 differences are an odd number.
    assert mann_whitney.shift(x, y) == pytest.approx(np.median(np.subtract.outer(x, y)), abs=1e-9)


def lower_end(x: mann_whitney.Array, y: mann_whitney.Array) -> float:
    """Of the 98 % interval, by scipy's p-value: what is one-sided 1 % there."""

    def excess(by: float) -> float:
        found = stats.mannwhitneyu(x - by, y, alternative="greater", method="asymptotic")
        return float(found.pvalue) - 0.01

    return float(optimize.brentq(excess, (x.min() - y.max()) - 1.0, (x.max() - y.min()) + 1.0))


def test_high_is_an_interval_beyond_a_quarter_of_the_shift() -> None:
    seen = set()
    for seed in range(40):
        x, y = samples(seed, tied=False, shift=1.2)
        expected = lower_end(x, y) > 0.25 * abs(float(np.median(np.subtract.outer(x, y))))
        assert (kayenta.classify(x, y) is Class.HIGH) == expected, seed
        seen.add(expected)
    assert seen == {True, False}


def test_classes_at_their_edges() -> None:
    x, y = samples(1, tied=False, shift=4.0)
    assert kayenta.classify(x, y) is Class.HIGH
    assert kayenta.classify(x, y, allowed=2.0) is Class.PASS  # means of 14 and 10
    assert kayenta.classify(np.append(x, NAN), np.append(y, NAN)) is Class.HIGH
    assert kayenta.classify(np.full(60, NAN), y) is Class.NODATA
    assert kayenta.classify(x, x[::-1].copy()) is Class.PASS
    assert kayenta.classify(np.zeros(60), np.zeros(60)) is Class.PASS


def test_sparse_errors_pass_as_reported() -> None:
    # Research: control all zero, canary 0.4 errors a minute: the median difference is 0 and so is the interval's end.
    canary = np.tile([0.0, 0.0, 0.0, 1.0, 1.0], 12) * 0.1
    assert kayenta.classify(canary[:50] * (np.arange(50) % 5 == 4), np.zeros(50)) is Class.PASS


@pytest.mark.parametrize(
    ("classes", "points"),
    [
        ([Class.PASS], 100.0),
        ([Class.HIGH], 0.0),
        ([Class.PASS, Class.PASS, Class.HIGH], 66.67),
        ([Class.PASS, Class.PASS, Class.NODATA], 100.0),
        ([Class.PASS, Class.NODATA], 0.0),
    ],
    ids=["passes", "fails", "two of three", "no data is left out", "half without data"],
)
def test_score(classes: list[Class], points: float) -> None:
    assert kayenta.score(classes) == points


@pytest.mark.parametrize(
    ("points", "expected"),
    [(100.0, Verdict.PASS), (95.0, Verdict.PASS), (94.99, Verdict.MARGINAL), (75.0, Verdict.MARGINAL), (74.99, Verdict.FAIL)],
)  # fmt: skip
def test_the_borders_of_the_score_are_inclusive(points: float, expected: Verdict) -> None:
    assert kayenta.verdict(points) is expected


def test_a_judgement_every_hour_over_a_growing_window() -> None:
    control = np.random.default_rng(3).normal(10.0, 1.0, 240)
    worse = control[::-1].copy()
    worse[70:] += 5.0  # the second judgement sees 50 of 120 points worse
    assert kayenta.aborted_at(worse, control) == 119
    assert kayenta.aborted_at(control[::-1].copy(), control) is None
    assert [end for end, _, _ in kayenta.judgements(control, control)] == [60, 120, 180, 240]


def test_tuning_kayenta_finds_the_effect_that_is_never_flagged() -> None:
    control = np.random.default_rng(3).normal(10.0, 1.0, 60)
    worst = kayenta.worst_flagged(control[::-1] + 5.0, control)
    assert worst == pytest.approx(1.0 + 5.0 / float(control.mean()))
    assert kayenta.aborted_at(control[::-1] + 5.0, control, math.nextafter(worst, math.inf)) is None
    assert kayenta.aborted_at(control[::-1] + 5.0, control, worst) == 59
    assert kayenta.worst_flagged(control, control) == -math.inf
    assert kayenta.worst_flagged(control, np.zeros(60)) == math.inf  # no effect size to set a limit on


VALUES = np.array([[1.0, 3.0, 3.0, 1.0, NAN, 3.0], [3.0, 1.0, 3.0, 1.0, 3.0, 1.0], [1.0] * 6])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (threshold.Rule(1, 1), [1, 0, math.inf]),
        (threshold.Rule(5, 2), [14, 14, math.inf]),  # end of the third interval of five minutes
        (threshold.Rule(1, 3), [5, 4, math.inf]),
        (threshold.Rule(1, 2, consecutive=True), [2, math.inf, math.inf]),
        (threshold.Rule(1, 7), [math.inf] * 3),
    ],
    ids=str,
)
def test_threshold_counts_failed_checks(rule: threshold.Rule, expected: list[float]) -> None:
    assert threshold.aborted_at(VALUES, rule, 2.0).tolist() == expected
    assert threshold.aborted_at(VALUES, rule, 3.0).tolist() == [math.inf] * 3  # at the limit is no failure


@pytest.mark.parametrize("rule", [threshold.Rule(1, 2), threshold.Rule(1, 3, consecutive=True)], ids=str)
def test_the_smallest_limit_holds_the_rate_and_nothing_below_does(rule: threshold.Rule) -> None:
    values = np.random.default_rng(9).normal(size=(200, 50))
    limit = threshold.smallest_limit(values, rule, 0.05)
    assert np.isfinite(threshold.aborted_at(values, rule, limit)).sum() == 10
    assert np.isfinite(threshold.aborted_at(values, rule, math.nextafter(limit, -math.inf))).sum() == 11


def test_the_closed_form() -> None:
    # Oracle: textbook. Half a standard deviation, one-sided 5 %, power 80 %: (1.6449 + 0.8416)^2 / 0.25 = 24.7.
    assert fixed.units_needed(fixed.Truth(0.5, 1.0, 1.0), 0.05, 0.80) == 25
    # 5 % against 10 % in equal arms, one-sided 2.5 %: 7.849 (0.0475 + 0.09) / 0.05^2 = 431.7.
    spread = math.sqrt(0.0475 + 0.09)
    assert fixed.units_needed(fixed.Truth(0.05, spread, spread), 0.025, 0.80) == 432


def test_the_fixed_test_looks_once() -> None:
    truth = fixed.Truth(0.5, 1.0, 1.0)
    differences = np.array([[0.5, 0.5, 0.5, 0.5, -9.0], [0.9, 0.9, 0.9, 0.9, -9.0]])
    # z = mean sqrt(4): 1.0 and 1.8 against 1.645.
    assert fixed.rejects(differences, 4, truth, 0.05).tolist() == [False, True]
