"""A Job of a gate: what it is made of, and its name, which follows from what it is for. Pure.

The same look always has the same name: whoever asks for it again, also after a restart, finds the Job that was made.
"""

from dataclasses import dataclass
from typing import Final

from sluicegate.contracts.digest import digest_of
from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.source import JobSource

PREFIX: Final = "sluicegate-look-"
"""Of the names of Jobs; the chart's policies let nobody else make one."""
KEPT: Final = 3
"""Looks of a gate whose Jobs stay, for people to read their logs."""
CANDIDATE: Final = "candidate"
STABLE: Final = "stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """Of one gate and arm; `template` has its placeholders filled in. rollout: the name of the owner, key.rollout its uid."""

    key: EvidenceKey
    namespace: str
    rollout: str
    gate: str
    arm: str
    template: JobSource

    def name(self, number: int) -> str:
        """Of the Job of look `number`."""
        return name_of(self.key, self.gate, self.arm, number)


def name_of(key: EvidenceKey, gate: str, arm: str, number: int) -> str:
    """A DNS label of 36 characters."""
    made = digest_of([key.rollout, key.stage.value, key.attempt, gate, arm, number])
    return f"{PREFIX}{made.removeprefix('sha256:')[:20]}"
