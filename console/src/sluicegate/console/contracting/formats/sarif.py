"""SARIF 2.1.0 (OASIS), for code scanning of GitHub and other readers."""

from importlib.metadata import version
from typing import Any

from sluicegate.console.contracting.codes import ALL
from sluicegate.console.contracting.formats.places import uri
from sluicegate.console.contracting.report import Finding, Report, Result, Standing
from sluicegate.contracts.diagnostics import Diagnostic, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "sluicegate/v1"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def log(report: Report) -> dict[str, Any]:
    """One run. What is waived or known is there too, suppressed (section 3.35)."""
    codes = sorted({finding.diagnostic.code for finding in report.findings})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(codes)},
                "automationDetails": {"id": report.tool.replace(" ", "/") + "/"},
                "invocations": [
                    {
                        "executionSuccessful": report.result is not Result.REFUSED,
                        "exitCode": report.exit_code,
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, codes) for finding in report.findings],
            }
        ],
    }


def _driver(codes: list[str]) -> dict[str, Any]:
    return {
        "name": "sluicegate",
        "version": version("sluicegate"),
        "rules": [_rule(code) for code in codes],
    }


def _rule(code: str) -> dict[str, Any]:
    known = ALL.get(code)
    if known is None:
        return {"id": code, "name": code}
    return {
        "id": code,
        "name": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.meaning},
        "help": {"text": f"{known.meaning} {known.remedy}", "markdown": f"{known.meaning}\n\n{known.remedy}"},
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    diagnostic = finding.diagnostic
    found: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": _LEVEL[diagnostic.severity],
        "message": {"text": _message(diagnostic)},
        "locations": [_location(diagnostic)],
        "partialFingerprints": {FINGERPRINT: diagnostic.fingerprint},
        "properties": {"check": finding.check},
    }
    if finding.standing is not Standing.NEW:
        found["suppressions"] = [_suppression(finding)]
    return found


def _message(diagnostic: Diagnostic) -> str:
    parts = (
        diagnostic.message,
        diagnostic.witness and f"Witness: {diagnostic.witness}",
        diagnostic.hint and f"Hint: {diagnostic.hint}",
    )
    return "\n".join(part for part in parts if part)


def _location(diagnostic: Diagnostic) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if diagnostic.source:
        region = {"startLine": diagnostic.line, "startColumn": diagnostic.column}
        physical: dict[str, Any] = {"artifactLocation": {"uri": uri(diagnostic.source)}}
        if diagnostic.line:
            physical["region"] = {name: value for name, value in region.items() if value}
        found["physicalLocation"] = physical
    name = " ".join(part for part in (diagnostic.subject, diagnostic.path) if part)
    if name:
        found["logicalLocations"] = [{"fullyQualifiedName": name}]
    return found


def _suppression(finding: Finding) -> dict[str, Any]:
    waiver = finding.waiver
    if waiver is None:
        return {"kind": "external", "status": "accepted", "justification": "in the baseline"}
    return {
        "kind": "external",
        "status": "accepted",
        "justification": f"{waiver.owner}, until {waiver.expires}: {waiver.reason}",
    }
