"""The fold of a stage: the right numbers, whatever is missing, however it is cut."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.errors import Conflict, Refused
from sluicegate.contracts.evidence import Observation, Question, RunFacts, SignalEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.fold import FORMAT, Fold
from tests.observability import slow_fold
from tests.observability.drift.outputs import INTENT
from tests.observability.facts import (
    BASELINES,
    QUESTIONS,
    bad,
    evidence_of,
    fold_of,
    good,
    key,
    streams,
    unit,
)

STAGES = tuple(Stage)
OPEN_LATENCY = (Question(signal=Signal.P95_LATENCY, margin=0.02),)


def random_stream(stage: Stage, units: int, seed: int, share: float = 0.3) -> list[Observation]:
    """A realistic stage: some failures, some rewards that never came, now and then a NaN."""
    generator = np.random.default_rng(seed)

    def facts(worse: float) -> Any:
        success = float(generator.random() < 0.9 - worse)
        similar = float(generator.beta(8, 2 + 10 * worse))
        return good(
            success=success if generator.random() > 0.02 else math.nan,
            latencies_ms=(float(generator.lognormal(5.3 + worse, 0.5)),),
            fallbacks={"planner": float(generator.random() < 0.1 + worse)},
            violated=float(generator.random() < 0.03),
            violations=("Enum steps.plan.intent",) if generator.random() < 0.03 else (),
            reward=None if generator.random() < 0.1 else float(generator.beta(4, 2)),
            disagrees=float(generator.random() < 0.2),
            similarity=similar,
            texts=(similar if generator.random() < 0.8 else None,),
        )

    observations = []
    for sequence in range(1, units + 1):
        if stage in {Stage.CANARY, Stage.SHADOW}:
            control = facts(0.0) if generator.random() < 0.5 else None
            who = {"stable": facts(0.0), "candidate": facts(0.1), "control": control}
        elif generator.random() < share:
            who = {"candidate": facts(0.1)}
        else:
            who = {"stable": facts(0.0)}
        observations.append(unit(sequence, stage, **who))
    return observations


def assert_equals_slow_fold(
    observations: list[Observation], stage: Stage, questions: tuple[Question, ...]
) -> None:
    evidence = evidence_of(observations, stage, questions)
    for question, item in zip(questions, evidence.signals, strict=True):
        expected = slow_fold.answer(question, stage, observations)
        harm, safe = expected.harm_and_safe(question)
        assert item.units == len(expected.differences), question
        assert item.missing == expected.missing, question
        assert item.harm_log_e == pytest.approx(harm, rel=1e-7, abs=1e-7), question
        assert item.safe_log_e == pytest.approx(safe, rel=1e-7, abs=1e-7), question
        if question.baseline is None:
            shown = item.boundary if item.answers is None else item.answers.floor
            assert shown == pytest.approx(expected.boundary), question
        better = question.signal in {Signal.SUCCESS_RATE, Signal.REWARD}
        for told, values in ((item.candidate, expected.candidate), (item.stable, expected.stable)):
            if values:
                mean = float(np.mean(values))
                assert told == pytest.approx(1 - mean if better else mean), question


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "questions", [QUESTIONS, BASELINES, OPEN_LATENCY], ids=["two arms", "baseline", "p95"]
)
def test_evidence_equals_a_second_slow_fold(stage: Stage, questions: tuple[Question, ...]) -> None:
    assert_equals_slow_fold(random_stream(stage, 700, seed=STAGES.index(stage)), stage, questions)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
def test_split_evidence_equals_a_second_slow_fold_at_every_share(share: float) -> None:
    observations = random_stream(Stage.CONTROLLED, 900, seed=3, share=share)
    assert_equals_slow_fold(observations, Stage.CONTROLLED, QUESTIONS)


@settings(max_examples=60)
@given(st.sampled_from(STAGES).flatmap(lambda stage: st.tuples(st.just(stage), streams(stage))))
def test_evidence_equals_a_second_slow_fold_for_any_stream(case: tuple[Stage, list[Observation]]) -> None:
    stage, observations = case
    assert_equals_slow_fold(observations, stage, QUESTIONS)
    assert_equals_slow_fold(observations, stage, BASELINES)


@settings(max_examples=60)
@given(
    st.sampled_from(STAGES).flatmap(lambda stage: st.tuples(st.just(stage), streams(stage))),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_restarts_and_batches_anywhere_give_the_same_bytes(
    case: tuple[Stage, list[Observation]], cuts: list[int]
) -> None:
    stage, observations = case
    for questions in (QUESTIONS, OPEN_LATENCY, BASELINES):
        whole = fold_of(observations, stage, questions)
        fold = Fold(key(stage), questions)
        borders = [0, *sorted(cuts), len(observations)]
        for start, end in itertools.pairwise(borders):
            fold.add_all(observations[start:end])
            fold = Fold.from_bytes(fold.to_bytes(), questions)
        assert fold.to_bytes() == whole.to_bytes()
        assert fold.evidence() == whole.evidence()


def test_a_restart_inside_the_calibration_and_the_waiting_line_gives_the_same_bits() -> None:
    observations = random_stream(Stage.CONTROLLED, 600, seed=9)
    questions = (*QUESTIONS, *OPEN_LATENCY)
    whole = fold_of(observations, Stage.CONTROLLED, questions)
    for cut in (1, 30, 59, 80, 300, 599):
        fold = fold_of(observations[:cut], Stage.CONTROLLED, questions)
        fold = Fold.from_bytes(fold.to_bytes(), questions)
        fold.add_all(observations[cut:])
        assert fold.to_bytes() == whole.to_bytes()


def test_units_folded_before_change_nothing() -> None:
    observations = random_stream(Stage.SHADOW, 50, seed=1)
    fold = fold_of(observations)
    before = fold.to_bytes()
    assert fold.add_all(observations[20:]) == 0
    assert fold.to_bytes() == before


@pytest.mark.parametrize("other", [key(Stage.CANARY), key(attempt=2), key()._replace(rollout="other")])
def test_a_unit_of_another_stage_attempt_or_rollout_is_refused(other: Any) -> None:
    fold = Fold(key(), QUESTIONS)
    with pytest.raises(ValueError, match="belongs to"):
        fold.add(replace(unit(1, stable=good(), candidate=good()), key=other))
    assert fold.evidence().units == 0


# --- missing evidence ----------------------------------------------------------------------------------

MISSING: dict[Signal, list[dict[str, Any]]] = {
    Signal.SUCCESS_RATE: [{"success": value} for value in (math.nan, math.inf, -math.inf, 1.5, -0.1)],
    Signal.P95_LATENCY: [
        {"latencies_ms": value} for value in ((), (math.nan,), (math.inf,), (-5.0,), (100.0, math.nan))
    ],
    Signal.FALLBACK_RATE_MAX: [
        {"fallbacks": {"planner": value, "writer": value}} for value in (math.nan, math.inf, 2.0)
    ],
    Signal.CONTRACT_VIOLATIONS: [{"violated": value} for value in (math.nan, math.inf, -1.0)],
    Signal.DISAGREEMENT: [{"disagrees": value} for value in (None, math.nan, math.inf, 7.0)],
    Signal.REWARD: [{"reward": value} for value in (None, math.nan, -math.inf, 1.01)],
}
ABSENCES = [(signal, absence) for signal, absences in MISSING.items() for absence in absences]


def stage_units(stage: Stage, candidate: Any, stable: Any, n: int = 300) -> list[Observation]:
    if stage in {Stage.CANARY, Stage.SHADOW}:
        return [unit(i, stage, stable=stable, candidate=candidate, control=stable) for i in range(1, n + 1)]
    return [
        unit(i, stage, candidate=candidate) if i % 3 == 0 else unit(i, stage, stable=stable)
        for i in range(1, n + 1)
    ]


def assert_no_evidence(items: tuple[SignalEvidence, ...]) -> None:
    assert items
    for item in items:
        assert item.units == 0
        assert item.harm_log_e <= 0.0
        assert item.safe_log_e <= 0.0
        assert item.growth is None


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("questions", [QUESTIONS, BASELINES], ids=["two arms", "baseline"])
@pytest.mark.parametrize(("signal", "absence"), ABSENCES, ids=str)
def test_a_missing_value_of_the_candidate_is_no_evidence(
    signal: Signal, absence: dict[str, Any], questions: tuple[Question, ...], stage: Stage
) -> None:
    items = evidence_of(stage_units(stage, good(**absence), good()), stage, questions).of(signal)
    assert_no_evidence(items)
    paired_or_split = 300 if stage in {Stage.CANARY, Stage.SHADOW} else 100
    assert all(item.missing == paired_or_split for item in items)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("signal", "absence"), ABSENCES, ids=str)
def test_a_missing_value_of_stable_is_no_evidence(
    signal: Signal, absence: dict[str, Any], stage: Stage
) -> None:
    items = evidence_of(stage_units(stage, good(), good(**absence)), stage).of(signal)
    assert_no_evidence(items)
    assert all(item.missing > 0 for item in items)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("questions", [QUESTIONS, BASELINES], ids=["two arms", "baseline"])
@pytest.mark.parametrize(
    "present", ["nothing", "stable only", "candidate only"], ids=lambda present: present.replace(" ", "-")
)
def test_an_absent_arm_is_no_evidence(present: str, questions: tuple[Question, ...], stage: Stage) -> None:
    arms: dict[str, dict[str, Any]] = {
        "nothing": {},
        "stable only": {"stable": good()},
        "candidate only": {"candidate": good()},
    }
    observations = [unit(i, stage, **arms[present]) for i in range(1, 300)]
    evidence = evidence_of(observations, stage, questions)
    if present == "candidate only" and questions is BASELINES:
        assert all(item.units == 299 for item in evidence.signals)  # a baseline needs no second arm
        return
    assert_no_evidence(evidence.signals)
    assert evidence.units == (299 if present == "candidate only" else 0)


def test_missing_values_among_present_ones_leave_the_evidence_of_the_present_ones() -> None:
    present = random_stream(Stage.SHADOW, 200, seed=4)
    with_gaps = []
    for observation in present:
        with_gaps += [
            replace(observation, sequence=2 * observation.sequence),
            unit(
                2 * observation.sequence + 1,
                stable=good(),
                candidate=good(success=math.nan, reward=None, violated=math.nan),
            ),
        ]
    for signal in (Signal.SUCCESS_RATE, Signal.REWARD, Signal.CONTRACT_VIOLATIONS):
        (clean,), (gaps,) = evidence_of(present).of(signal), evidence_of(with_gaps).of(signal)
        assert gaps.missing == clean.missing + 200
        assert replace(gaps, missing=clean.missing) == clean


# --- what the numbers say ------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("questions", [QUESTIONS, BASELINES], ids=["two arms", "baseline"])
def test_a_bad_candidate_is_shown_harmful_and_never_safe(
    stage: Stage, questions: tuple[Question, ...]
) -> None:
    for item in evidence_of(stage_units(stage, bad(), good()), stage, questions).signals:
        if item.signal is Signal.DISAGREEMENT and item.units == 0:
            continue  # compared only where stable ran twice
        assert item.harm_log_e > math.log(1000), item.signal
        assert item.safe_log_e < 0.0, item.signal


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("questions", [QUESTIONS, BASELINES], ids=["two arms", "baseline"])
def test_an_equal_candidate_is_shown_safe_and_never_harmful(
    stage: Stage, questions: tuple[Question, ...]
) -> None:
    for item in evidence_of(stage_units(stage, good(), good(), 1500), stage, questions).signals:
        if item.signal is Signal.DISAGREEMENT and item.units == 0:
            continue
        assert item.safe_log_e > math.log(20), item.signal
        assert item.harm_log_e <= 0.0, item.signal
        assert item.growth is not None, item.signal


def test_the_disagreement_counts_only_pairs_in_which_stable_ran_twice() -> None:
    observations = [
        unit(i, stable=good(), candidate=good(disagrees=1.0), control=good() if i % 2 else None)
        for i in range(1, 101)
    ]
    (item,) = evidence_of(observations).of(Signal.DISAGREEMENT)
    assert (item.units, item.missing, item.candidate, item.stable) == (50, 0, 1.0, 0.0)


def test_a_copy_is_not_slow_because_copies_are_slow_nor_fast_because_they_are_fast() -> None:
    """Copies meet other conditions than the user's run: a busy machine, or a cache that its answer left warm."""
    question = Question(signal=Signal.P95_LATENCY, margin=0.05, boundary_ms=400.0)
    slow, fast = good(latencies_ms=(900.0,)), good()

    def evidence(*, against_control: bool, **arms: Any) -> SignalEvidence:
        observations = [unit(i, **arms) for i in range(1, 301)]
        asked = (replace(question, against_control=against_control),)
        return evidence_of(observations, questions=asked).signals[0]

    busy = {"stable": fast, "candidate": slow, "control": slow}
    assert evidence(against_control=False, **busy).harm_log_e > math.log(400)  # the error that is avoided
    assert evidence(against_control=True, **busy).harm_log_e <= 0.0
    assert evidence(against_control=True, **busy).safe_log_e > math.log(20)
    warm = {"stable": slow, "candidate": slow, "control": fast}
    assert evidence(against_control=False, **warm).safe_log_e > math.log(20)
    assert evidence(against_control=True, **warm).harm_log_e > math.log(400)
    alone = {"stable": fast, "candidate": slow}
    assert evidence(against_control=True, **alone).units == 0


def test_a_component_that_did_not_run_did_not_fall_back() -> None:
    observations = [
        unit(i, stable=good(fallbacks={}), candidate=good(fallbacks={"planner": 1.0})) for i in range(1, 41)
    ]
    planner, writer = evidence_of(observations).of(Signal.FALLBACK_RATE_MAX)
    assert (planner.candidate, planner.stable, planner.units) == (1.0, 0.0, 40)
    assert (writer.candidate, writer.stable, writer.units) == (0.0, 0.0, 40)


def test_the_baseline_is_shown_as_stable_and_the_margin_absorbs_its_error() -> None:
    question = Question(signal=Signal.SUCCESS_RATE, margin=0.02, baseline=0.97)
    generator = np.random.default_rng(8)
    observations = [
        unit(i, Stage.FULL, candidate=good(success=float(generator.random() < 0.96))) for i in range(1, 20001)
    ]
    (item,) = evidence_of(observations, Stage.FULL, (question,)).signals
    assert item.stable == 0.97
    assert item.harm_log_e < 0.0  # one point below an estimated baseline, inside the margin
    assert item.safe_log_e > math.log(20)


# --- latency -------------------------------------------------------------------------------------------


def test_the_latency_boundary_is_frozen_from_stables_first_59_and_those_are_no_evidence() -> None:
    observations = [
        unit(i, stable=good(latencies_ms=(10.0 * i,)), candidate=good(latencies_ms=(10_000.0,)))
        for i in range(1, 101)
    ]
    (before,) = evidence_of(observations[:58], questions=OPEN_LATENCY).signals
    assert (before.boundary, before.units, before.missing) == (None, 0, 0)
    (item,) = evidence_of(observations, questions=OPEN_LATENCY).signals
    assert item.boundary == pytest.approx(
        570.0 * 1.25
    )  # rank ceil(0.95 * 59) = 57 of 10..590, plus the slack
    assert item.units == 100 - 59
    assert item.candidate == 1.0
    assert item.stable == pytest.approx(29 / 41)  # 720..1000 of 600..1000 are slow
    assert item.candidate_p95_ms == pytest.approx(10_000.0, rel=0.01)
    assert item.stable_p95_ms == pytest.approx(950.0, rel=0.01)


def test_the_jitter_of_a_fast_agent_is_not_slow() -> None:
    fast = [
        unit(i, stable=good(latencies_ms=(2.0,)), candidate=good(latencies_ms=(51.0 if i % 2 else 53.0,)))
        for i in range(1, 101)
    ]
    (item,) = evidence_of(fast, questions=OPEN_LATENCY).signals
    assert item.boundary == 52.0  # 2 ms and the floor of 50
    assert item.candidate == pytest.approx(21 / 41)  # 53 ms at the even ones of 60..100


def test_a_session_counts_once_with_the_share_of_its_slow_runs() -> None:
    slow = good(latencies_ms=(100.0, 500.0, 600.0, 700.0))
    (item,) = evidence_of([unit(1, stable=good(), candidate=slow)]).of(Signal.P95_LATENCY)
    assert (item.units, item.candidate, item.stable) == (1, 0.75, 0.0)


# --- what is shown beside ------------------------------------------------------------------------------


def test_witnesses_are_the_five_newest_runs_in_which_the_candidate_was_worse() -> None:
    observations = [unit(i, stable=good(), candidate=bad() if i % 2 else good()) for i in range(1, 20)]
    (item,) = evidence_of(observations).of(Signal.SUCCESS_RATE)
    assert item.witnesses == ("run-11", "run-13", "run-15", "run-17", "run-19")


def test_witnesses_against_a_baseline_are_the_runs_below_it() -> None:
    observations = [unit(i, Stage.FULL, candidate=bad() if i == 7 else good()) for i in range(1, 20)]
    (item,) = evidence_of(observations, Stage.FULL, BASELINES).of(Signal.SUCCESS_RATE)
    assert item.witnesses == ("run-7",)


def test_both_arms_failing_the_same_request_is_no_witness() -> None:
    (item,) = evidence_of([unit(1, stable=bad(), candidate=bad())]).of(Signal.SUCCESS_RATE)
    assert item.witnesses == ()


def test_violations_that_stable_never_showed_are_named_with_runs() -> None:
    new, known = "Type output.score", "Enum steps.plan.intent"
    observations = [
        *(unit(i, stable=good(), candidate=good(), kinds=(new, known)) for i in range(1, 9)),
        unit(9, stable=good(violations=(known,)), candidate=good()),
        unit(10, stable=good(), candidate=good(), kinds=(known,)),
    ]
    evidence = evidence_of(observations)
    assert evidence.unseen_violations == {new: (8, tuple(f"run-{i}" for i in range(1, 6)))}
    assert evidence.unseen_overflow == 0


@pytest.mark.parametrize("arm", ["stable", "control"])
def test_a_kind_that_stable_shows_later_is_forgotten(arm: str) -> None:
    kind = "Type output.score"
    arms: dict[str, Any] = {arm: good(violations=(kind,))}
    observations = [
        unit(1, stable=good(), candidate=good(), kinds=(kind,)),
        unit(2, **arms),
    ]
    assert evidence_of(observations[:1]).unseen_violations == {kind: (1, ("run-1",))}
    assert evidence_of(observations).unseen_violations == {}


def test_kinds_beyond_the_bound_are_counted() -> None:
    observations = [
        unit(i, stable=good(), candidate=good(), kinds=(f"Type output.field{i}",)) for i in range(1, 101)
    ]
    evidence = evidence_of(observations)
    assert len(evidence.unseen_violations) == 64
    assert evidence.unseen_overflow == 36


def test_when_stable_shows_too_many_kinds_to_remember_new_ones_are_only_counted() -> None:
    known = tuple(f"Type output.field{i}" for i in range(300))  # the first 256 by name: field99 is beyond
    observations = [
        unit(1, stable=good(violations=known), candidate=good()),
        unit(2, stable=good(), candidate=good(), kinds=(known[3], known[99])),
    ]
    evidence = evidence_of(observations)
    assert (evidence.unseen_violations, evidence.unseen_overflow) == ({}, 1)


def test_state_stays_small_whatever_comes() -> None:
    observations = [
        unit(
            i,
            Stage.CONTROLLED,
            candidate=good(violations=tuple(f"Type {'x' * 300}{i}.{j}" for j in range(5))),
        )
        for i in range(1, 1500)
    ]
    assert len(fold_of(observations, Stage.CONTROLLED).to_bytes()) < 64_000


def test_counts_times_and_rate() -> None:
    observations = [
        unit(1, stable=good()),
        unit(2, stable=good(), candidate=good()),
        unit(3, stable=good(), dropped=1),
        unit(5, stable=good(), candidate=good(), dropped=1),
        unit(8, stable=good(), candidate=good()),
    ]
    evidence = evidence_of(observations)
    assert (evidence.cursor, evidence.units, evidence.stable_units, evidence.dropped) == (8, 3, 5, 2)
    assert evidence.first_at == observations[1].at
    assert evidence.last_at == observations[4].at
    assert evidence.units_per_hour == pytest.approx(2 / (60 / 3600))  # two gaps in 60 s


def test_an_empty_fold_says_nothing() -> None:
    evidence = Fold(key(), QUESTIONS).evidence()
    assert (evidence.units, evidence.first_at, evidence.units_per_hour) == (0, None, None)
    assert_no_evidence(evidence.signals)


# --- state ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        QUESTIONS[:-1],
        (replace(QUESTIONS[0], margin=0.03), *QUESTIONS[1:]),
        (replace(QUESTIONS[0], baseline=0.9), *QUESTIONS[1:]),
        (*QUESTIONS, *OPEN_LATENCY),
        tuple(reversed(QUESTIONS)),
    ],
    ids=["one less", "other margin", "other baseline", "one more", "other order"],
)
def test_state_of_other_questions_starts_anew(changed: tuple[Question, ...]) -> None:
    state = fold_of(random_stream(Stage.SHADOW, 20, seed=2)).to_bytes()
    with pytest.raises(Conflict, match="starts anew"):
        Fold.from_bytes(state, changed)


def test_state_of_another_format_starts_anew() -> None:
    state = Fold(key(), QUESTIONS).to_bytes().replace(b'"format":%d' % FORMAT, b'"format":99')
    with pytest.raises(Conflict, match=f"format 99, this version writes {FORMAT}: it is folded anew"):
        Fold.from_bytes(state, QUESTIONS)


def test_state_of_the_format_before_is_read_and_folded_on() -> None:
    """The file was written by the version before: what there is nothing of was written out, questions had no `length`."""
    state = (Path(__file__).parent / "states" / "format-4.json").read_bytes()
    questions = (*QUESTIONS[:3], *OPEN_LATENCY, INTENT)
    observations = random_stream(Stage.CONTROLLED, 90, seed=4)
    fold = Fold.from_bytes(state, questions)
    assert fold.evidence() == fold_of(observations[:40], Stage.CONTROLLED, questions).evidence()
    fold.add_all(observations)
    whole = fold_of(observations, Stage.CONTROLLED, questions)
    assert fold.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b"null", b'{"format":%d}' % FORMAT, b"\xff\xfe"])
def test_state_that_cannot_be_read_is_refused(state: bytes) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        Fold.from_bytes(state, QUESTIONS)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(signal=Signal.DRIFT, margin=0.1), "cannot be folded"),
        (Question(signal=Signal.EXTERNAL, margin=0.1), "cannot be folded"),
        (Question(signal=Signal.REWARD, margin=1.0), "margin"),
        (Question(signal=Signal.REWARD, margin=-0.1), "margin"),
        (Question(signal=Signal.REWARD, margin=math.nan), "margin"),
        (Question(signal=Signal.REWARD, margin=0.1, baseline=1.2), "baseline"),
        (Question(signal=Signal.REWARD, margin=0.1, baseline=math.nan), "baseline"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(question: Question, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Fold(key(), (question,))


def test_a_finding_names_the_run_of_a_session_that_shows_it() -> None:
    calm, slow = good(latencies_ms=(100.0,)), good(latencies_ms=(900.0,))
    odd = good(violations=("Enum agent",), violated=1.0)
    session = replace(
        unit(1, stable=good(), candidate=good(latencies_ms=(100.0, 900.0), violations=("Enum agent",))),
        runs=("a", "b", "c"),
        by_run=(
            RunFacts(run="a", candidate=calm, stable=calm),
            RunFacts(run="b", candidate=slow, stable=calm),
            RunFacts(run="c", candidate=odd, stable=calm),
        ),
    )
    evidence = evidence_of([session])
    (latency,) = evidence.of(Signal.P95_LATENCY)
    assert latency.witnesses == ("b",)
    assert evidence.unseen_violations["Enum agent"] == (1, ("c",))
