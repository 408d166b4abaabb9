"""A slow second fold, written from the documents: keeps every value, shares no code with the product."""

import math
from dataclasses import dataclass, field

import numpy as np

from sluicegate.contracts.evidence import ArmFacts, Observation, Question
from sluicegate.contracts.stages import Signal, Stage
from tests.observability import simulation as sim


@dataclass
class Answer:
    differences: list[float] = field(default_factory=list)
    missing: int = 0
    candidate: list[float] = field(default_factory=list)
    stable: list[float] = field(default_factory=list)
    worse: list[str] = field(default_factory=list)
    boundary: float | None = None
    similar: list[float] = field(default_factory=list)

    def harm_and_safe(self, question: Question) -> tuple[float, float]:
        if not self.differences:
            return 0.0, 0.0
        x = np.array([self.differences])
        if question.baseline is None:
            harm, safe = sim.harm_and_safe(x, question.margin)
        else:
            better = question.signal in {Signal.SUCCESS_RATE, Signal.REWARD}
            limit = (1 - question.baseline if better else question.baseline) + question.margin
            harm, safe = sim.log_e(x, 0.0, limit), sim.log_e(-x, -1.0, -limit)
        return float(harm[0, -1]), float(safe[0, -1])


def bad_of(question: Question, facts: ArmFacts, boundary: float | None) -> float:
    """Badness, NaN when it is missing."""
    if question.signal == Signal.SUCCESS_RATE:
        value = 1 - facts.success
    elif question.signal == Signal.REWARD:
        value = math.nan if facts.reward is None else 1 - facts.reward
    elif question.signal == Signal.DISAGREEMENT:
        value = math.nan if facts.disagrees is None else facts.disagrees
        if any(x is not None and not 0 <= x <= 1 for x in facts.texts):
            return math.nan
        if boundary is not None and facts.texts:
            low = [x for x in facts.texts if x is not None and x < boundary]
            value = min(1.0, value + len(low) / len(facts.texts))
    elif question.signal == Signal.CONTRACT_VIOLATIONS:
        value = facts.violated
    elif question.signal == Signal.FALLBACK_RATE_MAX:
        value = facts.fallbacks.get(str(question.component), 0.0)
    else:
        wrong = [x for x in facts.latencies_ms if not math.isfinite(x) or x < 0]
        if wrong or not facts.latencies_ms or boundary is None:
            return math.nan
        value = float(np.mean([x > boundary for x in facts.latencies_ms]))
    return value if math.isfinite(value) and 0 <= value <= 1 else math.nan


def answer(question: Question, stage: Stage, observations: list[Observation]) -> Answer:
    result = Answer(boundary=question.boundary_ms)
    rest = observations
    if question.signal == Signal.P95_LATENCY and question.boundary_ms is None and question.baseline is None:
        result.boundary, rest = calibrated(question, observations)
    if question.baseline is not None:
        one_sample(result, question, rest)
    elif stage in {Stage.CANARY, Stage.SHADOW}:
        paired(result, question, rest)
    else:
        split(result, question, rest)
    return result


def calibrated(question: Question, observations: list[Observation]) -> tuple[float | None, list[Observation]]:
    seen: list[float] = []
    for index, observation in enumerate(observations):
        if observation.stable is not None:
            seen += [x for x in observation.stable.latencies_ms if math.isfinite(x) and x >= 0]
        if len(seen) >= 59:
            p95 = float(np.quantile(seen, 0.95, method="inverted_cdf"))
            return max(p95 * (1 + question.latency_slack), p95 + question.latency_floor_ms), observations[
                index + 1 :
            ]
    return None, []


def one_sample(result: Answer, question: Question, observations: list[Observation]) -> None:
    for observation in observations:
        if observation.candidate is None:
            continue
        value = bad_of(question, observation.candidate, result.boundary)
        if math.isnan(value):
            result.missing += 1
            continue
        result.candidate.append(value)
        result.differences.append(value)


def paired(result: Answer, question: Question, observations: list[Observation]) -> None:
    for observation in observations:
        floor = question.signal == Signal.DISAGREEMENT
        other = observation.control if floor else observation.stable
        if observation.candidate is None or (other is None and floor):
            continue
        a = bad_of(question, observation.candidate, result.boundary)
        b = math.nan if other is None else bad_of(question, other, result.boundary)
        if math.isnan(a) or math.isnan(b):
            result.missing += 1
            continue
        result.candidate.append(a)
        result.stable.append(b)
        compare(result, a, b, observation.runs[0])
        if floor and other is not None and result.boundary is None:
            result.similar += [x for x in other.texts if x is not None]
            if len(result.similar) >= 39:
                rank = math.floor((len(result.similar) + 1) / 20)  # of 39 the second lowest
                result.boundary = min(0.8, float(np.sort(result.similar)[rank - 1]))


def split(result: Answer, question: Question, observations: list[Observation]) -> None:
    candidates: list[tuple[float, str]] = []
    stables: list[float] = []
    for observation in observations:
        facts = observation.candidate or observation.stable
        if facts is None:
            continue
        value = bad_of(question, facts, result.boundary)
        if math.isnan(value):
            result.missing += 1
            continue
        if observation.candidate is not None:
            result.candidate.append(value)
            candidates = [*candidates, (value, observation.runs[0])][-64:]
            candidates = [(bad, "") for bad, _ in candidates[:-32]] + candidates[-32:]
        else:
            result.stable.append(value)
            stables = [*stables, value][-64:]
        while candidates:
            size = max(1, min(20, len(result.stable) // len(result.candidate)))
            if len(stables) < size:
                break
            newest, stables = stables[-size:], stables[:-size]
            a, run = candidates.pop()
            compare(result, a, float(np.mean(newest)), run)


def compare(result: Answer, a: float, b: float, run: str) -> None:
    result.differences.append(a - b)
    if a - b > 1e-12 and run:
        result.worse.append(run)
