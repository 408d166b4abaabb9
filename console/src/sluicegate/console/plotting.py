"""What a plot shows: per gate both log e-values over compared units, the thresholds, and the moment of the decision.

The e-values are what the gate looks at, exactly: no smoothing, no interval of another method.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from sluicegate.console import output
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage
from sluicegate.contracts.stages import Stage, Verdict

SUFFIXES: Final = (".svg", ".png")
MOST_POINTS: Final = 512
FLOOR: Final = -2.0
"""Below an e-value of 1/100 there is nothing to see: the hypothesis fits."""
_DECISIVE: Final = {Verdict.PASS, Verdict.FAIL}


class Point(NamedTuple):
    """After so many compared units: log10 of the e-values against "not worse" and against "worse by the margin"."""

    units: int
    harm: float
    safe: float


@dataclass(slots=True, kw_only=True)
class Panel:
    """One gate in one stage. harm_at, safe_at: log10 of 1/α. decided: units and verdict at its first decision."""

    stage: Stage
    gate: str
    signal: str
    harm_at: float
    safe_at: float
    points: list[Point] = field(default_factory=list)
    decided: tuple[int, Verdict] | None = None
    _every: int = 1
    _looks: int = 0

    @property
    def top(self) -> float:
        """The highest that is worth drawing: above twice the thresholds everything is decided, and they would shrink."""
        highest = max(self.harm_at, self.safe_at)
        seen = (value for point in self.points for value in point[1:] if math.isfinite(value))
        return min(max(highest, *seen), 2.0 * highest)

    def add(self, point: Point, verdict: Verdict) -> None:
        """One look; at most MOST_POINTS are kept, evenly, and that of the decision."""
        is_first = self.decided is None and verdict in _DECISIVE
        if is_first:
            self.decided = point.units, verdict
        self._looks += 1
        if is_first or self._looks % self._every == 0:
            self.points.append(point)
        if len(self.points) > MOST_POINTS:
            mark = self.decided[0] if self.decided else None
            self.points = [
                one for index, one in enumerate(self.points) if index % 2 == 0 or one.units == mark
            ]
            self._every *= 2


class Series:
    """The panels of one rollout, filled while it is played."""

    def __init__(self, stages: Iterable[PlannedStage]) -> None:
        self._gates = {(stage.name, gate.name): gate for stage in stages for gate in stage.gates}
        self.panels: dict[tuple[Stage, str], Panel] = {}

    def watch(self, evidence: StageEvidence, findings: tuple[Finding, ...]) -> None:
        """One look at a stage; a gate without comparable units has no point."""
        for finding in findings:
            key = evidence.key.stage, finding.gate
            gate = self._gates.get(key)
            items = () if gate is None else evidence.of(gate.signal)
            if gate is None or not items or min(item.units for item in items) == 0:
                continue
            point = Point(
                min(item.units for item in items),
                max(_log10(item.harm_log_e) for item in items),
                min(_log10(item.safe_log_e) for item in items),
            )
            panel = self.panels.get(key) or self.panels.setdefault(key, _panel(key, gate, len(items)))
            panel.add(point, finding.verdict)

    def draw(self, title: str, place: str) -> None:
        """To a file by its suffix, or - to standard output. Raises Refused when there is nothing to draw."""
        panels = list(self.panels.values())
        if not panels:
            raise _refused("nothing to draw: no gate has a comparable unit", place)
        if place == "-":
            from sluicegate.console.charts import charts

            output.echo(charts(title, panels))
            return
        from sluicegate.console.drawing import draw

        draw(title, panels, Path(place))
        output.note(f"{place} written")


def _panel(key: tuple[Stage, str], gate: PlannedGate, parts: int) -> Panel:
    return Panel(
        stage=key[0],
        gate=key[1],
        signal=gate.signal.value,
        harm_at=math.log10(parts / float(gate.abort_alpha)),
        safe_at=-math.log10(float(gate.promote_alpha)),
    )


def _log10(log_e: float) -> float:
    return log_e / math.log(10.0) if math.isfinite(log_e) else math.nan


def check(place: str, *, is_many: bool = False, is_structured: bool = False) -> None:
    """Refuse what could not be drawn, before anything takes time."""
    if place == "-" and is_structured:
        raise _refused("standard output is taken by -o json or yaml", place)
    if is_many:
        raise _refused("one rollout is drawn, not several: leave out --repeat and the further margins", place)
    if place != "-" and Path(place).suffix not in SUFFIXES:
        raise _refused("is no place for a plot", place)
    if place != "-" and not Path(place).parent.is_dir():
        raise _refused("its folder does not exist", place)
    if place != "-":
        from sluicegate.console.drawing import available

        available()


def _refused(message: str, place: str) -> Refused:
    allowed = f"a file that ends with {' or '.join(SUFFIXES)}, or - for the terminal"
    return Refused((Problem(path="--plot", message=message, value=place, allowed=allowed),))
