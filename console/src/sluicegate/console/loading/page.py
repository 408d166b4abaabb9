"""The report of a load test as one HTML page that needs nothing else: no script, no font, no network."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from sluicegate.console.loading import svg
from sluicegate.console.loading.asked import Asked
from sluicegate.console.loading.measuring import Measured
from sluicegate.console.loading.result import judged, load_line, quantiles, row, sentence
from sluicegate.contracts.sla import Measure
from sluicegate.contracts.sla_record import SlaEvidence
from sluicegate.contracts.stages import Verdict

_MOST_POINTS: Final = 800
_KIND: Final = {Verdict.PASS: "data", Verdict.FAIL: "bad"}
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --data: #2166ac; --bad: #b2182b; --quiet: #8a8a8a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --data: #6ba9dc; --bad: #ef7a85; } }
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid color-mix(in srgb, var(--quiet) 40%, transparent); }
h2 { margin-top: 2rem; font-size: 1.1rem; } code { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
svg path { fill: none; stroke-width: 1.8; } .axis { stroke: var(--ink); } .grid { stroke: var(--quiet); stroke-opacity: .25; }
svg path.data, line.data { stroke: var(--data); } circle.data, svg text.data { fill: var(--data); }
svg path.other { stroke: var(--quiet); stroke-dasharray: 5 4; } svg text.other { fill: var(--quiet); }
svg path.bad, line.bad { stroke: var(--bad); } circle.bad, svg text.bad { fill: var(--bad); }
line.open { stroke: var(--quiet); } circle.open { fill: var(--quiet); }
line.limit { stroke: var(--ink); stroke-dasharray: 2 3; } svg text.limit { fill: var(--ink); } .thick { stroke-width: 5; stroke-linecap: round; }
.Pass { color: var(--data); } .Fail { color: var(--bad); }
"""


def html(asked: Asked, measured: Measured, evidence: SlaEvidence) -> str:
    """The whole page."""
    said = judged(measured)
    title = f"SLA test: {asked.target.name}, {said.verdict.value}"
    body = "\n".join(_body(asked, measured, evidence))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(asked: Asked, measured: Measured, evidence: SlaEvidence) -> Iterator[str]:
    said, tested = judged(measured), evidence.record.tested
    yield f'<h1>{escape(asked.target.name)}: <span class="{said.verdict.value}">{said.verdict.value}</span></h1>'
    yield (
        f"<p>{escape(said.reason)}. Workflow {escape(tested.workflow)} {escape(tested.version)} at <code>{escape(asked.target.url)}</code>, "
        f"{measured.started_at:%Y-%m-%d %H:%M:%S} UTC. {escape(load_line(asked, measured))}.</p>"
    )
    yield "<h2>Promises</h2>"
    yield _verdicts(measured)
    yield (
        f"<p>Intervals and verdicts hold whenever one looks: with confidence {evidence.record.confidence} all of them together are right. "
        "A session is one unit, however many runs it has.</p>"
    )
    yield "<h2>Share of bad runs, its interval and its limit</h2>"
    yield _intervals(measured)
    yield "<h2>Latency from when a run was due</h2>"
    yield _latencies(measured)
    yield "<h2>Sessions over time</h2>"
    yield _over_time(measured)
    if measured.counts.faults:
        yield "<h2>Faults</h2>"
        yield _rows(
            ("number", "what"), [(str(n), what) for what, n in measured.counts.faults.most_common(20)]
        )
    yield f"<h2>Evidence</h2><p><code>{evidence.evidence_digest}</code></p>"
    parts = [("workflow", tested.digest), *((name, version) for name, version in tested.components.items())]
    yield _rows(("part", "version"), parts)


def _verdicts(measured: Measured) -> str:
    heads = ("promise", "verdict", "n", "measured", "interval", "decided at", "more")
    told = "".join(f"<li>{escape(sentence(finding))}</li>" for finding in measured.findings)
    return _rows(heads, [row(finding) for finding in measured.findings]) + f"<ul>{told}</ul>"


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>" + "".join(f'<td class="{_word(cell)}">{escape(cell)}</td>' for cell in cells) + "</tr>"
        for cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _word(cell: str) -> str:
    return cell if cell in ("Pass", "Fail") else ""


def _intervals(measured: Measured) -> str:
    rows = [
        (
            one.promise.text,
            one.rate,
            one.low,
            one.high,
            float(one.promise.most),
            _KIND.get(one.verdict, "open"),
        )
        for one in measured.findings
    ]
    return svg.intervals("Share of bad runs with its interval, beside the limit", rows)


def _latencies(measured: Measured) -> str:
    """The share of runs that were answered within so many milliseconds."""
    found = sorted(max(run.latency_ms, 0.1) for session in measured.sessions for run in session.runs)
    if not found:
        return "<p>Nothing was measured.</p>"
    every = max(1, len(found) // _MOST_POINTS)
    points = [
        (value, (rank + 1) / len(found))
        for rank, value in enumerate(found)
        if rank % every == 0 or rank == len(found) - 1
    ]
    limits = [one.promise for one in measured.findings if one.promise.measure is Measure.LATENCY]
    marks = [svg.Mark(name=one.text, x=float(one.latency_ms or 0)) for one in limits]
    low, high = found[0] / 1.2, max([found[-1], *(mark.x for mark in marks)]) * 1.2
    axes = svg.Axes(
        title="Distribution of latencies", x_label="milliseconds", y_label="runs answered within", x_low=low, x_high=high,
        y_high=1.0, is_log=True, percent=True,
    )  # fmt: skip
    line = svg.Line(name="latency", kind="data", points=[(low, 0.0), *points], is_step=True)
    told = ", ".join(f"{name} {value:,.1f} ms" for name, value in quantiles(measured))
    return svg.plot(axes, [line], marks) + f"<p>{told}</p>"


def _over_time(measured: Measured) -> str:
    """Per second: sessions that were due, that were answered, and that had a bad run."""
    due, ended, bad = Counter[int](), Counter[int](), Counter[int]()
    for session in measured.sessions:
        due[int(session.arrival.at)] += 1
        if session.runs:
            at = int(session.runs[-1].ended)
            ended[at] += 1
            bad[at] += any(run.meaning.fault is not None for run in session.runs)
    if not due:
        return "<p>Nothing was measured.</p>"
    first, last = min(due), max([*due, *ended])
    lines = [
        svg.Line(name=name, kind=kind, points=[(at, counts[at]) for at in range(first, last + 1)])
        for name, kind, counts in (("due", "other", due), ("answered", "data", ended), ("failed", "bad", bad))
    ]
    top = max([1, *due.values(), *ended.values()])
    axes = svg.Axes(
        title="Sessions a second", x_label="seconds since the start", y_label="sessions/s", x_low=first, x_high=max(last, first + 1),
        y_high=float(top), height=240,
    )  # fmt: skip
    return svg.plot(axes, lines)
