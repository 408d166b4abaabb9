"""`gather.EvidenceView` over the lineage store: fold what is new, keep the state, answer.

The state is kept before any decision uses it, and folding goes in the store's order, so a fold that is lost in a
crash comes out the same when it is done again.
"""

import asyncio
import threading
from typing import Protocol

import structlog

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import Conflict, Refused
from sluicegate.contracts.evidence import EvidenceKey, EvidenceSource, EvidenceStore, StageEvidence
from sluicegate.contracts.watch import WatchEvidence, WatchLook
from sluicegate.observability.fold import Fold
from sluicegate.observability.watch import Watch
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

    def drill(self, look: DrillLook) -> DrillCounts:
        """How a drill went so far."""
        ...

    def forget(self, key: EvidenceKey, *, before: int) -> None:
        """Drop what is folded: closed units of `key` below a sequence."""
        ...


class FoldedEvidence:
    """Evidence, folded in a worker thread; looks at one key come one after the other (keyed queue)."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._watching = threading.Lock()  # what one look has dropped, a slower one must not need

    async def evidence(self, wanted: Look) -> StageEvidence:
        """As of now."""
        return await asyncio.to_thread(fold, self._lineage, wanted)

    async def watch(self, wanted: WatchLook) -> WatchEvidence:
        """The same of a version that serves."""
        return await asyncio.to_thread(self._watch, wanted)

    def _watch(self, wanted: WatchLook) -> WatchEvidence:
        with self._watching:
            return fold_watch(self._lineage, wanted)

    async def drill(self, wanted: DrillLook) -> DrillCounts:
        """How a drill went so far."""
        return await asyncio.to_thread(self._lineage.drill, wanted)

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


def fold_watch(lineage: Lineage, wanted: WatchLook) -> WatchEvidence:
    """Continue the watch. Its units are dropped once they are in the state: a version serves for months."""
    key = wanted.watched.key
    state = _watched(lineage, wanted)
    before = state.cursor
    for _ in range(BATCHES):
        batch = lineage.observations(key, after=state.cursor, limit=BATCH)
        state.add_all(batch)
        if len(batch) < BATCH:
            break
    if state.cursor != before:
        lineage.save(key, state.to_bytes())
        lineage.forget(key, before=state.cursor)
    return state.evidence()


def _watched(lineage: EvidenceStore, wanted: WatchLook) -> Watch:
    saved = lineage.load(wanted.watched.key)
    if saved is None:
        return Watch(wanted)
    try:
        return Watch.from_bytes(saved, wanted)
    except (Conflict, Refused) as error:
        log.warning("watch_starts_anew", watched="/".join(wanted.watched), reason=str(error))
        return Watch.anew(saved, wanted)


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
