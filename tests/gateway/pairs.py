"""Pairs of answers and whether they say the same, written for this project: about half of them do.

same: what a careful person would say. The hard kinds are those of research/statistics.md section 8.2, and more of them.
limit: the product is known to say the opposite.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple


class Pair(NamedTuple):
    why: str
    one: str
    other: str
    same: bool
    limit: bool


def pairs(
    *,
    same: Iterable[tuple[str, str, str]],
    different: Iterable[tuple[str, str, str]],
    limits: Collection[str],
) -> tuple[Pair, ...]:
    """limits: pairs of these names are told wrong."""
    return tuple(
        Pair(*texts, same=verdict, limit=texts[0] in limits)
        for verdict, found in ((True, same), (False, different))
        for texts in found
    )
