"""What a gate gets to see in its stage, and how its values would fall: the assumptions behind every estimate.

Assumed: stable is as bad as the contract allows (else a default), units are independent, and of one run each. Arms
that fail on the same requests, and a stable that is better than promised, need fewer units than these estimates say.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts.evidence import Question
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage, RevisionRef, RolloutSpec
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.badness import displayed
from sluicegate.observability.drift.values import FIRST_WEIGHT
from sluicegate.observability.passage import Passage, least_units
from sluicegate.observability.track import (
    BOUNDARY_LATENCIES,
    MOST_STABLE_PER_CANDIDATE,
    Design,
    Track,
    design_of,
)
from sluicegate.rollout import pairs, planning
from sluicegate.rollout.pairs import PairSight

_DEFAULT_BADNESS: Final = {
    Signal.SUCCESS_RATE: 0.05,
    Signal.P95_LATENCY: 0.05,
    Signal.FALLBACK_RATE_MAX: 0.02,
    Signal.CONTRACT_VIOLATIONS: 0.01,
    Signal.DISAGREEMENT: 0.10,
    Signal.REWARD: 0.10,
    Signal.DRIFT: 0.25,
}
"""Assumed share of bad units where the contract promises nothing; signals whose gates compare units of the arms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One gate's view. Values are pairs where two arms are compared, the candidate's units where there is one.

    bad: stable's share of bad units. null_harm, null_safe, low_harm, low_safe: of its two tests. seen: values per unit
    of the candidate. spent: units of the candidate before the first value (they set the latency boundary). floor:
    values below which it never speaks. parts: questions over which its α is split. beside: stable units in a pair.
    """

    design: Design
    bad: float
    margin: float
    null_harm: float
    low_harm: float
    null_safe: float
    low_safe: float
    harm_threshold: float
    safe_threshold: float
    seen: float = 1.0
    spent: int = 0
    floor: int = 0
    parts: int = 1
    beside: int = 1

    def values(self, units: float) -> float:
        """How many values it has after so many units of the candidate."""
        return max(0.0, units - self.spent) * self.seen

    def units(self, values: float) -> float:
        """The units of the candidate that give so many values."""
        return values / self.seen + self.spent

    @property
    def least(self) -> tuple[int, int]:
        """Values without which it cannot fail and cannot pass, whatever happens."""
        fails = least_units(
            low=self.low_harm, high=1.0, null=self.null_harm, log_threshold=self.harm_threshold
        )
        high = 0.0 if self.design is Design.ONE_SAMPLE else 1.0
        passes = least_units(
            low=self.low_safe, high=high, null=self.null_safe, log_threshold=self.safe_threshold
        )
        return max(fails, self.floor), max(passes, self.floor)


def assumed_badness(spec: WorkflowSpec, signal: Signal) -> float:
    """The share of bad units that the contract allows, else a default."""
    declared = declared_badness(spec, signal)
    return _DEFAULT_BADNESS.get(signal, 0.1) if declared is None else declared


def declared_badness(spec: WorkflowSpec, signal: Signal) -> float | None:
    """The share of bad units that the contract allows; None when it does not say."""
    sla = spec.contract.sla
    return {
        Signal.SUCCESS_RATE: None if sla.min_success_rate is None else 1.0 - float(sla.min_success_rate),
        Signal.P95_LATENCY: 1.0 - float(sla.latency_quantile),
        Signal.FALLBACK_RATE_MAX: None if sla.max_fallback_rate is None else float(sla.max_fallback_rate),
    }.get(signal)


Seen = Sight | PairSight


def sights(spec: WorkflowSpec) -> dict[Stage, dict[str, Seen | None]]:
    """Of every planned stage its gates by name; None where no units of the arms are compared.

    Nothing of runtime Service, where people alone advance a stage.
    """
    if spec.runtime is Runtime.SERVICE:
        return {}
    rollout = _rollout(spec)
    return {stage.name: dict(_of_stage(spec, rollout, stage)) for stage in rollout.stages}


def _rollout(spec: WorkflowSpec) -> RolloutSpec:
    stable = RevisionRef(name="stable", digest=f"sha256:{'0' * 64}", version="stable")
    return planning.rollout_spec(spec, stable, RevisionRef(name="new", digest=stable.digest, version="new"))


def _of_stage(
    spec: WorkflowSpec, rollout: RolloutSpec, stage: PlannedStage
) -> Iterator[tuple[str, Seen | None]]:
    baseline = {
        planning.baseline_key(gate.signal, component): str(
            displayed(gate.signal, assumed_badness(spec, gate.signal))
        )
        for gate in stage.gates
        for component in (None, *rollout.components)
    }
    asked: dict[Signal, list[Question]] = {}
    for question in planning.questions(rollout, stage.name, baseline):
        if question.signal in _DEFAULT_BADNESS:
            asked.setdefault(question.signal, []).append(question)
    for gate in stage.gates:
        found = asked.get(gate.signal)
        bad = assumed_badness(spec, gate.signal)
        if gate.signal is Signal.SHAPLEY_VARIANCE:
            yield gate.name, pairs.sight(spec, stage, gate, assumed_badness(spec, Signal.REWARD))
            continue
        yield gate.name, _sight(stage, gate, found, bad) if found and _is_sound(stage, gate) else None


def _is_sound(stage: PlannedStage, gate: PlannedGate) -> bool:
    """Whether the gate can be asked at all; what cannot is refused by verification, with its reason."""
    rates = (gate.margin or "0", gate.abort_alpha, gate.promote_alpha)
    is_fed = gate.signal is not Signal.DISAGREEMENT or stage.control_share.numerator > 0
    return is_fed and stage.share.numerator > 0 and all(0.0 < float(rate) < 1.0 for rate in rates)


def _sight(stage: PlannedStage, gate: PlannedGate, asked: list[Question], bad: float) -> Sight:
    question, parts = asked[0], len(asked)
    latency = question.signal is Signal.P95_LATENCY
    if question.signal is Signal.DRIFT:
        return _drift(stage, gate, question, parts, bad)
    track = Track(question, stage.name)
    share = stage.share.numerator / stage.share.denominator
    beside, seen = _pairing(stage, track.design, share)
    if question.against_control or question.signal is Signal.DISAGREEMENT:
        seen *= stage.control_share.numerator / stage.control_share.denominator
    calibrates = latency and question.boundary_ms is None and track.design is not Design.ONE_SAMPLE
    return Sight(
        design=track.design,
        bad=bad,
        margin=question.margin,
        null_harm=track.harm.null,
        low_harm=track.harm.low,
        null_safe=track.safe.null,
        low_safe=track.safe.low,
        harm_threshold=math.log(parts / float(gate.abort_alpha)),
        safe_threshold=-math.log(float(gate.promote_alpha)),
        seen=seen,
        spent=_calibration(track.design, share) if calibrates else 0,
        floor=planning.BOUNDARY if latency else 0,
        parts=parts,
        beside=beside,
    )


def _drift(stage: PlannedStage, gate: PlannedGate, question: Question, parts: int, bad: float) -> Sight:
    """Of outputs: `bad` is the share of the value that moves, which is the first of its field to appear. Half of the
    capital is on the bets that a Track makes, the rest on others (observability.drift.shift)."""
    design = design_of(question, stage.name)
    share = stage.share.numerator / stage.share.denominator
    beside, seen = _pairing(stage, design, share)
    return Sight(
        design=design,
        bad=bad,
        margin=question.margin,
        null_harm=0.0,
        low_harm=-1.0,
        null_safe=-question.margin,
        low_safe=-1.0,
        harm_threshold=math.log(parts / float(gate.abort_alpha)) + math.log(4.0 / FIRST_WEIGHT),
        safe_threshold=-math.log(float(gate.promote_alpha)) + math.log(2.0),
        seen=seen,
        parts=parts,
        beside=beside,
    )


def _pairing(stage: PlannedStage, design: Design, share: float) -> tuple[int, float]:
    """Stable units beside one of the candidate, and the part of the candidate's units that find theirs."""
    if design is not Design.SPLIT or stage.name in MIRRORED_STAGES:
        return 1, 1.0
    stable = (1.0 - share) / share  # for each of the candidate
    counted = math.ceil(stable) - 1  # the running quotient is rounded down, and half of the time just below
    return min(max(counted, 1), MOST_STABLE_PER_CANDIDATE), min(1.0, stable)


def _calibration(design: Design, share: float) -> int:
    """The candidate's units that pass while stable's first latencies set the boundary."""
    if design is Design.PAIRED:
        return BOUNDARY_LATENCIES
    return math.ceil(BOUNDARY_LATENCIES * share / (1.0 - share)) if share < 1.0 else 0


def passing(sight: Sight, worse: float = 0.0) -> Passage:
    """Of the safety test, when the candidate is worse by so much."""
    drawn = [(-value, chance) for value, chance in _differences(sight, worse)]
    return Passage(drawn, low=sight.low_safe, null=sight.null_safe)


def failing(sight: Sight, worse: float) -> Passage:
    """Of the harm test, when the candidate is worse by so much."""
    return Passage(_differences(sight, worse), low=sight.low_harm, null=sight.null_harm)


def _differences(sight: Sight, worse: float) -> list[tuple[float, float]]:
    """Badness of the candidate, minus that of the stable units beside it where there are any."""
    mine, theirs = min(sight.bad + worse, 1.0), sight.bad
    arm = ((1.0, mine), (0.0, 1.0 - mine))
    if sight.design is Design.ONE_SAMPLE:
        return list(arm)
    beside = sight.beside
    return [
        (
            value - bad / beside,
            chance * math.comb(beside, bad) * theirs**bad * (1.0 - theirs) ** (beside - bad),
        )
        for value, chance in arm
        for bad in range(beside + 1)
    ]
