"""Which writes are accepted: one pure function for the local API and for the webhook.

Everything here is checked again in reconcile; admission only tells people sooner.
"""

from collections.abc import Callable, Iterator
from typing import Final

from sluicegate.contracts import schedules, verification
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources import (
    AgentWorkflow,
    Decision,
    FallbackRuleSet,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.contracts.stages import Action, State
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import compile_table
from sluicegate.rollout import capabilities, decisions, lint, plan_size, planning, revisions, rule_sets
from sluicegate.rollout.authority import OWN_KINDS, forbidden
from sluicegate.rollout.model import Admission, AdmissionContext

AFTER_THE_END: Final = frozenset({Action.RETRY, Action.UNDO, Action.ABORT})
"""What may be decided about a finished rollout; an abort is recorded and changes nothing."""


def admit(old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext) -> Admission:
    """Whether `caller` may turn `old` (None: create) into `new` (None: delete); every problem at once."""
    subject = new or old
    if subject is None:
        return Admission()
    barred = tuple(forbidden(old, new, caller, context))
    if barred:
        return Admission(problems=barred, forbidden=True)
    if new is None or context.is_status:
        return Admission()
    problems = tuple(_immutable(old, new))
    if problems:
        return Admission(problems=problems)
    return KINDS.get(new.kind, _anything)(old, new, context)


def _immutable(old: Resource | None, new: Resource) -> Iterator[Problem]:
    """What never changes once it is written."""
    if old is None:
        return
    if old.kind != new.kind:
        yield Problem(path="kind", message="cannot change", value=new.kind, allowed=old.kind)
    for field in ("name", "namespace", "uid"):
        before, after = getattr(old.metadata, field), getattr(new.metadata, field)
        if after is not None and before != after:
            yield Problem(
                path=f"metadata.{field}", message="cannot change", value=str(after), allowed=str(before)
            )
    if new.kind in {*OWN_KINDS, "Decision", "RetrainingRun"} and _spec(old) != _spec(new):
        yield Problem(path="spec", message=f"a {new.kind} is immutable", hint="create another one")


def _spec(resource: Resource) -> object:
    return getattr(resource, "spec", None)


def _anything(_old: Resource | None, _new: Resource, _context: AdmissionContext) -> Admission:
    return Admission()


def _kept(_old: Resource | None, new: Resource, _context: AdmissionContext) -> Admission:
    """A kind that is settled and has no behaviour yet: whoever writes it must not think that it is followed."""
    return Admission(warnings=(f"{new.kind} is kept; this version does not act on it",))


def _rule_set(old: Resource | None, new: Resource, _context: AdmissionContext) -> Admission:
    """A table that answers every input as its hit policy says, under a version that no other table has."""
    if not isinstance(new, FallbackRuleSet) or new.metadata.deletion_timestamp is not None:
        return Admission()
    if old is not None and _spec(old) == _spec(new):
        return Admission()  # stored already: its labels may change, whatever is wrong with it
    too_large = tuple(plan_size.rule_set_problems(new.spec))
    try:
        table = compile_table(new.spec)
    except Refused as refused:
        return Admission(problems=(*too_large, *refused.problems))
    found = prove(table).diagnostics
    problems = (*too_large, *(_proved(one) for one in found if one.severity is Severity.ERROR))
    if new.spec.drill is not None:
        problems += tuple(schedules.problems(new.spec.drill.to_schedule(), "spec.drill"))
    if isinstance(old, FallbackRuleSet):
        problems += tuple(_renamed(old, new.spec, table.digest))
    warned = tuple(f"{one.path}: {one.message}" for one in found if one.severity is not Severity.ERROR)
    return Admission(problems=problems, warnings=() if problems else warned)


def _proved(found: Diagnostic) -> Problem:
    return Problem(
        path=found.path, message=f"{found.code}: {found.message}", value=found.witness, hint=found.hint
    )


def _renamed(old: FallbackRuleSet, new: RuleSetSpec, digest: str) -> Iterator[Problem]:
    """The version is the name of another table: of the present one, or of one that the status remembers."""
    before = rule_sets.reused(old.status, new.version, digest)
    said = "the table changed, and the version did not" if _is_another(old.spec, new, digest) else before
    if said is not None:
        yield Problem(
            path="spec.version",
            message=said,
            value=new.version,
            allowed="a version that was never used; an earlier one with the table that it had",
            hint="raise it: one version names one table, so that an answer can be traced to it",
        )


def _is_another(old: RuleSetSpec, new: RuleSetSpec, digest: str) -> bool:
    """Whether a version names another table than it did. One that could never be used names none."""
    if old.version != new.version:
        return False
    try:
        return compile_table(old).digest != digest
    except Refused:
        return False


def _order(_old: Resource | None, new: Resource, _context: AdmissionContext) -> Admission:
    """An order that is carried out by a later version, long after it was meant, would surprise."""
    problem = Problem(
        path="kind",
        message="this version trains nothing, and an order is not kept for later",
        value=new.kind,
        hint="train by other means and register the new version as an AgentComponent",
    )
    return Admission(problems=(problem,))


def _workflow(old: Resource | None, new: Resource, context: AdmissionContext) -> Admission:
    """Verified, runnable here, decidable, and told apart from stable."""
    if not isinstance(new, AgentWorkflow):
        return Admission()
    if new.metadata.deletion_timestamp is not None:
        return Admission()  # it goes, valid or not
    problems = [*verification.verify(new), *capabilities.unsupported(new.spec, context.capabilities)]
    problems += lint.stage_problems(new.spec)
    refused, warned = lint.analysed(new, old if isinstance(old, AgentWorkflow) else None)
    problems += refused
    problems += _version_reuse(new, context)
    stable_name = old.status.stable_revision if isinstance(old, AgentWorkflow) and old.status else None
    stable = revisions.named(context.revisions, stable_name)
    if stable is not None:
        problems += planning.endpoint_problems(stable.spec.body, new.spec)
    warnings = () if problems else (*_sameness(stable, new), *warned, *lint.warnings(new.spec))
    return Admission(problems=tuple(dict.fromkeys(problems)), warnings=warnings)


def _sameness(stable: WorkflowRevision | None, new: AgentWorkflow) -> Iterator[str]:
    """An agent that was changed in place, under its old address, would be compared with itself."""
    if stable is None or stable.spec.version == new.spec.version:
        return
    renamed = stable.spec.body.model_copy(update={"version": new.spec.version})
    if revision_digest(renamed) == revision_digest(new.spec):
        yield (
            f"spec.version is all that differs from {stable.spec.version}: both would be answered by the same components; "
            "serve the new version of a component beside the old one, under its own address"
        )


def _version_reuse(new: AgentWorkflow, context: AdmissionContext) -> Iterator[Problem]:
    other = revisions.reuse_of(context.revisions, new.spec.version, revision_digest(new.spec))
    if other is not None:
        yield Problem(
            path="spec.version",
            message=f"is already the version of {other.metadata.name}, which has another body",
            value=new.spec.version,
            allowed="a version that was never used",
            hint="raise it: one version names one body, so that a run can be traced to it",
        )


def _decision(old: Resource | None, new: Resource, context: AdmissionContext) -> Admission:
    """Its target exists, and is as the person saw it."""
    if not isinstance(new, Decision) or old is not None:
        return Admission()
    return Admission(problems=tuple(_decision_problems(new, context)))


def _decision_problems(new: Decision, context: AdmissionContext) -> Iterator[Problem]:
    spec, target = new.spec, context.target
    if spec.expires_at is not None and spec.expires_at <= context.now:
        yield Problem(path="spec.expiresAt", message="has passed", value=spec.expires_at.isoformat())
    needs_reason = spec.action in decisions.REASONED or (spec.action is Action.PROMOTE and spec.full)
    if needs_reason and not spec.reason.strip():
        yield Problem(path="spec.reason", message=f"{_named(spec.action, full=spec.full)} needs a reason")
    if spec.action is Action.REVIEW and spec.review is None:
        yield Problem(path="spec.review", message="a Review needs runId, component and verdict")
    if spec.full and spec.action is not Action.PROMOTE:
        yield Problem(path="spec.full", message="only of a Promote", value="true")
    if spec.target.kind != "WorkflowRollout":
        yield Problem(
            path="spec.target.kind",
            message="decisions are made about a rollout",
            value=spec.target.kind,
            allowed="WorkflowRollout",
            hint="the workflow's status.rollout names it",
        )
        return
    if target is None:
        yield Problem(path="spec.target.name", message=f"no such {spec.target.kind}", value=spec.target.name)
        return
    if target.metadata.uid != spec.target.uid:
        yield Problem(
            path="spec.target.uid",
            message=f"{spec.target.name} is another object now",
            value=spec.target.uid,
            allowed=target.metadata.uid,
        )
    elif isinstance(target, WorkflowRollout):
        yield from _fitting(new, target)


def _named(action: Action, *, full: bool) -> str:
    return f"a full {action}" if full else f"an {action}" if action is Action.OVERRIDE else f"a {action}"


def _fitting(new: Decision, target: WorkflowRollout) -> Iterator[Problem]:
    status = target.status or planning.initial_status(target)
    mismatch = decisions.mismatch_of(target.spec, status, new)
    if mismatch is not None:
        yield Problem(
            path="spec.expected",
            message=mismatch,
            allowed=f"candidate {target.spec.candidate.digest}, stage {status.stage}, attempt {status.attempt}",
            hint="look again at the rollout and decide on what is there now",
        )
    planned = next((stage for stage in target.spec.stages if stage.name is status.stage), None)
    is_author = new.spec.action is Action.APPROVE and new.spec.decided_by == target.spec.changed_by
    if (
        is_author
        and planned is not None
        and planned.approvals is not None
        and not planned.approvals.allow_author
    ):
        yield Problem(
            path="spec.decidedBy",
            message="made the change and may not approve it",
            value=new.spec.decided_by,
            hint="ask somebody else, or set approvals.allowAuthor",
        )
    if status.state is State.DONE and new.spec.action not in AFTER_THE_END:
        yield Problem(
            path="spec.action",
            message=f"{target.metadata.name} has ended {status.outcome}",
            value=new.spec.action,
            allowed=", ".join(sorted(AFTER_THE_END)),
        )


KINDS: Final[dict[str, Callable[[Resource | None, Resource, AdmissionContext], Admission]]] = {
    "AgentWorkflow": _workflow,
    "Decision": _decision,
    "ChangeProposal": _kept,
    "FallbackRuleSet": _rule_set,
    "GovernancePolicy": _kept,
    "RetrainingRun": _order,
}
