"""What a strategy will cost and whether it can be decided, before anything runs.

The same planning, gates' thresholds and mixture as in a rollout; never gates of its own. The estimates assume a
candidate as good as stable, with the rates that the contract declares; a better one needs fewer units.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts import verification
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.sequential import FRACTIONS, stake_weights
from sluicegate.rollout import capabilities, phrases, planning
from sluicegate.rollout.model import Capabilities

_DEFAULT_BADNESS: Final = {
    Signal.SUCCESS_RATE: 0.05,
    Signal.P95_LATENCY: 0.05,
    Signal.FALLBACK_RATE_MAX: 0.02,
    Signal.CONTRACT_VIOLATIONS: 0.01,
    Signal.DISAGREEMENT: 0.10,
    Signal.REWARD: 0.10,
}
"""Assumed share of bad units where the contract promises nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEstimate:
    """One gate's part of the error budget, and the units it needs. needed None: it cannot be decided."""

    name: str
    signal: Signal
    margin: float
    abort_alpha: float
    promote_alpha: float
    required: bool
    needed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate:
    """A stage: units it needs, which gate asks for the most, and what that takes.

    seconds: to the decision at the declared traffic, None without it. exposed_runs: runs of users that pass
    meanwhile; candidate_runs: how many of them the candidate answers.
    """

    stage: Stage
    share: float
    min_runs: int
    min_duration_seconds: int
    max_duration_seconds: int
    needed: int
    binding: str
    seconds: float | None
    exposed_runs: int | None
    candidate_runs: int
    gates: tuple[GateEstimate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All that can be said of a workflow without running it. seconds: `estimatedTimeToDecision` of the whole rollout."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()
    stages: tuple[StageEstimate, ...] = ()
    seconds: float | None = None

    @property
    def ok(self) -> bool:
        """No problem; warnings are allowed."""
        return not self.problems


def lint(workflow: AgentWorkflow, can: Capabilities | None = None) -> LintReport:
    """Verification, what this version can run, whether every gate can pass and fail, and the cost of each stage."""
    spec = workflow.spec
    found = (
        *verification.verify(workflow),
        *capabilities.unsupported(spec, can or Capabilities()),
        *stage_problems(spec),
    )
    problems = tuple(dict.fromkeys(found))
    stages = estimates(spec)
    times = [stage.seconds for stage in stages if stage.seconds is not None]
    return LintReport(
        problems=problems,
        warnings=warnings(spec),
        stages=stages,
        seconds=sum(times) if stages and len(times) == len(stages) else None,
    )


def stage_problems(spec: WorkflowSpec) -> tuple[Problem, ...]:
    """Gates that could never pass, which only the whole plan shows."""
    return () if spec.runtime is Runtime.SERVICE else tuple(_stage_problems(spec))


def _stage_problems(spec: WorkflowSpec) -> Iterator[Problem]:
    planned = planning.plan_stages(spec)
    places = {stage.name: number for number, stage in enumerate(spec.rollout.stages)}
    measured = {gate.signal for stage in planned if stage.name is not Stage.FULL for gate in stage.gates}
    for stage in planned:
        path = f"spec.rollout.stages[{places[stage.name]}]" if stage.name in places else "spec.rollout"
        for gate in stage.gates:
            if gate.signal is Signal.DISAGREEMENT and stage.control_share.numerator == 0:
                yield Problem(
                    path=f"{path}.controlShare",
                    message=f"gate {gate.name} of {stage.name} needs a second copy of stable as its noise floor",
                    value="0",
                    allowed="above 0",
                    hint="set controlShare, or remove the gate",
                )
            if stage.name is Stage.FULL and gate.signal not in measured:
                yield Problem(
                    path=path,
                    message=f"gate {gate.name} of Full compares {gate.signal} with stable's before Full, "
                    "but no earlier stage measures it: it could never pass",
                    value=gate.signal,
                    allowed=", ".join(sorted(measured)) or "an earlier stage that is not skipped",
                )
        if not any(gate.required for gate in stage.gates):
            yield Problem(
                path=f"{path}.gates",
                message=f"{stage.name} has no required gate: it could never be passed",
                hint="remove gates to get the defaults",
            )


def warnings(spec: WorkflowSpec) -> tuple[str, ...]:
    """What may be meant, and people should know."""
    return tuple(_of_services(spec) if spec.runtime is Runtime.SERVICE else _warnings(spec))


def _of_services(spec: WorkflowSpec) -> Iterator[str]:
    yield (
        "runtime Service: no gate is fed, so that nothing advances or aborts by itself; every stage waits for a person "
        "(promote, abort), and at its maxDurationSeconds for one with a reason (override)"
    )
    yield "runtime Service: a candidate keeps its share while the operator is away; no lease takes it back"
    if Stage.CANARY not in spec.rollout.skip_stages:
        yield (
            "Canary: the mesh sends the candidate copies of users' requests; it must change nothing outside "
            "(or skipStages: [Canary, Shadow])"
        )


def _warnings(spec: WorkflowSpec) -> Iterator[str]:
    yield from (f"{path} is kept, and nothing follows it in this version" for path in _unused(spec))
    if spec.expected_runs_per_hour is None:
        yield "spec.expectedRunsPerHour is not set: how long the stages take is not known before they run"
    if spec.contract.sla.max_latency_ms is None and any(one.sla.max_latency_ms for one in spec.components):
        yield (
            "spec.contract.sla.maxLatencyMs is not set, and those of components do not stand for it: the latency gates "
            "call a run slow a quarter (at least 50 ms) above stable's first p95"
        )
    for stage in estimates(spec):
        for gate in stage.gates:
            if gate.required and gate.needed is None:
                yield f"{stage.stage}: gate {gate.name} would not be decided at the declared rates (margin {gate.margin:g})"
        if stage.seconds is not None and stage.seconds > stage.max_duration_seconds:
            yield (
                f"{stage.stage}: about {stage.needed} units ({stage.binding}) take "
                f"{phrases.duration(stage.seconds)} at the declared traffic, the deadline is "
                f"{phrases.duration(stage.max_duration_seconds)}: it would end inconclusive; {_remedy(stage)}"
            )


def _unused(spec: WorkflowSpec) -> Iterator[str]:
    """Fields that the schema has for later versions."""
    if spec.business_fallback is not None:
        yield "spec.businessFallback"
    if spec.retraining:
        yield "spec.retraining"
    if spec.contract.sla.max_amplification is not None:
        yield "spec.contract.sla.maxAmplification"


def _remedy(stage: StageEstimate) -> str:
    """The share in percent that would be in time, if there is one."""
    percent = math.ceil(100.0 * stage.share * (stage.seconds or 0.0) / stage.max_duration_seconds)
    if percent > 100 or stage.stage is Stage.FULL:
        return "raise maxDurationSeconds or the gate's margin"
    return f"share: {{numerator: {percent}}} would do"


def estimates(spec: WorkflowSpec) -> tuple[StageEstimate, ...]:
    """Each planned stage's cost, with the split of the error budget; nothing of stages that people alone advance."""
    if spec.runtime is Runtime.SERVICE:
        return ()
    return tuple(_estimate(spec, stage) for stage in planning.plan_stages(spec))


def _estimate(spec: WorkflowSpec, stage: PlannedStage) -> StageEstimate:
    found = tuple(_gate(spec, stage, gate) for gate in stage.gates)
    needs = {gate.name: gate.needed for gate in found if gate.required and gate.needed is not None}
    binding = max(needs, key=lambda name: needs[name] or 0, default="minRuns")
    needed = max(stage.min_runs, needs.get(binding) or 0)
    share = stage.share.numerator / stage.share.denominator
    rate = spec.expected_runs_per_hour
    seconds = None
    if rate is not None and share > 0.0:
        sampling = 3600.0 * needed / (rate * share) + spec.rollout.outcome_window_seconds
        seconds = max(sampling, float(stage.min_duration_seconds))
    exposed = None if rate is None or seconds is None else round(rate * seconds / 3600.0)
    mirrored = stage.name in MIRRORED_STAGES
    return StageEstimate(
        stage=stage.name,
        share=share,
        min_runs=stage.min_runs,
        min_duration_seconds=stage.min_duration_seconds,
        max_duration_seconds=stage.max_duration_seconds,
        needed=needed,
        binding=binding if needed > stage.min_runs else "minRuns",
        seconds=seconds,
        exposed_runs=exposed,
        candidate_runs=0 if mirrored else (needed if exposed is None else round(exposed * share)),
        gates=found,
    )


def _gate(spec: WorkflowSpec, stage: PlannedStage, gate: PlannedGate) -> GateEstimate:
    margin, bad = float(gate.margin or 0), assumed_badness(spec, gate.signal)
    alpha = float(gate.promote_alpha)
    return GateEstimate(
        name=gate.name,
        signal=gate.signal,
        margin=margin,
        abort_alpha=float(gate.abort_alpha),
        promote_alpha=alpha,
        required=gate.required,
        needed=units_needed(margin, bad, alpha, paired=stage.name is not Stage.FULL),
    )


def assumed_badness(spec: WorkflowSpec, signal: Signal) -> float:
    """The share of bad units that the contract allows, else a default."""
    sla = spec.contract.sla
    declared = {
        Signal.SUCCESS_RATE: None if sla.min_success_rate is None else 1.0 - float(sla.min_success_rate),
        Signal.P95_LATENCY: 1.0 - float(sla.latency_quantile),
        Signal.FALLBACK_RATE_MAX: None if sla.max_fallback_rate is None else float(sla.max_fallback_rate),
    }.get(signal)
    return _DEFAULT_BADNESS.get(signal, 0.1) if declared is None else declared


def units_needed(margin: float, bad: float, alpha: float, *, paired: bool) -> int | None:
    """Units until the mixture is expected to show "not worse by margin" for a candidate equal to stable.

    The first stake of the mixture (observability.sequential) whose expected log growth has earned ln(1/α) and what the
    mixture costs it: ln of the sum of all weights by its own. Paired: the difference of two independent outcomes with
    rate `bad`; else one sample against `bad` + margin.
    """
    bound = margin if paired else min(bad + margin, 0.999)
    scale = 1.0 / (1.0 - bound)
    weights = stake_weights(scale)
    grown = _paired_growth if paired else _single_growth
    needed = [
        (math.log(math.fsum(weights) / weight) - math.log(alpha)) / growth
        for fraction, weight in zip(FRACTIONS, weights, strict=True)
        if (growth := grown(fraction * scale, bound, bad)) > 0.0
    ]
    return math.ceil(min(needed)) if needed else None


def _single_growth(stake: float, threshold: float, bad: float) -> float:
    return bad * math.log1p(stake * (threshold - 1.0)) + (1.0 - bad) * math.log1p(stake * threshold)


def _paired_growth(stake: float, margin: float, bad: float) -> float:
    differs = bad * (1.0 - bad)
    return (
        (1.0 - 2.0 * differs) * math.log1p(stake * margin)
        + differs * math.log1p(stake * (margin + 1.0))
        + differs * math.log1p(stake * (margin - 1.0))
    )
