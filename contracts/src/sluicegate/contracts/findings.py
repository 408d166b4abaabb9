"""What a gate answers."""

from dataclasses import dataclass, field

from sluicegate.contracts.stages import Check, Signal, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict of a gate, or of a check that is always on, with the numbers it rests on.

    reason: PascalCase, from a closed set (rollout.gates.REASONS). message: one sentence with
    both numbers and n. have/need: comparable units folded, and needed at the least (or estimated). runs:
    up to five run ids that show the finding.
    """

    gate: str
    signal: Signal | Check
    verdict: Verdict
    reason: str
    message: str
    candidate: float | None = None
    stable: float | None = None
    have: int = 0
    need: int | None = None
    component: str | None = None
    on_fail: str = "Abort"
    required: bool = True
    runs: tuple[str, ...] = field(default=())
