"""The fold of one output: who is compared with whom, what is missing, new values, borders of numbers."""

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.evidence import MOST_VALUES, OTHER_VALUES, Observation, RunFacts
from sluicegate.contracts.stages import Stage
from sluicegate.observability.drift.outputs import Outputs
from sluicegate.observability.drift.shift import Shift, log_sum
from sluicegate.observability.fold import Fold
from tests.observability.drift.outputs import INTENT, SCORE, folded, gave, pairs, scored
from tests.observability.facts import good, key, unit

values = st.sampled_from(["a", "b", "c", "d"])
facts = st.one_of(
    st.none(), st.builds(lambda many: gave(*many), st.lists(values, max_size=4)), st.just(good())
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Stage, list[Observation]]:
    stage = draw(st.sampled_from([Stage.CANARY, Stage.SHADOW, Stage.CONTROLLED]))
    observations = []
    for number in range(1, draw(st.integers(0, 40)) + 1):
        arms: dict[str, Any] = {"stable": draw(facts), "candidate": draw(facts)}
        if stage is Stage.CONTROLLED:
            arms[draw(st.sampled_from(sorted(arms)))] = None
        observations.append(unit(number, stage, **arms))
    return stage, observations


@settings(max_examples=60)
@given(streams(), st.lists(st.integers(0, 40), max_size=4))
def test_restarts_and_batches_anywhere_give_the_same_bytes(
    case: tuple[Stage, list[Observation]], cuts: list[int]
) -> None:
    stage, observations = case
    whole = Fold(key(stage), (INTENT,))
    whole.add_all(observations)
    fold = Fold(key(stage), (INTENT,))
    for start, end in itertools.pairwise([0, *sorted(cuts), len(observations)]):
        fold.add_all(observations[start:end])
        fold = Fold.from_bytes(fold.to_bytes(), (INTENT,))
    assert fold.to_bytes() == whole.to_bytes()
    assert fold.evidence() == whole.evidence()


@settings(max_examples=60)
@given(streams())
def test_evidence_equals_a_second_slow_fold(case: tuple[Stage, list[Observation]]) -> None:
    """Of mirrored stages: every pair kept, each value's test from all its differences."""
    stage, observations = case
    if stage is Stage.CONTROLLED:
        return
    both = [
        (o.candidate.choices["planner.intent"], o.stable.choices["planner.intent"])
        for o in observations
        if o.candidate and o.stable and o.candidate.choices and o.stable.choices
    ]
    one = [
        o
        for o in observations
        if o.candidate and bool(o.candidate.choices) != bool(o.stable and o.stable.choices)
    ]
    found = folded(observations, stage=stage)
    assert (found.units, found.missing) == (len(both), len(one))
    if not both:
        assert (found.candidate, found.harm_log_e, found.safe_log_e) == (None, 0.0, 0.0)
        return
    order = list(dict.fromkeys(name for pair in both for name in sorted({**pair[0], **pair[1]})))
    harmonic = sum(1.0 / rank for rank in range(1, MOST_VALUES + 1))
    logs, stays, used = [], [Shift().kept(len(both), 0.05)], 0.0
    for rank, name in enumerate(order, start=1):
        x = [mine.get(name, 0.0) - theirs.get(name, 0.0) for mine, theirs in both]
        born = next(place for place, pair in enumerate(both) if name in pair[0] or name in pair[1])
        harm, safe = Shift(), Shift()
        for place, difference in enumerate(x):
            safe.add(difference)
            if place != born:
                harm.add(difference)
        weight = 1.0 / rank / harmonic
        used += weight
        logs += [math.log(weight / 2) + harm.rose(0), math.log(weight / 2) + harm.fell(0)]
        stays.append(safe.kept(len(both), 0.05))
    assert found.harm_log_e == pytest.approx(log_sum([*logs, math.log(1.0 - used)]), abs=1e-9)
    assert found.safe_log_e == pytest.approx(min(stays), abs=1e-9)


def test_the_value_that_moved_most_surely_is_named_with_both_shares_and_its_runs() -> None:
    found = folded(pairs(["b"] * 30 + ["a"] * 70, ["a"] * 95 + ["b"] * 5))
    assert found.outputs is not None
    assert (found.component, found.output, found.outputs.moved) == ("planner", "intent", "b")
    assert (found.candidate, found.stable) == pytest.approx((0.30, 0.05))
    assert found.witnesses == ("run-28", "run-29", "run-30")
    assert found.harm_log_e > 3.0 > found.safe_log_e
    assert {name: (mine, theirs) for name, mine, theirs in found.outputs.counts} == {
        "b": (30.0, 5.0),
        "a": (70.0, 95.0),
    }


def test_equal_outputs_are_shown_to_stay() -> None:
    found = folded(pairs(["a", "b"] * 60, ["a", "b"] * 60))
    assert found.safe_log_e > math.log(20.0) > found.harm_log_e
    assert found.growth is not None


def test_a_unit_where_one_arm_gave_nothing_is_missing_and_both_is_none() -> None:
    observations = [
        unit(1, candidate=gave("a"), stable=gave()),
        unit(2, candidate=gave(), stable=gave("a")),
        unit(3, candidate=gave(), stable=gave()),
        unit(4, stable=gave("a")),
        unit(5, candidate=gave("a"), stable=gave("a")),
        unit(6, candidate=good(choices={"planner.intent": {"a": math.nan}}), stable=gave("a")),
        unit(7, candidate=good(choices={"planner.intent": {"a": math.inf}}), stable=gave("a")),
    ]
    found = folded(observations)
    assert (found.units, found.missing) == (1, 4)


def test_values_that_stable_never_gave_are_named_even_when_it_gave_them_elsewhere() -> None:
    new = [unit(n, candidate=gave("vip"), stable=gave("a")) for n in range(1, 5)]
    found = folded(new).outputs
    assert found is not None
    assert found.unseen == (("vip", 4, ("run-2", "run-3", "run-4")),)
    known = folded([*new, unit(5, stable=gave("vip"))]).outputs  # that unit was not mirrored
    assert known is not None
    assert known.unseen == ()
    copied = folded([*new, unit(5, stable=gave("a"), candidate=gave("a"), control=gave("vip"))]).outputs
    assert copied is not None
    assert copied.unseen == ()


def test_the_run_of_a_session_that_shows_the_value_is_named() -> None:
    calm, odd = gave("a"), gave("vip")
    sessions = [
        replace(
            unit(number, stable=gave("a", "a"), candidate=gave("a", "vip")),
            runs=(f"{number}-first", f"{number}-second"),
            by_run=(
                RunFacts(run=f"{number}-first", candidate=calm, stable=calm),
                RunFacts(run=f"{number}-second", candidate=odd, stable=calm),
            ),
        )
        for number in range(1, 60)
    ]
    assert folded(sessions).witnesses == ("57-second", "58-second", "59-second")


def test_beyond_32_values_the_rest_is_one() -> None:
    many = [f"tool-{number:03}" for number in range(200)]
    found = folded(pairs(many, list(reversed(many)))).outputs
    assert found is not None
    assert len(found.counts) == MOST_VALUES
    assert sum(mine for _, mine, _ in found.counts) == pytest.approx(200.0)
    assert OTHER_VALUES in {name for name, _, _ in found.counts}
    assert found.unseen == ()  # stable gave more than 64 values: what it never gave cannot be told


def test_split_units_are_compared_newest_with_newest() -> None:
    """Four units of stable beside one of the candidate."""
    observations = []
    for number in range(1, 501):
        arm: dict[str, Any] = {"candidate": gave("b")} if number % 5 == 0 else {"stable": gave("a")}
        observations.append(unit(number, Stage.CONTROLLED, **arm))
    found = folded(observations, stage=Stage.CONTROLLED)
    assert found.units == 100
    assert (found.candidate, found.stable) == pytest.approx((1.0, 0.0))
    assert found.harm_log_e > 20.0


def test_numbers_are_compared_by_stables_deciles_of_its_first_fifty() -> None:
    generator = np.random.default_rng(2)
    draws = generator.random((400, 2))
    observations = [
        unit(n, candidate=scored(float(mine) ** 2), stable=scored(float(theirs)))
        for n, (mine, theirs) in enumerate(draws, start=1)
    ]
    found = folded(observations, SCORE)
    first = np.sort(draws[:50, 1])
    assert found.units == 350
    assert found.outputs is not None
    assert found.outputs.counts[0][0] == f"< {first[4]:.6g}"
    assert [name for name, _, _ in found.outputs.counts][2] == f"> {first[4]:.6g}"
    assert found.candidate is not None
    assert found.stable is not None
    assert found.candidate < found.stable - 0.1  # squares of uniform numbers are smaller
    assert found.harm_log_e > 8.0
    same = folded([replace(o, candidate=o.stable) for o in observations], SCORE)
    assert same.safe_log_e > 3.0 > same.harm_log_e


def test_a_constant_has_two_borders_so_that_both_directions_are_seen() -> None:
    for other in (0.4, 0.6):
        arms = [unit(n, candidate=scored(other), stable=scored(0.5)) for n in range(1, 101)]
        assert folded(arms, SCORE).harm_log_e > 10.0


def test_numbers_that_are_none_are_missing() -> None:
    calibrated = [unit(n, candidate=scored(n / 60), stable=scored(n / 60)) for n in range(1, 60)]
    odd = [unit(n, candidate=scored(math.nan), stable=scored(0.5)) for n in range(60, 70)]
    found = folded([*calibrated, *odd], SCORE)
    assert (found.units, found.missing) == (9, 10)


def test_a_restart_inside_the_calibration_gives_the_same_bits() -> None:
    arms = [
        unit(n, candidate=scored((n * 7 % 50) / 50), stable=scored((n * 3 % 50) / 50)) for n in range(1, 150)
    ]
    whole = Outputs(SCORE, Stage.SHADOW)
    for item in arms:
        whole.add(item)
    for cut in (0, 20, 49, 50, 51, 100):
        fold = Outputs(SCORE, Stage.SHADOW)
        for item in arms[:cut]:
            fold.add(item)
        fold = Outputs.from_json(json.loads(json.dumps(fold.to_json(), sort_keys=True)), SCORE, Stage.SHADOW)
        for item in arms[cut:]:
            fold.add(item)
        assert json.dumps(fold.to_json(), sort_keys=True) == json.dumps(whole.to_json(), sort_keys=True)


@pytest.mark.parametrize("stage", [Stage.SHADOW, Stage.CONTROLLED])
def test_the_state_of_a_usual_output_is_below_4_kb(stage: Stage) -> None:
    generator = np.random.default_rng(7)
    names = ["track_order", "cancel_order", "refund_request", "change_address", "other"]
    observations = []
    for number in range(1, 3001):
        arms: dict[str, Any] = {arm: gave(*generator.choice(names, 3)) for arm in ("candidate", "stable")}
        if stage is Stage.CONTROLLED:
            del arms["candidate" if number % 5 else "stable"]
        observations.append(unit(number, stage, **arms))
    fold = Outputs(INTENT, stage)
    for item in observations:
        fold.add(item)
    assert len(json.dumps(fold.to_json(), separators=(",", ":"))) < 4096


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (replace(INTENT, component=None), "without a component and a field"),
        (replace(INTENT, output=None), "without a component and a field"),
        (replace(INTENT, margin=0.0), "margin"),
        (replace(INTENT, margin=math.nan), "margin"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(question: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Fold(key(), (question,))  # type: ignore[arg-type]
