"""Exact Shapley values against games whose values are known, and against the axioms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sluicegate.observability.contributions.exact import covariance, shapley, weights
from tests.observability.contributions import games

Array = NDArray[np.float64]
TABLES = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.floats(-10, 10), min_size=1 << n, max_size=1 << n).map(np.array)
)


@pytest.mark.parametrize("name", games.REFERENCE)
def test_known_games(name: str) -> None:
    n, game, known = games.REFERENCE[name]
    assert shapley(games.table(n, game)) == pytest.approx([float(value) for value in known], abs=1e-11)


@pytest.mark.parametrize("name", [name for name, (n, _, _) in games.REFERENCE.items() if n <= 7])
def test_the_known_values_are_shapleys_formula(name: str) -> None:
    n, game, known = games.REFERENCE[name]
    assert games.by_definition(n, game) == known


SHAPIQ = {
    3: [0.1180339887498949, 0.23606797749978978, -0.027864045000420445],
    5: [
        0.034700655416561255,
        0.15273464416645674,
        0.055469288332912925,
        -0.055728090000840586,
        -0.02812284666834819,
    ],
    8: [
        -0.09744220172629628,
        -0.017503451071636977,
        -0.11000690214327849,
        -0.011680470953223089,
        -0.029313322858823918,
        -0.06219807428907774,
        -0.12320567238767888,
        0.05001722665321527,
    ],
}
"""`shapiq.ExactComputer` (shapiq 1.4.1, MIT) of the games v(mask) = frac((mask + 1)·0.6180339887498949)."""


@pytest.mark.parametrize("n", SHAPIQ)
def test_agrees_with_shapiq(n: int) -> None:
    values = np.array([(mask + 1) * 0.6180339887498949 % 1.0 for mask in range(1 << n)])
    assert shapley(values) == pytest.approx(SHAPIQ[n], abs=1e-12)


VOTES = {
    "council before 1966": (27, [5] * 5 + [1] * 6),
    "council since 1966": (39, [7] * 5 + [1] * 10),
    "EEC 1958": (12, [4, 4, 4, 2, 2, 1]),
    "EEC 1973": (41, [10] * 4 + [5, 5, 3, 3, 2]),
    "EU-15": (62, [10] * 4 + [8] + [5] * 4 + [4, 4, 3, 3, 3, 2]),
}


@pytest.mark.parametrize("name", VOTES)
def test_the_known_values_of_councils_are_counted_pivots(name: str) -> None:
    """Those with too many members for the formula, and the counting that EU-27 is checked by."""
    assert games.pivots(*VOTES[name]) == games.REFERENCE[name][2]


def test_the_union_of_27() -> None:
    """Nice weights, quota 255 (University of Seville): more players than any product's table has, so for the counting itself."""
    weights = [29] * 4 + [27] * 2 + [14, 13] + [12] * 5 + [10] * 3 + [7] * 5 + [4] * 5 + [3]
    known = {
        29: 0.086738, 27: 0.079975, 14: 0.039937, 13: 0.036825, 12: 0.034068, 10: 0.028193, 7: 0.019606, 4: 0.011042, 3: 0.008178,
    }  # fmt: skip
    found = games.pivots(255, weights)
    assert len(found) == 27
    assert sum(found) == 1
    assert [float(value) for value in found] == pytest.approx([known[w] for w in weights], abs=5e-7)


def test_a_null_player_and_both_variances_of_a_pipeline() -> None:
    """research: population variance .0169279, sample variance .0225705."""
    game = games.pipeline(["0.98", "0.95", "0.9", "0.85"], ["0.6", "0.3", "0.7", "0.85"])
    phi = shapley(games.table(4, game))
    assert phi == pytest.approx([0.164999, 0.352679, 0.087437, 0.0], abs=5e-7)
    assert (phi.var(), phi.var(ddof=1)) == pytest.approx((0.0169279, 0.0225705), abs=5e-8)


def test_shapley_is_not_the_nucleolus_of_the_talmud() -> None:
    """Aumann & Maschler: 50, 75, 75 at an estate of 200."""
    assert shapley(games.table(3, games.bankruptcy(200, 100, 200, 300))) != pytest.approx([50, 75, 75], abs=1)


@given(TABLES)
def test_contributions_add_up(values: Array) -> None:
    assert shapley(values).sum() == pytest.approx(values[-1] - values[0], abs=1e-9)


@given(TABLES, st.data())
def test_players_who_can_be_swapped_get_the_same(values: Array, data: st.DataObject) -> None:
    n = values.size.bit_length() - 1
    one, two = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    swapped = _relabelled(n, {one: two, two: one})
    phi = shapley((values + values[swapped]) / 2)
    assert phi[one] == pytest.approx(phi[two], abs=1e-9)


@given(TABLES, st.data())
def test_who_changes_nothing_gets_nothing(values: Array, data: st.DataObject) -> None:
    n = values.size.bit_length() - 1
    player = data.draw(st.integers(0, n - 1))
    without = np.array([values[mask & ~(1 << player)] for mask in range(values.size)])
    assert shapley(without)[player] == pytest.approx(0.0, abs=1e-9)


@given(TABLES, st.floats(-3, 3), st.integers(0, 1 << 30))
def test_linear_in_the_game(values: Array, factor: float, seed: int) -> None:
    other = np.random.default_rng(seed).normal(size=values.size)
    assert shapley(values + factor * other) == pytest.approx(
        shapley(values) + factor * shapley(other), abs=1e-9
    )


@given(TABLES, st.permutations(range(6)))
def test_names_do_not_matter(values: Array, order: list[int]) -> None:
    n = values.size.bit_length() - 1
    order = [player for player in order if player < n]
    moved = shapley(values[_relabelled(n, dict(enumerate(order)))])
    assert moved == pytest.approx(shapley(values)[order], abs=1e-9)


@given(TABLES, st.integers(0, 1 << 30))
def test_the_dual_and_even_parts_do_not_matter(values: Array, seed: int) -> None:
    """v*(A) = v(N) − v(N∖A) has the same values, and so has a game plus w with w(S) = w(N∖S)."""
    assert shapley(values[-1] - values[::-1]) == pytest.approx(shapley(values), abs=1e-9)
    noise = np.random.default_rng(seed).normal(size=values.size)
    assert shapley(values + noise + noise[::-1]) == pytest.approx(shapley(values), abs=1e-8)


@given(TABLES)
@settings(max_examples=30)
def test_the_weights_are_the_same_map(values: Array) -> None:
    matrix = weights(values.size.bit_length() - 1)
    assert matrix.T @ values == pytest.approx(shapley(values), abs=1e-9)
    variances = np.abs(values)
    assert covariance(variances) == pytest.approx(matrix.T @ np.diag(variances) @ matrix, abs=1e-9)


@pytest.mark.parametrize(("n", "known"), {4: 5.3, 5: 6.8, 6: 9.2, 8: 19.5, 12: 127}.items())
def test_noise_of_a_full_table(n: int, known: float) -> None:
    """research §1.4: Var(φ)·N/σ² = 2^n·(2/n²)·Σ 1/C(n−1, s) when N runs are spread evenly."""
    sigma = covariance(np.full(1 << n, float(1 << n)))
    assert np.diag(sigma) == pytest.approx(np.full(n, known), rel=0.01)


def test_a_pipeline_of_50_adds_up() -> None:
    """research section 2: the yardstick of long pipelines, to 1e-15."""
    present = np.linspace(0.9, 0.99, 50)
    phi = _by_multilinear_form(present, 0.6)
    assert phi.sum() == pytest.approx(present.prod() - 0.6**50, abs=1e-15)


def test_a_long_pipeline_adds_up() -> None:
    n = 20
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    values = np.where(bits == 1, np.linspace(0.9, 0.99, n), 0.6).prod(axis=1)
    phi = shapley(values)
    assert phi.sum() == pytest.approx(values[-1] - values[0], abs=1e-13)
    assert phi == pytest.approx(_by_multilinear_form(np.linspace(0.9, 0.99, n), 0.6), abs=1e-13)


@pytest.mark.parametrize("size", [0, 1, 3, 6])
def test_another_length_is_no_table(size: int) -> None:
    with pytest.raises(ValueError, match="2\\^n"):
        shapley(np.zeros(size))


def _by_multilinear_form(present: Array, absent: float) -> Array:
    """φ_i = ∫ ∂_i V(t, …, t) dt, exact with n/2 + 1 Gauss-Legendre nodes for a product (Owen)."""
    n = len(present)
    nodes, mass = np.polynomial.legendre.leggauss(n // 2 + 1)
    found = np.zeros(n)
    for node, weight in zip((nodes + 1) / 2, mass / 2, strict=True):
        mixed = node * present + (1 - node) * absent
        for i in range(n):
            found[i] += weight * (present[i] - absent) * np.delete(mixed, i).prod()
    return found


def _relabelled(n: int, moves: dict[int, int]) -> NDArray[np.int64]:
    """index[mask]: the mask with every player i of `mask` named moves.get(i, i)."""
    return np.array(
        [sum(1 << moves.get(i, i) for i in range(n) if mask >> i & 1) for mask in range(1 << n)],
        dtype=np.int64,
    )
