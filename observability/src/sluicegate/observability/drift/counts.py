"""Tests of counts at one look: the p beside a score. They know nothing of looking again, so they decide nothing.

A unit of several runs counts once, in parts; parts vary less than whole counts (the covariance of shares is at most the
multinomial's), so that p errs to the large side.
"""

import math
from typing import Final

from sluicegate.contracts.adapters.system import seeded
from sluicegate.observability.drift import chi_square

LEAST_EXPECTED: Final = 5.0
DRAWS: Final = 199
MOST_DRAWN: Final = 100
"""Units up to which p is drawn; above it rare values are taken together instead."""

Table = tuple[tuple[float, ...], tuple[float, ...]]
"""Counts of the same values in both arms."""


def g_statistic(table: Table) -> float:
    """2 Σ observed ln(observed / expected) of a 2 × k table; 0 when an arm is empty."""
    rows = tuple(math.fsum(row) for row in table)
    total = rows[0] + rows[1]
    if not all(row > 0.0 for row in rows):
        return 0.0
    found = 0.0
    for column in zip(*table, strict=True):
        whole = column[0] + column[1]
        found += math.fsum(
            count * math.log(count * total / (row * whole))
            for count, row in zip(column, rows, strict=True)
            if count > 0.0
        )
    return max(0.0, 2.0 * found)


def least_expected(table: Table) -> float:
    """The smallest expected count."""
    rows = tuple(math.fsum(row) for row in table)
    total = rows[0] + rows[1]
    if total <= 0.0:
        return 0.0
    return min(rows) * min((a + b for a, b in zip(*table, strict=True)), default=0.0) / total


def p_value(table: Table) -> tuple[float, str]:
    """The chance of a G at least this large in equal arms, and how it was found.

    `G-test` where every expected count is at least 5, after rare values were taken together when there are many units;
    `Monte Carlo` otherwise, drawn from a seed made of the counts.
    """
    table = _seen(table)
    if least_expected(table) < LEAST_EXPECTED:
        if math.fsum(map(math.fsum, table)) <= MOST_DRAWN:
            return _drawn(table), "Monte Carlo"
        table = _pooled(table)
    df = len(table[0]) - 1
    return (chi_square.survival(g_statistic(table), df) if df > 0 else 1.0), "G-test"


def _seen(table: Table) -> Table:
    columns = [column for column in zip(*table, strict=True) if column[0] + column[1] > 0.0]
    return tuple(a for a, _ in columns), tuple(b for _, b in columns)


def _pooled(table: Table) -> Table:
    """Rare values, from the rarest on, as one, until that one is not rare either; two remain."""
    columns = sorted(zip(*table, strict=True), key=lambda column: (column[0] + column[1], column))
    while len(columns) > 2:
        rows: Table = (tuple(a for a, _ in columns), tuple(b for _, b in columns))
        if least_expected(rows) >= LEAST_EXPECTED:
            return rows
        (a, b), (c, d), *rest = columns
        columns = sorted([(a + c, b + d), *rest], key=lambda column: (column[0] + column[1], column))
    return tuple(a for a, _ in columns), tuple(b for _, b in columns)


def _drawn(table: Table) -> float:
    """Parametric: both arms drawn from the shares of both together. (1 + as large) / (1 + draws)."""
    sizes = tuple(round(math.fsum(row)) for row in table)
    if not all(sizes):
        return 1.0
    cumulative, total = [], 0.0
    for a, b in zip(*table, strict=True):
        total += a + b
        cumulative.append(total)
    observed, generator = g_statistic(table), seeded("drift", table)
    kinds = range(len(cumulative))
    as_large = 0
    for _ in range(DRAWS):
        drawn = []
        for size in sizes:
            sample = generator.choices(kinds, cum_weights=cumulative, k=size)
            drawn.append(tuple(float(sample.count(kind)) for kind in kinds))
        as_large += g_statistic((drawn[0], drawn[1])) >= observed - 1e-9
    return (1 + as_large) / (1 + DRAWS)


def ks(table: Table) -> tuple[float, float]:
    """Kolmogorov-Smirnov of counts in ordered bins: the largest distance of the cumulative shares, and its p.

    Bins can only hide a distance, so that p errs to the large side. Limit distribution with n·m/(n + m) units.
    """
    n, m = (math.fsum(row) for row in table)
    if n <= 0.0 or m <= 0.0:
        return 0.0, 1.0
    left = right = distance = 0.0
    for a, b in zip(*table, strict=True):
        left, right = left + a, right + b
        distance = max(distance, abs(left / n - right / m))
    return distance, kolmogorov(math.sqrt(n * m / (n + m)) * distance)


def kolmogorov(x: float) -> float:
    """P(K > x) of Kolmogorov's limit distribution: 2 Σ (-1)^(j-1) exp(-2 j² x²), its dual series for small x."""
    if x <= 0.0:
        return 1.0
    if x < 1.0:
        terms = (math.exp(-((2 * j - 1) ** 2) * math.pi**2 / (8.0 * x * x)) for j in range(1, 20))
        return min(1.0, max(0.0, 1.0 - math.sqrt(2.0 * math.pi) / x * math.fsum(terms)))
    signed = ((-1.0) ** (j - 1) * math.exp(-2.0 * j * j * x * x) for j in range(1, 100))
    return min(1.0, max(0.0, 2.0 * math.fsum(signed)))
