"""GitHub's workflow commands: `::error file=…,line=…,title=…::message`, shown beside the changed line.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from sluicegate.console.contracting.formats.places import relative
from sluicegate.console.contracting.report import Finding, Report, Standing
from sluicegate.contracts.diagnostics import Severity

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def lines(report: Report) -> str:
    """A line for each new finding; the worst first, since GitHub shows ten of a kind in a step."""
    new = [one for one in report.findings if one.standing is Standing.NEW]
    order = list(_COMMAND)
    new.sort(key=lambda one: (not report.fails(one), order.index(one.diagnostic.severity)))
    return "\n".join(map(_line, new))


def _line(finding: Finding) -> str:
    diagnostic = finding.diagnostic
    facts = {
        "file": relative(diagnostic.source) if diagnostic.source else None,
        "line": diagnostic.line,
        "col": diagnostic.column,
        "title": f"{diagnostic.code} {diagnostic.subject}".strip(),
    }
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in facts.items() if value)
    told = [f"{diagnostic.path}: {diagnostic.message}" if diagnostic.path else diagnostic.message]
    told += [
        f"{head}: {text}"
        for head, text in (("witness", diagnostic.witness), ("hint", diagnostic.hint))
        if text
    ]
    told += [] if finding.refused else [f"fingerprint: {diagnostic.fingerprint}"]
    return f"::{_COMMAND[diagnostic.severity]} {properties}::{_data(chr(10).join(told))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
