"""Contributions of the candidate beside stable's: what the fold knows of pairs."""

import json
import math

import numpy as np
import pytest

from sluicegate.contracts.evidence import SignalEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.contributions.interval import multiplier
from sluicegate.observability.contributions.likeness import EVERY, Pairs
from sluicegate.observability.contributions.variance import spread
from sluicegate.observability.fold import Fold
from tests.observability import facts
from tests.observability.contributions import paired


def folded(candidate: object, units: int, seed: int) -> Pairs:
    made = Pairs(paired.QUESTION, Stage.SHADOW)
    for one in paired.pairs(candidate, units, seed):
        made.add(one)
    return made


def known(found: SignalEvidence) -> tuple[float, float, dict[str, float]]:
    """Difference of the variances, its standard error, shifts."""
    assert found.candidate is not None
    assert found.stable is not None
    assert found.likeness is not None
    shifts = {one.component: one.value for one in found.likeness.shifts}
    return found.candidate - found.stable, found.likeness.error, shifts


def test_numbers_are_those_of_the_whole_sample() -> None:
    """Moments with numpy, from the same outcomes: g̃ of each version, the joint covariance, the delta method."""
    made = Pairs(paired.QUESTION, Stage.SHADOW)
    new: list[list[float]] = []
    old: list[list[float]] = []
    for one in paired.pairs(paired.DEGRADED, 400, 1):
        made.add(one)
    for version, column in ((made.candidate, new), (made.stable, old)):
        again = type(version)(5)
        for one in paired.pairs(paired.DEGRADED, 400, 1):
            assert one.ablation is not None
            reward = one.ablation.reward if version is made.candidate else one.ablation.stable
            column.append(again.add(one.ablation.coalition.mask, reward or 0.0))
    both = np.hstack([np.array(new), np.array(old)])
    sigma = np.cov(both.T, bias=True) / (len(both) - 1)
    phi, centred = both.mean(axis=0), np.eye(5) - 0.2
    quadratic = np.block([[centred, np.zeros((5, 5))], [np.zeros((5, 5)), -centred]]) / 5
    slope = 2 * quadratic @ phi
    turned = quadratic @ sigma
    difference, error, shifts = known(made.evidence())
    expected = spread(phi[:5], sigma[:5, :5]).value - spread(phi[5:], sigma[5:, 5:]).value
    assert difference == pytest.approx(expected, abs=1e-12)
    assert error == pytest.approx(math.sqrt(slope @ sigma @ slope + 2 * np.trace(turned @ turned)), rel=1e-9)
    assert list(shifts.values()) == pytest.approx(list(phi[:5] - phi[5:]), abs=1e-12)


@pytest.mark.parametrize("game", ["same", "degraded"])
def test_intervals_cover_the_known_difference_at_every_look(game: str) -> None:
    """20 runs of 500 pairs: α = 5 %, and four standard deviations of a binomial on it."""
    candidate = {"same": paired.VALUES, "degraded": paired.DEGRADED}[game]
    new, old = shapley(candidate), shapley(paired.VALUES)
    truth, missed, moved = float(new.var() - old.var()), 0, 0
    for seed in range(20):
        made, bad, astray = Pairs(paired.QUESTION, Stage.SHADOW), False, False
        for number, one in enumerate(paired.pairs(candidate, 500, seed), 1):
            made.add(one)
            if number >= 50 and number % 50 == 0:
                difference, error, shifts = known(made.evidence())
                reach = multiplier(number, 0.05)
                bad |= abs(difference - truth) > reach * error
                likeness = made.evidence().likeness
                assert likeness is not None
                one_error = likeness.shifts[0].error
                astray |= abs(shifts["planner"] - (new[0] - old[0])) > reach * one_error
        missed, moved = missed + bad, moved + astray
    most = 20 * 0.05 + 4 * (20 * 0.05 * 0.95) ** 0.5
    assert missed <= most
    assert moved <= most


def test_permuted_contributions_vary_alike_and_have_moved() -> None:
    """The blind spot of the variance (research §1.7): g is the same, and who contributes is not."""
    made = folded(paired.PERMUTED, 1500, 3)
    difference, error, shifts = known(made.evidence())
    assert abs(difference) < 4 * error
    truth = shapley(paired.PERMUTED) - shapley(paired.VALUES)
    assert abs(truth).max() > 0.2
    assert list(shifts.values()) == pytest.approx(list(truth), abs=0.15)


def test_steady_counts_pairs_between_looks_inside_and_starts_anew_outside() -> None:
    """Rewards that are alike: inside at every look, as soon as there is an interval, from the 50th pair on."""
    made = Pairs(paired.QUESTION, Stage.SHADOW)
    for one in paired.pairs(paired.VALUES, 300, 1, alike=1.0):
        made.add(one)
    likeness = made.evidence().likeness
    assert likeness is not None
    assert likeness.steady == 300 - 50
    for number in range(EVERY):
        made.add(paired.pair(1000 + number, 1, 1.0, 0.0))
    likeness = made.evidence().likeness
    assert likeness is not None
    assert likeness.steady == 0


def test_a_pair_that_lacks_a_reward_is_missing() -> None:
    made = folded(paired.VALUES, 10, 1)
    made.add(paired.pair(11, 3, None, 1.0))
    made.add(paired.pair(12, 3, 1.0, None))
    assert (made.evidence().units, made.evidence().missing) == (10, 2)
    assert Pairs(paired.QUESTION, Stage.SHADOW).evidence() == SignalEvidence(
        signal=Signal.SHAPLEY_VARIANCE, margin=0.01
    )


def test_a_fold_that_is_cut_gives_the_same_bytes() -> None:
    units, questions = list(paired.pairs(paired.VALUES, 120, 2)), (*facts.QUESTIONS, paired.QUESTION)
    whole = Fold(facts.key(), questions)
    whole.add_all(units)
    cut = Fold(facts.key(), questions)
    cut.add_all(units[:77])
    cut = Fold.from_bytes(cut.to_bytes(), questions)
    cut.add_all(units)
    assert cut.to_bytes() == whole.to_bytes()
    [found] = whole.evidence().of(Signal.SHAPLEY_VARIANCE)
    assert (found.units, found.margin) == (120, 0.01)
    assert "NaN" not in json.dumps(json.loads(whole.to_bytes()))
