"""The judge of promises: the anytime-valid tests of observability behind the port `contracts.sla.SlaJudge`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts.sla import Promise, SlaFinding, Unit
from sluicegate.contracts.stages import Verdict
from sluicegate.observability.one_arm import OneArm
from sluicegate.observability.passage import MOST_UNITS, least_units

LEAST_UNITS: Final = 59
"""Before them nothing is decided: below, no 95 % bound of a p95 exists (Wilks 1941), and a test that ends on its first four
slow runs has seen one bad moment, not a service."""
_DECIDED: Final = (Verdict.PASS, Verdict.FAIL)


@dataclass(slots=True)
class _Case:
    """One promise under test. low, high: as they were at the verdict."""

    promise: Promise
    arm: OneArm
    log_threshold: float
    verdict: Verdict = Verdict.INCONCLUSIVE
    decided_at: int | None = None
    low: float = 0.0
    high: float = 1.0

    def look(self) -> None:
        if self.verdict in _DECIDED or self.arm.n < LEAST_UNITS:
            return
        if self.arm.above.log_e >= self.log_threshold:
            self.verdict = Verdict.FAIL
        elif self.arm.below.log_e >= self.log_threshold:
            self.verdict = Verdict.PASS
        if self.verdict in _DECIDED:
            self.decided_at = self.arm.n
            self.low, self.high = self.ends()

    def ends(self) -> tuple[float, float]:
        """Of now and of the moment of the verdict, which hold together: the limit stays outside."""
        low, high = self.arm.ends(self.log_threshold)
        return max(self.low, low), min(self.high, high)

    def more(self) -> int | None:
        """Units at the growth seen so far, on the side that gets there first."""
        if self.verdict in _DECIDED:
            return None
        sides = [
            (self.log_threshold - test.log_e) / test.growth
            for test in (self.arm.above, self.arm.below)
            if test.growth is not None
        ]
        found = min(sides, default=math.inf)
        return max(1, math.ceil(found)) if found <= MOST_UNITS else None


class SequentialJudge:
    """`alpha`: the chance that any verdict of the test is wrong, however often it is looked at; split evenly over the promises.

    A promise is kept or broken, so only one of its two tests can err: each has the promise's whole share.
    """

    def __init__(self, promises: Sequence[Promise], alpha: float) -> None:
        log_threshold = math.log(len(promises) / alpha)
        self._cases = [_Case(promise, OneArm(float(promise.most)), log_threshold) for promise in promises]

    def add(self, unit: Unit) -> None:
        """One more unit; a look after each."""
        for case in self._cases:
            bad = unit[case.promise.measure]
            case.arm.add(bad.least, bad.most)
            case.look()

    def is_decided(self) -> bool:
        """Whether every promise has a verdict."""
        return all(case.verdict in _DECIDED for case in self._cases)

    def findings(self) -> tuple[SlaFinding, ...]:
        """In the promises' order."""
        return tuple(map(_finding, self._cases))


def _finding(case: _Case) -> SlaFinding:
    low, high = case.ends()
    return SlaFinding(
        promise=case.promise,
        verdict=case.verdict,
        units=case.arm.n,
        rate=case.arm.mean,
        low=low,
        high=high,
        decided_at=case.decided_at,
        more=case.more(),
    )


def least_to_pass(promises: Sequence[Promise], alpha: float) -> int:
    """Units without which no service passes, however good it is."""
    log_threshold = math.log(len(promises) / alpha)
    return max(
        least_units(low=0.0, high=1.0, null=1.0 - float(promise.most), log_threshold=log_threshold)
        for promise in promises
    )
