"""Other orders and other labels of recorded units, and how sure a share of them is."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sluicegate.contracts.adapters import system
from sluicegate.contracts.evidence import ArmFacts
from sluicegate.rollout.backtest import RecordedPair

Z95 = 1.959963984540054
"""Two-sided 95 % of a standard normal."""


class Share(NamedTuple):
    """found of n, with a 95 % interval."""

    found: int
    n: int
    low: float
    high: float


def share(count: int, n: int) -> Share:
    """With Wilson's score interval (1927): sound also near 0 and 1. n above 0."""
    rate, z2 = count / n, Z95 * Z95
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    return Share(count, n, max(0.0, middle - half), min(1.0, middle + half))


def permuted(pairs: Sequence[RecordedPair], seed: int) -> Iterator[RecordedPair]:
    """Every unit once, in an order that depends on the seed only."""
    order = list(range(len(pairs)))
    system.seeded("order", seed).shuffle(order)
    return (pairs[index] for index in order)


def relabelled(pairs: Iterable[RecordedPair], seed: int) -> Iterator[RecordedPair]:
    """Units in which chance decides what is called stable, candidate and second copy: nothing is worse, whatever was
    recorded. What compares with the answer that was given belongs to the place: candidate and second copy
    may exchange it.
    """
    draws = system.seeded("labels", seed)
    for pair in pairs:
        arms = [arm for arm in (pair.stable, pair.candidate, pair.control) if arm is not None]
        places = [pair.candidate, pair.candidate if pair.control is None else pair.control]
        draws.shuffle(arms)
        if draws.random() < 0.5:
            places.reverse()
        yield replace(
            pair,
            stable=arms[0],
            candidate=_placed(arms[1], places[0]),
            control=None if pair.control is None else _placed(arms[2], places[1]),
        )


def _placed(arm: ArmFacts, place: ArmFacts) -> ArmFacts:
    return replace(arm, disagrees=place.disagrees, similarity=place.similarity, texts=place.texts)
