"""A rollout can be decided: every stage gets evidence, and every gate can pass and can fail."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.workflow import (
    FailureStrategy,
    Gate,
    SideEffects,
    StageSpec,
    Strategy,
    stages_passed,
)
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.contracts.suggestions import listed, shown
from sluicegate.contracts.verification.drift import observable
from sluicegate.contracts.verification.facts import Facts

SAFETY = (Signal.SUCCESS_RATE, Signal.P95_LATENCY, Signal.FALLBACK_RATE_MAX, Signal.CONTRACT_VIOLATIONS)
"""Signals that every candidate can be stopped by, whatever it is for."""
PAIRED = (Signal.DISAGREEMENT, Signal.SHAPLEY_VARIANCE)
"""Signals that need both arms to see the same request."""
_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timing:
    """A stage with its defaults filled in. path: of the stage, where it is written."""

    name: Stage
    path: str | None
    share: Fraction
    min_runs: int
    min_seconds: int
    max_seconds: int


def _stages(strategy: Strategy) -> Iterator[tuple[str, StageSpec]]:
    for number, stage in enumerate(strategy.stages):
        yield f"spec.rollout.stages[{number}]", stage


def _timings(strategy: Strategy) -> Iterator[_Timing]:
    """Every stage that will be passed, Full always among them."""
    paths = {stage.name: path for path, stage in _stages(strategy)}
    for name, stage in stages_passed(strategy).items():
        yield _Timing(
            name=name,
            path=paths.get(name),
            share=stage["share"],
            min_runs=stage["min_runs"],
            min_seconds=stage["min_duration_seconds"],
            max_seconds=stage["max_duration_seconds"],
        )


def passage(facts: Facts) -> Iterator[Problem]:
    """Stages are written in their order, once, and not skipped as well; Full is never skipped."""
    strategy = facts.spec.rollout
    order = list(Stage)
    latest = -1
    for path, stage in _stages(strategy):
        if stage.name in strategy.skip_stages:
            yield Problem(
                path=f"{path}.name",
                message="the stage is configured and skipped as well",
                value=stage.name.value,
                allowed="one of stages and skipStages",
                hint="remove it from stages or from skipStages",
            )
        if order.index(stage.name) < latest:
            yield Problem(
                path=f"{path}.name",
                message="stands after a stage that it precedes",
                value=stage.name.value,
                allowed=" → ".join(order),
                hint="stages are passed in this order; write them so",
            )
        latest = max(latest, order.index(stage.name))
    if Stage.FULL in strategy.skip_stages:
        yield Problem(
            path=f"spec.rollout.skipStages[{strategy.skip_stages.index(Stage.FULL)}]",
            message="Full cannot be skipped: it is where a rollout ends",
            value="Full",
            allowed=listed(stage.value for stage in order[:-1]),
            hint="remove it",
        )


def shares(facts: Facts) -> Iterator[Problem]:
    """A stage without traffic learns nothing, and Full is full."""
    for path, stage in _stages(facts.spec.rollout):
        share = stage.share
        if share is not None and share.numerator == 0:
            yield Problem(
                path=f"{path}.share",
                message=f"{stage.name.value} would get no traffic and never end",
                value=f"0/{share.denominator}",
                allowed="above 0, at most 1",
                hint=f"write a share, or `skipStages: [{stage.name.value}]`",
            )
        elif share is not None and stage.name is Stage.FULL and share.numerator != share.denominator:
            yield Problem(
                path=f"{path}.share",
                message="in Full the candidate answers everybody",
                value=f"{share.numerator}/{share.denominator}",
                allowed="1/1",
                hint="remove it, or set the share of Controlled",
            )


def misplaced(facts: Facts) -> Iterator[Problem]:
    """A field that its stage would ignore: copies exist in mirrored stages, users' fallbacks in the others."""
    for path, stage in _stages(facts.spec.rollout):
        mirrored = stage.name in MIRRORED_STAGES
        if stage.review_fallbacks and stage.name is not Stage.CONTROLLED:
            yield Problem(
                path=f"{path}.reviewFallbacks",
                message=f"no fallback of {stage.name.value} is sampled for review",
                value=str(stage.review_fallbacks),
                allowed="in Controlled only",
                hint="move it to Controlled",
            )
        for field, share in (
            ("controlShare", stage.control_share),
            ("ablationShare", stage.ablation_share),
            ("versionShare", stage.version_share),
        ):
            if share is not None and share.numerator and not mirrored:
                yield Problem(
                    path=f"{path}.{field}",
                    message=f"{stage.name.value} mirrors nothing",
                    value=f"{share.numerator}/{share.denominator}",
                    allowed="in Canary and Shadow",
                    hint="move it to Shadow",
                )


def durations(facts: Facts) -> Iterator[Problem]:
    """A stage may end before it must."""
    for timing in _timings(facts.spec.rollout):
        if timing.path is not None and timing.min_seconds > timing.max_seconds:
            yield Problem(
                path=f"{timing.path}.maxDurationSeconds",
                message=f"is below minDurationSeconds ({timing.min_seconds}; each has a default)",
                value=str(timing.max_seconds),
                allowed=f"at least {timing.min_seconds}",
                hint="set both minDurationSeconds and maxDurationSeconds",
            )


def enough_traffic(facts: Facts) -> Iterator[Problem]:
    """The samples come before the deadline, at the declared traffic."""
    rate = facts.spec.expected_runs_per_hour
    for timing in _timings(facts.spec.rollout) if rate is not None else ():
        per_hour = Decimal(rate or 0) * timing.share.numerator / timing.share.denominator
        reached = int(per_hour * timing.max_seconds / _HOUR)
        if per_hour == 0 or reached >= timing.min_runs:
            continue
        hours = f"{Decimal(timing.max_seconds) / _HOUR:.4g}"
        yield Problem(
            path=f"{timing.path}.minRuns" if timing.path else "spec.expectedRunsPerHour",
            message=(
                f"{timing.name.value} needs {timing.min_runs} runs, but {rate} runs per hour × share "
                f"{timing.share.numerator}/{timing.share.denominator} give about {reached} in its {hours} hours"
            ),
            value=str(timing.min_runs if timing.path else rate),
            allowed=f"at most {reached} runs",
            hint=f"raise the share or maxDurationSeconds, lower minRuns, or `skipStages: [{timing.name.value}]`",
        )


def safety(facts: Facts) -> Iterator[Problem]:
    """Every stage can stop a bad candidate."""
    for path, stage in _stages(facts.spec.rollout):
        if stage.gates is not None and not any(
            gate.required and gate.signal in SAFETY for gate in stage.gates
        ):
            yield Problem(
                path=f"{path}.gates",
                message=f"{stage.name.value} has no safety gate, a bad candidate could not be stopped in it",
                value=listed(gate.signal.value for gate in stage.gates) or "no gates",
                allowed="at least one required gate on " + ", ".join(signal.value for signal in SAFETY),
                hint="remove `gates` to get the defaults, or add {name: success, signal: WorkflowSuccessRate}",
            )


def signals(facts: Facts) -> Iterator[Problem]:
    """A gate asks what the stage can answer, once."""
    for path, stage in _stages(facts.spec.rollout):
        seen: dict[Signal, str] = {}
        for number, gate in enumerate(stage.gates or ()):
            where = f"{path}.gates[{number}]"
            first = where if gate.source is not None else seen.setdefault(gate.signal, where)
            if first != where:
                yield Problem(
                    path=f"{where}.signal",
                    message=f"this stage already has a gate on this signal, at {first}",
                    value=gate.signal.value,
                    allowed="one gate for each signal",
                    hint="remove one of the two",
                )
            yield from _answerable(facts, stage, gate, where)
            yield from _decidable(gate, where)


def _answerable(facts: Facts, stage: StageSpec, gate: Gate, path: str) -> Iterator[Problem]:
    mirrored = stage.name in MIRRORED_STAGES
    if gate.signal is Signal.REWARD and facts.spec.reward is None:
        window = facts.spec.rollout.outcome_window_seconds
        if mirrored or window == 0:
            yield Problem(
                path=f"{path}.signal",
                message="there is no reward: mirrored runs get one only from spec.reward"
                if mirrored
                else "there is no reward: neither spec.reward nor a time to wait for outcomes",
                value=gate.signal.value,
                allowed="a workflow with spec.reward",
                hint="add an evaluator and `reward: steps.<evaluator>.reward`",
            )
    if gate.signal in PAIRED and not mirrored:
        yield Problem(
            path=f"{path}.signal",
            message=f"in {stage.name.value} each request is seen by one arm, so answers cannot be compared",
            value=gate.signal.value,
            allowed="only in " + ", ".join(name.value for name in Stage if name in MIRRORED_STAGES),
            hint="move the gate to Shadow",
        )
    if gate.signal is Signal.DRIFT:
        yield from observable(facts.spec, stage.name, f"{path}.signal")
    if gate.signal is Signal.SHAPLEY_VARIANCE:
        yield from _shared_out(facts, gate, path)
    if gate.signal is Signal.SHAPLEY_VARIANCE and (
        stage.ablation_share is None or stage.ablation_share.numerator == 0
    ):
        yield Problem(
            path=f"{path}.signal",
            message="contributions are measured by ablation, and this stage has none",
            value=gate.signal.value,
            allowed="a stage with ablationShare above 0",
            hint="ablationShare: {numerator: 1, denominator: 2}",
        )


def _shared_out(facts: Facts, gate: Gate, path: str) -> Iterator[Problem]:
    """Contributions are parts of a reward, of components that can be left out."""
    if facts.spec.reward is None:
        yield Problem(
            path=f"{path}.signal",
            message="there is no reward to share out among the components",
            value=gate.signal.value,
            allowed="a workflow with spec.reward",
            hint="add an evaluator and `reward: steps.<evaluator>.reward`",
        )
    if not any(
        component.on_failure.type is not FailureStrategy.FAIL
        and component.side_effects is not SideEffects.LIVE
        for component in facts.spec.components
    ):
        yield Problem(
            path=f"{path}.signal",
            message="no component can be left out of a run: each is Live or has no fallback",
            value=gate.signal.value,
            allowed="a component with onFailure Skip, Value, Component or StableVersion that is not Live",
            hint="declare `onFailure` of the components that an answer can do without",
        )


def _decidable(gate: Gate, path: str) -> Iterator[Problem]:
    if gate.source is None:  # else told beside the source
        yield from _of_another_signal(gate, path)
    for field, value in (("margin", gate.margin), ("delta", gate.delta), ("deltaPhi", gate.delta_phi)):
        if value is None:
            continue
        number = Decimal(value)
        if number in {0, 1}:
            yield Problem(
                path=f"{path}.{field}",
                message="no finite number of runs can show this, so the gate could never pass"
                if number == 0
                else "nothing is that much worse, so the gate could never fail",
                value=shown(value),
                allowed="above 0 and below 1",
                hint='"0.02" means: at most two points worse still counts as not worse',
            )
    if gate.signal is Signal.SHAPLEY_VARIANCE and gate.delta is None:
        yield Problem(
            path=f"{path}.delta",
            message="is required with RewardShapleyVariance",
            value="nothing",
            allowed="a rate as text",
            hint='delta: "0.01"',
        )


def _of_another_signal(gate: Gate, path: str) -> Iterator[Problem]:
    """A number that the gate would not look at."""
    shares_out = gate.signal is Signal.SHAPLEY_VARIANCE
    for field, value, hint in (
        ("margin", gate.margin if shares_out else None, "write delta"),
        ("delta", None if shares_out else gate.delta, "write margin"),
        ("deltaPhi", None if shares_out else gate.delta_phi, "remove it"),
    ):
        if value is not None:
            yield Problem(
                path=f"{path}.{field}",
                message=f"has no meaning with {gate.signal.value}, so it would have no effect",
                value=shown(value),
                allowed="delta and deltaPhi of RewardShapleyVariance, margin of the other signals",
                hint=hint,
            )


def error_budget(facts: Facts) -> Iterator[Problem]:
    """The chances of a wrong decision are small, and not zero."""
    budget = facts.spec.rollout.error_budget
    for field, value in (("abort", budget.abort), ("promote", budget.promote)):
        if not 0 < Decimal(value) <= Decimal("0.5"):
            yield Problem(
                path=f"spec.rollout.errorBudget.{field}",
                message="no test can keep this: at 0 nothing is ever decided, above 0.5 a coin would do",
                value=shown(value),
                allowed='above "0", at most "0.5"',
                hint='"0.05" is the default',
            )


CHECKS = (passage, shares, misplaced, durations, enough_traffic, safety, signals, error_budget)
