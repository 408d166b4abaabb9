"""Other orders and labels of recorded units, and the interval of a share."""

from collections import Counter

import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.console.resampling import permuted, relabelled, share
from sluicegate.contracts.evidence import ArmFacts
from sluicegate.rollout.backtest import RecordedPair


@pytest.mark.parametrize(("found", "n"), [(0, 20), (1, 20), (10, 20), (20, 20), (7, 1000)])
def test_the_interval_is_wilsons(found: int, n: int) -> None:
    """Oracle: scipy."""
    expected = stats.binomtest(found, n).proportion_ci(0.95, method="wilson")
    assert (share(found, n).low, share(found, n).high) == pytest.approx((expected.low, expected.high))


def arm(latency: float, disagrees: float | None = None) -> ArmFacts:
    return ArmFacts(success=1.0, latencies_ms=(latency,), disagrees=disagrees)


def pair(number: int) -> RecordedPair:
    return RecordedPair(unit=str(number), stable=arm(1), candidate=arm(2, 1.0), control=arm(3, 0.0))


def test_an_order_holds_every_unit_once_and_depends_on_the_seed_only() -> None:
    pairs = [pair(number) for number in range(50)]
    first, again, other = (list(permuted(pairs, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(one.unit for one in first) == sorted(one.unit for one in pairs)


def test_every_arm_is_as_often_in_every_place() -> None:
    """Six orders of three arms, and two of what belongs to the place: chance only (chi-squared, α = 0.001)."""
    found = list(relabelled((pair(number) for number in range(6000)), seed=3))
    orders = Counter((one.stable.latencies_ms, one.candidate.latencies_ms) for one in found)
    assert len(orders) == 6
    assert stats.chisquare(list(orders.values())).pvalue > 0.001
    places = Counter(
        (one.candidate.disagrees, one.control.disagrees if one.control else None) for one in found
    )
    assert set(places) == {(1.0, 0.0), (0.0, 1.0)}
    assert stats.chisquare(list(places.values())).pvalue > 0.001


def test_without_a_second_copy_two_labels_are_exchanged() -> None:
    alone = RecordedPair(unit="u", stable=arm(1), candidate=arm(2, 1.0))
    found = list(relabelled([alone] * 200, seed=1))
    assert {one.stable.latencies_ms for one in found} == {(1,), (2,)}
    assert all(one.control is None and one.candidate.disagrees == 1.0 for one in found)
