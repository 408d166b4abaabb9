"""Observations of one component's field, and what the fold says of them."""

from dataclasses import replace

from sluicegate.contracts.evidence import ArmFacts, Observation, Question, SignalEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.drift.outputs import Outputs
from tests.observability.facts import good, unit

INTENT = Question(signal=Signal.DRIFT, margin=0.05, component="planner", output="intent")
SCORE = Question(signal=Signal.DRIFT, margin=0.05, component="judge", output="score", numeric=True)


def gave(*values: str) -> ArmFacts:
    """Each value as often as it is named."""
    shares = {value: values.count(value) / len(values) for value in dict.fromkeys(values)}
    return good(choices={"planner.intent": shares} if values else {})


def scored(*numbers: float) -> ArmFacts:
    return good(numbers={"judge.score": numbers})


def pairs(candidate: list[str], stable: list[str], stage: Stage = Stage.SHADOW) -> list[Observation]:
    return [
        unit(number, stage, candidate=gave(mine), stable=gave(theirs))
        for number, (mine, theirs) in enumerate(zip(candidate, stable, strict=True), start=1)
    ]


def folded(
    observations: list[Observation], question: Question = INTENT, stage: Stage = Stage.SHADOW
) -> SignalEvidence:
    fold = Outputs(question, stage)
    for observation in observations:
        fold.add(observation)
    return fold.evidence()


def numbered(observations: list[Observation]) -> list[Observation]:
    return [replace(item, sequence=number) for number, item in enumerate(observations, start=1)]
