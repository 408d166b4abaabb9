"""Units whose evaluator and outcome are both known: `python -m tests.observability.improvements` prints how often and how soon a
candidate is held.
"""

from collections.abc import Iterator
from statistics import median

from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Improvement, Observation
from sluicegate.contracts.stages import Stage
from sluicegate.observability.improvement import Improvements
from sluicegate.rollout.improvement import THRESHOLD
from tests.observability.facts import START

KEY = EvidenceKey("rollout", Stage.CONTROLLED, 1)
Rates = tuple[float, float]
"""Mean reward of the evaluator, rate of good outcomes."""


def facts(reward: float | None, outcome: float | None) -> ArmFacts:
    return ArmFacts(success=1.0, latencies_ms=(), reward=outcome, evaluated=reward, outcome=outcome)


def units(candidate: Rates, stable: Rates, seed: int, *, share: float = 0.2) -> Iterator[Observation]:
    """Units as a split stage observes them; an outcome leans on the reward of its own unit."""
    random, sequence = seeded(seed), 0
    while True:
        sequence += 1
        chosen = random.random() < share
        level, rate = candidate if chosen else stable
        reward = random.betavariate(6.0 * level, 6.0 * (1.0 - level))
        outcome = float(random.random() < min(max(rate + 0.5 * (reward - level), 0.0), 1.0))
        arm = {"candidate" if chosen else "stable": facts(reward, outcome)}
        yield Observation(sequence=sequence, key=KEY, unit=f"u{sequence}", runs=(), at=START, **arm)  # type: ignore[arg-type]


def looked_at(stream: Iterator[Observation], most: int, every: int = 1) -> Iterator[Improvement]:
    """After each `every` comparisons."""
    fold, seen = Improvements(Stage.CONTROLLED), 0
    while seen < most:
        fold.add(next(stream))
        if fold.comparisons < seen + every:
            continue
        item = fold.evidence()
        if item is not None:
            seen = item.units
            yield item


def held_at(stream: Iterator[Observation], most: int, every: int = 1) -> int | None:
    """Comparisons until the rollout is held; None: confirmed first, or nothing in so many."""
    for item in looked_at(stream, most, every):
        if item.gain_log_e >= THRESHOLD and item.rise_log_e >= THRESHOLD:
            return None
        if item.gain_log_e >= THRESHOLD and item.flat_log_e >= THRESHOLD:
            return item.units
    return None


def _table() -> None:
    stable = (0.7, 0.8)
    for candidate in (
        (0.7, 0.8),
        (0.72, 0.82),
        (0.8, 0.9),
        (0.8, 0.83),
        (0.8, 0.8),
        (0.8, 0.78),
        (0.8, 0.74),
    ):
        found = [held_at(units(candidate, stable, seed), 4000, 10) for seed in range(60)]
        held = sorted(number for number in found if number is not None)
        when = f"{median(held):.0f} ({held[int(0.8 * len(held))]})" if held else "–"
        print(f"| {candidate[0]:.2f} | {candidate[1]:.2f} | {len(held)} of 60 | {when} |")


if __name__ == "__main__":
    _table()
