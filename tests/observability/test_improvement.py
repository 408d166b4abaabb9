"""A better reward beside the outcome: what is compared, how often an honest candidate is held, how soon a gamed evaluator is."""

import json
import math
from dataclasses import replace

import pytest

from sluicegate.contracts.evidence import Observation
from sluicegate.contracts.stages import Stage
from sluicegate.observability.fold import Fold
from sluicegate.observability.improvement import Improvements
from sluicegate.rollout.improvement import ALPHA, THRESHOLD
from tests.observability.facts import START
from tests.observability.improvements import KEY, Rates, facts, held_at, looked_at, units


@pytest.mark.parametrize(
    ("candidate", "every"),
    [((0.7, 0.8), 20), ((0.72, 0.82), 1), ((0.8, 0.9), 20), ((0.8, 0.83), 20)],
    ids=["nothing changed", "two points each, the worst case", "ten points each", "on another scale"],
)
def test_an_honest_candidate_is_held_no_more_often_than_promised(candidate: Rates, every: int) -> None:
    """2,880 comparisons each. At a rate of 5 % more than 4 of 20 happen with a chance of 0.26 % (scipy.stats.binom.sf)."""
    held = [held_at(units(candidate, (0.7, 0.8), seed), 2880, every) is not None for seed in range(20)]
    assert ALPHA == 0.05
    assert sum(held) <= 4


@pytest.mark.parametrize(
    ("candidate", "most"),
    [((0.8, 0.78), 2500), ((0.8, 0.74), 700)],
    ids=["two points worse", "six points worse"],
)
def test_a_gamed_evaluator_is_held(candidate: Rates, most: int) -> None:
    found = sorted(held_at(units(candidate, (0.7, 0.8), seed), 6000, 10) or 6001 for seed in range(20))
    assert found[10] <= most
    assert found[17] <= 6000


def test_an_honest_improvement_is_confirmed_in_the_end() -> None:
    stream = units((0.8, 0.88), (0.7, 0.8), 4)
    assert any(item.rise_log_e >= THRESHOLD for item in looked_at(stream, 4000, 10))


def test_a_fold_cut_anywhere_is_the_same_fold() -> None:
    stream, whole = (
        [next(source) for source in [units((0.8, 0.8), (0.7, 0.8), 1)] for _ in range(700)],
        Fold(KEY, ()),
    )
    whole.add_all(stream)
    for cut in (1, 33, 350, 699):
        fold = Fold(KEY, ())
        fold.add_all(stream[:cut])
        fold = Fold.from_bytes(fold.to_bytes(), ())
        fold.add_all(stream)
        assert fold.to_bytes() == whole.to_bytes()
    improvement = whole.evidence().improvement
    assert improvement is not None
    assert improvement.units > 100
    assert len(json.dumps(Improvements(Stage.CONTROLLED).to_json())) < 4096


@pytest.mark.parametrize(
    "unknown",
    [(None, 1.0), (0.5, None), (math.nan, 1.0), (0.5, math.inf), (1.5, 1.0)],
    ids=["no evaluator", "no outcome", "nan", "inf", "outside"],
)
def test_what_is_not_known_is_missing(unknown: tuple[float | None, float | None]) -> None:
    fold = Improvements(Stage.CONTROLLED)
    observed = Observation(sequence=1, key=KEY, unit="u", runs=(), at=START)
    for number in range(10):
        some = facts(0.5, 1.0) if number < 3 else facts(*unknown)
        fold.add(replace(observed, stable=some))
        fold.add(replace(observed, candidate=some))
    found = fold.evidence()
    assert found is not None
    assert (found.units, found.missing) == (3, 7)
    assert (found.reward, found.stable_outcome) == (0.5, 1.0)


def test_only_where_both_arms_answer_users() -> None:
    observed = Observation(sequence=1, key=KEY, unit="u", runs=(), at=START)
    for stage in set(Stage) - {Stage.CONTROLLED}:
        fold = Improvements(stage)
        fold.add(replace(observed, key=KEY._replace(stage=stage), stable=facts(0.5, 1.0)))
        fold.add(replace(observed, key=KEY._replace(stage=stage), candidate=facts(0.5, 1.0)))
        assert fold.evidence() is None
        assert Improvements.from_json(fold.to_json(), stage).evidence() is None
