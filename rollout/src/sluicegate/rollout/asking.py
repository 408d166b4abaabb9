"""What has to be measured elsewhere for a rollout's present stage. Pure."""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.placeholders import filled
from sluicegate.contracts.resources import WorkflowRevision
from sluicegate.contracts.resources.rollout import PlannedGate, RevisionRef
from sluicegate.contracts.resources.source import Source
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.verification.sources import compares
from sluicegate.rollout import planning, table
from sluicegate.rollout.measurements import CANDIDATE, ROLES, STABLE, Ask, Inquiry
from sluicegate.rollout.model import RolloutObserved


def asks(observed: RolloutObserved) -> tuple[Ask, ...]:
    """The gates to measure now: those of the stage, once every gateway follows the plan that gives the candidate its share."""
    rollout, status = observed.rollout, observed.rollout.status
    uid = rollout.metadata.uid
    if status is None or uid is None or status.state not in table.STAGES:
        return ()
    if observed.programmed < status.plan_version or observed.candidate is None or observed.stable is None:
        return ()
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
        )
        for gate in planning.stage_of(rollout.spec, stage).gates
        if gate.source is not None
    )


def _inquiries(
    observed: RolloutObserved, gate: PlannedGate, source: Source, stage: Stage
) -> Iterator[Inquiry]:
    spec = observed.rollout.spec
    arms = [(CANDIDATE, spec.candidate, observed.candidate)]
    if compares(source):
        arms.append((STABLE, spec.stable, observed.stable))
    provider = source.prometheus or source.web
    if provider is None:
        raise AssertionError(f"gate {gate.name} has no provider")  # admission refuses it
    for arm, ref, revision in arms:
        values = _values(observed, stage, arm, ref, revision)
        yield Inquiry(
            arm=arm,
            url=filled(provider.url, {name: quote(value, safe="") for name, value in values.items()}),
            texts=tuple(
                (role, filled(text, values))
                for role in ROLES
                if (text := getattr(provider, role)) is not None and (role != "samples" or arm == CANDIDATE)
            ),
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
