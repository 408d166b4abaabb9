"""What a waiver or a baseline does to the findings of a report. Pure; `today` is a parameter."""

from dataclasses import dataclass, field, replace
from datetime import date

from sluicegate.console.contracting import waivers as waiving
from sluicegate.console.contracting.baseline import Baseline
from sluicegate.console.contracting.report import Finding, Report, Standing, Subject
from sluicegate.console.contracting.waivers import Waiver, Waivers


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What is let through."""

    waivers: Waivers = field(default_factory=Waivers)
    baseline: Baseline | None = None


def settle(report: Report, allowed: Allowed, today: date) -> Report:
    """The report with the standing of every finding; with an error for each waiver that is over and was needed.

    What refuses a file stays: nothing is let through that cannot be read. notes: waivers and entries of the baseline that
    covered nothing.
    """
    used: list[Waiver] = []
    over: dict[Waiver, None] = {}

    def settled(finding: Finding) -> Finding:
        if finding.refused:
            return finding
        waiver = allowed.waivers.covering(finding.diagnostic, today)
        if waiver is not None:
            used.append(waiver)
            if not waiver.expired(today):
                return replace(finding, standing=Standing.WAIVED, waiver=waiver)
            over[waiver] = None
        known = (
            allowed.baseline is not None and finding.diagnostic.fingerprints & allowed.baseline.fingerprints
        )
        return replace(finding, standing=Standing.KNOWN) if known and waiver is None else finding

    subjects = tuple(
        replace(subject, findings=tuple(map(settled, subject.findings))) for subject in report.subjects
    )
    notes = (*report.notes, *waiving.unused(allowed.waivers, used, today), *_gone(report, allowed.baseline))
    return replace(report, subjects=(*subjects, *_expired(allowed.waivers, tuple(over), today)), notes=notes)


def _expired(waivers: Waivers, over: tuple[Waiver, ...], today: date) -> tuple[Subject, ...]:
    if not over:
        return ()
    findings = tuple(Finding(diagnostic=waivers.expiry(one, today), check="waivers") for one in over)
    source = waivers.document.source if waivers.document else str(waiving.FILE)
    return (Subject(name="", source=source, checks=("waivers",), findings=findings),)


def _gone(report: Report, baseline: Baseline | None) -> tuple[str, ...]:
    found = {one for finding in report.findings for one in finding.diagnostic.fingerprints}
    mine = [known for known in (baseline.findings if baseline else ()) if known.tool == report.tool]
    gone = [known for known in mine if known.fingerprint not in found]
    if not gone:
        return ()
    return (f"{len(gone)} of the baseline's findings no longer occur; write the baseline anew",)
