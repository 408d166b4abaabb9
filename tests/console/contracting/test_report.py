"""What findings do to the build."""

import pytest

from sluicegate.console import exits
from sluicegate.console.contracting.report import Finding, Result, Standing
from sluicegate.console.contracting.words import FailOn
from sluicegate.contracts.diagnostics import Severity
from tests.console.contracting.made import finding, report

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@pytest.mark.parametrize(
    ("sentence", "findings", "fail_on", "result"),
    [
        ("nothing found", [], FailOn.WARNING, Result.PASSED),
        ("an error", [finding()], FailOn.ERROR, Result.FAILED),
        ("an error, told only", [finding()], FailOn.NEVER, Result.PASSED),
        ("a warning below the threshold", [finding(severity=WARNING)], FailOn.ERROR, Result.PASSED),
        ("a warning at the threshold", [finding(severity=WARNING)], FailOn.WARNING, Result.FAILED),
        ("information never fails", [finding(severity=INFO)], FailOn.WARNING, Result.PASSED),
        ("a waived error", [finding(Standing.WAIVED)], FailOn.WARNING, Result.PASSED),
        ("a known error", [finding(Standing.KNOWN)], FailOn.WARNING, Result.PASSED),
        ("a new one among known", [finding(Standing.KNOWN), finding()], FailOn.ERROR, Result.FAILED),
        ("a file that cannot be read", [finding(refused=True)], FailOn.NEVER, Result.REFUSED),
        ("it outweighs findings", [finding(), finding(refused=True)], FailOn.ERROR, Result.REFUSED),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_a_result(sentence: str, findings: list[Finding], fail_on: FailOn, result: Result) -> None:
    found = report(*findings, fail_on=fail_on)
    assert found.result is result
    codes = {Result.PASSED: exits.OK, Result.FAILED: exits.FINDINGS, Result.REFUSED: exits.REFUSED}
    assert found.exit_code == codes[result]


def test_every_result_has_a_code_of_its_own_that_no_crash_has() -> None:
    assert len({exits.OK, exits.FINDINGS, exits.REFUSED, exits.ERROR}) == 4
    assert exits.FINDINGS in exits.MEANINGS
