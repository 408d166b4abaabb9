"""What a caller may not do, whatever the content: one rule per kind.

The chart's admission policies say the same in the same words, so that it holds without the operator;
`tests/admission` runs one table over both.
"""

from collections.abc import Callable, Iterator
from typing import Final

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources import AgentWorkflow, Decision, Resource
from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.rollout.model import FINALIZER, AdmissionContext
from sluicegate.rollout.permissions import Verb, verb_of

OWN_KINDS: Final = frozenset({"WorkflowRevision", "WorkflowRollout"})
"""Written by the control loop only."""

AUTHOR: Final = f"metadata.annotations[{CHANGED_BY}]"
_INSTEAD: Final = "apply an AgentWorkflow, or decide with a Decision (promote, abort, approve…)"


def forbidden(
    old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    """Why `caller` may not turn `old` (None: create) into `new` (None: delete)."""
    subject = new or old
    if subject is None:
        return
    if context.is_status:
        if caller != context.controller:
            yield _only_controller("status", caller, "the status of resources")
        return
    yield from RULES.get(subject.kind, _nothing)(old, new, caller, context)


def _nothing(
    _old: Resource | None, _new: Resource | None, _caller: str, _context: AdmissionContext
) -> Iterator[Problem]:
    yield from ()


def _only_controller(path: str, caller: str, what: str) -> Problem:
    message = f"{what} is written by the control loop only"
    return Problem(path=path, message=message, value=caller, hint=_INSTEAD)


def _holders(verb: Verb, plural: str, name: str) -> str:
    return f"holders of the verb {verb} on {plural} {name}"


def _own_kind(
    old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    subject = new or old
    is_collecting = caller in context.collectors and old is not None
    if subject is not None and caller != context.controller and not is_collecting:
        yield _only_controller("kind", caller, f"a {subject.kind}")


def _decision(
    old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    is_trusted = caller == context.controller or caller in context.collectors
    if old is None and isinstance(new, Decision):
        yield from _decider(new, caller, context)
        yield from _belonging(new)
    elif new is None and not is_trusted:
        yield _only_controller("kind", caller, "a Decision's deletion: it is a record of what was decided")
    elif old is not None and new is not None and not is_trusted:
        for path, field in _KEPT.items():
            if getattr(old.metadata, field) != getattr(new.metadata, field):
                yield Problem(path=path, message="a Decision is immutable", hint="create another one")


_KEPT: Final = {
    "metadata.labels": "labels",
    "metadata.ownerReferences": "owner_references",
    "metadata.finalizers": "finalizers",
}
"""What people may not change about a Decision beside its spec."""


def _decider(decision: Decision, caller: str, context: AdmissionContext) -> Iterator[Problem]:
    """Holds for the control loop too: it decides nothing in a person's name."""
    spec = decision.spec
    if spec.decided_by != caller:
        yield Problem(
            path="spec.decidedBy",
            message="must be the caller: nobody decides in another's name",
            value=spec.decided_by,
            allowed=caller,
        )
    verb = verb_of(spec.action, full=spec.full)
    if context.permissions is not None and verb not in context.permissions:
        is_full = verb is Verb.BREAKGLASS
        yield Problem(
            path="spec.full" if is_full else "spec.action",
            message=f"{caller} may not {spec.action}{' past all stages' if is_full else ''}",
            value="true" if is_full else spec.action,
            allowed=_holders(verb, "workflowrollouts", spec.target.name),
        )


def _belonging(decision: Decision) -> Iterator[Problem]:
    """It goes with what it is about, with nothing else, and nobody waits for it."""
    target = decision.spec.target
    others = [
        f"{item.kind} {item.name}"
        for item in decision.metadata.owner_references
        if (item.kind, item.name, item.uid) != (target.kind, target.name, target.uid)
    ]
    if others:
        yield Problem(
            path="metadata.ownerReferences",
            message="a Decision belongs to its target",
            value=others[0],
            allowed=f"{target.kind} {target.name}",
        )
    if decision.metadata.finalizers:
        yield Problem(
            path="metadata.finalizers",
            message="a Decision has none",
            value=decision.metadata.finalizers[0],
        )


def _workflow(
    old: Resource | None, new: Resource | None, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    if not isinstance(new, AgentWorkflow) or caller == context.controller:
        return
    yield from _author(old, new, caller, context)
    yield from _jobs(old, new, caller, context)
    drops = (
        old is not None and FINALIZER in old.metadata.finalizers and FINALIZER not in new.metadata.finalizers
    )
    if drops and context.permissions is not None and Verb.BREAKGLASS not in context.permissions:
        yield Problem(
            path="metadata.finalizers",
            message=f"{FINALIZER} is taken off by the control loop, once traffic is back on stable",
            value=caller,
            allowed=_holders(Verb.BREAKGLASS, "agentworkflows", new.metadata.name),
        )


def runs_jobs(spec: WorkflowSpec) -> bool:
    """Whether gates of it would start Jobs in the operator's name."""
    gates = (gate for stage in spec.rollout.stages for gate in stage.gates or ())
    return any(gate.source is not None and gate.source.job is not None for gate in gates)


def _jobs(
    old: Resource | None, new: AgentWorkflow, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    """Nobody gets by a gate what he may not do himself."""
    is_same = isinstance(old, AgentWorkflow) and old.spec == new.spec
    if is_same or context.may_run_jobs or not runs_jobs(new.spec):
        return
    yield Problem(
        path="spec.rollout.stages",
        message="a gate with source.job starts Jobs, which the caller may not create",
        value=caller,
        allowed="who may create jobs.batch in the namespace",
    )


def _author(
    old: Resource | None, new: AgentWorkflow, caller: str, context: AdmissionContext
) -> Iterator[Problem]:
    """Whoever changes the spec is its author, or names the author with the right to do so."""
    named = new.metadata.annotations.get(CHANGED_BY)
    before = None if old is None else old.metadata.annotations.get(CHANGED_BY)
    if isinstance(old, AgentWorkflow) and old.spec == new.spec:
        if named != before and not (before is None and named == caller):
            yield Problem(path=AUTHOR, message="changes with the spec only", value=named, allowed=before)
        return
    attests = context.permissions is not None and Verb.ATTEST in context.permissions
    if named == caller or (attests and named):
        return
    yield Problem(
        path=AUTHOR,
        message="must be the caller, who changes the spec",
        value=named,
        allowed=caller,
        hint="name yourself; a bot that holds the verb attest on agentworkflows names the author",
    )


Rule = Callable[[Resource | None, Resource | None, str, AdmissionContext], Iterator[Problem]]
RULES: Final[dict[str, Rule]] = {
    "AgentWorkflow": _workflow,
    "Decision": _decision,
    **dict.fromkeys(OWN_KINDS, _own_kind),
}
