"""JSON, with a published schema: docs/reference/contract-report.schema.json."""

from importlib.metadata import version
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from sluicegate.console.contracting.report import Finding, Report, Result, Standing, Subject
from sluicegate.console.contracting.waivers import Waiver
from sluicegate.console.contracting.words import FailOn
from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.resources.base import Model

SCHEMA_VERSION: Final = "1.0"
"""The first number changes when a reader must; the second when something is added."""


class FindingDocument(Model):
    """One finding."""

    check: str
    """The check that found it."""
    code: str
    """Its kind, from a closed set."""
    severity: Severity
    """How bad it is."""
    path: str
    """Field of the object."""
    message: str
    """What is wrong."""
    witness: str | None = None
    """What shows it."""
    hint: str | None = None
    """What to change."""
    fingerprint: str
    """The same as long as the finding is; what waivers and baselines name."""
    subject: str
    """The object."""
    source: str | None = None
    """File."""
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    standing: Standing
    """New, waived, or known from the baseline."""
    waiver: Waiver | None = None
    """Of a waived one."""
    refused: bool
    """Whether the file cannot be read, or would be refused by the server: exit code 2."""
    fails: bool
    """Whether it fails the build."""


class SubjectDocument(Model):
    """One thing that was checked."""

    name: str
    """The object; empty when it could not be read."""
    source: str
    """File."""
    checks: tuple[str, ...]
    """Checks that ran."""
    skipped: tuple[str, ...]
    """Checks that did not run because of what others found."""
    findings: tuple[FindingDocument, ...]
    """In the order of the checks."""
    remarks: tuple[str, ...]
    """Lines for people."""
    facts: dict[str, JsonValue]
    """What the tool adds; see its page."""


class Counts(Model):
    """New findings by severity, and the others."""

    error: int
    """New errors."""
    warning: int
    """New warnings."""
    info: int
    """New pieces of information."""
    waived: int
    """Findings with a waiver that holds."""
    known: int
    """Findings of the baseline."""


class ReportDocument(Model):
    """What a tool of `sluicegate contract` found."""

    schema_version: Literal["1.0"] = Field(default=SCHEMA_VERSION)
    """Of this document. Fields may be added within 1; a reader ignores those that it does not know."""
    tool: str
    """contract check, contract diff, …"""
    tool_version: str
    """Of sluicegate."""
    result: Result
    """Passed, Failed or Refused."""
    exit_code: int
    """0, 9 or 2."""
    fail_on: FailOn
    """The threshold."""
    counts: Counts
    """How many of each."""
    subjects: tuple[SubjectDocument, ...]
    """What was checked."""
    notes: tuple[str, ...]
    """What is told and fails nothing."""


def data(report: Report) -> dict[str, Any]:
    """The document as JSON."""
    return ReportDocument(
        tool=report.tool,
        tool_version=version("sluicegate"),
        result=report.result,
        exit_code=report.exit_code,
        fail_on=report.fail_on,
        counts=Counts(
            error=report.count(Severity.ERROR),
            warning=report.count(Severity.WARNING),
            info=report.count(Severity.INFO),
            waived=report.standing(Standing.WAIVED),
            known=report.standing(Standing.KNOWN),
        ),
        subjects=tuple(_subject(report, subject) for subject in report.subjects),
        notes=report.notes,
    ).to_json()


def _subject(report: Report, subject: Subject) -> SubjectDocument:
    return SubjectDocument(
        name=subject.name,
        source=subject.source,
        checks=subject.checks,
        skipped=subject.skipped,
        findings=tuple(_finding(report, finding) for finding in subject.findings),
        remarks=subject.remarks,
        facts=dict(subject.facts),
    )


def _finding(report: Report, finding: Finding) -> FindingDocument:
    diagnostic = finding.diagnostic
    return FindingDocument(
        check=finding.check,
        code=diagnostic.code,
        severity=diagnostic.severity,
        path=diagnostic.path,
        message=diagnostic.message,
        witness=diagnostic.witness,
        hint=diagnostic.hint,
        fingerprint=diagnostic.fingerprint,
        subject=diagnostic.subject,
        source=diagnostic.source,
        line=diagnostic.line,
        column=diagnostic.column,
        standing=finding.standing,
        waiver=finding.waiver,
        refused=finding.refused,
        fails=report.fails(finding),
    )


def schema() -> dict[str, Any]:
    """JSON Schema of the document, draft 2020-12; open, since fields are added."""
    found = ReportDocument.model_json_schema(mode="serialization")
    for part in (found, *found.get("$defs", {}).values()):
        part.pop("additionalProperties", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
