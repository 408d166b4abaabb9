"""Pairs of ablated units of games whose contributions are known."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sluicegate.contracts.evidence import Ablation, Observation, Question
from sluicegate.contracts.runs import Coalition
from sluicegate.contracts.stages import Signal
from sluicegate.observability.contributions.coalitions import draw
from tests.observability import facts
from tests.observability.contributions import games

PLAYERS = ("planner", "tools", "memory", "writer", "critic")
PRESENT = ["0.97", "0.95", "0.93", "0.98", "0.99"]
ABSENT = ["0.6", "0.45", "0.85", "0.9", "0.97"]
VALUES = games.table(5, games.pipeline(PRESENT, ABSENT))
"""The game of research §1.7: g = 0.01507."""
DEGRADED = games.table(5, games.pipeline(["0.6", *PRESENT[1:]], ABSENT))
"""The planner does as badly as its fallback, so that it adds nothing."""
PERMUTED = games.table(5, games.pipeline(PRESENT[::-1], ABSENT[::-1]))
"""The same contributions, of other components."""
QUESTION = Question(signal=Signal.SHAPLEY_VARIANCE, margin=0.01, level=0.05)


def pair(sequence: int, mask: int, reward: float | None, stable: float | None) -> Observation:
    """One unit in which both versions were ablated alike."""
    coalition = Coalition(players=PLAYERS, mask=mask, probability=0.0)
    return replace(
        facts.unit(sequence, stable=facts.good(), candidate=facts.good()),
        ablation=Ablation(coalition=coalition, reward=reward, stable=stable),
    )


def pairs(candidate: object, units: int, seed: int, *, alike: float = 0.7) -> Iterator[Observation]:
    """Bernoulli rewards; with chance `alike` one request's luck is the same for both."""
    values: list[float] = list(candidate)  # type: ignore[call-overload]
    rng = np.random.default_rng(seed)
    for sequence in range(1, units + 1):
        mask, luck = draw(len(PLAYERS), rng.bytes(32)).mask, rng.random()
        other = luck if rng.random() < alike else rng.random()
        yield pair(sequence, mask, float(luck < values[mask]), float(other < VALUES[mask]))
