"""Runs and observations for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, RawObservation
from sluicegate.contracts.runs import (
    Arm,
    Attempt,
    Failure,
    Fallback,
    RunOutcome,
    RunRecord,
    StepOutcome,
    StepRecord,
)
from sluicegate.contracts.stages import Stage

START = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
SHADOW = EvidenceKey("rollout-1", Stage.SHADOW, 1)
CONTROLLED = EvidenceKey("rollout-1", Stage.CONTROLLED, 1)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def step(name: str = "plan", **fields: Any) -> StepRecord:
    defaults: dict[str, Any] = {
        "component": "planner",
        "version": "1.0",
        "outcome": StepOutcome.OK,
        "request": {"user_query": "where is my parcel"},
        "response": {"intent": "track_order"},
        "attempts": (Attempt(number=1, started_ms=0.2, service_ms=3.5, status=200),),
    }
    return StepRecord(name=name, **(defaults | fields))


def fell_back(component: str, reason: Failure = Failure.TIMEOUT, *, forced: bool = False) -> StepRecord:
    return step(
        component,
        component=component,
        outcome=StepOutcome.FALLBACK,
        fallback=Fallback(strategy="Value", reason=reason, forced=forced),
    )


def run(run_id: str = "run-000001", arm: Arm = Arm.STABLE, **fields: Any) -> RunRecord:
    defaults: dict[str, Any] = {
        "serving": arm is Arm.STABLE,
        "namespace": "shop",
        "workflow": "support-bot",
        "revision": "support-bot-1",
        "version": "1.0.0",
        "components": {"planner": "1.0"},
        "started_at": at(0).isoformat(),
        "latency_ms": 12.5,
        "outcome": RunOutcome.SUCCEEDED,
        "unit": "unit-1",
        "input": {"user_query": "where is my parcel"},
        "output": {"response": "on its way"},
        "steps": (step(),),
    }
    return RunRecord(run_id=run_id, arm=arm, **(defaults | fields))


def facts(success: float = 1.0, **fields: Any) -> ArmFacts:
    return ArmFacts(success=success, **({"latencies_ms": (12.5,)} | fields))


def observed(run_id: str = "run-000001", seconds: float = 0.0, **fields: Any) -> RawObservation:
    defaults: dict[str, Any] = {"key": SHADOW, "unit": run_id, "stable": facts()}
    return RawObservation(run_id=run_id, at=at(seconds), **(defaults | fields))
