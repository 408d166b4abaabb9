"""What a run is made of beside its program: clocks, the client, and the state of one arm."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluicegate.contracts.runs import Arm, Coalition, Failure, Game, StepRecord, Violation
from sluicegate.gateway.engine.program import Program
from sluicegate.gateway.ports import HttpClient
from sluicegate.gateway.resilience.destinations import Destinations


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Ports of the engine. monotonic: seconds. jitter(limit): uniform in [0, limit). new_id: of a run."""

    client: HttpClient
    monotonic: Callable[[], float]
    now: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[float], float]
    new_id: Callable[[], str]


@dataclass(slots=True, kw_only=True)
class ArmState:
    """One arm of one run while it runs.

    fallback_program: where onFailure StableVersion finds its component. started, deadline: monotonic seconds.
    patience: seconds between them. coalition: its players that are left out fall back at once, or run in stable's version, as the game says. error: for the record; failed_step: what the caller may know of it. spent: seconds in components. cost: as components report it in usage.cost.
    """

    kernel: Kernel
    program: Program
    fallback_program: Program | None
    destinations: Destinations
    run_id: str
    arm: Arm
    mirrored: bool
    stage: str | None
    traceparent: str
    input: Any
    started: float
    patience: float
    deadline: float
    coalition: Coalition | None = None
    forced: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    scope: dict[str, Any] = field(default_factory=dict)
    steps: list[StepRecord] = field(default_factory=list)
    output: Any = None
    failure: Failure | None = None
    error: str | None = None
    failed_step: str | None = None
    violations: tuple[Violation, ...] = ()
    latency_ms: float = 0.0
    reward: float | None = None
    spent: float = 0.0
    cost: float = 0.0

    def __post_init__(self) -> None:
        if self.coalition is not None and self.coalition.game is Game.VERSION:
            self.replaced = self.coalition.left_out
        elif self.coalition is not None:
            self.forced = self.coalition.left_out

    def since_start_ms(self) -> float:
        """Milliseconds since the arm started."""
        return (self.kernel.monotonic() - self.started) * 1000.0
