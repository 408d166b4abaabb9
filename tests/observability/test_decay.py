"""The decay detector: its definition, what it promises, what it costs; a watch that survives any restart."""

import math
from dataclasses import replace
from datetime import timedelta
from statistics import mean, median, stdev

import pytest

from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.errors import Conflict, Refused
from sluicegate.contracts.evidence import ArmFacts, Observation
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import Watched, WatchLook
from sluicegate.observability.decay import BASELINE_Z, STAKES, Detector, stakes
from sluicegate.observability.watch import Watch
from tests.observability.decays import START, Stream, armed, bernoulli, beta, learned, sessions, times

LOOK = WatchLook(
    watched=Watched("shop", "bot", "bot-1"),
    components=("planner", "writer"),
    false_alarm_every=1000,
    tolerance=0.02,
    baseline_units=100,
)


def test_the_detector_is_the_sum_over_every_possible_start() -> None:
    """Shiryaev-Roberts: M_t = sum over j of the product of L_j ... L_t (Shin, Ramdas & Rinaldo, eq. for e-SR), mixed."""
    random, limit = seeded(3), 0.2
    values = [random.random() ** 2 for _ in range(60)]
    detector = armed(limit, 1e300)
    for value in values:
        detector.add(value, START, "")
    expected = mean(
        sum(math.prod(1.0 + stake * (x - limit) for x in values[start:]) for start in range(len(values)))
        for stake in STAKES
    )
    assert detector.level == pytest.approx(expected, rel=1e-12)


def test_no_value_ends_the_detector() -> None:
    for limit in (0.01, 0.3, 0.65, 0.9, 1.0):
        assert all(0.0 < stake * limit < 1.0 for stake in stakes(limit))
        assert stakes(limit), "at least the smallest"


@pytest.mark.parametrize(
    ("stream", "known"),
    [(bernoulli(0.9), 0.9), (beta(0.8), 0.8), (sessions(0.8), 0.8)],
    ids=["0 or 1", "continuous", "sessions"],
)
def test_false_alarms_are_as_far_apart_as_promised(stream: Stream, known: float) -> None:
    """ARL >= A = 1,000, runs cut at 5,000; research (statistics.md, 7.2) measured 1,129 and 996 the same way."""
    found = times(stream, known, threshold=1000.0, most=5000, seeds=250)
    error = stdev(found) / math.sqrt(len(found))
    assert 1000.0 - 2.0 * error <= mean(found) <= 1300.0


@pytest.mark.parametrize(("drop", "oracle"), [(0.1, 79), (0.05, 176)], ids=["ten points", "five points"])
def test_a_fall_is_seen_as_soon_as_in_the_literature(drop: float, oracle: int) -> None:
    """Delays of statistics.md, 7.2, for 0 or 1 with mean 0.9 at A = 1,000."""
    found = times(bernoulli(0.9 - drop), 0.9, threshold=1000.0, most=5000, seeds=250)
    assert median(found) == pytest.approx(oracle, rel=0.15)


def test_the_baseline_is_the_upper_bound_of_the_first_values_and_the_tolerance() -> None:
    random = seeded(1)
    values = [1.0 if random.random() < 0.3 else 0.0 for _ in range(400)]
    detector = Detector(baseline_units=400, tolerance=0.02, threshold=1000.0)
    for value in values:
        detector.add(value, START, "")
    assert detector.before == mean(values)
    assert detector.limit == pytest.approx(mean(values) + BASELINE_Z * stdev(values) / 20.0 + 0.02, rel=1e-12)


def test_a_healthy_version_does_not_alarm_and_a_worse_one_does() -> None:
    healthy = [
        learned(bernoulli(0.9), bernoulli(0.9), units=500, threshold=3e5, most=5000, seed=seed)
        for seed in range(30)
    ]
    assert healthy == [None] * 30
    worse = [
        learned(bernoulli(0.9), bernoulli(0.75), units=500, threshold=3e5, most=5000, seed=seed)
        for seed in range(30)
    ]
    assert max(number or 5000 for number in worse) < 1500
    assert median(number or 5000 for number in worse) < 300


def units(count: int, *, first: int = 1, reward: float | None = 1.0, **fallbacks: float) -> list[Observation]:
    return [
        Observation(
            sequence=number,
            key=LOOK.watched.key,
            unit=f"u{number}",
            runs=(f"run-{number}",),
            at=START + timedelta(seconds=number),
            stable=ArmFacts(success=1.0, latencies_ms=(), fallbacks=fallbacks, reward=reward),
        )
        for number in range(first, first + count)
    ]


def mixed(count: int) -> list[Observation]:
    """Rewards that come and fall, are missing and strange; fallbacks that rise."""
    random, found = seeded(9), units(count)
    for place, unit in enumerate(found):
        reward = (
            random.choice([None, math.nan, 7.0]) if place % 7 == 0 else random.random() ** (1 + place // 150)
        )
        fell = {"writer": float(random.random() < place / count)}
        facts = ArmFacts(success=1.0, latencies_ms=(), fallbacks=fell, reward=reward)
        found[place] = (
            replace(unit, stable=None, candidate=facts) if place % 5 == 0 else replace(unit, stable=facts)
        )
    return found


def test_a_watch_cut_anywhere_is_the_same_watch() -> None:
    stream = mixed(600)
    whole = Watch(LOOK)
    assert whole.add_all(stream) == 600
    assert {item.component for item in whole.evidence().signals if item.alarm} == {None, "writer"}
    for cut in (1, 99, 100, 101, 150, 333, 599):
        first = Watch(LOOK)
        first.add_all(stream[:cut])
        again = Watch.from_bytes(first.to_bytes(), LOOK)
        assert again.to_bytes() == first.to_bytes()
        assert again.add_all(stream) == 600 - cut, "what was folded before changes nothing"
        assert again.to_bytes() == whole.to_bytes()
    assert len(whole.to_bytes()) < 4096


def test_an_alarm_says_what_was_when_and_stays() -> None:
    watch = Watch(LOOK)
    watch.add_all(units(400) + units(100, first=401, reward=0.6))
    reward = watch.evidence().signals[0]
    assert reward.alarm is not None
    assert reward.alarm.before == 1.0
    assert reward.alarm.after == pytest.approx(0.6)
    assert reward.alarm.since == START + timedelta(seconds=401)
    assert reward.alarm.run == f"run-{400 + reward.alarm.units}"
    watch.add_all(units(5000, first=501))
    assert watch.evidence().signals[0].alarm == reward.alarm


def test_a_component_that_falls_back_more_often_is_named() -> None:
    watch = Watch(LOOK)
    watch.add_all(units(400, planner=0.0) + units(100, first=401, planner=1.0))
    by_name = {item.component: item for item in watch.evidence().signals}
    assert by_name["planner"].alarm is not None
    assert (by_name["planner"].alarm.before, by_name["planner"].alarm.after) == (0.0, 1.0)
    assert by_name[None].alarm is by_name["writer"].alarm is None
    assert by_name["planner"].signal is Signal.FALLBACK_RATE_MAX


@pytest.mark.parametrize("reward", [None, math.nan, math.inf, -1.0])
def test_what_is_missing_moves_no_detector(reward: float | None) -> None:
    watch = Watch(LOOK)
    watch.add_all(units(300))
    before = watch.evidence().signals[0]
    watch.add_all(units(700, first=301, reward=reward))
    after = watch.evidence().signals[0]
    assert after == replace(before, gap=700)
    watch.add_all(units(1, first=1001))
    assert watch.evidence().signals[0].gap == 0


def test_the_alarm_rate_is_split_over_all_that_is_watched() -> None:
    assert [item.threshold for item in Watch(LOOK).evidence().signals] == [math.log(3000.0)] * 3


def test_another_watch_starts_anew() -> None:
    watch = Watch(LOOK)
    watch.add_all(units(200))
    for other in (
        replace(LOOK, baseline=2),
        replace(LOOK, tolerance=0.05),
        replace(LOOK, components=("planner",)),
        replace(LOOK, since=START),
    ):
        with pytest.raises(Conflict, match="starts anew"):
            Watch.from_bytes(watch.to_bytes(), other)
    with pytest.raises(Refused):
        Watch.from_bytes(b"torn", LOOK)


def test_units_of_an_earlier_object_of_the_name_do_not_count() -> None:
    watch = Watch(replace(LOOK, since=START + timedelta(seconds=50)))
    assert watch.add_all(units(100)) == 51
