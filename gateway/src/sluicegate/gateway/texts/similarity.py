"""How alike two texts are, in [0, 1]: a score that drifts with wording, and no proof of anything."""

import math
from collections import Counter

from rapidfuzz import fuzz

_SIZES = (2, 3)


def similarity(one: str, other: str) -> float:
    """The mean of two: the share of characters that stay (Indel ratio), which sees order, and the cosine of counts of
    character bigrams and trigrams, which does not mind it. Symmetric; 1 for texts that differ in case only.
    """
    one, other = one.casefold(), other.casefold()
    if one == other:
        return 1.0
    return (fuzz.ratio(one, other) / 100.0 + _cosine(_grams(one), _grams(other))) / 2.0


def _grams(text: str) -> Counter[str]:
    padded = f" {text} "
    return Counter(padded[place : place + size] for size in _SIZES for place in range(len(padded) - size + 1))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    if len(other) < len(one):
        one, other = other, one
    product = sum(count * other[gram] for gram, count in one.items() if gram in other)
    norm = math.sqrt(
        sum(count * count for count in one.values()) * sum(count * count for count in other.values())
    )
    return min(1.0, product / norm) if norm else 0.0
