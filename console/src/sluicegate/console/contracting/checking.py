"""`contract check`: every check that a kind has, on each document. Adding one is a line in `KINDS`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sluicegate.console.contracting import instances
from sluicegate.console.contracting.codes import NOT_PROVEN
from sluicegate.console.contracting.reading import Loaded, Read
from sluicegate.console.contracting.report import Finding, Subject, refused, unreadable
from sluicegate.console.contracting.words import Mode
from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.parsing import located, placed
from sluicegate.contracts.resources import AgentWorkflow, FallbackRuleSet
from sluicegate.contracts.resources.base import Resource
from sluicegate.contracts.verification import verify
from sluicegate.fallback_rules.lint import lint
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import compile_table

TOOL = "contract check"
PARSING, VERIFICATION = "parsing", "verification"
SECOND = "second-validator"
"""Only with the extra `ci`."""

Verify = Callable[[Any], Iterable[Problem]]
Check = Callable[[Any], Iterable[Diagnostic]]


def _uncompiled(rules: FallbackRuleSet) -> tuple[Problem, ...]:
    try:
        compile_table(rules.spec)
    except Refused as error:
        return error.problems
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is asked of the objects of a kind. verify: why one would be refused; checks: of one that is not, in order."""

    verify: Verify
    checks: Mapping[str, Check]


KINDS: Mapping[type[Resource], Kind] = {
    AgentWorkflow: Kind(verify=verify, checks={"analysis": analyse, SECOND: instances.of_workflow}),
    FallbackRuleSet: Kind(
        verify=_uncompiled,
        checks={
            "proof": lambda rules: prove(compile_table(rules.spec)).diagnostics,
            "lint": lambda rules: lint(compile_table(rules.spec)),
            SECOND: instances.of_rules,
        },
    ),
}
"""Objects of other kinds are only read."""


def check(loaded: Loaded, mode: Mode = Mode.ENFORCE) -> tuple[Subject, ...]:
    """One subject for each document, and one for each file that could not be read."""
    return (
        *(unreadable(problem) for problem in loaded.unreadable),
        *(_checked(read, mode) for read in loaded.reads),
    )


def _checked(read: Read, mode: Mode) -> Subject:
    found = refusals(read)
    kind = KINDS.get(type(read.resource)) if read.resource else None
    checks = dict(kind.checks) if kind else {}
    if not instances.is_available():
        checks.pop(SECOND, None)
    before = (PARSING, VERIFICATION) if kind else (PARSING,)
    if found:
        ran, skipped = before, tuple(checks)
    else:
        ran, skipped = (*before, *checks), ()
        found = tuple(
            Finding(diagnostic=judged(placed(diagnostic, read.document), mode, read.name), check=name)
            for name, analyse in checks.items()
            for diagnostic in analyse(read.resource)
        )
    return Subject(name=read.name, source=read.document.source, checks=ran, skipped=skipped, findings=found)


def refusals(read: Read) -> tuple[Finding, ...]:
    """Why the server would refuse the document; other checks need one that it would take."""
    problems = [(PARSING, problem) for problem in read.problems]
    kind = KINDS.get(type(read.resource)) if read.resource else None
    if kind is not None:
        problems += [(VERIFICATION, problem) for problem in kind.verify(read.resource)]
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
