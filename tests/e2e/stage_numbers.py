"""Contributions and drift of a stage, by their formulas in numpy and scipy, from the units of the lineage store."""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.contracts.evidence import Ablation, ArmFacts, Observation
from sluicegate.contracts.runs import Coalition

Array = NDArray[np.float64]


def ablations(units: Iterable[Observation]) -> Iterator[Ablation]:
    """In the store's order."""
    return (one.ablation for one in units if one.ablation is not None)


def outcomes(pairs: list[tuple[Coalition, float]]) -> Array:
    """A row for each unit: z = β + W(S)/p(S)·(y − m(S)), of the additive model m that earlier units suggest
    (observability/README.md, Contributions); p(S) as it was recorded with the run."""
    n = len(pairs[0][0].players)
    rows, level = np.zeros((len(pairs), n)), 0.0
    for number, (coalition, reward) in enumerate(pairs):
        inside = np.array([coalition.mask >> player & 1 for player in range(n)], dtype=float)
        slopes = rows[:number].sum(axis=0) / (number + 10 * n)
        added = slopes @ (inside - 0.5)
        surprise = reward - level / (number + 4) - added
        rows[number] = slopes + _weights(inside) / coalition.probability * surprise
        level += reward - added
    return rows


def _weights(inside: Array) -> Array:
    """Shapley's: of the value of this coalition in the contribution of each player."""
    n, size = len(inside), int(inside.sum())
    with_it = factorial(max(size - 1, 0)) * factorial(n - size) / factorial(n)
    without = factorial(size) * factorial(max(n - size - 1, 0)) / factorial(n)
    found: Array = np.where(inside == 1.0, with_it, -without)
    return found


def spread(rows: Array) -> float:
    """Population variance of the means, less what noise adds: tr(CΣ)/n."""
    n, sigma = rows.shape[1], _sigma(rows)
    return float(rows.mean(axis=0).var() - (np.trace(sigma) - sigma.sum() / n) / n)


def bounds(rows: Array) -> Iterator[tuple[str, Array]]:
    """Estimates with the ends of their intervals: ±√(2(x+1)/x·ln(√(x+1)/α)) errors, x = N·ρ², tuned for 1,000 units, α = 5 %."""
    x = len(rows) * (2 * np.log(20) + np.log1p(2 * np.log(20))) / 1000
    reach = np.sqrt(2 * (x + 1) / x * np.log(np.sqrt(x + 1) * 20)) * np.sqrt(np.diag(_sigma(rows)))
    mean = rows.mean(axis=0)
    return iter((("low", mean - reach), ("estimate", mean), ("high", mean + reach)))


def _sigma(rows: Array) -> Array:
    found: Array = np.cov(rows.T, bias=True) / (len(rows) - 1)
    return found


def drift(units: Iterable[Observation], field: str) -> float:
    """KL in nats of the candidate's shares from stable's (with Jeffreys' half for each value and for what is unseen), less
    (k − 1)/2·(1/n + 1/n)."""
    pairs = [(_gave(one.candidate, field), _gave(one.stable, field)) for one in units]
    both = [(mine, theirs) for mine, theirs in pairs if mine and theirs]
    candidate, stable = (Counter(pair[side] for pair in both) for side in (0, 1))
    known, n = sorted(stable), len(both)
    mine = [candidate[value] / n for value in known]
    theirs = [(stable[value] + 0.5) / (n + 0.5 * (len(known) + 1)) for value in known]
    score = stats.entropy([*mine, 1 - sum(mine)], [*theirs, 1 - sum(theirs)])
    return max(0.0, float(score) - (len(candidate | stable) - 1) / n)


def _gave(facts: ArmFacts | None, field: str) -> str:
    """The value of a unit of one run."""
    return next(iter(facts.choices.get(field, {})), "") if facts is not None else ""
