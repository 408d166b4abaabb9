"""A rollout over recorded runs of two versions: the same fold, gates and table as a live one, on a virtual clock."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import PlannedStage, RevisionRef, RolloutSpec
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import place_of
from sluicegate.contracts.stages import MIRRORED_STAGES, Outcome, Signal, Stage, State, Verdict
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, judging, planning, routing, table, transitions, verdicts
from sluicegate.rollout.table import Input

START: Final = datetime(2000, 1, 1, tzinfo=UTC)
ROLLOUT: Final = "backtest"
_DEFAULT_RATE: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPair:
    """What both versions did with the same unit; control: a second run of the stable one. runs: their ids."""

    unit: str
    stable: ArmFacts
    candidate: ArmFacts
    control: ArmFacts | None = None
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """A gate at the end of its stage. decided_after: the candidate's units when it first passed or failed."""

    finding: Finding
    decided_after: int | None

    @property
    def is_fed(self) -> bool:
        """Whether the records say anything that it looks at. What is not fed never passes."""
        return self.finding.have > 0 or self.finding.verdict in {Verdict.PASS, Verdict.FAIL}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """A stage: the candidate's units, the pairs it used up, virtual seconds, and how it was left."""

    stage: Stage
    units: int
    pairs: int
    seconds: float
    verdict: Verdict
    left_by: str
    gates: tuple[GateReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestReport:
    """What a rollout would have come to. outcome None: the records were used up before a
    decision, or the rollout would be held for a person."""

    outcome: Outcome | None
    stage: Stage  # where it ended
    message: str
    stages: tuple[StageReport, ...]

    @property
    def units(self) -> int:
        """Candidate's units over all stages."""
        return sum(stage.units for stage in self.stages)


Watch = Callable[[StageEvidence, tuple[Finding, ...]], None]
"""Told of every look: the evidence, and what the gates say of it."""


def backtest(
    plan: RolloutSpec | WorkflowSpec,
    pairs: Iterable[RecordedPair],
    *,
    ignore_durations: bool = True,
    watch: Watch | None = None,
) -> BacktestReport:
    """Run `pairs`, in their order, through the planned stages.

    In Canary and Shadow each pair is one mirrored unit. In Controlled and Full a pair is one unit of traffic:
    the arm is chosen by the hash of its unit, as in the gateway, and the other version's record is not looked
    at. The clock moves by the plan's expectedRunsPerHour (3600 when absent). People are not simulated:
    approvals and reviews count as given; nothing was routed, so that the routing is not checked; gates
    with a source are left out. Same pairs in the same order, same report.
    """
    spec = _of_units(plan if isinstance(plan, RolloutSpec) else _spec_of(plan))
    source, reports, memory = iter(pairs), [], _Memory()
    for stage in spec.stages:
        run = _Run(spec, stage, memory, ignore_durations=ignore_durations, watch=watch)
        report, cause = run.through(source)
        reports.append(report)
        move = (
            None
            if cause is None
            else table.move(State(stage.name.value), cause, [s.name for s in spec.stages])
        )
        if move is None or move.outcome is not None:
            outcome = None if move is None else move.outcome
            return BacktestReport(
                outcome=outcome, stage=stage.name, message=report.left_by, stages=tuple(reports)
            )
        memory = run.memory_after()
    raise AssertionError("Full leads out of the stages")


def _of_units(spec: RolloutSpec) -> RolloutSpec:
    """Without gates that have a source: what they would have measured then was not recorded."""
    stages = (stage.model_copy(update={"gates": planning.of_units(stage)}) for stage in spec.stages)
    return spec.model_copy(update={"stages": tuple(stages)})


def _spec_of(spec: WorkflowSpec) -> RolloutSpec:
    return planning.rollout_spec(
        spec,
        RevisionRef(name="stable", digest=f"sha256:{'0' * 64}", version="stable"),
        RevisionRef(name="candidate", digest=f"sha256:{'1' * 64}", version=spec.version),
    )


@dataclass(frozen=True, slots=True)
class _Memory:
    """What one stage hands to the next."""

    now: datetime = START
    baseline: tuple[tuple[str, str], ...] = ()
    boundary_ms: float | None = None
    index: int = 0


class _Run:
    """One stage."""

    def __init__(
        self,
        spec: RolloutSpec,
        stage: PlannedStage,
        memory: _Memory,
        *,
        ignore_durations: bool,
        watch: Watch | None,
    ) -> None:
        self._spec, self._stage, self._memory, self._watch = spec, stage, memory, watch
        self._ignore_durations = ignore_durations
        asked = planning.questions(spec, stage.name, dict(memory.baseline), memory.boundary_ms)
        self._fold = Fold(EvidenceKey(ROLLOUT, stage.name, 1), asked)
        self._now = memory.now
        self._pairs = 0
        self._decided: dict[str, int] = {}
        rate = spec.expected_runs_per_hour or _DEFAULT_RATE
        share = stage.share.numerator / stage.share.denominator
        per_hour = rate * share if stage.name in MIRRORED_STAGES else rate
        self._gap = timedelta(seconds=3600.0 / per_hour)

    def through(self, source: Iterator[RecordedPair]) -> tuple[StageReport, Input | None]:
        """Use up pairs until the stage is left; None: there were not enough."""
        for pair in source:
            self._add(pair)
            findings = self._look(late=False)
            cause = self._cause(findings)
            if cause is not None or verdicts.failed(findings, "Hold"):
                return self._report(findings, cause), cause
        findings = self._look(late=True)
        return self._report(findings, None), None

    def _add(self, pair: RecordedPair) -> None:
        self._pairs += 1
        self._now += self._gap
        seen = Observation(
            sequence=self._pairs,
            key=self._fold.key,
            unit=pair.unit,
            runs=pair.runs or (pair.unit,),
            at=self._now,
            stable=pair.stable,
            candidate=pair.candidate,
            control=pair.control,
        )
        self._fold.add(seen if self._stage.name in MIRRORED_STAGES else self._split(seen))

    def _split(self, seen: Observation) -> Observation:
        inside = routing.share_of(self._stage.share).holds(place_of(self._spec.salt, seen.unit))
        return (
            replace(seen, stable=None, control=None)
            if inside
            else replace(seen, candidate=None, control=None)
        )

    def _look(self, *, late: bool) -> tuple[Finding, ...]:
        evidence = self._fold.evidence()
        view = judging.View(spec=self._spec, stage=self._stage, evidence=evidence, now=self._now, late=late)
        findings = gates.judge_all(view)
        for finding in findings:
            if finding.verdict in {Verdict.PASS, Verdict.FAIL}:
                self._decided.setdefault(finding.gate, evidence.units)
        if self._watch is not None:
            self._watch(evidence, findings)
        return findings

    def _cause(self, findings: tuple[Finding, ...]) -> Input | None:
        if verdicts.failed(findings, "Abort"):
            return Input.FAIL
        evidence = self._fold.evidence()
        soaked = (self._now - self._memory.now).total_seconds()
        waits = not self._ignore_durations and soaked < self._stage.min_duration_seconds
        enough = evidence.units >= self._stage.min_runs and not waits
        return Input.PASS if enough and verdicts.combine(findings) is Verdict.PASS else None

    def _report(self, findings: tuple[Finding, ...], cause: Input | None) -> StageReport:
        evidence = self._fold.evidence()
        return StageReport(
            stage=self._stage.name,
            units=evidence.units,
            pairs=self._pairs,
            seconds=(self._now - self._memory.now).total_seconds(),
            verdict=verdicts.combine(findings),
            left_by=self._left_by(findings, cause, evidence),
            gates=tuple(
                GateReport(finding=finding, decided_after=self._decided.get(finding.gate))
                for finding in findings
            ),
        )

    def _left_by(self, findings: tuple[Finding, ...], cause: Input | None, evidence: StageEvidence) -> str:
        failed = verdicts.failed(findings, "Abort") or verdicts.failed(findings, "Hold")
        if failed:
            held = "" if cause is Input.FAIL else "held for a person: "
            return f"{held}{verdicts.sentence(failed)}"
        if cause is Input.PASS:
            return "Pass: every required gate passed"
        still = [item.message for item in findings if item.required and item.verdict is not Verdict.PASS]
        short = f"{evidence.units} of {self._stage.min_runs} units"
        return f"the records were used up: {still[0] if still else short}"

    def memory_after(self) -> _Memory:
        """Baselines for Full, as a live rollout stores them."""
        evidence = self._fold.evidence()
        boundary = next(
            (item.boundary for item in evidence.of(Signal.P95_LATENCY) if item.boundary is not None),
            self._memory.boundary_ms,
        )
        merged = {**dict(self._memory.baseline), **transitions.baseline_of(evidence)}
        return _Memory(now=self._now, baseline=tuple(merged.items()), boundary_ms=boundary)
