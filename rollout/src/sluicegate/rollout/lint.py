"""All that can be said of a workflow before anything runs: what is wrong, what may be, and what it costs (`outlook`)."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from sluicegate.contracts import analysis, schedules, verification
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.paths import named
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.rollout import capabilities, decidable, phrases, planning
from sluicegate.rollout.model import Capabilities
from sluicegate.rollout.outlook import Late, StageOutlook, late, outlook

_SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FEW_RUNS: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All that can be said of a workflow without running it. seconds: to the decision about
    a candidate as good as stable, of half of the rollouts; None where that is not known."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()
    stages: tuple[StageOutlook, ...] = ()
    seconds: float | None = None

    @property
    def ok(self) -> bool:
        """No problem; warnings are allowed."""
        return not self.problems


def lint(workflow: AgentWorkflow, can: Capabilities | None = None) -> LintReport:
    """Verification, what this version can run, whether every gate can pass and fail, and the cost of each stage."""
    spec = workflow.spec
    refused, warned = analysed(workflow)
    found = (
        *verification.verify(workflow),
        *capabilities.unsupported(spec, can or Capabilities()),
        *stage_problems(spec),
        *refused,
    )
    problems = tuple(dict.fromkeys(found))
    stages = outlook(spec)
    times = [stage.seconds for stage in stages if stage.seconds is not None]
    return LintReport(
        problems=problems,
        warnings=(*warned, *warnings(spec)),
        stages=stages,
        seconds=sum(times) if stages and len(times) == len(stages) else None,
    )


def analysed(
    workflow: AgentWorkflow, old: AgentWorkflow | None = None
) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Errors and warnings of `contracts.analysis`. What `old` has already is a warning: what is stored may be changed in other places."""
    found = analysis.analyse(workflow)
    errors = [item for item in found if item.severity is Severity.ERROR]
    known = Counter(_matters(old, analysis.analyse(old))) if old is not None and errors else Counter()
    refused = []
    for item, matter in zip(errors, _matters(workflow, errors), strict=True):
        if known[matter]:
            known[matter] -= 1
        else:
            refused.append(item)
    return tuple(map(_problem, refused)), tuple(_warning(item) for item in found if item not in refused)


def _matters(workflow: AgentWorkflow, found: Iterable[Diagnostic]) -> list[str]:
    """What each finding is known by, wherever its step stands in the list."""
    data = workflow.to_json()
    return [replace(item, place=named(item.path, data)).fingerprint for item in found]


def _problem(item: Diagnostic) -> Problem:
    return Problem(
        path=item.path, message=f"{item.message} ({item.code})", value=item.witness, hint=item.hint
    )


def _warning(item: Diagnostic) -> str:
    return f"{item.path}: {item.message} ({item.code}: {item.witness}); {item.hint}"


def stage_problems(spec: WorkflowSpec) -> tuple[Problem, ...]:
    """Gates that could never pass or never fail, which only the whole plan shows."""
    if spec.runtime is Runtime.SERVICE:
        return ()
    return (*_stage_problems(spec), *decidable.problems(spec))


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
            if stage.name is Stage.FULL and gate.source is None and gate.signal not in measured:
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
    bare = [stage.name.value for stage in planning.plan_stages(spec) if not stage.gates]
    if bare:
        yield (
            f"runtime Service: no gate is fed in {', '.join(bare)}, so that nothing advances or aborts by itself there; the "
            "stage waits for a person (promote, abort), and at its maxDurationSeconds for one with a reason (override)"
        )
    yield from _of_sources(spec)
    yield "runtime Service: a candidate keeps its share while the operator is away; no lease takes it back"
    if Stage.CANARY not in spec.rollout.skip_stages:
        yield (
            "Canary: the mesh sends the candidate copies of users' requests; it must change nothing outside "
            "(or skipStages: [Canary, Shadow])"
        )


def _of_sources(spec: WorkflowSpec) -> Iterator[str]:
    for stage in planning.plan_stages(spec):
        for gate in stage.gates:
            if gate.source is None:
                continue
            if planning.has_error_rate(gate):
                yield (
                    f"{stage.name}: gate {gate.name} keeps its error rate only if what it counts fails independently: count "
                    "sessions where the requests of one user fail together"
                )
            else:
                yield (
                    f"{stage.name}: gate {gate.name} compares a value with a limit and is looked at every "
                    f"{gate.source.interval_seconds} s: it has no error rate, and the longer it is watched the likelier it "
                    "errs; counters (bad, total) would keep the error budget"
                )


def _of_drill(spec: WorkflowSpec) -> Iterator[str]:
    """Drills that would always be overdue, or rehearse nothing."""
    drill = None if spec.business_fallback is None else spec.business_fallback.drill
    if drill is None or any(schedules.problems(drill.to_schedule(), "")):
        return
    path, schedule = "spec.businessFallback.drill", drill.to_schedule()
    first = schedule.following(_SOME_TIME) or _SOME_TIME
    gap = ((schedule.following(first) or first) - first).total_seconds()
    if gap > drill.overdue_after_seconds:
        yield (
            f"{path}: a drill begins every {phrases.duration(gap)} and is overdue after "
            f"{phrases.duration(drill.overdue_after_seconds)}; raise overdueAfterSeconds"
        )
    seconds = min(drill.duration_seconds, gap)
    runs = (
        (spec.expected_runs_per_hour or 0) * seconds / 3600 * drill.share.numerator / drill.share.denominator
    )
    if spec.expected_runs_per_hour is not None and runs < _FEW_RUNS:
        yield f"{path}: a drill rehearses about {runs:.1f} runs at the declared traffic; raise share or durationSeconds"


def _warnings(spec: WorkflowSpec) -> Iterator[str]:
    yield from _of_sources(spec)
    yield from _of_drill(spec)
    yield from (f"{path} is kept, and nothing follows it in this version" for path in _unused(spec))
    if spec.expected_runs_per_hour is None:
        yield "spec.expectedRunsPerHour is not set: how long the stages take is not known before they run"
    if spec.contract.sla.max_latency_ms is None and any(one.sla.max_latency_ms for one in spec.components):
        yield (
            "spec.contract.sla.maxLatencyMs is not set, and those of components do not stand for it: the latency gates "
            "call a run slow a quarter (at least 50 ms) above stable's first p95"
        )
    for one in late(spec):
        name, deadline = one.stage.name, phrases.duration(one.stage.max_duration_seconds)
        if one.seconds is None:
            yield f"{name}: gate {one.binding} would not be decided at the declared rates; raise its margin"
            continue
        yield (
            f"{name}: about {one.needed} units ({one.binding}) take {phrases.duration(one.seconds)} at the declared "
            f"traffic, the deadline is {deadline}: it would end inconclusive; {_remedy(one)}"
        )


def _unused(spec: WorkflowSpec) -> Iterator[str]:
    """Fields that the schema has for later versions."""
    if spec.retraining:
        yield "spec.retraining"


def _remedy(one: Late) -> str:
    """The share in percent that would be in time, if there is one."""
    share = one.stage.share.numerator / one.stage.share.denominator
    percent = math.ceil(100.0 * share * (one.seconds or 0.0) / one.stage.max_duration_seconds)
    if percent > 100 or one.stage.name is Stage.FULL:
        return "raise maxDurationSeconds or the gate's margin"
    return f"share: {{numerator: {percent}}} would do"
