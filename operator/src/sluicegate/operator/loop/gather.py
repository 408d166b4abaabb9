"""Gather: everything that one decision looks at, read once."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

import structlog
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import NotFound, Problem, Refused, SluicegateError
from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.resources import (
    KINDS,
    AgentWorkflow,
    Decision,
    FallbackRuleSet,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.watch import WatchEvidence, WatchLook
from sluicegate.operator.ports import ExternalView, GatewayView, Json, ResourceReader, ref_of
from sluicegate.rollout import decay, drills, fallbacks, rule_sets
from sluicegate.rollout.asking import asks
from sluicegate.rollout.found import CarriedTable, FoundRuleSet
from sluicegate.rollout.looks import turns_back
from sluicegate.rollout.model import Look, Ref, RolloutObserved, RuleSetObserved, WorkflowObserved
from sluicegate.rollout.planning import look, stage_of
from sluicegate.rollout.rule_sets import Judged

log = structlog.get_logger(__name__)
R = TypeVar("R", bound=Resource)
MOST_KNOWN = 1024
"""Rule sets that are kept as they were read last."""
MOST_ASKED = 50
"""Workflows of a rule set whose plans are looked at."""


class EvidenceView(Protocol):
    """The folded evidence of a stage."""

    async def evidence(self, wanted: Look) -> StageEvidence:
        """Fold what is new, keep the state, answer."""
        ...

    async def watch(self, wanted: WatchLook) -> WatchEvidence:
        """The same of a version that serves."""
        ...

    async def drill(self, wanted: DrillLook) -> DrillCounts:
        """How a drill went so far."""
        ...

    async def sampled_fallbacks(self, wanted: Look) -> frozenset[str]:
        """The fallbacks of the stage and attempt to review, each as ``<run id>/<component>``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Reads for the control loop."""

    store: ResourceReader
    gateways: GatewayView
    evidence: EvidenceView
    external: ExternalView
    known: dict[Ref, tuple[tuple[str, str], FoundRuleSet]] = field(default_factory=dict)

    async def workflow(self, ref: Ref, now: datetime) -> tuple[Json, WorkflowObserved] | None:
        """The object as stored, whose resourceVersion the status write must still find, and the workflow with its
        revisions and rollouts; None when it is gone. Refused when it cannot be read.
        """
        held = await self._held(ref)
        if held is None:
            return None
        workflow = _readable(held, AgentWorkflow)
        programmed = await self.gateways.programmed(ref.namespace, ref.name)
        revisions = await self._owned(WorkflowRevision, workflow.metadata.uid)
        serving = workflow.status.stable_revision if workflow.status is not None else None
        stable = next((one for one in revisions if one.metadata.name == serving), None)
        observed = WorkflowObserved(
            workflow=workflow,
            revisions=revisions,
            rollouts=await self._owned(WorkflowRollout, workflow.metadata.uid),
            plan=await self.gateways.plan(ref.namespace, ref.name),
            programmed=programmed.version,
            live_gateways=programmed.gateways,
            trouble=programmed.trouble,
            watch=await self._watch(decay.look(workflow, revisions)),
            rule_sets=await self._rule_sets(ref.namespace, fallbacks.names(workflow.spec, (stable,))),
        )
        return held, replace(observed, drill=await self._drill(drills.look(observed, now)))

    async def _rule_sets(self, namespace: str, names: Iterable[str]) -> tuple[FoundRuleSet, ...]:
        """As their status says; a workflow neither waits for a proof nor fails by a rule set."""
        return tuple([await self._rule_set(Ref("FallbackRuleSet", namespace, name)) for name in names])

    async def _rule_set(self, ref: Ref) -> FoundRuleSet:
        try:
            return self._found(ref, await self.store.get(ref))
        except NotFound:
            return fallbacks.missing(ref.name, f"there is no {ref}")
        except (SluicegateError, ValidationError) as error:
            return fallbacks.missing(ref.name, f"{ref}: {error}", reason="RuleSetUnreadable")
        except Exception as error:  # whatever is wrong with a table keeps nobody from going back to stable
            log.exception("rule_set_unreadable", about=str(ref))
            return fallbacks.missing(ref.name, f"{ref}: {error!r}", reason="RuleSetUnreadable")

    def _found(self, ref: Ref, held: Json) -> FoundRuleSet:
        """Read once for all workflows that name it."""
        version = (held["metadata"]["uid"], held["metadata"]["resourceVersion"])
        known = self.known.get(ref)
        if known is None or known[0] != version:
            known = version, fallbacks.found(typed(held, FallbackRuleSet))
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[ref] = known
        return known[1]

    async def rule_set(
        self, ref: Ref, users: tuple[str, ...]
    ) -> tuple[Json, RuleSetObserved, Judged | None] | None:
        """The same of a rule set, with what its users' plans have of it; and what the proof said, where there was none yet."""
        held = await self._held(ref)
        if held is None:
            self.known.pop(ref, None)
            return None
        item = _readable(held, FallbackRuleSet)
        judged = await _judged(item) if rule_sets.needs_proof(item) else None
        asked = users[:MOST_ASKED]
        carried = [await self._carried(ref, workflow) for workflow in asked]
        statuses = [await self._status(Ref("AgentWorkflow", ref.namespace, one)) for one in asked]
        observed = RuleSetObserved(
            rule_set=item,
            users=users,
            carried=tuple(one for one in carried if isinstance(one, CarriedTable)),
            unknown=tuple(
                name for name, one in zip(asked, carried, strict=True) if isinstance(one, SluicegateError)
            ),
            statuses=tuple(one for one in statuses if one is not None),
        )
        return held, observed, judged

    async def _status(self, workflow: Ref) -> WorkflowStatus | None:
        held = await self._held(workflow)
        try:
            return None if held is None else typed(held, AgentWorkflow).status
        except ValidationError:
            return None

    async def _carried(self, rule_set: Ref, workflow: str) -> CarriedTable | SluicegateError | None:
        """None: the plan has nothing of it. An error: that is not known, and no proof is lost by it."""
        await asyncio.sleep(0)  # plans are large; others may work between two
        try:
            plan = await self.gateways.plan(rule_set.namespace, workflow)
            body = next((one for one in (plan.rule_sets if plan else ()) if one.name == rule_set.name), None)
            if plan is None or body is None:
                return None
            programmed = await self.gateways.programmed(rule_set.namespace, workflow)
        except SluicegateError as error:
            log.warning("plan_unknown", about=str(rule_set), workflow=workflow, reason=str(error))
            return error
        is_followed = programmed.gateways > 0 and programmed.version >= plan.version
        return CarriedTable(
            workflow=workflow, version=body.version, digest=body.digest, is_followed=is_followed
        )

    async def _watch(self, wanted: WatchLook | None) -> WatchEvidence | None:
        """Nothing of a workflow waits for it."""
        if wanted is None:
            return None
        try:
            return await self.evidence.watch(wanted)
        except SluicegateError as error:
            log.debug("watch_unknown", watched="/".join(wanted.watched), reason=str(error))
            return None

    async def _drill(self, wanted: DrillLook | None) -> DrillCounts | None:
        """Nothing of a workflow waits for it either."""
        if wanted is None:
            return None
        try:
            return await self.evidence.drill(wanted)
        except SluicegateError as error:
            log.debug("drill_unknown", workflow=f"{wanted.namespace}/{wanted.workflow}", reason=str(error))
            return None

    async def rollout(self, ref: Ref) -> tuple[Json, RolloutObserved] | None:
        """The same of a rollout, with its arms, decisions, evidence and what was measured elsewhere."""
        held = await self._held(ref)
        if held is None:
            self.external.forget(ref)
            return None
        rollout = typed(held, WorkflowRollout)
        workflow = rollout.spec.workflow
        wanted = look(rollout)
        programmed = await self.gateways.programmed(ref.namespace, workflow)
        arms = [
            await self._revision(ref.namespace, arm.name)
            for arm in (rollout.spec.stable, rollout.spec.candidate)
        ]
        observed = RolloutObserved(
            rollout=rollout,
            workflow=await self._workflow_of(rollout),
            stable=arms[0],
            candidate=arms[1],
            decisions=await self._decisions(rollout.metadata.uid),
            plan=await self.gateways.plan(ref.namespace, workflow),
            programmed=programmed.version,
            live_gateways=programmed.gateways,
            trouble=programmed.trouble,
            rule_sets=await self._rule_sets(ref.namespace, fallbacks.names(None, arms)),
        )
        observed = replace(observed, measurements=self.external.measured(ref, asks(observed)))
        return held, await self._with_evidence(observed, wanted)

    async def _with_evidence(self, observed: RolloutObserved, wanted: Look | None) -> RolloutObserved:
        """Without it nothing is decided, but the way back to stable never waits for it."""
        try:
            return replace(
                observed,
                evidence=await self.evidence.evidence(wanted) if wanted else None,
                sampled_fallbacks=await self._sampled(observed.rollout, wanted),
            )
        except SluicegateError:
            if not turns_back(observed):
                raise
        return observed

    async def _held(self, ref: Ref) -> Json | None:
        try:
            return await self.store.get(ref)
        except NotFound:
            return None

    async def _owned(self, kind: type[R], owner: str | None) -> tuple[R, ...]:
        """Objects of `kind` that belong to this very object, not to an earlier one of its name."""
        return tuple(typed(item, kind) for item in await self.store.owned(kind.__name__, owner or ""))

    async def _decisions(self, rollout: str | None) -> tuple[Decision, ...]:
        """What cannot be read decides nothing, and keeps nobody from aborting."""
        found = []
        for item in await self.store.owned("Decision", rollout or ""):
            try:
                found.append(typed(item, Decision))
            except ValidationError as error:
                where = [".".join(map(str, one["loc"])) for one in error.errors(include_input=False)[:5]]
                log.warning("decision_unreadable", about=str(ref_of(item)), fields=where)
        return tuple(found)

    async def _workflow_of(self, rollout: WorkflowRollout) -> AgentWorkflow | None:
        ref = Ref("AgentWorkflow", rollout.metadata.namespace, rollout.spec.workflow)
        held = await self._held(ref)
        if held is None or held["metadata"]["uid"] != rollout.spec.workflow_uid:
            return None
        try:
            return typed(held, AgentWorkflow)
        except ValidationError:  # nobody wishes what cannot be read: back to stable
            log.warning("wish_unreadable", about=str(ref))
            return None

    async def _revision(self, namespace: str, name: str) -> WorkflowRevision | None:
        held = await self._held(Ref("WorkflowRevision", namespace, name))
        return typed(held, WorkflowRevision) if held else None

    async def _sampled(self, rollout: WorkflowRollout, wanted: Look | None) -> frozenset[str]:
        if wanted is None or wanted.key.stage is not Stage.CONTROLLED:
            return frozenset()
        if not stage_of(rollout.spec, Stage.CONTROLLED).review_fallbacks:
            return frozenset()
        return await self.evidence.sampled_fallbacks(wanted)


def _readable(held: Json, kind: type[R]) -> R:
    """Refused with every field that cannot be read."""
    try:
        return typed(held, kind)
    except ValidationError as error:
        raise Refused(tuple(_problem(one) for one in error.errors(include_input=False))) from error


def _problem(error: ErrorDetails) -> Problem:
    return Problem(path=".".join(map(str, error["loc"])), message=error["msg"])


async def _judged(item: FallbackRuleSet) -> Judged:
    """Off the loop's thread. A proof that fails by itself is told, and tried again."""
    try:
        return await asyncio.to_thread(rule_sets.judge, item)
    except Exception as error:
        log.exception("proof_failed", rule_set=f"{item.metadata.namespace}/{item.metadata.name}")
        return Judged(problems=repr(error), is_broken=True)


def typed(held: Json, kind: type[R]) -> R:
    """The stored object as its model."""
    model = KINDS[kind.__name__].model
    resource = model.model_validate(held)
    if not isinstance(resource, kind):
        raise TypeError(f"{held.get('kind')} is not a {kind.__name__}")
    return resource
