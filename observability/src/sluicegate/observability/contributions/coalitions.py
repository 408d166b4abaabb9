"""Which coalition a unit gets: complementary pairs from the Shapley kernel."""

from functools import lru_cache
from math import comb
from typing import Final, NamedTuple

EDGE_SHARE: Final = 1 / 6
"""Of the pairs that are (nobody, everybody): both values must be measured, and regression takes them as given."""
MOST_PLAYERS: Final = 64
"""Components that a workflow may have; a coalition is a whole number below 2^64."""
_FEW: Final = 20
_PLACES: Final = 1 << 64


class Coalition(NamedTuple):
    """mask: bit i is set when player i runs. probability: chance of exactly this coalition, per draw."""

    mask: int
    probability: float


@lru_cache(maxsize=64)
def kernel_sizes(players: int) -> tuple[float, ...]:
    """Chance of the sizes 1 to players − 1: the Shapley kernel, 1/(s(n − s)), normalised."""
    raw = [1.0 / (size * (players - size)) for size in range(1, players)]
    return tuple(weight / sum(raw) for weight in raw)


def probability(players: int, mask: int) -> float:
    """Chance of a coalition in one draw."""
    size = mask.bit_count()
    if players == 1:
        return 0.5
    if size in (0, players):
        return EDGE_SHARE / 2
    return (1.0 - EDGE_SHARE) * kernel_sizes(players)[size - 1] / comb(players, size)


def draw(players: int, seed: bytes) -> Coalition:
    """One member of a pair. seed: 32 random bytes, of a hash; the same seed gives the same coalition.

    Raises ValueError for no player or more than MOST_PLAYERS.
    """
    if not 1 <= players <= MOST_PLAYERS:
        raise ValueError(f"{players} players; allowed: 1 to {MOST_PLAYERS}")
    if len(seed) < 32:
        raise ValueError(f"a seed of {len(seed)} bytes; at least 32 are needed")
    first, second, third = (int.from_bytes(seed[at : at + 8], "big") for at in (0, 8, 16))
    mask, everybody = 0, (1 << players) - 1
    if players > 1 and first >= EDGE_SHARE * _PLACES:
        size = _size(players, second / _PLACES)
        mask = _subset(players, size, _rank(third, seed, comb(players, size), players))
    if seed[24] & 1:
        mask ^= everybody
    return Coalition(mask, probability(players, mask))


def _size(players: int, place: float) -> int:
    for size, weight in enumerate(kernel_sizes(players), 1):
        place -= weight
        if place < 0.0:
            return size
    return players - 1


def _rank(third: int, seed: bytes, subsets: int, players: int) -> int:
    """Of one of so many subsets, evenly; many players have more of them than 64 bits tell apart evenly."""
    if players <= _FEW:
        return third * subsets // _PLACES
    finer = third << 56 | int.from_bytes(seed[25:32], "big")
    return finer * subsets // (_PLACES << 56)


def _subset(players: int, size: int, rank: int) -> int:
    """The subset of this size with this rank (combinatorial number system)."""
    mask = 0
    for player in reversed(range(players)):
        without = comb(player, size)
        if rank >= without:
            mask |= 1 << player
            rank -= without
            size -= 1
    return mask
