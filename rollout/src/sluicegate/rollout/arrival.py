"""When what is lacking will be there, at the measured rates: the one place that turns units into time. Pure.

A gate says how many of its units it has and needs (`Finding.have`, `need`); they come as fast as they came in this stage.
"""

import math
from collections.abc import Iterable
from typing import Final

from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.source import Source
from sluicegate.contracts.stages import Check, Signal, Verdict
from sluicegate.contracts.verification.sources import counts
from sluicegate.rollout import phrases
from sluicegate.rollout.judging import View

MOST_SECONDS: Final = 10.0 * 365 * 86_400
"""A time above this is none."""


def of_units(evidence: StageEvidence | None, have: int, more: int) -> float | None:
    """Seconds until a gate that has `have` comparable units has `more`. Not every unit of the candidate is one of the
    gate's: copies of stable beside it are a share of them. None: no rate is known.
    """
    if evidence is None:
        return None
    part = min(1.0, have / evidence.units) if have > 0 and evidence.units > 0 else 1.0
    return _bounded(more, (evidence.units_per_hour or 0.0) / 3600.0 * part)


def of_counts(view: View, have: int, more: int) -> float | None:
    """The same of a gate whose units are counted elsewhere, since the stage began."""
    return _bounded(more, have / view.active_seconds if view.active_seconds > 0.0 else 0.0)


def of_looks(source: Source, held: Measured) -> float | None:
    """Until a value has kept its limit so often in a row. None while it breaks it."""
    if held.bad or not held.good:
        return None
    return float(max(0, source.consecutive - held.good) * source.interval_seconds)


def told(seconds: float | None) -> str:
    """`` (≈ 3.33 min)``; nothing where it is not known."""
    return "" if seconds is None else f" (≈ {phrases.duration(seconds)})"


def to_decision(view: View, findings: Iterable[Finding], soaked: float) -> int | None:
    """Seconds until the stage has its runs, its time and the slowest of its required gates. soaked: seconds that count as
    its time already. None: one of them does not say, or a gate failed.
    """
    have = 0 if view.evidence is None else view.evidence.units
    waits: list[float | None] = [max(0.0, view.stage.min_duration_seconds - soaked)]
    if have < view.stage.min_runs:
        waits.append(of_units(view.evidence, have, view.stage.min_runs - have))
    waits += [_of_gate(view, one) for one in findings if one.required]
    known = [one for one in waits if one is not None]
    return round(max(known)) if len(known) == len(waits) else None


def _of_gate(view: View, finding: Finding) -> float | None:
    if finding.verdict is Verdict.PASS:
        return 0.0
    if finding.verdict is not Verdict.WAIT or isinstance(finding.signal, Check):
        return None
    source = next((gate.source for gate in view.stage.gates if gate.name == finding.gate), None)
    if finding.signal is Signal.EXTERNAL and source is not None and not counts(source):
        held = next((one for one in view.measured if one.gate == finding.gate), Measured(gate=finding.gate))
        return of_looks(source, held) if finding.reason == "NeedsMore" else None
    if finding.need is None:
        return None
    more = max(0, finding.need - finding.have)
    if finding.signal is Signal.EXTERNAL:
        return of_counts(view, finding.have, more)
    return of_units(view.evidence, finding.have, more)


def _bounded(more: int, per_second: float) -> float | None:
    if not math.isfinite(per_second) or per_second <= 0.0:
        return None
    seconds = more / per_second
    return seconds if seconds <= MOST_SECONDS else None
