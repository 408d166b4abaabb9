"""Drift keeps its error rates over 2,880 looks, with clustered sessions and a share of 1 % as well, and finds what moved.

80 seeded rollouts each. Tolerance: the 99.9 % quantile of Binomial(80, 0.05).
"""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.observability.drift import shift
from tests.observability.drift.designs import DESIGNS, FAR, LOOKS, MARGIN, MOVED, SHARES, harm, onehot, safe
from tests.observability.drift.outputs import folded, gave
from tests.observability.facts import unit
from tests.observability.simulation import Array

ROWS, ALPHA = 80, 0.05
CHUNK = 20
MOST = stats.binom.ppf(0.999, ROWS, ALPHA)


def highest(name: str, shares: Array, test: object) -> Array:
    generator = np.random.default_rng([35, list(DESIGNS).index(name)])
    found = [test(DESIGNS[name](generator, shares, CHUNK)).max(axis=1) for _ in range(ROWS // CHUNK)]  # type: ignore[operator]
    return np.concatenate(found)


@pytest.mark.parametrize("name", DESIGNS)
def test_equal_arms_are_hardly_ever_said_to_drift(name: str) -> None:
    assert (highest(name, SHARES, harm) >= np.log(1.0 / ALPHA)).sum() <= MOST


@pytest.mark.parametrize("name", DESIGNS)
def test_a_share_that_moved_by_the_margin_is_hardly_ever_said_to_stay(name: str) -> None:
    assert (highest(name, MOVED, safe) >= np.log(1.0 / ALPHA)).sum() <= MOST


@pytest.mark.parametrize("name", DESIGNS)
def test_what_moved_by_three_margins_is_found_and_what_did_not_is_cleared(name: str) -> None:
    """At the α of a gate in a rollout of 17 and of 5 outputs (1/α = 1,700). Sessions of one taste vary as single runs do."""
    assert (highest(name, FAR, harm) >= np.log(1700.0)).mean() >= 0.9
    cleared = (highest(name, SHARES, safe) >= np.log(1.0 / ALPHA)).mean()
    assert cleared >= (0.65 if name == "sessions" else 0.9)


def test_the_simulation_pays_what_the_fold_pays() -> None:
    generator = np.random.default_rng(3)
    names = [str(number) for number in range(5)]
    mine, theirs = (onehot(generator, (1, 300), shares)[0].argmax(axis=1) for shares in (FAR, SHARES))
    first = [names[place] for place in range(5)]
    observations = [
        unit(n, candidate=gave(a), stable=gave(b))
        for n, (a, b) in enumerate(
            [
                *zip(first, first, strict=True),
                *((names[a], names[b]) for a, b in zip(mine, theirs, strict=True)),
            ],
            start=1,
        )
    ]
    found = folded(observations)
    x = np.concatenate([np.zeros((5, 5)), np.eye(5)[mine] - np.eye(5)[theirs]])[None]
    assert found.harm_log_e == pytest.approx(float(harm(x)[0, -1]), abs=1e-9)
    never = shift.Shift().kept(305, MARGIN)
    assert found.safe_log_e == pytest.approx(min(float(safe(x)[0, -1]), never), abs=1e-9)


def test_runs_of_a_session_taken_for_units_would_break_the_promise() -> None:
    """Design effect of sessions of ten runs with intra-class correlation 1/2: 1 + 9/2 (Kish). So the unit is the session."""
    generator = np.random.default_rng(5)
    taste = [np.repeat(generator.dirichlet(SHARES, (CHUNK * 3, LOOKS // 10)), 10, axis=1) for _ in "ab"]
    picked = [
        np.eye(5)[(generator.random((*one.shape[:2], 1)) > one.cumsum(axis=2)[..., :-1]).sum(axis=2)]
        for one in taste
    ]
    assert (harm(picked[0] - picked[1]).max(axis=1) >= np.log(1.0 / ALPHA)).sum() > stats.binom.ppf(
        0.999, CHUNK * 3, ALPHA
    )
