"""`contract check`: every check that a kind has, on each document. Adding one is a line in `CHECKS`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sluicegate.console.contracting.codes import NOT_PROVEN
from sluicegate.console.contracting.reading import Loaded, Read
from sluicegate.console.contracting.report import Finding, Subject, refused, unreadable
from sluicegate.console.contracting.words import Mode
from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.parsing import located, placed
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification import verify

TOOL = "contract check"
PARSING, VERIFICATION = "parsing", "verification"

Check = Callable[[AgentWorkflow], Iterable[Diagnostic]]


CHECKS: Mapping[str, Check] = {"analysis": analyse}
"""Of workflows that verify, by name, in order."""


def check(loaded: Loaded, mode: Mode = Mode.ENFORCE) -> tuple[Subject, ...]:
    """One subject for each document, and one for each file that could not be read."""
    return (
        *(unreadable(problem) for problem in loaded.unreadable),
        *(_checked(read, mode) for read in loaded.reads),
    )


def _checked(read: Read, mode: Mode) -> Subject:
    found = refusals(read)
    if isinstance(read.resource, AgentWorkflow):
        return _workflow(read, read.resource, found, mode)
    return Subject(name=read.name, source=read.document.source, checks=(PARSING,), findings=found)


def _workflow(read: Read, workflow: AgentWorkflow, found: tuple[Finding, ...], mode: Mode) -> Subject:
    if not found:
        found = tuple(
            Finding(diagnostic=judged(placed(diagnostic, read.document), mode, read.name), check=name)
            for name, analyse in CHECKS.items()
            for diagnostic in analyse(workflow)
        )
        ran, skipped = tuple(CHECKS), ()
    else:
        ran, skipped = (), tuple(CHECKS)
    return Subject(
        name=read.name,
        source=read.document.source,
        checks=(PARSING, VERIFICATION, *ran),
        skipped=skipped,
        findings=found,
    )


def refusals(read: Read) -> tuple[Finding, ...]:
    """Why the server would refuse the document; other checks need one that it would take."""
    problems = [(PARSING, problem) for problem in read.problems]
    if isinstance(read.resource, AgentWorkflow):
        problems += [(VERIFICATION, problem) for problem in verify(read.resource)]
    return tuple(_refused(read, name, problem) for name, problem in problems)


def _refused(read: Read, check: str, problem: Problem) -> Finding:
    here = located(problem, read.document.lines, read.document.source)
    finding = refused(here, check=check, subject=read.name)
    return replace(finding, diagnostic=placed(finding.diagnostic, read.document))


def judged(diagnostic: Diagnostic, mode: Mode, subject: str) -> Diagnostic:
    """The diagnostic with its subject, and as severe as `mode` takes what is not proven."""
    softened = mode is Mode.REPORT and diagnostic.code == NOT_PROVEN and diagnostic.severity is Severity.ERROR
    return replace(
        diagnostic,
        subject=diagnostic.subject or subject,
        severity=Severity.WARNING if softened else diagnostic.severity,
    )
