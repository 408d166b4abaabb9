"""One report, in every form that people and machines read: `render(report, format)`."""

from collections.abc import Callable, Mapping

from sluicegate.console import output
from sluicegate.console.contracting.formats import annotations, gitlab, junit, markdown, sarif, text
from sluicegate.console.contracting.formats.document import data
from sluicegate.console.contracting.report import Report
from sluicegate.console.contracting.words import ReportFormat

RENDERERS: Mapping[ReportFormat, Callable[[Report], str]] = {
    ReportFormat.TABLE: text.plain,
    ReportFormat.WIDE: text.wide,
    ReportFormat.JSON: lambda report: output.as_json(data(report)),
    ReportFormat.YAML: lambda report: output.as_yaml(data(report)),
    ReportFormat.SARIF: lambda report: output.as_json(sarif.log(report)),
    ReportFormat.JUNIT: junit.xml,
    ReportFormat.GITHUB: annotations.lines,
    ReportFormat.GITLAB: lambda report: output.as_json(gitlab.issues(report)),
    ReportFormat.MARKDOWN: markdown.summary,
}


def render(report: Report, format: ReportFormat) -> str:
    """The whole text, without a newline at its end."""
    return RENDERERS[format](report)
