"""Looking after every unit keeps the promised error rate: 1,000 seeded runs of 2,880 looks each.

2,880 looks are one a minute for 48 hours. Tolerance: the count of false alarms must not exceed the 99.9 %
quantile of Binomial(1000, alpha), so that a test exactly at its level passes 999 of 1,000 times.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from tests.observability import simulation as sim

RUNS, LOOKS = 1000, 2880
CHUNK = 250
Draw = Callable[[np.random.Generator, float], sim.Array]


def paired(success: float, shared: float) -> Draw:
    def draw(generator: np.random.Generator, worse: float) -> sim.Array:
        bad = 1.0 - success
        return sim.paired_differences(generator, (CHUNK, LOOKS), (bad + worse, bad), shared)

    return draw


def split(success: float, share: float) -> Draw:
    sizes = sim.stable_per_pair(share, LOOKS, seed=17)

    def draw(generator: np.random.Generator, worse: float) -> sim.Array:
        bad = 1.0 - success
        return sim.split_differences(generator, (CHUNK, LOOKS), (bad + worse, bad), sizes)

    return draw


def rewards(generator: np.random.Generator, worse: float) -> sim.Array:
    """Same mean, other shape: stable Beta(8, 2), candidate all or nothing."""
    candidate = (generator.random((CHUNK, LOOKS)) < 0.8 - worse).astype(float)
    difference: sim.Array = generator.beta(8.0, 2.0, (CHUNK, LOOKS)) - candidate
    return difference


DESIGNS: dict[str, Draw] = {
    "paired, 0.95, half of the requests decide themselves": paired(0.95, 0.5),
    "paired, 0.42, half of the requests decide themselves": paired(0.42, 0.5),
    "paired, 0.95, independent": paired(0.95, 0.0),
    "split, 0.95, 5 %": split(0.95, 0.05),
    "split, 0.42, 5 %": split(0.42, 0.05),
    "split, 0.95, 20 %": split(0.95, 0.2),
    "split, 0.42, 20 %": split(0.42, 0.2),
    "split, 0.95, 50 %": split(0.95, 0.5),
    "split, 0.42, 50 %": split(0.42, 0.5),
    "rewards of different shape": rewards,
}


def false_alarms(name: str, worse: float, test: Callable[[sim.Array], sim.Array]) -> sim.Array:
    """The highest log e-value of each run."""
    generator = np.random.default_rng([2880, sorted(DESIGNS).index(name)])
    return np.concatenate([test(DESIGNS[name](generator, worse)).max(axis=1) for _ in range(RUNS // CHUNK)])


def assert_level_kept(highest: sim.Array) -> None:
    for alpha in (0.05, 0.01):
        count = int((highest >= np.log(1.0 / alpha)).sum())
        assert count <= stats.binom.ppf(0.999, RUNS, alpha), (alpha, count)


@pytest.mark.parametrize("name", DESIGNS)
def test_equal_arms_are_hardly_ever_called_harmful(name: str) -> None:
    assert_level_kept(false_alarms(name, 0.0, lambda x: sim.log_e(x, -1.0, 0.0)))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_candidate_worse_by_the_margin_is_hardly_ever_called_safe(name: str) -> None:
    margin = 0.05 if "50 %" in name else 0.02
    assert_level_kept(false_alarms(name, margin, lambda x: sim.log_e(-x, -1.0, -margin)))


@pytest.mark.parametrize("rate", [0.02, 0.07, 0.6])
def test_one_arm_at_the_limit_is_hardly_ever_called_harmful_or_safe(rate: float) -> None:
    generator = np.random.default_rng([48, int(rate * 100)])
    bad = (generator.random((RUNS, LOOKS)) < rate).astype(float)
    assert_level_kept(sim.log_e(bad, 0.0, rate).max(axis=1))
    assert_level_kept(sim.log_e(-bad, -1.0, -rate).max(axis=1))


def test_the_simulation_can_fail_a_test_that_does_not_allow_peeking() -> None:
    # Oracle: looked at 2,880 times, |z| > 1.96 is crossed in 59 % of runs (Armitage, McPherson & Rowe).
    generator = np.random.default_rng(59)
    x = generator.standard_normal((RUNS, LOOKS))
    z = np.cumsum(x, axis=1) / np.sqrt(np.arange(1, LOOKS + 1))
    assert (np.abs(z) > 1.96).any(axis=1).mean() == pytest.approx(0.591, abs=0.05)
