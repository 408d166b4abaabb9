"""The plot as SVG or PNG: the only module that needs matplotlib (extra `plots`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate.console.plotting import FLOOR, Panel
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.stages import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HARM, _SAFE = "#b2182b", "#2166ac"
"""Told apart by the form of the line as well, and named at its end."""
_MARKS = {Verdict.PASS: "o", Verdict.FAIL: "X"}
_STYLE: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "svg.hashsalt": "sluicegate",  # same panels, same bytes
}


def available() -> None:
    """Raises Unavailable without matplotlib."""
    try:
        import matplotlib as _  # noqa: F401
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"drawing to a file needs {error.name}: pip install 'sluicegate[plots]'; --plot - draws in the terminal"
        ) from error


def draw(title: str, panels: Sequence[Panel], path: Path) -> None:
    """A row for each stage, a panel for each gate. The same panels give the same file."""
    available()
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [[one for one in panels if one.stage is stage] for stage in dict.fromkeys(p.stage for p in panels)]
    wide = max(map(len, rows))
    with rc_context(_STYLE):
        figure = Figure(figsize=(3.4 * wide + 0.6, 2.7 * len(rows) + 0.9), dpi=110, layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(len(rows), wide, squeeze=False)
        for axes, row in zip(grid, rows, strict=True):
            for one, panel in zip(axes, row, strict=False):
                _panel(one, panel)
            for one in axes[len(row) :]:
                one.set_axis_off()
        figure.suptitle(title, fontsize=11)
        figure.supxlabel(
            "solid: evidence that the candidate is worse · dashed: evidence that it is not worse by the margin · dotted: 1/α, the "
            "e-value at which the gate decides",
            fontsize=9,
        )
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _panel(axes: "Axes", panel: Panel) -> None:
    units = [point.units for point in panel.points]
    axes.plot(units, [p.harm for p in panel.points], color=_HARM, linestyle="-", linewidth=1.4)
    axes.plot(units, [p.safe for p in panel.points], color=_SAFE, linestyle="--", linewidth=1.4)
    for level, word, colour in ((panel.harm_at, "abort", _HARM), (panel.safe_at, "pass", _SAFE)):
        axes.axhline(level, color=colour, linestyle=":", linewidth=1.0)
        axes.annotate(
            f"{word}\n{10**level:,.0f}",
            (1.01, level),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7.5,
            color=colour,
        )
    axes.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    axes.set_ylim(FLOOR, panel.top * 1.2)
    axes.set_xlim(0, units[-1] * 1.02)
    axes.set_ylabel("log10 e-value")
    axes.set_xlabel(f"compared units (n = {units[-1]:,})")
    axes.set_title(f"{panel.stage} · {panel.gate}\n{_stands(panel)}", fontsize=9, loc="left")
    _mark(axes, panel)


def _mark(axes: "Axes", panel: Panel) -> None:
    if panel.decided is None:
        return
    units, verdict = panel.decided
    point = next(one for one in panel.points if one.units >= units)
    value = point.harm if verdict is Verdict.FAIL else point.safe
    axes.axvline(units, color="0.4", linewidth=0.8)
    axes.plot([units], [min(value, panel.top)], marker=_MARKS[verdict], color="black", markersize=7, zorder=5)


def _stands(panel: Panel) -> str:
    if panel.decided is None:
        return "not decided"
    return f"{panel.decided[1]} at {panel.decided[0]:,} units"
