"""The disagreement gate: what it says beside its verdict, and that it waits until texts can be judged."""

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.contracts.evidence import AnswerEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import PlannedGate
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.rollout import answers, gates
from sluicegate.rollout.judging import View
from tests.rollout.samples import signal, with_signal
from tests.rollout.test_gates import fresh, threshold, view

KNOWN = AnswerEvidence(
    similarity=0.91,
    stable_similarity=0.93,
    floor=0.72,
    have=39,
    want=39,
    unjudged=39,
    only_candidate=62,
    only_stable=42,
)


def judged(found: AnswerEvidence, *, late: bool = False, **changes: Any) -> Finding:
    evidence = with_signal(fresh(Stage.SHADOW), Signal.DISAGREEMENT, answers=found, **changes)
    seen = view(Stage.SHADOW, evidence, late=late)
    return gates.judge(seen, gate(seen))


def gate(seen: View) -> PlannedGate:
    return next(gate for gate in seen.stage.gates if gate.signal is Signal.DISAGREEMENT)


@pytest.mark.parametrize(
    ("only_candidate", "only_stable"),
    [(10, 2), (2, 10), (0, 0), (5, 5), (62, 42), (0, 900), (900, 800), (40_000, 39_000)],
)
def test_mcnemar_is_the_exact_binomial_test(only_candidate: int, only_stable: int) -> None:
    """Oracle: scipy.stats.binomtest, one-sided."""
    n = only_candidate + only_stable
    expected = stats.binomtest(only_candidate, n, 0.5, alternative="greater").pvalue if n else 1.0
    assert answers.mcnemar(only_candidate, only_stable) == pytest.approx(expected, rel=1e-6)


def test_mcnemar_by_hand() -> None:
    assert answers.mcnemar(10, 2) == pytest.approx((66 + 12 + 1) / 2**12)  # C(12,10) + C(12,11) + C(12,12)


def test_the_finding_tells_pairs_similarity_and_floor() -> None:
    found = judged(KNOWN, candidate=0.25, stable=0.21)
    assert found.verdict is Verdict.PASS
    assert found.message.startswith(
        "candidate's answer differed in 25.0 % of 500 pairs, stable's second copy's in 21.0 % (only the candidate's in 62, "
        "only the copy's in 42; McNemar, if looked at once: p = 0.031); similarity 0.91 and 0.93, texts below 0.72 differ: "
        "not worse by 5 points"
    )


def test_a_low_similarity_is_told_and_decides_nothing() -> None:
    found = judged(replace(KNOWN, similarity=0.79))
    assert found.verdict is Verdict.PASS
    assert "low: read some" in found.message


def test_a_stable_that_rarely_repeats_itself_is_told() -> None:
    assert "x-sluicegate-compare" in judged(KNOWN, stable=0.9).message
    assert "x-sluicegate-compare" not in judged(KNOWN, stable=0.5).message


@pytest.mark.parametrize(
    ("unjudged", "verdict"),
    [
        (500, Verdict.WAIT),
        (26, Verdict.WAIT),
        (25, Verdict.PASS),
        (0, Verdict.PASS),
    ],  # of 500 units, margin 5 %
)
def test_texts_that_cannot_be_judged_yet_are_waited_for(unjudged: int, verdict: Verdict) -> None:
    unknown = replace(KNOWN, floor=None, have=12, unjudged=unjudged)
    found = judged(unknown)
    assert found.verdict is verdict
    if verdict is Verdict.WAIT:
        assert found.reason == "NeedsMore"
        assert "12 of 39" in found.message
        late = judged(unknown, late=True)
        assert (late.verdict, late.reason) == (Verdict.INCONCLUSIVE, "InsufficientSamples")


def test_facts_that_differ_are_not_waited_for() -> None:
    unknown = replace(KNOWN, floor=None, have=0, unjudged=500)
    harm = threshold(Stage.SHADOW, Signal.DISAGREEMENT) + 1e-9
    assert judged(unknown, harm_log_e=harm).verdict is Verdict.FAIL


def test_a_number_that_is_none_stays_one() -> None:
    assert judged(replace(KNOWN, floor=None, unjudged=500), harm_log_e=math.nan).verdict is Verdict.WAIT


def test_evidence_without_answers_is_judged_as_ever() -> None:
    assert signal(Signal.DISAGREEMENT).answers is None
    found = gates.judge(seen := view(Stage.SHADOW, fresh(Stage.SHADOW)), gate(seen))
    assert found.verdict is Verdict.PASS
