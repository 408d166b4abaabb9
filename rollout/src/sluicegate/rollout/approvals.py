"""People who must agree: distinct, not the author, not expired, for this candidate, stage and attempt."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluicegate.contracts.resources import Decision
from sluicegate.contracts.resources.rollout import DecisionRecord, PlannedStage, RolloutStatus
from sluicegate.contracts.stages import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the people are in a stage.

    people: who approved, each once. reviewed: distinct fallbacks that were judged.
    """

    people: tuple[str, ...] = ()
    required: int = 0
    reviewed: int = 0
    reviews_required: int = 0

    @property
    def approved(self) -> bool:
        """Enough people agreed."""
        return len(self.people) >= self.required

    @property
    def reviews_done(self) -> bool:
        """Enough fallbacks were judged."""
        return self.reviewed >= self.reviews_required

    @property
    def missing(self) -> str:
        """What the people still owe, as a sentence; empty when nothing."""
        parts = []
        if not self.approved:
            parts.append(f"{len(self.people)} of {self.required} approvals")
        if not self.reviews_done:
            parts.append(f"{self.reviewed} of {self.reviews_required} fallback reviews")
        return " and ".join(parts)


def standing(
    planned: PlannedStage,
    status: RolloutStatus,
    decisions: Iterable[Decision],
    *,
    sampled: int,
    now: datetime,
) -> Standing:
    """Counted from the records in status, so that it survives the Decision objects.

    sampled: fallbacks that were sampled for review in this stage; with fewer than asked for, all of them do.
    """
    here = [record for record in status.decisions if _is_here(record, planned, status)]
    expiries = {item.metadata.uid: item.spec.expires_at for item in decisions}
    people = {
        record.decided_by
        for record in here
        if record.action is Action.APPROVE and _is_valid(record, planned, expiries.get(record.uid), now)
    }
    reviews = {record.subject for record in here if record.action is Action.REVIEW}
    return Standing(
        people=tuple(sorted(people)),
        required=planned.approvals.required if planned.approvals is not None else 0,
        reviewed=len(reviews),
        reviews_required=min(planned.review_fallbacks, max(sampled, len(reviews))),
    )


def _is_here(record: DecisionRecord, planned: PlannedStage, status: RolloutStatus) -> bool:
    return record.result == "Counted" and record.stage is planned.name and record.attempt == status.attempt


def _is_valid(
    record: DecisionRecord, planned: PlannedStage, expires_at: datetime | None, now: datetime
) -> bool:
    if expires_at is not None and expires_at <= now:
        return False
    if planned.approvals is None:
        return True
    return now - record.at < timedelta(seconds=planned.approvals.expires_after_seconds)
