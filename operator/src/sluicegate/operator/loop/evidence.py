"""`gather.EvidenceView` over the lineage store: fold what is new, keep the state, answer.

The state is kept before any decision uses it, and folding goes in the store's order, so a fold that is lost in a
crash comes out the same when it is done again.
"""

import asyncio
from typing import Protocol

import structlog

from sluicegate.contracts.errors import Conflict, Refused
from sluicegate.contracts.evidence import EvidenceKey, EvidenceSource, EvidenceStore, StageEvidence
from sluicegate.observability.fold import Fold
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Look

BATCH = 2_000
BATCHES = 10
"""Of one look; the rest waits for the next one, so that other keys get their turn."""
log = structlog.get_logger(__name__)


class Lineage(EvidenceSource, EvidenceStore, Protocol):
    """What is needed of the lineage store; may be called from any thread."""

    def fallbacks(self, rollout: str, stage: str, attempt: int) -> list[Json]:
        """Those sampled for review."""
        ...


class FoldedEvidence:
    """Evidence, folded in a worker thread; looks at one key come one after the other (keyed queue)."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage

    async def evidence(self, wanted: Look) -> StageEvidence:
        """As of now."""
        return await asyncio.to_thread(fold, self._lineage, wanted)

    async def sampled_fallbacks(self, wanted: Look) -> frozenset[str]:
        """Fallbacks to review."""
        found = await asyncio.to_thread(self._lineage.fallbacks, *wanted.key)
        return frozenset(f"{one['run_id']}/{one['component']}" for one in found)


def fold(lineage: Lineage, wanted: Look) -> StageEvidence:
    """Continue the fold of `wanted`."""
    state = _loaded(lineage, wanted)
    before = state.cursor
    for _ in range(BATCHES):
        batch = lineage.observations(wanted.key, after=state.cursor, limit=BATCH)
        state.add_all(batch)
        if len(batch) < BATCH:
            break
    if state.cursor != before:
        lineage.save(wanted.key, state.to_bytes())
    return state.evidence()


def _loaded(lineage: EvidenceStore, wanted: Look) -> Fold:
    key: EvidenceKey = wanted.key
    saved = lineage.load(key)
    if saved is None:
        return Fold(key, wanted.questions)
    try:
        return Fold.from_bytes(saved, wanted.questions)
    except (Conflict, Refused) as error:
        log.warning(
            "evidence_starts_anew",
            rollout=key.rollout,
            stage=key.stage,
            attempt=key.attempt,
            reason=str(error),
        )
        return Fold(key, wanted.questions)
