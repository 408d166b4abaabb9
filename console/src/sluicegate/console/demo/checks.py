"""What the demo promises, checked from the users' side. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sluicegate.console.output import moment
from sluicegate.console.traffic import Answer
from sluicegate.contracts.stages import Outcome, Stage

USERS_STAGES = (Stage.CONTROLLED, Stage.FULL)
"""Stages in which a candidate may answer users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One stage of a rollout, from its start to its end (None: not ended), and what gates said at the end."""

    stage: Stage
    started_at: datetime
    ended_at: datetime | None
    left_by: str
    gates: tuple[dict[str, Any], ...]


def passages(rollout: dict[str, Any]) -> tuple[Passage, ...]:
    """The stages that a rollout went through, oldest first."""
    status = rollout.get("status") or {}
    found = [_passage(record, tuple(record.get("gates") or ())) for record in status.get("history") or ()]
    return tuple(passage for passage in found if passage is not None)


def _passage(record: dict[str, Any], gates: tuple[dict[str, Any], ...]) -> Passage | None:
    started = moment(record.get("startedAt"))
    if started is None:
        return None
    return Passage(
        stage=Stage(record["stage"]),
        started_at=started,
        ended_at=moment(record.get("endedAt")),
        left_by=str(record.get("leftBy", "")),
        gates=gates,
    )


def opened_at(rollout: dict[str, Any]) -> datetime | None:
    """When the candidate was first allowed to answer users; None: never."""
    return min(
        (passage.started_at for passage in passages(rollout) if passage.stage in USERS_STAGES), default=None
    )


def too_early(answers: Iterable[Answer], version: str, opened: datetime | None) -> list[Answer]:
    """Good answers that users got from `version` before it was allowed to answer anybody.

    An answer's time is when it came: what was asked just before the stage began may rightly be answered after.
    """
    return [
        answer
        for answer in answers
        if answer.version == version and (opened is None or answer.answered_at < opened)
    ]


def is_kept(rollout: dict[str, Any], wanted: Outcome, answers: Iterable[Answer]) -> bool:
    """Whether the rollout ended as `wanted` and no user met the candidate too early; False for no rollout."""
    outcome = (rollout.get("status") or {}).get("outcome")
    return outcome == wanted and not too_early(answers, candidate_of(rollout), opened_at(rollout))


def candidate_of(rollout: dict[str, Any]) -> str:
    """The candidate's version."""
    return str(((rollout.get("spec") or {}).get("candidate") or {}).get("version", ""))


def since(answers: Sequence[Answer], at: datetime, grace: timedelta = timedelta(0)) -> list[Answer]:
    """Answers to what was asked after `at` plus `grace`."""
    return [answer for answer in answers if answer.asked_at >= at + grace]


def failed_gates(rollout: dict[str, Any]) -> list[dict[str, Any]]:
    """The gates that failed in the last stage, as kept in status."""
    status = rollout.get("status") or {}
    last = (status.get("history") or [{}])[-1].get("gates") or []
    return [gate for gate in [*(status.get("gates") or []), *last] if gate["verdict"] == "Fail"][:8]


def shares(answers: Iterable[Answer], passage: Passage) -> dict[str, int]:
    """Good answers per version in one stage."""
    counts: dict[str, int] = {}
    for answer in answers:
        within = answer.asked_at >= passage.started_at and (
            passage.ended_at is None or answer.answered_at <= passage.ended_at
        )
        if within and answer.status == 200:
            counts[answer.version] = counts.get(answer.version, 0) + 1
    return dict(sorted(counts.items()))
