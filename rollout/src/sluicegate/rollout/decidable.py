"""Gates that can never pass or never fail: certain before anything runs, so refused at admission. A few ms.

Certain means: whatever the units show. A gate that is decided too seldom or too late is a warning (`outlook.late`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.rollout import planning
from sluicegate.rollout.exposure import Seen, declared_badness, sights
from sluicegate.rollout.outlook import reach_of
from sluicegate.rollout.pairs import PairSight


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A gate and where it is written. reach: the candidate's units by the deadline; None: not known."""

    spec: WorkflowSpec
    stage: PlannedStage
    gate: PlannedGate
    sight: Seen
    path: str
    reach: float | None

    @property
    def limit(self) -> str:
        """The field that a deadline's refusal is about."""
        return self.path.partition(".gates[")[0] + (
            ".maxDurationSeconds" if ".stages[" in self.path else ".stages"
        )


def problems(spec: WorkflowSpec) -> Iterator[Problem]:
    """All of them, each with what would be allowed."""
    seen = sights(spec)
    written = {stage.name: (number, stage.gates) for number, stage in enumerate(spec.rollout.stages)}
    for stage in planning.plan_stages(spec) if seen else ():
        number, gates = written.get(stage.name, (None, None))
        for index, gate in enumerate(stage.gates):
            sight = seen[stage.name][gate.name]
            if sight is None or not gate.required:
                continue
            path = "spec.rollout" if number is None else f"spec.rollout.stages[{number}]"
            if gates is not None:
                path += f".gates[{index}]"
            place = _Place(
                spec=spec, stage=stage, gate=gate, sight=sight, path=path, reach=reach_of(spec, stage)
            )
            yield from _too_wide(place)
            yield from _too_few(place)


def _too_wide(place: _Place) -> Iterator[Problem]:
    """Beside stable's promised rate not even a candidate that is always bad is worse by the margin."""
    bad = declared_badness(place.spec, place.gate.signal)
    if bad is None or bad + place.sight.margin < 1.0:
        return
    yield Problem(
        path=f"{place.path}.margin" if ".gates[" in place.path else place.path,
        message=f"gate {place.gate.name} of {place.stage.name} would pass a candidate that always fails: the contract "
        f"allows {bad:.3g} of the units to be bad, and nothing is worse than that by the margin",
        value=f"{place.sight.margin:g}",
        allowed=f"below {1.0 - bad:.3g}",
        hint="a margin is what you accept to lose: 0.02 to 0.1 is usual",
    )


def _too_few(place: _Place) -> Iterator[Problem]:
    """The deadline comes before the first moment at which the gate could speak."""
    if place.reach is None:
        return
    values = place.sight.values(place.reach)
    fails, passes = place.sight.least
    short = [word for word, least in (("fail", fails), ("pass", passes)) if values < least]
    if not short:
        return
    least = max(fails if "fail" in short else 0, passes if "pass" in short else 0)
    units = place.sight.units(least)
    yield Problem(
        path=place.limit,
        message=f"gate {place.gate.name} of {place.stage.name} can never {' or '.join(short)}: {_why(place, least)}, "
        f"and the declared traffic gives {int(values)} by the deadline",
        value=str(place.stage.max_duration_seconds),
        allowed=f"time for {units:.0f} units of the candidate: {_seconds(place, units)} s at this share",
        hint=_hint(place),
    )


def _why(place: _Place, least: int) -> str:
    if place.gate.signal is Signal.P95_LATENCY and least == planning.BOUNDARY:
        before = f" after the {place.sight.spent} that set its boundary" if place.sight.spent else ""
        return f"a p95 says nothing below {planning.BOUNDARY} units{before}"
    if isinstance(place.sight, PairSight):
        return f"it takes {least} pairs in which both versions are ablated, whatever they show"
    return f"even if every unit were as clear as can be it takes {least} compared units"


def _seconds(place: _Place, units: float) -> int:
    share = place.stage.share.numerator / place.stage.share.denominator
    rate = (place.spec.expected_runs_per_hour or 0) * share / 3600.0
    return round(units / rate + 0.5) + place.spec.rollout.outcome_window_seconds


def _hint(place: _Place) -> str:
    stage = place.stage
    if stage.name is Stage.FULL:
        return "raise maxDurationSeconds"
    if isinstance(place.sight, PairSight) and place.sight.seen < 1.0:
        return f"raise maxDurationSeconds, share or ablationShare, or `skipStages: [{stage.name}]`"
    return f"raise maxDurationSeconds or share, or `skipStages: [{stage.name}]`"
