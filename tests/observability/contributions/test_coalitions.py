"""Drawing coalitions: the Shapley kernel, complementary pairs, a sixth of them (nobody, everybody)."""

from collections import Counter
from hashlib import sha256
from itertools import pairwise

import pytest
from scipy.stats import chi2  # type: ignore[import-untyped]

from sluicegate.observability.contributions.coalitions import draw, kernel_sizes, probability


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 20])
def test_probabilities_add_up_and_are_the_same_for_complements(n: int) -> None:
    masks = range(1 << n) if n <= 12 else (*range(1 << 12), *range((1 << n) - (1 << 12), 1 << n))
    assert all(probability(n, mask) == pytest.approx(probability(n, mask ^ (1 << n) - 1)) for mask in masks)
    if n <= 12:
        assert sum(probability(n, mask) for mask in masks) == pytest.approx(1.0)


def test_the_kernel_of_four() -> None:
    """1/(1·3), 1/(2·2), 1/(3·1) of 11/12 in all: 4/11, 3/11, 4/11."""
    assert kernel_sizes(4) == pytest.approx((4 / 11, 3 / 11, 4 / 11))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_drawn_as_often_as_said(n: int) -> None:
    times = 20_000
    seen = Counter(draw(n, sha256(f"{n}/{i}".encode()).digest()).mask for i in range(times))
    distance = sum(
        (seen[mask] - times * probability(n, mask)) ** 2 / (times * probability(n, mask))
        for mask in range(1 << n)
    )
    assert distance < chi2.ppf(1 - 1e-6, (1 << n) - 1)


def test_a_pair_is_one_bit_apart_and_everything_else_is_the_seed() -> None:
    for i in range(200):
        seed = sha256(str(i).encode()).digest()[:24]
        one, two = draw(9, seed + bytes(8)), draw(9, seed + b"\x01" + bytes(7))
        assert one.mask ^ two.mask == 0b1_1111_1111
        assert one == draw(9, seed + bytes(8))
        assert one.probability == probability(9, one.mask)


def test_of_many_players_every_one_is_drawn_as_often() -> None:
    """64 players have more subsets of a size than 64 bits tell apart evenly; each player is in half of the draws."""
    times = 4000
    drawn = [draw(64, sha256(f"{number}".encode()).digest()) for number in range(times)]
    counts = [sum(one.mask >> player & 1 for one in drawn) for player in range(64)]
    assert all(abs(count - times / 2) < 5 * (times / 4) ** 0.5 for count in counts)  # binomial
    assert all(one.probability == probability(64, one.mask) for one in drawn[:50])


def test_every_subset_of_a_size_can_come() -> None:
    seeds = (sha256(str(i).encode()).digest() for i in range(30_000))
    seen = sorted({draw(6, seed).mask for seed in seeds})
    assert seen == list(range(64))
    assert all(one < two for one, two in pairwise(seen))


@pytest.mark.parametrize("n", [0, 65])
def test_too_few_or_too_many_players(n: int) -> None:
    with pytest.raises(ValueError, match="players"):
        draw(n, bytes(32))


def test_a_short_seed_is_no_seed() -> None:
    with pytest.raises(ValueError, match="seed"):
        draw(3, bytes(24))
