"""Builders and strategies of observations."""

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation, Question, StageEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.fold import Fold

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

QUESTIONS = (
    Question(signal=Signal.SUCCESS_RATE, margin=0.02),
    Question(signal=Signal.P95_LATENCY, margin=0.02, boundary_ms=400.0),
    Question(signal=Signal.FALLBACK_RATE_MAX, margin=0.02, component="planner"),
    Question(signal=Signal.FALLBACK_RATE_MAX, margin=0.02, component="writer"),
    Question(signal=Signal.CONTRACT_VIOLATIONS, margin=0.02),
    Question(signal=Signal.DISAGREEMENT, margin=0.05),
    Question(signal=Signal.REWARD, margin=0.05),
)
BASELINES = tuple(
    replace(question, baseline=0.9 if question.signal in {Signal.SUCCESS_RATE, Signal.REWARD} else 0.05)
    for question in QUESTIONS
)


def key(stage: Stage = Stage.SHADOW, attempt: int = 1) -> EvidenceKey:
    return EvidenceKey("rollout-uid", stage, attempt)


def good(**changes: object) -> ArmFacts:
    facts = ArmFacts(
        success=1.0, latencies_ms=(120.0,), fallbacks={"planner": 0.0}, reward=0.9, disagrees=0.0
    )
    return replace(facts, **changes)  # type: ignore[arg-type]


def bad(**changes: object) -> ArmFacts:
    facts = ArmFacts(
        success=0.0,
        latencies_ms=(900.0,),
        fallbacks={"planner": 1.0, "writer": 1.0},
        violations=("Enum steps.plan.intent",),
        violated=1.0,
        reward=0.1,
        disagrees=1.0,
    )
    return replace(facts, **changes)  # type: ignore[arg-type]


def unit(
    sequence: int,
    stage: Stage = Stage.SHADOW,
    *,
    stable: ArmFacts | None = None,
    candidate: ArmFacts | None = None,
    control: ArmFacts | None = None,
    dropped: int = 0,
    kinds: tuple[str, ...] | None = None,
) -> Observation:
    if kinds is not None and candidate is not None:
        candidate = replace(candidate, violations=kinds)
    return Observation(
        sequence=sequence,
        key=key(stage),
        unit=f"unit-{sequence}",
        runs=(f"run-{sequence}",),
        at=START + timedelta(seconds=10 * sequence),
        stable=stable,
        candidate=candidate,
        control=control,
        dropped=dropped,
    )


def fold_of(
    observations: Iterable[Observation],
    stage: Stage = Stage.SHADOW,
    questions: tuple[Question, ...] = QUESTIONS,
) -> Fold:
    fold = Fold(key(stage), questions)
    fold.add_all(observations)
    return fold


def evidence_of(
    observations: Iterable[Observation],
    stage: Stage = Stage.SHADOW,
    questions: tuple[Question, ...] = QUESTIONS,
) -> StageEvidence:
    return fold_of(observations, stage, questions).evidence()


shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0), st.just(math.nan), st.just(math.inf))
latencies = st.one_of(st.floats(0.0, 1e4), st.just(math.nan), st.just(-1.0))
kinds = st.sampled_from(["Enum steps.plan.intent", "Required output.response", "Type output.score"])
arms = st.builds(
    ArmFacts,
    success=shares,
    latencies_ms=st.lists(latencies, max_size=3).map(tuple),
    fallbacks=st.dictionaries(st.sampled_from(["planner", "writer"]), shares),
    violations=st.lists(kinds, max_size=2, unique=True).map(tuple),
    violated=shares,
    reward=st.one_of(st.none(), shares),
    disagrees=st.one_of(st.none(), shares),
    similarity=st.one_of(st.none(), shares),
    texts=st.lists(st.one_of(st.none(), shares), max_size=3).map(tuple),
)


@st.composite
def streams(draw: st.DrawFn, stage: Stage, most: int = 60) -> list[Observation]:
    """Observations as the store gives them: ascending with gaps, with anything missing."""
    sequence = 0
    observations = []
    for _ in range(draw(st.integers(0, most))):
        sequence += draw(st.integers(1, 3))
        if stage in {Stage.CANARY, Stage.SHADOW}:
            who: dict[str, Any] = {
                arm: draw(st.one_of(st.none(), arms)) for arm in ("stable", "candidate", "control")
            }
        else:
            who = {draw(st.sampled_from(["stable", "stable", "candidate"])): draw(arms)}
        observations.append(unit(sequence, stage, dropped=draw(st.integers(0, 1)), **who))
    return observations
