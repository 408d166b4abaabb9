"""Pictures of a load test as SVG text: steps, lines and intervals on two axes. Pure; the same input gives the same bytes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 16, 40
_TICKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series. kind: a class of the page's style: `data`, `other` or `bad`. points: x and y, in order of x."""

    name: str
    kind: str
    points: Sequence[tuple[float, float]]
    is_step: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A limit: upright at x."""

    name: str
    x: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What the picture shows. Both axes begin at `x_low` and 0. percent: of the upright one."""

    title: str
    x_label: str
    y_label: str
    x_high: float
    y_high: float
    x_low: float = 0.0
    is_log: bool = False
    percent: bool = False
    height: int = 260


def plot(axes: Axes, lines: Sequence[Line], marks: Sequence[Mark] = ()) -> str:
    """The picture. `title` is what a screen reader says."""
    x, y = _scales(axes)
    parts = [*_frame(axes, x, y), *(_path(line, x, y) for line in lines if line.points)]
    for mark in marks:
        at = x(mark.x)
        end = "end" if at > WIDTH * 0.7 else "start"
        parts.append(
            f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{axes.height - _BOTTOM}"/>'
        )
        shift = -5 if end == "end" else 5
        parts.append(_text(at + shift, _TOP + 10, mark.name, end, "limit"))
    parts += [
        _text(_LEFT + 8 + 130 * number, axes.height - 4, f"— {line.name}", "start", line.kind)
        for number, line in enumerate(lines)
        if len(lines) > 1
    ]
    return _picture(axes.title, axes.height, parts)


def intervals(title: str, rows: Sequence[tuple[str, float | None, float, float, float, str]]) -> str:
    """One row for each: name, estimate, low, high, limit, kind. On a common axis from 0 to a little above the largest that counts."""
    top = max(
        [
            0.01,
            *(
                min(1.0, 1.25 * max(high if high < 1.0 else 0.0, limit, value or 0.0))
                for _, value, _, high, limit, _ in rows
            ),
        ]
    )
    height = 44 * len(rows) + _BOTTOM + 8

    def x(value: float) -> float:
        return _LEFT + 130 + (WIDTH - _LEFT - 130 - _RIGHT) * min(value, top) / top

    parts: list[str] = []
    for number, (name, value, low, high, limit, kind) in enumerate(rows):
        at = 24 + 44 * number
        parts.append(_text(8, at + 4, name, "start", "label"))
        parts.append(f'<line class="{kind} thick" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{at}" y2="{at}"/>')
        if value is not None:
            parts.append(f'<circle class="{kind}" cx="{x(value):.1f}" cy="{at}" r="5"/>')
        parts.append(
            f'<line class="limit" x1="{x(limit):.1f}" x2="{x(limit):.1f}" y1="{at - 14}" y2="{at + 14}"/>'
        )
        parts.append(_text(x(limit), at + 26, f"limit {limit:.3g}", "middle", "limit"))
    parts += [
        _text(x(tick), height - 6, f"{tick * 100:.3g} %", "middle", "label") for tick in _ticks(0.0, top)
    ]
    return _picture(title, height, parts)


def _scales(axes: Axes) -> tuple[Callable[[float], float], Callable[[float], float]]:
    wide, tall = WIDTH - _LEFT - _RIGHT, axes.height - _TOP - _BOTTOM
    low, high = axes.x_low, max(axes.x_high, axes.x_low * 1.001 + 1e-9)

    def x(value: float) -> float:
        held = min(max(value, low), high)
        part = math.log(held / low) / math.log(high / low) if axes.is_log else (held - low) / (high - low)
        return _LEFT + wide * part

    def y(value: float) -> float:
        return _TOP + tall * (1.0 - min(max(value / max(axes.y_high, 1e-9), 0.0), 1.0))

    return x, y


def _frame(axes: Axes, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    bottom = axes.height - _BOTTOM
    parts = [f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>']
    for tick in _ticks(0.0, axes.y_high):
        told = f"{tick * 100:.3g} %" if axes.percent else f"{tick:,.6g}"
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        )
        parts.append(_text(_LEFT - 6, y(tick) + 4, told, "end", "label"))
    along = _decades(axes.x_low, axes.x_high) if axes.is_log else _ticks(axes.x_low, axes.x_high)
    parts += [_text(x(tick), bottom + 16, f"{tick:,.6g}", "middle", "label") for tick in along]
    parts.append(_text(WIDTH - _RIGHT, bottom + 30, axes.x_label, "end", "label"))
    parts.append(_text(_LEFT, _TOP - 4, axes.y_label, "start", "label"))
    return parts


def _path(line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    words: list[str] = []
    before = None
    for px, py in line.points:
        if before is None:
            words.append(f"M{x(px):.1f} {y(py):.1f}")
        elif line.is_step:
            words.append(f"H{x(px):.1f}V{y(py):.1f}")
        else:
            words.append(f"L{x(px):.1f} {y(py):.1f}")
        before = py
    return f'<path class="{line.kind}" d="{"".join(words)}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _picture(title: str, height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    head = f'<svg role="img" viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">'
    return f"{head}<title>{escape(title)}</title>\n{body}\n</svg>"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, about five."""
    span = high - low
    if not span > 0.0 or not math.isfinite(span):
        return [low]
    rough = span / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    first = math.ceil(low / step)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20… between."""
    found = [
        10.0**power * factor
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factor in (1, 2, 5)
    ]
    return [tick for tick in found if low <= tick <= high][:24]
