"""The plot in a terminal: letters only, so that it reads without colour, in a log and in a mail."""

import math
from collections.abc import Sequence
from typing import Final

from sluicegate.console.plotting import FLOOR, Panel

WIDTH: Final = 64
HEIGHT: Final = 9
HARM, SAFE, BOTH, LINE, MARK = "×", "○", "#", "╌", "┆"
LEGEND: Final = (
    f"{HARM} e-value that the candidate is worse, {SAFE} that it is not worse by the margin ({BOTH} both); "
    f"{LINE} 1/α; {MARK} decided. Upright: log10 e; across: compared units."
)


def charts(title: str, panels: Sequence[Panel]) -> str:
    """Those of the stage that was looked at last."""
    last = panels[-1].stage
    shown = [panel for panel in panels if panel.stage is last]
    rest = dict.fromkeys(panel.stage.value for panel in panels if panel.stage is not last)
    more = f"\n{', '.join(rest)}: --plot FILE.svg shows all stages" if rest else ""
    return "\n\n".join((f"{title}\n{LEGEND}", *map(chart, shown))) + more


def chart(panel: Panel) -> str:
    """One gate."""
    top = panel.top
    most = max(point.units for point in panel.points)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def row(value: float) -> int:
        part = (min(max(value, FLOOR), top) - FLOOR) / (top - FLOOR)
        return HEIGHT - 1 - round(part * (HEIGHT - 1))

    def column(units: int) -> int:
        return round((WIDTH - 1) * units / most)

    for level in (panel.harm_at, panel.safe_at):
        cells[row(level)] = [LINE] * WIDTH
    if panel.decided is not None:
        for line in cells:
            line[column(panel.decided[0])] = MARK
    for mark, values in ((HARM, [p.harm for p in panel.points]), (SAFE, [p.safe for p in panel.points])):
        for point, value in zip(panel.points, values, strict=True):
            if math.isfinite(value):
                y, x = row(value), column(point.units)
                other = SAFE if mark == HARM else HARM
                cells[y][x] = BOTH if cells[y][x] == other else mark
    words: dict[int, list[str]] = {}
    for level, word in ((panel.harm_at, "abort"), (panel.safe_at, "pass")):
        words.setdefault(row(level), []).append(f"{word} at {10**level:,.0f}")
    edge = {0: f"{top:.1f}", row(0.0): "0", HEIGHT - 1: f"{FLOOR:.0f}"}
    lines = [
        f"{edge.get(index, ''):>5} ┤{''.join(line)} {', '.join(words.get(index, []))}".rstrip()
        for index, line in enumerate(cells)
    ]
    axis = f"{'':5} └{'─' * WIDTH}"
    scale = f"{'':7}0{most:>{WIDTH - 1},}"
    return "\n".join((headline(panel), *lines, axis, scale))


def headline(panel: Panel) -> str:
    """Stage, gate, signal, and how it stands."""
    most = panel.points[-1].units
    stands = (
        f"not decided (n = {most:,})"
        if panel.decided is None
        else f"{panel.decided[1]} at {panel.decided[0]:,} units (n = {most:,})"
    )
    return f"{panel.stage} · {panel.gate} ({panel.signal}): {stands}"
