"""Streams for the decay detector, and how long it takes: `python -m tests.observability.decays` prints the table of docs/explanation/decay.md."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from statistics import mean, median
from typing import Any

from sluicegate.contracts.adapters.system import seeded
from sluicegate.observability.decay import Detector

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
Stream = Callable[[Any], Iterator[float]]


def bernoulli(rate: float) -> Stream:
    """Rewards of 0 and 1."""

    def stream(random: Any) -> Iterator[float]:
        while True:
            yield 1.0 if random.random() < rate else 0.0

    return stream


def beta(level: float, strength: float = 10.0) -> Stream:
    """Continuous rewards."""

    def stream(random: Any) -> Iterator[float]:
        while True:
            yield random.betavariate(strength * level, strength * (1.0 - level))

    return stream


def sessions(level: float) -> Stream:
    """Units of 1 to 8 runs whose successes depend on each other: a session has its own rate."""

    def stream(random: Any) -> Iterator[float]:
        while True:
            rate, runs = random.betavariate(2.0 * level, 2.0 * (1.0 - level)), random.randint(1, 8)
            yield sum(random.random() < rate for _ in range(runs)) / runs

    return stream


def waves(level: float, height: float = 0.02, length: int = 500) -> Stream:
    """A day that comes and goes: the rate is `height` better, then as much worse. Not the null of the guarantee."""

    def stream(random: Any) -> Iterator[float]:
        number = 0
        while True:
            up = number // length % 2 == 0
            yield 1.0 if random.random() < level + (height if up else -height) else 0.0
            number += 1

    return stream


def armed(limit: float, threshold: float) -> Detector:
    """With a baseline that is known exactly."""
    detector = Detector(baseline_units=2, tolerance=0.0, threshold=threshold)
    for _ in range(2):
        detector.add(limit, START, "")
    assert detector.limit == limit
    return detector


def until_alarm(detector: Detector, rewards: Iterator[float], most: int) -> int | None:
    """Units until the alarm; None: none in `most`."""
    for number in range(1, most + 1):
        detector.add(1.0 - next(rewards), START + timedelta(seconds=number), f"run-{number}")
        if detector.alarm is not None:
            return number
    return None


def times(stream: Stream, known: float, *, threshold: float, most: int, seeds: int) -> list[int]:
    """Units until the alarm against a known mean, `most` where there was none; one seed a run."""
    return [
        until_alarm(armed(1.0 - known, threshold), stream(seeded(seed)), most) or most
        for seed in range(seeds)
    ]


def learned(
    healthy: Stream, later: Stream, *, units: int, threshold: float, most: int, seed: int
) -> int | None:
    """Units until the alarm after the baseline was learnt from `units` of `healthy`; tolerance 2 points."""
    detector, random = Detector(baseline_units=units, tolerance=0.02, threshold=threshold), seeded(seed)
    assert until_alarm(detector, healthy(random), units) is None
    return until_alarm(detector, later(random), most)


def _table() -> None:
    kinds: dict[str, Callable[[float], Stream]] = {
        "0 or 1, mean 0.9": lambda drop: bernoulli(0.9 - drop),
        "continuous, mean 0.8": lambda drop: beta(0.8 - drop),
        "sessions, mean 0.8": lambda drop: sessions(0.8 - drop),
        "0 or 1, waves of ±2 points": lambda drop: waves(0.9 - drop),
    }
    for name, at in kinds.items():
        cells = []
        for drop in (0.2, 0.1, 0.05):
            found = [
                learned(at(0.0), at(drop), units=1000, threshold=400_000.0, most=20_000, seed=seed)
                for seed in range(200)
            ]
            seen = sorted(number or 20_000 for number in found)
            cells.append(f"{median(seen):.0f} ({seen[int(0.8 * len(seen))]})")
        false = [
            learned(at(0.0), at(0.0), units=1000, threshold=400_000.0, most=20_000, seed=seed) is not None
            for seed in range(200)
        ]
        print(f"| {name} | {' | '.join(cells)} | {mean(false):.1%} |")
    for name, stream, known in (
        ("0 or 1", bernoulli(0.9), 0.9),
        ("continuous", beta(0.8), 0.8),
        ("sessions", sessions(0.8), 0.8),
    ):
        apart = times(stream, known, threshold=1000.0, most=5000, seeds=1000)
        print(f"ARL at A = 1,000, {name}: {mean(apart):.0f}")


if __name__ == "__main__":
    _table()
