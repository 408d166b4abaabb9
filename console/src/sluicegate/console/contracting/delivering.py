"""Where a report goes: the terminal, files, and what the CI server has given for it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.console import output
from sluicegate.console.contracting.formats import render
from sluicegate.console.contracting.report import Report
from sluicegate.console.contracting.words import ReportFormat
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.suggestions import did_you_mean

SUMMARY = "GITHUB_STEP_SUMMARY"
_TEXT = frozenset({ReportFormat.TABLE, ReportFormat.WIDE})


@dataclass(frozen=True, slots=True)
class Copy:
    """One --report."""

    format: ReportFormat
    file: Path


def copies(texts: Sequence[str]) -> tuple[Copy, ...]:
    """``sarif=report.sarif`` and its kin. Raises Refused with all that are wrong."""
    problems: list[Problem] = []
    found: list[Copy] = []
    allowed = ", ".join(ReportFormat)
    for text in texts:
        name, separator, file = text.partition("=")
        if not (separator and file):
            hint = "write --report sarif=contracts.sarif"
            problems.append(Problem(path="--report", message="is not FORMAT=FILE", value=text, hint=hint))
        elif name not in set(ReportFormat):
            near = did_you_mean(name, ReportFormat)
            problems.append(
                Problem(path="--report", message="unknown format", value=name, allowed=allowed, hint=near)
            )
        else:
            found.append(Copy(ReportFormat(name), Path(file)))
    if problems:
        raise Refused(tuple(problems))
    return tuple(found)


def deliver(
    report: Report,
    format: ReportFormat,
    copies: Sequence[Copy] = (),
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Print, write every copy, annotate where GitHub runs this; the exit code.

    Annotations go to standard error unless they were asked for, so that JSON on standard output stays JSON: GitHub reads both.
    """
    for copy in copies:
        copy.file.parent.mkdir(parents=True, exist_ok=True)
        copy.file.write_text(output.plain(render(report, copy.format)) + "\n", encoding="utf-8")
    printed = render(report, format)
    if printed:
        output.echo(printed)
    if format in _TEXT:
        for note in report.notes:
            output.note(f"note: {note}")
    if environ.get("GITHUB_ACTIONS") == "true" and format is not ReportFormat.GITHUB:
        lines = render(report, ReportFormat.GITHUB)
        if lines:
            output.note(lines)
    if environ.get(SUMMARY):
        with Path(environ[SUMMARY]).open("a", encoding="utf-8") as summary:
            summary.write(render(report, ReportFormat.MARKDOWN) + "\n\n")
    return report.exit_code
