"""For people at a terminal: like a compiler, place first."""

from collections.abc import Iterator

from sluicegate.console import output
from sluicegate.console.contracting.report import Finding, Report, Result, Standing, Subject
from sluicegate.contracts.diagnostics import Diagnostic, Severity


def plain(report: Report) -> str:
    """Findings that are new, each with its witness and hint; then the sum."""
    return "\n".join(_lines(report, is_wide=False))


def wide(report: Report) -> str:
    """Also those that are waived or known, and the checks that ran."""
    return "\n".join(_lines(report, is_wide=True))


def _lines(report: Report, *, is_wide: bool) -> Iterator[str]:
    for subject in report.subjects:
        yield _head(subject)
        yield from (f"  {remark}" for remark in subject.remarks)
        if is_wide:
            yield from _checks(subject)
        for finding in subject.findings:
            if is_wide or finding.standing is Standing.NEW:
                yield from finding_lines(finding)
    yield summary(report)


def _head(subject: Subject) -> str:
    new = sum(finding.standing is Standing.NEW for finding in subject.findings)
    others = len(subject.findings) - new
    said = output.plural(new, "finding") if new else "ok" if subject.checks else "not checked"
    rest = f", {others} waived or known" if others else ""
    return f"{subject.source}: {subject.name} {said}{rest}".replace("  ", " ")


def _checks(subject: Subject) -> Iterator[str]:
    if subject.checks:
        yield f"  checks: {', '.join(subject.checks)}"
    if subject.skipped:
        yield f"  not run, because of what was found: {', '.join(subject.skipped)}"


def finding_lines(finding: Finding) -> Iterator[str]:
    """Of one finding: severity, code, place; what it is; witness, hint and waiver."""
    diagnostic = finding.diagnostic
    standing = "" if finding.standing is Standing.NEW else f" ({finding.standing.value.lower()})"
    known_as = "" if finding.refused else f" [{diagnostic.fingerprint}]"
    severity = output.severity(diagnostic.severity.value)
    yield f"  {severity} {diagnostic.code}{standing} {place(diagnostic)}{known_as}"
    yield from _told("", diagnostic.message)
    yield from _told("witness: ", diagnostic.witness)
    yield from _told("hint: ", diagnostic.hint)
    if finding.waiver is not None:
        waiver = finding.waiver
        yield from _told("", f"waived by {waiver.owner} until {waiver.expires}: {waiver.reason}")


def place(diagnostic: Diagnostic) -> str:
    """``workflow.yaml:12:7 spec.steps[1].inputs``, as far as it is known."""
    where = [str(part) for part in (diagnostic.source, diagnostic.line, diagnostic.column) if part]
    return " ".join(part for part in (":".join(where), diagnostic.path) if part)


def _told(head: str, text: str | None) -> Iterator[str]:
    if text:
        first, *rest = text.splitlines()
        yield f"    {head}{first}"
        yield from (f"      {line}" for line in rest)


def summary(report: Report) -> str:
    """`failed: 2 errors, 1 warning; 1 waived`."""
    counts = [
        output.plural(number, word)
        for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
        if (number := report.count(severity))
    ]
    others = [
        f"{number} {word}"
        for standing, word in ((Standing.WAIVED, "waived"), (Standing.KNOWN, "in the baseline"))
        if (number := report.standing(standing))
    ]
    said = "; ".join(", ".join(part) for part in (counts, others) if part)
    return f"{_RESULT[report.result]}: {said or 'nothing was found'}"


_RESULT = {
    Result.PASSED: "passed",
    Result.FAILED: "failed",
    Result.REFUSED: "refused",
}
