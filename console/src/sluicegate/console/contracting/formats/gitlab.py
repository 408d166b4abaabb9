"""Code quality of GitLab: findings beside the lines of a merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

import hashlib
from typing import Any

from sluicegate.console.contracting.formats.places import relative
from sluicegate.console.contracting.report import Report, Standing
from sluicegate.contracts.diagnostics import Severity

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def issues(report: Report) -> list[dict[str, Any]]:
    """Those that are new. GitLab wants each with a place and a fingerprint of its own in the report."""
    found: dict[str, dict[str, Any]] = {}
    for subject in report.subjects:
        for finding in subject.findings:
            if finding.standing is not Standing.NEW:
                continue
            diagnostic = finding.diagnostic
            source = relative(diagnostic.source or subject.source)
            once = hashlib.sha256(
                f"{diagnostic.fingerprint}\0{source}\0{diagnostic.path}".encode()
            ).hexdigest()
            found.setdefault(
                once,
                {
                    "description": f"{diagnostic.path}: {diagnostic.message}".removeprefix(": "),
                    "check_name": diagnostic.code,
                    "fingerprint": once,
                    "severity": "blocker" if finding.refused else _SEVERITY[diagnostic.severity],
                    "location": {"path": source, "lines": {"begin": diagnostic.line or 1}},
                },
            )
    return list(found.values())
