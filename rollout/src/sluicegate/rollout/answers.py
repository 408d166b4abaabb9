"""What is told of answers beside the verdict: pairs in which only one differs, and how alike they are."""

import math
from typing import Final

from sluicegate.contracts.evidence import AnswerEvidence, SignalEvidence

ALERT: Final = 0.8
"""A response_similarity_score below it is told; it decides nothing (EVIDENCE, shadow comparison)."""

BLIND: Final = 0.5
"""When stable differs from itself more often than this, little else can be seen."""


def told(item: SignalEvidence) -> str:
    """The end of a sentence; empty without evidence of answers."""
    found = item.answers
    return "" if found is None else f"{_pairs(found)}{_similarity(found)}{_blind(item.stable)}"


def _pairs(found: AnswerEvidence) -> str:
    if not found.only_candidate + found.only_stable:
        return ""
    p = mcnemar(found.only_candidate, found.only_stable)
    return (
        f" (only the candidate's in {found.only_candidate}, only the copy's in {found.only_stable}; "
        f"McNemar, if looked at once: p = {p:.2g})"
    )


def _similarity(found: AnswerEvidence) -> str:
    if found.similarity is None or found.stable_similarity is None:
        return ""
    floor = "" if found.floor is None else f", texts below {found.floor:.2f} differ"
    low = ", low: read some" if found.similarity < ALERT else ""
    return f"; similarity {found.similarity:.2f} and {found.stable_similarity:.2f}{floor}{low}"


def _blind(stable: float | None) -> str:
    if stable is None or stable <= BLIND:
        return ""
    return "; stable rarely repeats itself: say by x-sluicegate-compare what does not matter"


def mcnemar(only_candidate: int, only_stable: int) -> float:
    """Exact one-sided McNemar: the chance of so many of the discordant pairs, or more, were each a fair coin.

    P(X >= only_candidate) for X ~ Binomial(n, 1/2) (McNemar 1947). Valid for one look at a number of pairs that was
    fixed before; the gate is looked at always, and goes by its e-value.
    """
    n = only_candidate + only_stable
    if 2 * only_candidate <= n:
        return 1.0 - _tail(n, n - only_candidate + 1)
    return _tail(n, only_candidate)


def _tail(n: int, least: int) -> float:
    """P(X >= least) for X ~ Binomial(n, 1/2), where the terms fall."""
    total = 0.0
    for k in range(least, n + 1):
        log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
        term = math.exp(log)
        total += term
        if term < 1e-17:
            break
    return total
