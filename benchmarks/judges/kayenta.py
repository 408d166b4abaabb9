"""Kayenta's judge (NetflixACAJudge-v1.0) by its published rules, for metrics where an increase is bad.

Sources: spinnaker/kayenta, `NetflixACAJudge.scala`, `MannWhitneyClassifier.scala`, `WeightedSumScorer.scala`,
`ThresholdScoreClassifier.scala`; defaults of interval, lifetime and scores from the operators' guide.
"""

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from benchmarks.judges.mann_whitney import Array, shift, statistic

CONFIDENCE: Final = 0.98
"""Hard-coded in the judge, two-sided."""

TOLERANCE: Final = 0.25
"""The interval must lie beyond this part of the estimated shift."""

ALLOWED_INCREASE: Final = 1.0
PASS_SCORE, MARGINAL_SCORE = 95.0, 75.0
INTERVAL_MINUTES: Final = 60
"""One judgement an hour; at one point a minute more than the 50 points that the guide asks for."""

_QUANTILE: Final = float(stats.norm.ppf(0.5 + CONFIDENCE / 2.0))


class Class(StrEnum):
    """Of one metric."""

    PASS = "Pass"
    HIGH = "High"
    NODATA = "Nodata"


class Verdict(StrEnum):
    """Of a judgement."""

    PASS = "Pass"
    MARGINAL = "Marginal"
    FAIL = "Fail"


def classify(experiment: Array, control: Array, allowed: float = ALLOWED_INCREASE) -> Class:
    """Class of one metric; NaN points are removed, an empty arm is Nodata, equal samples pass."""
    x, y = experiment[~np.isnan(experiment)], control[~np.isnan(control)]
    if not len(x) or not len(y):
        return Class.NODATA
    ratio = mean_ratio(x, y)
    if ratio < allowed:  # false for NaN, which skips the check
        return Class.PASS
    return Class.HIGH if _beyond(x, y) else Class.PASS


def mean_ratio(x: Array, y: Array) -> float:
    """The effect size; NaN, and therefore no condition, when either mean is 0."""
    above, below = float(x.mean()), float(y.mean())
    return above / below if above and below else math.nan


def _beyond(x: Array, y: Array) -> bool:
    """Whether the interval's lower end is above the dead zone.

    The lower end is where the statistic falls to the quantile, so it is above a point exactly when the statistic
    there is still above the quantile.
    """
    if len(x) == len(y) and np.array_equal(np.sort(x), np.sort(y)):
        return False
    if statistic(x, y) <= _QUANTILE:  # lower end at or below 0, hence below every zone
        return False
    zone = TOLERANCE * abs(shift(x, y))
    return statistic(x - zone, y) > _QUANTILE


def score(classes: Sequence[Class]) -> float:
    """Share of passing metrics of one group, in percent; 0 when half of them or more have no data."""
    counted = [one for one in classes if one is not Class.NODATA]
    if 2 * len(counted) <= len(classes):
        return 0.0
    return round(100.0 * counted.count(Class.PASS) / len(counted), 2)


def verdict(points: float, passing: float = PASS_SCORE, marginal: float = MARGINAL_SCORE) -> Verdict:
    """Both borders are inclusive."""
    if points >= passing:
        return Verdict.PASS
    return Verdict.MARGINAL if points >= marginal else Verdict.FAIL


def judgements(
    experiment: Array, control: Array, every: int = INTERVAL_MINUTES
) -> Iterator[tuple[int, Array, Array]]:
    """Ends (exclusive minutes) and points of the growing window's judgements."""
    for end in range(every, len(experiment) + 1, every):
        yield end, experiment[:end], control[:end]


def aborted_at(experiment: Array, control: Array, allowed: float = ALLOWED_INCREASE) -> int | None:
    """Minute at whose end the analysis fails, of one metric that is the whole score; None: never."""
    for end, x, y in judgements(experiment, control):
        one = classify(x, y, allowed)
        # Without data there is nothing to compare yet; that is not called a failure here.
        if one is not Class.NODATA and verdict(score([one])) is not Verdict.PASS:
            return end - 1
    return None


def worst_flagged(experiment: Array, control: Array) -> float:
    """Smallest allowed increase above which this healthy run is never aborted; infinity: none. -infinity: never flagged."""
    worst = -math.inf
    for _, x, y in judgements(experiment, control):
        if classify(x, y) is Class.HIGH:
            ratio = mean_ratio(x[~np.isnan(x)], y[~np.isnan(y)])
            worst = math.inf if math.isnan(ratio) else max(worst, ratio)
    return worst
