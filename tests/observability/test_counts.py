"""Tests of counts in blocks: the bound that they rest on, computed exactly; their error rate and power, by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from sluicegate.observability.counts import STAKES, Block, block_gains, centres, folded, log_e

ONE = Block(0, 0)
PAST = Block(6, 100, 5, 100)


def expectation(
    block: tuple[int, int], rates: tuple[float, float], past: Block, null: float, sign: float
) -> list[float]:
    """E[product over the block] of each stake, by summing over every outcome with its binomial probability (scipy)."""
    n, m = block
    total = np.zeros(len(STAKES))
    for bad in range(n + 1):
        for other in range(m + 1):
            chance = binom.pmf(bad, n, rates[0]) * binom.pmf(other, m, rates[1])
            total += chance * np.exp(block_gains(Block(bad, n, other, m), past, null, sign))
    return list(total)


@pytest.mark.parametrize("past", [Block(0, 0, 0, 0), PAST, Block(100, 100, 0, 100)])
@pytest.mark.parametrize("block", [(1, 1), (3, 7), (7, 2)])
@pytest.mark.parametrize(
    ("rates", "null", "sign"),
    [
        ((0.1, 0.1), 0.0, 1.0),
        ((0.02, 0.3), 0.0, 1.0),
        ((0.9, 0.9), 0.0, 1.0),
        ((0.12, 0.1), 0.02, -1.0),
        ((0.9, 0.1), 0.02, -1.0),
    ],
)
def test_under_the_null_nothing_is_won(
    block: tuple[int, int], rates: tuple[float, float], null: float, sign: float, past: Block
) -> None:
    """1 is the bound of an e-variable; the rates are at and inside the border of the null."""
    assert max(expectation(block, rates, past, null, sign)) <= 1.0 + 1e-9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_arm_at_the_limit_is_a_martingale(sign: float) -> None:
    """Each outcome's factor is 1 + k (y - limit): its mean at the limit is 1."""
    for stake in range(len(STAKES)):
        won = sum(
            binom.pmf(bad, 5, 0.02) * math.exp(block_gains(Block(bad, 5), ONE, 0.02, sign)[stake])
            for bad in range(6)
        )
        assert won == pytest.approx(1.0, abs=1e-12)


def test_counts_of_one_arm_merge_in_any_order() -> None:
    """A product over outcomes: one block of all is the blocks after each other."""
    parts = [Block(1, 10), Block(0, 3), Block(4, 7)]
    logs: tuple[float, ...] = ()
    for part in parts:
        logs = folded(logs, block_gains(part, ONE, 0.1, 1.0))
    assert logs == pytest.approx(block_gains(Block(5, 20), ONE, 0.1, 1.0))


def test_nothing_counted_says_nothing() -> None:
    assert log_e(()) == 0.0
    assert log_e(folded((), block_gains(Block(0, 0, 0, 0), PAST, 0.0, 1.0))) == pytest.approx(0.0)
    assert log_e(folded((), block_gains(Block(0, 0, 3, 10), PAST, 0.0, 1.0))) == pytest.approx(0.0)


def test_the_centres_are_as_far_apart_as_the_null_says() -> None:
    for null in (0.0, 0.02, 0.4):
        for past in (Block(0, 0, 0, 0), PAST, Block(0, 900, 0, 100), Block(900, 900, 100, 100)):
            a, b = centres(past, null)
            assert a - b == pytest.approx(null)
            assert 0.0 < b < 1.0
            assert 0.0 < a < 1.0


@pytest.mark.parametrize("block", [(2, 1), (-1, 1)])
def test_counts_that_are_none_are_refused(block: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="bad <= total"):
        Block(*block)
    with pytest.raises(ValueError, match="bad <= total"):
        Block(0, 0, *block)


Design = tuple[float, float, float, float, float, float]


def reached(design: Design, seed: int, *, blocks: int, alpha: float = 0.05) -> int | None:
    """Candidate's outcomes when 1/alpha was reached: (rate, stable's, null, sign, mean size of a block, of stable's)."""
    rate, other, null, sign, size, stable_size = design
    draw = np.random.default_rng(seed)
    logs: tuple[float, ...] = ()
    past = Block(0, 0, 0, 0)
    for _ in range(blocks):
        n, m = int(draw.poisson(size)), int(draw.poisson(stable_size))
        block = Block(int(draw.binomial(n, rate)), n, int(draw.binomial(m, other)), m)
        logs = folded(logs, block_gains(block, past, null, sign))
        past = Block(
            past.bad + block.bad,
            past.total + n,
            past.stable_bad + block.stable_bad,
            (past.stable_total or 0) + m,
        )
        if log_e(logs) >= -math.log(alpha):
            return past.total
    return None


@pytest.mark.parametrize(
    "design", [(0.05, 0.05, 0.0, 1.0, 5, 5), (0.05, 0.05, 0.0, 1.0, 5, 95), (0.07, 0.05, 0.02, -1.0, 20, 20)]
)
def test_looked_at_every_time_it_errs_less_often_than_alpha(design: Design) -> None:
    """Ville: at most 5 % ever; 100 runs, and 10 of them are 2.3 standard deviations above."""
    assert sum(reached(design, seed, blocks=300) is not None for seed in range(100)) <= 10


@pytest.mark.parametrize(
    ("design", "median"), [((0.10, 0.05, 0.0, 1.0, 5, 95), 269), ((0.15, 0.05, 0.0, 1.0, 5, 95), 81)]
)
def test_harm_takes_about_as_long_as_by_the_two_sample_e_process(design: Design, median: int) -> None:
    """Medians of Turner, Ly & Grünwald's test at the same designs: 269 and 81 (research on statistics, section 4.5)."""
    found = sorted(reached(design, seed, blocks=400) or 10**9 for seed in range(60))
    assert found[30] <= 1.3 * median
