"""What is asked of a provider of evidence, and what it answers. Data only."""

import math
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.source import Source
from sluicegate.rollout.job_runs import JobRun

ROLES: Final = ("bad", "total", "value", "samples")


class Outcome(StrEnum):
    """What a provider's answer is; only a Value is a number."""

    VALUE = "Value"
    NO_DATA = "NoData"
    STALE = "StaleData"
    NON_FINITE = "NonFinite"
    PARTIAL = "PartialData"
    AMBIGUOUS = "AmbiguousData"
    TIMEOUT = "ProviderTimeout"
    ERROR = "ProviderError"


WORST_FIRST: Final = (
    Outcome.ERROR,
    Outcome.TIMEOUT,
    Outcome.AMBIGUOUS,
    Outcome.PARTIAL,
    Outcome.NON_FINITE,
    Outcome.STALE,
    Outcome.NO_DATA,
    Outcome.VALUE,
)
FAILURES: Final = frozenset({Outcome.ERROR, Outcome.TIMEOUT})
"""Of the provider: nothing was said about the candidate."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One number, or why there is none. message: at most one line, never a credential; beside a number where it is from."""

    outcome: Outcome
    value: float | None = None
    message: str = ""

    @property
    def checked(self) -> Outcome:
        """The outcome; a value that is none is not taken for one, whatever the provider calls it."""
        is_number = self.value is not None and math.isfinite(self.value)
        return Outcome.NON_FINITE if self.outcome is Outcome.VALUE and not is_number else self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What one arm is asked: texts by role, placeholders filled in. job: run first, and its result is asked."""

    arm: str
    url: str
    texts: tuple[tuple[str, str], ...]
    job: JobRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One gate to be measured again and again. after: number of the newest measurement that the status holds. is_paused: what
    runs goes on, and nothing begins.
    """

    key: EvidenceKey
    namespace: str
    gate: str
    source: Source
    inquiries: tuple[Inquiry, ...]
    after: int = 0
    is_paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All numbers of one gate at one time, by arm and role."""

    key: EvidenceKey
    gate: str
    number: int
    at: datetime
    readings: tuple[tuple[str, str, Reading], ...]

    def worst(self) -> tuple[Outcome, str]:
        """The outcome of all of them, and a sentence that says whose it is."""
        ranked = sorted(self.readings, key=lambda one: WORST_FIRST.index(one[2].checked))
        if not ranked:
            return Outcome.NO_DATA, "nothing was asked"
        arm, role, reading = ranked[0]
        if reading.checked is Outcome.VALUE:
            return reading.checked, reading.message[:500]
        said = f"{role} of {arm}: {reading.message}"
        return reading.checked, said[:500]

    def value(self, arm: str, role: str) -> float | None:
        """The number, if there is one."""
        found = (one for name, part, one in self.readings if (name, part) == (arm, role))
        return next((one.value for one in found), None)
