"""What has to be measured elsewhere for a rollout's present stage. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.placeholders import filled
from sluicegate.contracts.resources import WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage, RevisionRef, RolloutStatus
from sluicegate.contracts.resources.source import JobSource, Source
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.verification.sources import compares
from sluicegate.rollout import planning, table
from sluicegate.rollout.job_runs import CANDIDATE, KEPT, STABLE, JobRun, name_of
from sluicegate.rollout.measurements import ROLES, Ask, Inquiry
from sluicegate.rollout.model import Discard, Ref, RolloutObserved


def asks(observed: RolloutObserved) -> tuple[Ask, ...]:
    """The gates to measure now: those of the stage, once every gateway follows the plan that gives the candidate its share.
    Until then, as when a gateway starts, Jobs that run go on and none begins."""
    rollout, status = observed.rollout, observed.rollout.status
    uid = rollout.metadata.uid
    if status is None or uid is None or status.state not in table.STAGES:
        return ()
    if observed.candidate is None or observed.stable is None:
        return ()
    is_paused = observed.programmed < status.plan_version
    stage = Stage(status.state.value)
    held = {one.gate: one.number for one in status.measured}
    return tuple(
        Ask(
            key=EvidenceKey(uid, stage, status.attempt),
            namespace=rollout.metadata.namespace,
            gate=gate.name,
            source=gate.source,
            inquiries=tuple(_inquiries(observed, gate, gate.source, stage)),
            after=held.get(gate.name, 0),
            is_paused=is_paused,
        )
        for gate in planning.stage_of(rollout.spec, stage).gates
        if gate.source is not None and not (is_paused and gate.source.job is None)
    )


def _inquiries(
    observed: RolloutObserved, gate: PlannedGate, source: Source, stage: Stage
) -> Iterator[Inquiry]:
    spec = observed.rollout.spec
    arms = [(CANDIDATE, spec.candidate, observed.candidate)]
    if compares(source):
        arms.append((STABLE, spec.stable, observed.stable))
    for arm, ref, revision in arms:
        values = _values(observed, stage, arm, ref, revision)
        if source.job is not None:
            yield _run(observed, gate, stage, arm, filled_job(source.job, values))
            continue
        provider = source.prometheus or source.web
        if provider is None:
            raise AssertionError(f"gate {gate.name} has no provider")  # admission refuses it
        yield Inquiry(
            arm=arm,
            url=filled(provider.url, {name: quote(value, safe="") for name, value in values.items()}),
            texts=tuple(
                (role, filled(text, values))
                for role in ROLES
                if (text := getattr(provider, role)) is not None and (role != "samples" or arm == CANDIDATE)
            ),
        )


def _run(
    observed: RolloutObserved, gate: PlannedGate, stage: Stage, arm: str, template: JobSource
) -> Inquiry:
    rollout, status = observed.rollout, observed.rollout.status
    run = JobRun(
        key=EvidenceKey(rollout.metadata.uid or "", stage, 1 if status is None else status.attempt),
        namespace=rollout.metadata.namespace,
        rollout=rollout.metadata.name,
        gate=gate.name,
        arm=arm,
        template=template,
    )
    return Inquiry(arm=arm, url="", texts=_TOLD[template.result], job=run)


_TOLD: Final[dict[str | None, tuple[tuple[str, str], ...]]] = {
    "Counts": (("bad", "bad"), ("total", "total")),
    "Value": (("value", "value"),),
    None: (("value", ""),),
}
"""What is asked of a Job: fields of its result; without one, how it ended."""


def filled_job(job: JobSource, values: Mapping[str, str]) -> JobSource:
    """With every placeholder replaced."""
    return job.model_copy(
        update={
            "command": tuple(filled(text, values) for text in job.command),
            "args": tuple(filled(text, values) for text in job.args),
            "env": tuple(
                one if one.value is None else one.model_copy(update={"value": filled(one.value, values)})
                for one in job.env
            ),
        }
    )


def _values(
    observed: RolloutObserved, stage: Stage, arm: str, ref: RevisionRef, revision: WorkflowRevision | None
) -> Mapping[str, str]:
    service = None if revision is None else revision.spec.body.service
    return {
        "arm": arm,
        "version": ref.version,
        "revision": ref.name,
        "backend": "" if service is None else service.backend.name,
        "workflow": observed.rollout.spec.workflow,
        "namespace": observed.rollout.metadata.namespace,
        "stage": stage.value,
    }


def left_behind(rollout: WorkflowRollout, status: RolloutStatus, stage: PlannedStage) -> Iterator[Discard]:
    """The Jobs of a stage that is left: the newest that the status holds, and the one that may be running."""
    newest = {one.gate: one.number for one in status.measured}
    key = EvidenceKey(rollout.metadata.uid or "", stage.name, status.attempt)
    for gate in stage.gates:
        if gate.source is None or gate.source.job is None:
            continue
        last = newest.get(gate.name, 0) + 1
        for arm in (CANDIDATE, STABLE) if compares(gate.source) else (CANDIDATE,):
            for number in range(max(1, last - KEPT), last + 1):
                name = name_of(key, gate.name, arm, number)
                yield Discard(Ref("Job", rollout.metadata.namespace, name))
