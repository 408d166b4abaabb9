"""Arms: sticky, nested, exact, in proportion."""

from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.routes import RoutePlan, Share, TrafficMode, place_of
from sluicegate.contracts.runs import Arm
from sluicegate.gateway.arms import assign, mirror_probability, position
from tests.gateway.components import rolling, spec_of

SPEC = spec_of({"name": "a", "version": "1", "endpoint": {"url": "http://x"}, "sideEffects": "None"})
SPLIT = rolling(SPEC, SPEC, TrafficMode.SPLIT)
MIRROR = rolling(SPEC, SPEC, TrafficMode.MIRROR)
KEYS = st.text(max_size=40)
SHARES = st.integers(1, 10**9).flatmap(lambda d: st.integers(0, d).map(lambda n: Share(n, d)))


def _serving(plan: RoutePlan, key: str) -> Arm:
    return assign(plan, "run", key, leased=True).serving


@given(KEYS, SHARES)
def test_a_unit_is_inside_exactly_when_its_hash_is_below_the_share(key: str, share: Share) -> None:
    # Oracle: the definition in exact fractions.
    place = Fraction(int(sha256(b"salt" + key.encode("utf-8", "surrogatepass")).hexdigest()[:16], 16), 2**64)
    assert share.holds(place_of("salt", key)) == (place < Fraction(share.numerator, share.denominator))


@given(KEYS, SHARES, SHARES)
def test_a_share_that_grows_keeps_everybody_it_had(key: str, one: Share, two: Share) -> None:
    small, large = sorted((one, two), key=lambda share: Fraction(share.numerator, share.denominator))
    if _serving(replace(SPLIT, share=small), key) is Arm.CANDIDATE:
        assert _serving(replace(SPLIT, share=large), key) is Arm.CANDIDATE


@given(KEYS, SHARES, st.uuids(), st.uuids())
def test_a_session_stays_in_its_arm(key: str, share: Share, one: object, two: object) -> None:
    plan = replace(SPLIT, share=share)
    first, second = (assign(plan, str(run), key, leased=True) for run in (one, two))
    assert (first.serving, first.unit, first.position) == (second.serving, second.unit, second.position)


def test_the_end_of_a_share_is_outside() -> None:
    assert not Share(0, 1).holds(0)
    assert not Share(1, 2).holds(1 << 63)
    assert Share(1, 2).holds((1 << 63) - 1)


@given(st.integers(0, 2**64 - 1))
def test_a_position_lies_below_one(place: int) -> None:
    assert 0.0 <= position(place) < 1.0


@given(KEYS)
def test_nothing_is_inside_an_empty_share_and_all_in_a_whole_one(key: str) -> None:
    assert _serving(replace(SPLIT, share=Share(0, 7)), key) is Arm.STABLE
    assert _serving(replace(SPLIT, share=Share(7, 7)), key) is Arm.CANDIDATE


def test_arms_get_their_proportion() -> None:
    # 20,000 units at 1/20: mean 1000, standard deviation sqrt(20000·0.05·0.95) = 30.8; five of them.
    plan = replace(SPLIT, share=Share(1, 20))
    count = sum(_serving(plan, f"session-{n}") is Arm.CANDIDATE for n in range(20_000))
    assert abs(count - 1000) < 5 * 30.8


def test_the_control_share_is_a_share_of_the_mirrored_units_and_independent_of_them() -> None:
    plan = replace(MIRROR, share=Share(1, 4), control=Share(1, 2))
    found = [assign(plan, f"run-{n}", None, leased=True) for n in range(20_000)]
    mirrored = [item for item in found if item.mirrored]
    assert abs(len(mirrored) - 5000) < 5 * 61.3
    assert abs(sum(item.control for item in mirrored) - 2500) < 5 * 35.4
    assert not any(item.control for item in found if not item.mirrored)
    # A fair coin for each of about 2500: standard deviation 25.
    assert abs(sum(item.control_first for item in found) - 1250) < 5 * 25
    assert all(item.control for item in found if item.control_first)
    assert mirror_probability(plan, Arm.CONTROL) == 0.125


def test_mirrored_units_are_served_by_stable_and_others_are_no_evidence() -> None:
    for number in range(200):
        item = assign(replace(MIRROR, share=Share(1, 2)), f"run-{number}", None, leased=True)
        assert item.serving is Arm.STABLE
        assert item.observed == item.mirrored == (item.position < 0.5)


def test_without_a_key_every_run_is_its_own_unit() -> None:
    item = assign(SPLIT, "run-1", None, leased=True)
    assert (item.unit, item.session) == ("run-1", False)
    assert assign(SPLIT, "run-1", "key", leased=True).session


@pytest.mark.parametrize("plan", [SPLIT, MIRROR])
def test_without_a_lease_stable_serves_everybody_and_nothing_is_evidence(plan: RoutePlan) -> None:
    item = assign(plan, "run", "key", leased=False)
    assert (item.serving, item.observed, item.mirrored, item.control) == (Arm.STABLE, False, False, False)


def test_another_candidate_shuffles_the_units() -> None:
    one, two = replace(SPLIT, share=Share(1, 2), salt="a"), replace(SPLIT, share=Share(1, 2), salt="b")
    same = sum(_serving(one, str(n)) is _serving(two, str(n)) for n in range(2000))
    assert abs(same - 1000) < 5 * 22.4


def test_the_unit_does_not_give_the_key_away() -> None:
    assert "alice" not in assign(SPLIT, "run", "alice@example.org", leased=True).unit
