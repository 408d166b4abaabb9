"""How alike two texts are, in [0, 1]: a score that drifts with wording, and no proof of anything."""

import math
from collections import Counter
from collections.abc import Iterable

from rapidfuzz import fuzz

from sluicegate.gateway.texts.normal import has_han

Gram = tuple[str, ...]


def similarity(one: str, other: str) -> float:
    """The mean of two: the share of characters that stay (Indel ratio), which sees order, and the cosine of counts of
    character trigrams (bigrams where there is Chinese), which does not mind it. Symmetric; 1 for texts that differ in
    case only.
    """
    one, other = one.casefold(), other.casefold()
    if one == other:
        return 1.0
    size = 2 if has_han(one) or has_han(other) else 3
    cosine = _cosine(Counter(_grams(one, size)), Counter(_grams(other, size)))
    return (fuzz.ratio(one, other) / 100.0 + cosine) / 2.0


def _grams(text: str, size: int) -> Iterable[Gram]:
    padded = f" {text} "
    return zip(*(padded[start:] for start in range(size)), strict=False)


def _cosine(one: Counter[Gram], other: Counter[Gram]) -> float:
    if len(other) < len(one):
        one, other = other, one
    product = sum(count * other[gram] for gram, count in one.items() if gram in other)
    norm = math.sqrt(
        sum(count * count for count in one.values()) * sum(count * count for count in other.values())
    )
    return min(1.0, product / norm) if norm else 0.0
