"""What a check of contracts reports: subjects with their findings, and what these do to the build. Pure.

Every tool of `sluicegate contract` gives one `Report`; `formats` renders it, `exit_code` is the same for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sluicegate.console import exits
from sluicegate.console.contracting.words import FailOn
from sluicegate.contracts.diagnostics import Diagnostic, Severity, refusal
from sluicegate.contracts.errors import Problem

if TYPE_CHECKING:
    from sluicegate.console.contracting.waivers import Waiver


class Standing(StrEnum):
    """What is known of a finding."""

    NEW = "New"
    WAIVED = "Waived"  # somebody answers for it, until a day
    KNOWN = "Known"  # in the baseline


class Result(StrEnum):
    """Of a report."""

    PASSED = "Passed"
    FAILED = "Failed"
    REFUSED = "Refused"


_FAILS: Mapping[FailOn, frozenset[Severity]] = {
    FailOn.ERROR: frozenset({Severity.ERROR}),
    FailOn.WARNING: frozenset({Severity.ERROR, Severity.WARNING}),
    FailOn.NEVER: frozenset(),
}
_EXIT = {Result.PASSED: exits.OK, Result.FAILED: exits.FINDINGS, Result.REFUSED: exits.REFUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A diagnostic of one check, and its standing.

    refused: the file cannot be read, or the server would refuse it; no waiver, baseline or threshold helps.
    """

    diagnostic: Diagnostic
    check: str
    standing: Standing = Standing.NEW
    waiver: "Waiver | None" = None
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that was checked.

    name: ``AgentWorkflow/support-bot``, empty when it could not be read. source: its file. checks: those that ran, in
    order; skipped: those that could not, because of what others found. remarks: lines for people. facts: JSON for programs.
    """

    name: str
    source: str
    checks: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For people."""
        return self.name or self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run of a tool (``contract check``). notes: what is told and fails nothing."""

    tool: str
    subjects: tuple[Subject, ...]
    fail_on: FailOn = FailOn.ERROR
    notes: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all subjects, in order."""
        return tuple(finding for subject in self.subjects for finding in subject.findings)

    def fails(self, finding: Finding) -> bool:
        """Whether this one alone fails the build."""
        counts = finding.standing is Standing.NEW and finding.diagnostic.severity in _FAILS[self.fail_on]
        return finding.refused or counts

    @property
    def result(self) -> Result:
        """Refused before Failed before Passed."""
        if any(finding.refused for finding in self.findings):
            return Result.REFUSED
        return Result.FAILED if any(map(self.fails, self.findings)) else Result.PASSED

    @property
    def exit_code(self) -> int:
        """0 passed, 9 findings that count, 2 something could not be read or would be refused."""
        return _EXIT[self.result]

    def count(self, severity: Severity) -> int:
        """New findings of this severity."""
        return sum(
            one.diagnostic.severity is severity and one.standing is Standing.NEW for one in self.findings
        )

    def standing(self, standing: Standing) -> int:
        """Findings with this standing."""
        return sum(one.standing is standing for one in self.findings)


def refused(problem: Problem, *, check: str, subject: str = "") -> Finding:
    """A problem because of which nothing can be said."""
    return Finding(diagnostic=refusal(problem, subject=subject), check=check, refused=True)


def unreadable(problem: Problem) -> Subject:
    """A file that could not be read at all."""
    source = problem.source or problem.path
    return Subject(name="", source=source, checks=("parsing",), findings=(refused(problem, check="parsing"),))
