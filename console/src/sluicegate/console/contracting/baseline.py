"""A baseline: the findings of a day, so that only new ones fail. Made by `contract baseline`, kept in the repository."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from sluicegate.console.contracting.report import Report, Standing
from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.explanations import explain
from sluicegate.contracts.resources.base import Model


class Known(Model):
    """A finding that was there. Only the fingerprint counts; the rest tells people what it is."""

    fingerprint: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{16}$")]
    """Of the finding."""
    tool: str = "contract check"
    """What found it."""
    code: str
    """Of the finding."""
    subject: str
    """What it is about."""
    path: str
    """Where."""
    message: str
    """What it said then."""


class Baseline(Model):
    """A file of known findings."""

    schema_version: Literal["1"] = "1"
    """Of this file."""
    findings: tuple[Known, ...]
    """In the order of subject, path, code; without days, so that a file written anew differs only by findings."""

    @property
    def fingerprints(self) -> frozenset[str]:
        """Of all findings."""
        return frozenset(one.fingerprint for one in self.findings)


def of(*reports: Report) -> Baseline:
    """Every finding of the reports that a waiver does not cover.

    Raises Refused with those that cannot be lived with: what could not be read is not known, so nothing of it is.
    """
    refused = [one.diagnostic for report in reports for one in report.findings if one.refused]
    if refused:
        raise Refused(tuple(dict.fromkeys(map(_problem, refused))))
    kept = [
        (one.diagnostic, report.tool)
        for report in reports
        for one in report.findings
        if one.standing is not Standing.WAIVED
    ]
    known = {
        one.fingerprint: Known(
            fingerprint=one.fingerprint,
            tool=tool,
            code=one.code,
            subject=one.subject,
            path=one.path,
            message=one.message,
        )
        for one, tool in kept
    }
    return Baseline(findings=tuple(sorted(known.values(), key=_order)))


def _problem(one: Diagnostic) -> Problem:
    return Problem(path=one.path, message=one.message, hint=one.hint, source=one.source, line=one.line)


def _order(known: Known) -> tuple[str, ...]:
    return (known.subject, known.path, known.code, known.fingerprint)


def read(path: Path) -> Baseline:
    """Raises Refused with every problem of the file."""
    try:
        data: Any = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        hint = "`sluicegate contract baseline -f … > FILE` writes it"
        raise _unusable(path, "no such file", hint) from error
    except (OSError, ValueError) as error:
        raise _unusable(path, f"cannot be read: {error}", "write it anew") from error
    if not isinstance(data, dict):
        raise _unusable(path, "is no baseline", "write it anew")
    try:
        return Baseline.model_validate(data)
    except ValidationError as error:
        found = explain(error.errors(include_url=False, include_context=True), Baseline, data)
        raise Refused(tuple(replace(one, source=str(path)) for one in found)) from error


def _unusable(path: Path, message: str, hint: str) -> Refused:
    return Refused((Problem(path="--baseline", message=message, value=str(path), hint=hint),))
