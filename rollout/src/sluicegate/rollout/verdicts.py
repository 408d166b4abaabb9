"""From findings to one word, and from findings to status."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import GateStatus
from sluicegate.contracts.stages import Verdict

PRECEDENCE: Final = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WAIT, Verdict.PASS)
"""The worst verdict of the required gates is the stage's; without any required gate it is Wait, never Pass."""


def combine(findings: Iterable[Finding]) -> Verdict:
    """The verdict of a stage."""
    verdicts = {finding.verdict for finding in findings if finding.required}
    return next((verdict for verdict in PRECEDENCE if verdict in verdicts), Verdict.WAIT)


def failed(findings: Iterable[Finding], on_fail: str | None = None) -> tuple[Finding, ...]:
    """The required gates that failed, in their order; on_fail: only those that ask for it (Abort or Hold)."""
    return tuple(
        finding
        for finding in findings
        if finding.required and finding.verdict is Verdict.FAIL and on_fail in {None, finding.on_fail}
    )


def sentence(failures: Sequence[Finding]) -> str:
    """Why a rollout ends or waits: the numbers of the first gate that failed, the names of the others."""
    first, *others = failures
    also = f"; gate {', '.join(other.gate for other in others)} failed as well" if others else ""
    return f"Fail of gate {first.gate}: {first.message}{also}"


def to_status(finding: Finding) -> GateStatus:
    """As kept in status; numbers become decimal strings."""
    return GateStatus(
        name=finding.gate,
        signal=finding.signal.value,
        component=finding.component,
        verdict=finding.verdict.value,
        reason=finding.reason,
        message=finding.message,
        candidate=_decimal(finding.candidate),
        stable=_decimal(finding.stable),
        have=finding.have,
        need=finding.need,
        runs=finding.runs,
    )


def _decimal(value: float | None) -> str | None:
    return None if value is None else format(Decimal(f"{value:.6g}"), "f")
