"""Markdown, for the summary of a CI run."""

from sluicegate.console.contracting.formats.places import relative
from sluicegate.console.contracting.formats.text import summary as sum_of
from sluicegate.console.contracting.report import Finding, Report, Standing

_LIMIT = 50


def summary(report: Report) -> str:
    """A heading, what was checked, and a table of findings; at most 50, those that fail first."""
    findings = sorted(
        report.findings, key=lambda one: (not report.fails(one), one.standing is not Standing.NEW)
    )
    lines = [f"### sluicegate {report.tool}: {sum_of(report)}", ""]
    for subject in report.subjects:
        lines += [f"- {_cell(subject.title)}: {_cell(remark)}" for remark in subject.remarks]
    if findings:
        lines += ["", "| | code | where | what | fingerprint |", "|---|---|---|---|---|"]
        lines += [_row(finding) for finding in findings[:_LIMIT]]
    if len(findings) > _LIMIT:
        lines += ["", f"… and {len(findings) - _LIMIT} more."]
    lines += ["", *(f"> {_cell(note)}" for note in report.notes)] if report.notes else []
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    diagnostic = finding.diagnostic
    standing = diagnostic.severity.value if finding.standing is Standing.NEW else finding.standing.value
    where = (
        relative(diagnostic.source) + (f":{diagnostic.line}" if diagnostic.line else "")
        if diagnostic.source
        else ""
    )
    told = [diagnostic.message, diagnostic.witness and f"witness: {diagnostic.witness}", diagnostic.hint]
    what = "<br>".join(_cell(text) for text in told if text)
    cells = (
        standing,
        diagnostic.code,
        f"{_cell(where)}<br>{_cell(diagnostic.path)}",
        what,
        diagnostic.fingerprint,
    )
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Text that cannot leave its cell, nor be taken for HTML."""
    for sign, told in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\r", " "), ("\n", " ")):
        text = text.replace(sign, told)
    return text
