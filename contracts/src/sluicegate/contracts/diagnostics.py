"""What a check of contracts has to say: one shape for static checks, comparisons of versions, rule sets and SLA tests.

A ``Problem`` refuses an input. A ``Diagnostic`` also warns and informs, has a code that a page of docs/reference
explains, a witness that shows it, and a fingerprint by which a waiver or a baseline knows it again.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from sluicegate.contracts.errors import Problem


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "Error"  # fails the build, refuses the object
    WARNING = "Warning"
    INFO = "Info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What a kind of finding means, for the reference page: title in a few words, meaning and remedy in sentences."""

    title: str
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding of a static check.

    code: PascalCase, from a closed set, explained in docs/reference. path: where, as in ``Problem``. message: what is
    wrong, with the numbers. witness: an input, a value or a chain of factors that shows it, as text. hint: what to
    change. subject: the object it is about, ``AgentWorkflow/support-bot``. source, line, column: where it was read, from 1.
    place: the path with names of list items in place of their numbers (`paths.named`), by which it is known again wherever
    an item stands; None: the path itself.
    """

    code: str
    severity: Severity
    path: str
    message: str
    witness: str | None = None
    hint: str | None = None
    subject: str = ""
    source: str | None = None
    line: int | None = None
    column: int | None = None
    place: str | None = None

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that stay the same while the finding does: of its code, subject, place and witness, not of its wording, its line or its file."""
        return self._known_at(self.place or self.path)

    @property
    def fingerprints(self) -> frozenset[str]:
        """By which a waiver or a baseline may know it: the fingerprint, and the one with numbers of list items that was told before."""
        return frozenset({self.fingerprint, self._known_at(self.path)})

    def _known_at(self, place: str) -> str:
        told = "\0".join((self.code, self.subject, place, self.witness or ""))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def refusal(problem: Problem, *, code: str = "Refused", subject: str = "") -> Diagnostic:
    """A problem of an input, as an error among other diagnostics."""
    parts = (
        problem.message,
        problem.value and f"got {problem.value}",
        problem.allowed and f"allowed: {problem.allowed}",
    )
    return Diagnostic(
        code=code,
        severity=Severity.ERROR,
        path=problem.path,
        message="; ".join(part for part in parts if part),
        hint=problem.hint,
        subject=subject,
        source=problem.source,
        line=problem.line,
    )
