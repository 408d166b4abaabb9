"""What a strategy costs, stage by stage, and whether it is decided in time: before anything runs. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sluicegate.contracts.resources.rollout import PlannedStage
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.observability.passage import first
from sluicegate.rollout import planning
from sluicegate.rollout.exposure import Seen, sights
from sluicegate.rollout.power import LATE, USUAL, GateOutlook, decided, of_gate


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutlook:
    """A stage, for a candidate as good as stable.

    reach: the candidate's units by the deadline. needed, needed_late: its units until every required gate has passed,
    in half and in four of five rollouts (gates counted as independent), at least minRuns; None: never. binding: what asks for the most.
    seconds, seconds_late: until then at the declared traffic. in_time: chance that the stage is decided by its
    deadline. exposed_runs: runs of users that pass meanwhile; candidate_runs: how many of them the candidate answers.
    """

    stage: Stage
    share: float
    min_runs: int
    min_duration_seconds: int
    max_duration_seconds: int
    reach: int | None
    needed: int | None
    needed_late: int | None
    binding: str
    seconds: float | None
    seconds_late: float | None
    in_time: float | None
    exposed_runs: int | None
    candidate_runs: int
    gates: tuple[GateOutlook, ...]


def outlook(spec: WorkflowSpec) -> tuple[StageOutlook, ...]:
    """Every planned stage; nothing of stages that people alone advance (runtime Service)."""
    seen = sights(spec)
    if not seen:
        return ()
    return tuple(_stage(spec, stage, seen[stage.name]) for stage in planning.plan_stages(spec))


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A stage that ends inconclusive more often than not. binding: its slowest gate; needed, seconds: None: never."""

    stage: PlannedStage
    binding: str
    needed: int | None
    seconds: float | None


def late(spec: WorkflowSpec) -> Iterator[Late]:
    """What admission asks: some ms, more only where there is something to say; nothing without declared traffic."""
    if spec.expected_runs_per_hour is None:
        return
    seen = sights(spec)
    for stage in planning.plan_stages(spec) if seen else ():
        required = _required(stage, seen[stage.name])
        reach = reach_of(spec, stage) or 0.0
        if decided(tuple(required.values()))(reach) >= USUAL:
            continue
        needed, _, _ = _stage_units(tuple(required.values()), None)
        yield Late(
            stage=stage,
            binding=min(required, key=lambda name: decided((required[name],))(reach)),
            needed=needed,
            seconds=_seconds(spec, stage, needed),
        )


def reach_of(spec: WorkflowSpec, stage: PlannedStage) -> float | None:
    """The candidate's units that are closed by the deadline, at the declared traffic."""
    if spec.expected_runs_per_hour is None:
        return None
    seconds = max(0, stage.max_duration_seconds - spec.rollout.outcome_window_seconds)
    return _per_second(spec, stage) * seconds


def _per_second(spec: WorkflowSpec, stage: PlannedStage) -> float:
    return (spec.expected_runs_per_hour or 0) * stage.share.numerator / stage.share.denominator / 3600.0


def _seconds(spec: WorkflowSpec, stage: PlannedStage, units: int | None) -> float | None:
    """Until so many units are closed; at least the stage's minimum."""
    per_second = _per_second(spec, stage)
    if units is None or per_second <= 0.0:
        return None
    sampling = units / per_second + spec.rollout.outcome_window_seconds
    return max(sampling, float(stage.min_duration_seconds))


def _required(stage: PlannedStage, seen: dict[str, Seen | None]) -> dict[str, Seen]:
    found = {gate.name: seen[gate.name] for gate in stage.gates if gate.required}
    return {name: sight for name, sight in found.items() if sight is not None}


def _stage(spec: WorkflowSpec, stage: PlannedStage, seen: dict[str, Seen | None]) -> StageOutlook:
    reach = reach_of(spec, stage)
    gates = tuple(of_gate(gate, seen[gate.name], reach) for gate in stage.gates)
    found = _stage_units(tuple(_required(stage, seen).values()), reach)
    units, units_late = (None if one is None else max(one, stage.min_runs) for one in found[:2])
    takes = _seconds(spec, stage, units)
    share = stage.share.numerator / stage.share.denominator
    exposed = None if takes is None else round((spec.expected_runs_per_hour or 0) * takes / 3600.0)
    answers = units or stage.min_runs if exposed is None else round(exposed * share)
    return StageOutlook(
        stage=stage.name,
        share=share,
        min_runs=stage.min_runs,
        min_duration_seconds=stage.min_duration_seconds,
        max_duration_seconds=stage.max_duration_seconds,
        reach=None if reach is None else int(reach),
        needed=units,
        needed_late=units_late,
        binding=_binding(gates, stage.min_runs),
        seconds=takes,
        seconds_late=_seconds(spec, stage, units_late),
        in_time=found[2],
        exposed_runs=exposed,
        candidate_runs=0 if stage.name in MIRRORED_STAGES else answers,
        gates=gates,
    )


def _binding(gates: tuple[GateOutlook, ...], min_runs: int) -> str:
    """The required gate that asks for the most units, where that is more than minRuns."""
    asked = {one.name: one.needed_late or float("inf") for one in gates if one.required and one.modelled}
    most = max(asked, key=asked.__getitem__, default="minRuns")
    return most if asked.get(most, 0) > min_runs else "minRuns"


@lru_cache(maxsize=1024)
def _stage_units(found: tuple[Seen, ...], reach: float | None) -> tuple[int | None, int | None, float | None]:
    chance = decided(found)
    return first(chance, USUAL), first(chance, LATE), None if reach is None else chance(reach)
