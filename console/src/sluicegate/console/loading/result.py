"""What a load test says: its record, its findings as diagnostics, and the lines for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sluicegate.console import output
from sluicegate.console.figures import percent
from sluicegate.console.loading import codes
from sluicegate.console.loading.asked import Asked
from sluicegate.console.loading.ledger import Counts
from sluicegate.console.loading.measuring import Measured
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.digest import digest_of, revision_digest
from sluicegate.contracts.sla import Measure, SlaFinding
from sluicegate.contracts.sla_record import Counted, Found, Load, SlaRecord, Tested
from sluicegate.contracts.stages import Verdict

_WORST: Final = (Verdict.FAIL, Verdict.INCONCLUSIVE)
_FAULTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict over all promises, and why in a word."""

    verdict: Verdict
    reason: str


def judged(measured: Measured) -> Judged:
    """Nothing passes when the load was not sent, or before all verdicts; and nothing fails on a generator that was itself late."""
    verdicts = {finding.verdict for finding in measured.findings}
    if measured.counts.is_late:
        return Judged(verdict=Verdict.INCONCLUSIVE, reason="LoadNotSent")
    if Verdict.FAIL in verdicts:
        return Judged(verdict=Verdict.FAIL, reason="PromiseBroken")
    if not measured.counts.kept_up:
        return Judged(verdict=Verdict.INCONCLUSIVE, reason="LoadNotSent")
    if Verdict.INCONCLUSIVE in verdicts:
        reason = "Interrupted" if measured.ended_by == "Interrupted" else "NeedsMore"
        return Judged(verdict=Verdict.INCONCLUSIVE, reason=reason)
    return Judged(verdict=Verdict.PASS, reason="PromisesKept")


def record(asked: Asked, measured: Measured, producer: str | None) -> SlaRecord:
    """All that is kept of a test."""
    said = judged(measured)
    return SlaRecord(
        tested=_tested(asked),
        load=_load(asked),
        counted=_counted(measured.counts),
        confidence=_decimal(1.0 - asked.alpha),
        findings=tuple(map(_found, measured.findings)),
        verdict=said.verdict.value,
        reason=said.reason,
        ended_by=measured.ended_by,
        started_at=measured.started_at,
        ended_at=measured.ended_at,
        produced_by=producer,
    )


def _tested(asked: Asked) -> Tested:
    spec = asked.workflow.spec
    return Tested(
        workflow=asked.workflow.metadata.name,
        version=spec.version,
        digest=revision_digest(spec),
        component=asked.component.name if asked.component else None,
        components={component.name: component.version for component in spec.components},
    )


def _load(asked: Asked) -> Load:
    plan = asked.plan
    return Load(
        url=asked.target.url,
        arrivals=plan.arrivals.value,
        rate=_decimal(plan.rate),
        duration=None if plan.duration is None else _decimal(plan.duration),
        max_runs=plan.most_runs,
        warm_up=_decimal(plan.warm_up),
        think_time=_decimal(plan.think_time),
        timeout=_decimal(plan.timeout),
        seed=plan.seed,
        inputs=digest_of(asked.inputs),
        input_count=len(asked.scripts),
        made=asked.are_inputs_made,
    )


def _counted(counts: Counts) -> Counted:
    return Counted(**{name: getattr(counts, name) for name in Counted.model_fields})


def _found(finding: SlaFinding) -> Found:
    return Found(
        measure=finding.promise.measure,
        promise=finding.promise.text,
        limit=f"{finding.promise.most:f}",
        verdict=finding.verdict.value,
        units=finding.units,
        rate=None if finding.rate is None else _decimal(finding.rate),
        low=_decimal(finding.low),
        high=_decimal(finding.high),
        decided_at=finding.decided_at,
        more=finding.more,
    )


def _decimal(value: float) -> str:
    """At most six decimals, none that say nothing."""
    text = f"{Decimal(str(round(value, 6))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def diagnostics(asked: Asked, measured: Measured, source: str) -> Iterator[tuple[str, Diagnostic]]:
    """What keeps the test from passing, each with the check that it belongs to."""
    subject = f"AgentWorkflow/{asked.workflow.metadata.name}"
    where = "spec.contract.sla"
    if asked.component is not None:
        where = f"spec.components[{asked.workflow.spec.components.index(asked.component)}].sla"
    for finding in measured.findings:
        if finding.verdict in _WORST:
            broken = finding.verdict is Verdict.FAIL and not measured.counts.is_late
            yield (
                finding.promise.measure.value,
                Diagnostic(
                    code=codes.BROKEN if broken else codes.UNDECIDED,
                    severity=Severity.ERROR,
                    path=f"{where}.{finding.promise.field}",
                    message=sentence(finding),
                    hint=None if broken else _hint(asked, measured, finding),
                    subject=subject,
                    source=source,
                ),
            )
    if not measured.counts.kept_up:
        yield "load", _not_sent(measured, subject, source)


def _not_sent(measured: Measured, subject: str, source: str) -> Diagnostic:
    counts = measured.counts
    return Diagnostic(
        code=codes.NOT_SENT,
        severity=Severity.ERROR,
        path="--rate",
        message=f"of {counts.sessions} sessions {counts.unsent} were not sent and {counts.late} were late: the load was not the one asked for",
        hint="a lower --rate, a machine with less to do, or more --max-in-flight",
        subject=subject,
        source=source,
    )


def _hint(asked: Asked, measured: Measured, finding: SlaFinding) -> str:
    if measured.ended_by == "Interrupted":
        return "let it run to its end"
    if measured.counts.is_late:
        return "test again with a load that is sent when it is due"
    if finding.more is None:
        return "what was measured is too close to the limit to say how many more runs would decide"
    more = output.span(finding.more / asked.plan.rate)
    return f"about {finding.more:,} more sessions would decide, {more} at this rate: a longer --duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A finding in percent, as it is promised: success as a share of good runs, the others of bad ones."""

    rate: str
    low: str
    high: str
    limit: str


def told(finding: SlaFinding) -> Told:
    """Of a finding."""
    rate, low, high, limit = finding.rate, finding.low, finding.high, float(finding.promise.most)
    if finding.promise.measure is Measure.SUCCESS:
        rate, low, high, limit = None if rate is None else 1 - rate, 1 - high, 1 - low, 1 - limit
    return Told(
        rate=output.NONE if rate is None else percent(rate),
        low=percent(low),
        high=percent(high),
        limit=percent(limit),
    )


def sentence(finding: SlaFinding) -> str:
    """With n, estimate, interval and limit: never a bare mean."""
    promise, n = finding.promise, output.plural(finding.units, "session")
    if finding.rate is None:
        return f"{promise.text}: nothing was measured"
    what, must = {
        Measure.LATENCY: (f"took longer than {promise.latency_ms} ms", "at most {} may"),
        Measure.SUCCESS: ("succeeded", "at least {} must"),
        Measure.FALLBACK: ("were degraded", "at most {} may"),
    }[promise.measure]
    said = told(finding)
    return f"{promise.text}: {said.rate} of n = {n} {what}, between {said.low} and {said.high}; {must.format(said.limit)}"


def lines(asked: Asked, measured: Measured, digest: str) -> Iterator[str]:
    """What people see above the findings."""
    said, counts = judged(measured), measured.counts
    yield f"{asked.target.name} at {asked.target.url}: {output.word(said.verdict.value)} ({said.reason})"
    yield from table(measured).splitlines()
    latencies = quantiles(measured)
    if latencies:
        yield "latency from when a run was due: " + ", ".join(
            f"{name} {value:,.0f} ms" for name, value in latencies
        )
    yield load_line(asked, measured)
    for fault, number in counts.faults.most_common(_FAULTS):
        yield f"{number} × {fault}"
    yield f"evidence {digest}"


def table(measured: Measured) -> str:
    """One row for each promise."""
    return output.table(
        ("promise", "verdict", "n", "measured", "interval", "decided at", "more"),
        (row(finding) for finding in measured.findings),
    )


def row(finding: SlaFinding) -> tuple[str, ...]:
    """Promise, verdict, n, estimate, interval, moment of the verdict, about how many more."""
    said = told(finding)
    what = {Measure.LATENCY: " slower", Measure.SUCCESS: " good", Measure.FALLBACK: " degraded"}
    return (
        finding.promise.text,
        finding.verdict.value,
        str(finding.units),
        f"{said.rate}{what[finding.promise.measure]}",
        f"{said.low} to {said.high}",
        "" if finding.decided_at is None else str(finding.decided_at),
        "" if finding.more is None else f"about {finding.more:,}",
    )


def quantiles(measured: Measured) -> tuple[tuple[str, float], ...]:
    """Shown beside the verdicts, which do not rest on them: p50, p95, p99 and the largest, milliseconds."""
    found = sorted(run.latency_ms for session in measured.sessions for run in session.runs)
    if not found:
        return ()
    at = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return tuple((name, found[min(len(found) - 1, int(part * len(found)))]) for name, part in at.items())


def load_line(asked: Asked, measured: Measured) -> str:
    """How much was sent, and whether it was what was asked for."""
    counts, plan = measured.counts, asked.plan
    lasted = max(measured.seconds - plan.warm_up, 0.001)
    parts = [
        f"{output.plural(counts.runs, 'run')} in {output.plural(counts.sessions, 'session')}",
        f"{counts.sessions / lasted:.1f} sessions/s of {plan.rate:g} asked for",
        f"{counts.warm_up} of the warm-up not counted",
    ]
    for number, word in ((counts.unsent, "not sent"), (counts.late, "late"), (counts.unfinished, "cut off")):
        if number:
            parts.append(f"{number} {word}")
    if asked.are_inputs_made:
        parts.append(f"{len(asked.scripts)} inputs made of the contract")
    return "; ".join(
        [
            *parts,
            {"Decided": "ended as all was decided", "Planned": "ended as planned"}.get(
                measured.ended_by, "interrupted"
            ),
        ]
    )
