"""Tables of what a strategy costs and finds; with a second outlook beside the first, what would change."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from sluicegate.console import output
from sluicegate.console.figures import percent

if TYPE_CHECKING:
    from sluicegate.rollout.outlook import StageOutlook
    from sluicegate.rollout.power import GateOutlook

Stages = Sequence["StageOutlook"]
Cells = tuple[str, ...]
T = TypeVar("T")

STAGE_HEADS = (
    "Stage", "Share", "Units", "80 %", "Asked-by", "Takes", "80 %", "At-most", "In-time", "Runs-meanwhile",
    "Answered-by-candidate",
)  # fmt: skip
GATE_HEADS = (
    "Stage", "Gate", "Signal", "Margin", "Alpha-abort", "Alpha-promote", "Units", "80 %", "In-time", "Finds-margin",
    "Finds-twice", "After", "Least-found",
)  # fmt: skip


def stages_table(stages: Stages, then: Stages | None = None) -> str:
    """A row per stage. then: the outlook to compare with, of the same stages."""
    return output.table(STAGE_HEADS, _compared(stages, then or stages, _stage_cells))


def gates_table(stages: Stages, then: Stages | None = None) -> str:
    """A row per gate of each stage."""
    rows: list[Cells] = []
    for now, other in zip(stages, then or stages, strict=True):
        found = _compared(now.gates, other.gates, _gate_cells)
        rows += [(now.stage.value, *cells) for cells in found]
    return output.table(GATE_HEADS, rows)


def _compared(now: Sequence[T], then: Sequence[T], cells: Callable[[T], Cells]) -> list[Cells]:
    return [
        tuple(a if a == b else f"{a} → {b}" for a, b in zip(cells(one), cells(other), strict=True))
        for one, other in zip(now, then, strict=True)
    ]


def _stage_cells(stage: "StageOutlook") -> Cells:
    return (
        stage.stage.value,
        percent(stage.share),
        _count(stage.needed),
        _count(stage.needed_late),
        stage.binding,
        _span(stage.seconds),
        _span(stage.seconds_late),
        output.span(stage.max_duration_seconds),
        _chance(stage.in_time),
        output.NONE if stage.exposed_runs is None else str(stage.exposed_runs),
        str(stage.candidate_runs),
    )


def _gate_cells(gate: "GateOutlook") -> Cells:
    known = (
        (
            _count(gate.needed),
            _count(gate.needed_late),
            _chance(gate.in_time),
            _chance(gate.power),
            _chance(gate.power_twice),
            _count(gate.abort_units_twice),
            output.NONE if gate.least is None else f"{gate.least:.3f}",
        )
        if gate.modelled
        else (output.NONE,) * 7
    )
    return (
        gate.name + ("" if gate.required else " (optional)"),
        gate.signal.value,
        f"{gate.margin:g}",
        f"{gate.abort_alpha:.3g}",
        f"{gate.promote_alpha:g}",
        *known,
    )


def _count(units: int | None) -> str:
    return "never" if units is None else str(units)


def _span(seconds: float | None) -> str:
    return output.NONE if seconds is None else output.span(seconds)


def _chance(chance: float | None) -> str:
    """Whole percent; what is neither sure nor impossible never looks so."""
    if chance is None:
        return output.NONE
    if 0.0 < chance < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < chance < 1.0 else f"{100.0 * chance:.0f} %"
