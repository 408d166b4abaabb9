"""What a move does to the status. Pure bookkeeping: clocks, flags, history, baselines."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.digest import digest_of
from sluicegate.contracts.evidence import SignalEvidence, StageEvidence
from sluicegate.contracts.resources.rollout import RolloutStatus, StageRecord
from sluicegate.contracts.stages import Signal, Stage, State
from sluicegate.rollout import table
from sluicegate.rollout.planning import baseline_key
from sluicegate.rollout.table import Move

MOST_HISTORY: Final = 16
_NEW_STAGE: Final[Mapping[str, object]] = {
    "paused": False,
    "paused_since": None,
    "paused_seconds": 0,
    "held": False,
    "hold_reason": None,
    "next_evaluation_at": None,
    "needed": None,
    "measured": (),
    "estimated_seconds_to_decision": None,
}


def is_due(at: datetime | None, now: datetime, every: timedelta) -> bool:
    """Whether `at` has come. A moment further ahead than `every` is another clock's: it is not waited for."""
    return at is None or not timedelta(0) < at - now <= every


def active_seconds(status: RolloutStatus, now: datetime) -> float:
    """Time in the stage without the pauses; never negative, whatever the clock did."""
    if status.stage_started_at is None:
        return 0.0
    paused = float(status.paused_seconds)
    if status.paused and status.paused_since is not None:
        paused += max(0.0, (now - status.paused_since).total_seconds())
    return max(0.0, (now - status.stage_started_at).total_seconds() - paused)


def soaked_seconds(status: RolloutStatus, evidence: StageEvidence | None, now: datetime) -> float:
    """Active time since the candidate was first seen to get traffic; 0 before."""
    if evidence is None or evidence.first_at is None or status.stage_started_at is None:
        return 0.0
    waited = max(0.0, (evidence.first_at - status.stage_started_at).total_seconds())
    return max(0.0, active_seconds(status, now) - waited)


def apply(
    status: RolloutStatus, move: Move, *, by: str, evidence: StageEvidence | None, now: datetime
) -> RolloutStatus:
    """The status after `move`, which was made because of `by`."""
    changes: dict[str, object] = {"state": move.to, "message": by}
    if status.state in table.STAGES:
        changes |= _left(status, by, evidence, now)
    if move.to in table.STAGES:
        changes |= _entered(status, Stage(move.to.value), now)
    elif move.to is State.PENDING:
        changes |= _again(status)
    elif move.to is State.DRAINING:  # `stage` stays: where it stood last
        changes |= {**_NEW_STAGE, "outcome": move.outcome, "draining_since": now}
    elif move.to is State.DONE:
        changes |= {"ended_at": now, "message": status.message}
    return status.model_copy(update=changes)


def _entered(status: RolloutStatus, stage: Stage, now: datetime) -> dict[str, object]:
    return {
        **_NEW_STAGE,
        "stage": stage,
        "stage_started_at": now,
        "started_at": status.started_at or now,
        "samples": 0,
        "gates": (),
        "evidence_digest": None,
    }


def _again(status: RolloutStatus) -> dict[str, object]:
    return {
        **_NEW_STAGE,
        "stage": None,
        "attempt": status.attempt + 1,
        "stage_started_at": None,
        "outcome": None,
        "ended_at": None,
        "draining_since": None,
        "samples": 0,
        "gates": (),
        "evidence_digest": None,
        "baseline": {},
        "latency_boundary_ms": None,
    }


def _left(status: RolloutStatus, by: str, evidence: StageEvidence | None, now: datetime) -> dict[str, object]:
    stage = Stage(status.state.value)
    record = StageRecord(
        stage=stage,
        attempt=status.attempt,
        started_at=status.stage_started_at or now,
        ended_at=now,
        left_by=by,
        evidence_digest=status.evidence_digest,
        gates=status.gates,
    )
    changes: dict[str, object] = {"history": (*status.history, record)[-MOST_HISTORY:]}
    if evidence is not None and stage is not Stage.FULL:
        changes["baseline"] = {**status.baseline, **baseline_of(evidence)}
        boundary = next(
            (item.boundary for item in evidence.of(Signal.P95_LATENCY) if item.boundary is not None), None
        )
        if boundary is not None:
            changes["latency_boundary_ms"] = f"{boundary:.6f}".rstrip("0").rstrip(".")
    return changes


def baseline_of(evidence: StageEvidence) -> dict[str, str]:
    """Stable's means in a stage, as decimal strings: what Full is judged against."""
    return {
        baseline_key(item.signal, item.component): _rate(item.stable)
        for item in evidence.signals
        if item.units > 0 and item.output is None and _is_rate(item)
    }


def _is_rate(item: SignalEvidence) -> bool:
    return item.stable is not None and 0.0 <= item.stable <= 1.0


def _rate(value: float | None) -> str:
    return f"{value or 0.0:.9f}".rstrip("0").rstrip(".")


def evidence_digest(evidence: StageEvidence, gates: tuple[object, ...]) -> str:
    """Names the evidence that a look rested on: its key, its cursor, and every gate's verdict and numbers."""
    return digest_of({"key": list(evidence.key), "cursor": evidence.cursor, "gates": list(gates)})
