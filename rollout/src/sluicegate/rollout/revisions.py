"""Revisions and rollouts of one workflow: names, numbers, look-ups, and what is kept."""

from collections.abc import Iterable
from typing import Final

from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.revision import RevisionSpec
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Outcome, State
from sluicegate.rollout.model import Delete, WorkflowObserved, ref_of
from sluicegate.rollout.planning import owner

HISTORY: Final = 10
"""Revisions, and finished rollouts, that are kept beside those in use."""

CHANGED_BY: Final = "sluicegate.io/changed-by"
"""Annotation of an AgentWorkflow: who changed it last. The API sets it; admission compares it with the caller."""

_DIGEST_HEAD: Final = len("sha256:")


def revision_name(workflow: str, digest: str) -> str:
    """``<workflow>-<first ten of the digest>``."""
    return f"{workflow}-{digest[_DIGEST_HEAD : _DIGEST_HEAD + 10]}"


def new_revision(
    workflow: AgentWorkflow, digest: str, existing: Iterable[WorkflowRevision]
) -> WorkflowRevision:
    """The snapshot of the wish; numbers grow by one."""
    name = workflow.metadata.name
    number = 1 + max((item.spec.number for item in existing), default=0)
    changed_by = workflow.metadata.annotations.get(CHANGED_BY)
    if changed_by is None and workflow.status is not None:
        changed_by = workflow.status.changed_by
    return WorkflowRevision(
        metadata=Metadata(
            name=revision_name(name, digest),
            namespace=workflow.metadata.namespace,
            labels={"sluicegate.io/workflow": name},
            owner_references=(owner(workflow),),
        ),
        spec=RevisionSpec(
            workflow=name,
            workflow_uid=workflow.metadata.uid or "",
            number=number,
            version=workflow.spec.version,
            digest=digest,
            body=workflow.spec,
            changed_by=changed_by,
            reason=workflow.spec.change_reason,
        ),
    )


def named(found: Iterable[WorkflowRevision], name: str | None) -> WorkflowRevision | None:
    """The revision of that name."""
    return next((item for item in found if item.metadata.name == name), None)


def of_digest(found: Iterable[WorkflowRevision], digest: str) -> WorkflowRevision | None:
    """The revision with that digest."""
    return next((item for item in found if item.spec.digest == digest), None)


def reuse_of(found: Iterable[WorkflowRevision], version: str, digest: str) -> WorkflowRevision | None:
    """A revision that has this version name and another body."""
    return next((item for item in found if item.spec.version == version and item.spec.digest != digest), None)


def rollout_named(found: Iterable[WorkflowRollout], name: str | None) -> WorkflowRollout | None:
    """The rollout of that name."""
    return next((item for item in found if item.metadata.name == name), None)


def number_of(rollout: WorkflowRollout) -> int:
    """The number at the end of a rollout's name; 0 without one."""
    return number_in(rollout.metadata.name)


def number_in(name: str) -> int:
    """The number at the end of a name; 0 without one."""
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0


def next_rollout(found: Iterable[WorkflowRollout]) -> int:
    """One above the highest."""
    return 1 + max((number_of(item) for item in found), default=0)


def newest_first(found: Iterable[WorkflowRollout]) -> list[WorkflowRollout]:
    """By number."""
    return sorted(found, key=number_of, reverse=True)


def last_of(found: Iterable[WorkflowRollout], digest: str) -> WorkflowRollout | None:
    """The newest rollout towards `digest`."""
    return next((item for item in newest_first(found) if item.spec.candidate.digest == digest), None)


def is_done(rollout: WorkflowRollout) -> bool:
    """It has an outcome and its traffic is settled."""
    return rollout.status is not None and rollout.status.state is State.DONE


def promotion_of(found: Iterable[WorkflowRollout], stable: str | None) -> WorkflowRollout | None:
    """The newest rollout that made the revision `stable` stable by a promotion."""
    return next(
        (
            item
            for item in newest_first(found)
            if is_done(item)
            and item.status is not None
            and item.status.outcome in {Outcome.PROMOTED, Outcome.FAST_PROMOTED}
            and item.spec.candidate.name == stable
        ),
        None,
    )


def was_rolled_back(found: Iterable[WorkflowRollout], promoted: WorkflowRollout) -> bool:
    """Whether a rollback of this very promotion was made already: one that has not ended before the promotion did."""
    ended = None if promoted.status is None else promoted.status.ended_at
    return any(
        item.spec.rollback
        and item.spec.stable.name == promoted.spec.candidate.name
        and item.spec.candidate.name == promoted.spec.stable.name
        and number_of(item) > number_of(promoted)
        and (
            item.status is None
            or item.status.started_at is None
            or ended is None
            or item.status.started_at >= ended
        )
        for item in found
    )


def prune(observed: WorkflowObserved, status: WorkflowStatus) -> tuple[Delete, ...]:
    """What is old and not in use: beyond the newest ten, never stable, candidate, or a running rollout's arms."""
    rollouts = newest_first(observed.rollouts)
    last = promotion_of(rollouts, status.stable_revision)
    finished = [item for item in rollouts if is_done(item) and item.metadata.name != status.rollout]
    old_rollouts = [item for item in finished[HISTORY:] if item is not last]
    in_use = {status.stable_revision, status.candidate_revision}
    if last is not None:
        in_use.add(last.spec.stable.name)
    for rollout in rollouts:
        if not is_done(rollout):
            in_use |= {rollout.spec.stable.name, rollout.spec.candidate.name}
    newest = sorted(observed.revisions, key=lambda item: item.spec.number, reverse=True)
    old_revisions = [item for item in newest[HISTORY:] if item.metadata.name not in in_use]
    return tuple(Delete(ref_of(item)) for item in (*old_rollouts, *old_revisions))
