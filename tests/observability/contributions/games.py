"""Games whose Shapley values are known, as exact fractions.

Sources: the United Nations' council from gonitsora.com and Wolfram's demonstration; airport: Littlechild & Owen 1973;
bankruptcy: O'Neill 1982, Aumann & Maschler 1985; EU-27: the power indices page of the University of Seville (Bilbao);
the others by Shapley's formula in exact fractions.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

F = Fraction
Game = Callable[[frozenset[int]], F]


def table(n: int, game: Game) -> NDArray[np.float64]:
    """values[mask] of a game."""
    members = (frozenset(i for i in range(n) if mask >> i & 1) for mask in range(1 << n))
    return np.array([float(game(coalition)) for coalition in members])


def unanimity(*team: int) -> Game:
    return lambda s: F(set(team) <= s)


def glove(left: int) -> Game:
    return lambda s: F(min(sum(i < left for i in s), sum(i >= left for i in s)))


def voting(quota: int, *weights: int) -> Game:
    return lambda s: F(sum(weights[i] for i in s) >= quota)


def airport(*costs: int) -> Game:
    return lambda s: F(max((costs[i] for i in s), default=0))


def bankruptcy(estate: int, *claims: int) -> Game:
    return lambda s: F(max(0, estate - sum(c for i, c in enumerate(claims) if i not in s)))


def pipeline(present: list[str], absent: list[str]) -> Game:
    """Every component must succeed: the product of the success rates."""
    return lambda s: prod(
        (F(p) if i in s else F(a) for i, (p, a) in enumerate(zip(present, absent, strict=True))), start=F(1)
    )


def by_definition(n: int, game: Game) -> list[F]:
    """Shapley's formula, term by term, in exact fractions."""
    found = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        total = F(0)
        for size in range(n):
            for team in combinations(others, size):
                weight = F(1, n) / F(_choose(n - 1, size))
                total += weight * (game(frozenset(team) | {i}) - game(frozenset(team)))
        found.append(total)
    return found


def pivots(quota: int, weights: list[int]) -> list[F]:
    """Shapley values of a voting game of any size: how often each voter turns a loss into a win, counted by team size and
    weight (generating function of Cantor; Mann & Shapley 1962)."""
    n = len(weights)
    found = {}
    for weight in set(weights):
        others = list(weights)
        others.remove(weight)
        teams = [[0] * quota for _ in range(n)]  # teams[size][sum]: of the others, below the quota
        teams[0][0] = 1
        for other in others:
            for size in range(n - 1, 0, -1):
                for total in range(quota - 1, other - 1, -1):
                    teams[size][total] += teams[size - 1][total - other]
        turned = (sum(row[max(quota - weight, 0) :]) for row in teams)
        found[weight] = sum(
            (F(count, n * _choose(n - 1, size)) for size, count in enumerate(turned)), start=F(0)
        )
    return [found[weight] for weight in weights]


def _choose(n: int, k: int) -> int:
    return prod(range(n - k + 1, n + 1)) // prod(range(1, k + 1))


def _f(text: str) -> list[F]:
    """ "7/30*3 0" means three times 7/30, then 0."""
    out: list[F] = []
    for item in text.split():
        value, _, times = item.partition("*")
        out += [F(value)] * int(times or 1)
    return out


REFERENCE: dict[str, tuple[int, Game, list[F]]] = {
    "unanimity of 3 among 5": (5, unanimity(0, 2, 4), _f("1/3 0 1/3 0 1/3")),
    "glove 1+2": (3, glove(1), _f("2/3 1/6*2")),
    "glove 1+3": (4, glove(1), [F(3, 4), *[F(1, 12)] * 3]),
    "glove 1+4": (5, glove(1), _f("4/5 1/20*4")),
    "glove 2+2": (4, glove(2), _f("1/2*4")),
    "glove 2+3": (5, glove(2), _f("13/20*2 7/30*3")),
    "glove 3+4": (7, glove(3), _f("67/105*3 19/70*4")),
    "A and B and (C or D)": (4, lambda s: F({0, 1} <= s and bool(s & {2, 3})), _f("5/12*2 1/12*2")),
    "majority of 3": (3, voting(2, 1, 1, 1), _f("1/3*3")),
    "airport 8 11 13 18": (4, airport(8, 11, 13, 18), _f("2 3 4 9")),
    "airport 12 20 33": (3, airport(12, 20, 33), _f("4 8 21")),
    "airport 1 to 5": (5, airport(1, 2, 3, 4, 5), _f("1/5 9/20 47/60 77/60 137/60")),
    "voting 4; 3 2 1 1": (4, voting(4, 3, 2, 1, 1), _f("1/2 1/6*3")),
    "voting 51; 50 49 1": (3, voting(51, 50, 49, 1), _f("2/3 1/6*2")),
    "voting 6; 4 3 2 1": (4, voting(6, 4, 3, 2, 1), _f("5/12 1/4*2 1/12")),
    "voting 5; 3 2 2 1": (4, voting(5, 3, 2, 2, 1), _f("5/12 1/4*2 1/12")),
    "council before 1966": (11, voting(27, *[5] * 5, *[1] * 6), _f("76/385*5 1/462*6")),
    "council since 1966": (15, voting(39, *[7] * 5, *[1] * 10), _f("421/2145*5 4/2145*10")),
    "EEC 1958": (6, voting(12, 4, 4, 4, 2, 2, 1), _f("7/30*3 3/20*2 0")),
    "EEC 1973": (9, voting(41, *[10] * 4, 5, 5, 3, 3, 2), _f("5/28*4 17/210*2 2/35*2 1/105")),
    "EU-15": (
        15,
        voting(62, *[10] * 4, 8, *[5] * 4, 4, 4, 3, 3, 3, 2),
        _f("7/60*4 860/9009 19883/360360*4 743/16380*2 1588/45045*3 932/45045"),
    ),
    "bankruptcy 100": (3, bankruptcy(100, 100, 200, 300), _f("100/3*3")),
    "bankruptcy 200": (3, bankruptcy(200, 100, 200, 300), _f("100/3 250/3*2")),
    "bankruptcy 300": (3, bankruptcy(300, 100, 200, 300), _f("50 100 150")),
    "pipeline of 3": (
        3,
        pipeline(["0.95", "0.9", "0.8"], ["0.5", "0.4", "0.3"]),
        _f("681/4000 167/800 49/200"),
    ),
}
