"""The numbers that are shown beside a verdict on drift, of one look at one output."""

from dataclasses import dataclass
from functools import lru_cache

from sluicegate.contracts.evidence import OutputCounts
from sluicegate.observability.drift import counts, divergence


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """kl: debiased KL(candidate || stable), nats. limit: below it stays the plug-in KL of 99 in 100 equal arms. distance:
    Kolmogorov-Smirnov, of numbers. p, method: of equal arms at one look."""

    kl: float
    limit: float
    p: float
    method: str
    distance: float | None = None


def kl_of(found: OutputCounts, units: int) -> float:
    """Debiased KL(candidate || stable), nats. units: compared, of each arm."""
    return divergence.debiased_kl(*_sides(found), units, units)


@lru_cache(maxsize=512)
def score(found: OutputCounts, units: int) -> Score:
    """All of them; the same counts give the same numbers."""
    table = (
        tuple(candidate for _, candidate, _ in found.counts),
        tuple(stable for _, _, stable in found.counts),
    )
    values = sum(a + b > 0.0 for a, b in zip(*table, strict=True))
    distance = None
    if found.numeric:
        distance, p = counts.ks(table)
        method = "Kolmogorov-Smirnov"
    else:
        p, method = counts.p_value(table)
    return Score(
        kl=kl_of(found, units),
        limit=divergence.null_quantile(values, units, units),
        p=p,
        method=method,
        distance=distance,
    )


def _sides(found: OutputCounts) -> tuple[dict[str, float], dict[str, float]]:
    return (
        {value: candidate for value, candidate, _ in found.counts},
        {value: stable for value, _, stable in found.counts},
    )
