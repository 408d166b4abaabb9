"""The table: who changes what into what, and the answer. Every layer is asked the same.

A case is refused with a path, by the first layer that sees it: SCHEMA (CRD schema and CEL), POLICY
(ValidatingAdmissionPolicy), WEBHOOK (rules over other objects). No layer before it may refuse; all together answer as the
pure rules do.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sluicegate.contracts.stages import Action
from sluicegate.operator.cluster.names import OPERATOR_ACCOUNT, account
from sluicegate.rollout.authority import AUTHOR
from sluicegate.rollout.model import FINALIZER
from sluicegate.rollout.permissions import VERBS, Verb
from tests.admission.objects import REVISION, Json, changed, decision, owner, wish, with_spec

OPERATOR = account(OPERATOR_ACCOUNT)
BOT = "system:serviceaccount:ci:deployer"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
NAMESPACES = "system:serviceaccount:kube-system:namespace-controller"
COLLECTORS = frozenset({"system:kube-controller-manager", COLLECTOR, NAMESPACES})

Make = Callable[[Json], Json]
"""Of the rollout there is."""


class Layer(StrEnum):
    """In the order in which a write meets them."""

    SCHEMA = "schema"
    POLICY = "policy"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """old None: create; new None: delete. verbs: custom ones that the caller holds. paths: of all problems, none: allowed.

    stamped: whom the mutating webhook names, so that it is refused only without it. barred: answered with 403.
    """

    old: Make | None = None
    new: Make | None = None
    caller: str = "alice"
    verbs: frozenset[Verb] = frozenset()
    world: str = "canary"
    is_status: bool = False
    paths: tuple[str, ...] = ()
    by: Layer | None = None
    barred: bool = False
    stamped: str = ""


def fixed(item: Json) -> Make:
    """Whatever the rollout is."""
    return lambda _target: item


def deciding(action: Action = Action.PROMOTE, *, by: str | None = "alice", **spec: Any) -> Make:
    """A decision about the rollout."""
    return lambda target: decision(target, action, by=by, **spec)


def _own_acts() -> Iterator[tuple[str, Case]]:
    """Every act needs its verb, and no other one will do."""
    acts = [(action, False, verb) for action, verb in VERBS.items()]
    for action, full, verb in [*acts, (Action.PROMOTE, True, Verb.BREAKGLASS)]:
        name = f"{action}{' past all stages' if full else ''}"
        act = deciding(action, full=full)
        yield f"{name} with {verb}", Case(new=act, verbs=frozenset({verb}))
        yield (
            f"{name} with every verb but {verb}",
            Case(
                new=act,
                verbs=frozenset(Verb) - {verb},
                paths=("spec.full" if full else "spec.action",),
                by=Layer.POLICY,
                barred=True,
            ),
        )


PROMOTES = frozenset({Verb.PROMOTE})
PROMOTE = deciding()
LABELS = {"colour": "red"}


def linked(*, reason: str = "because", **metadata: Any) -> Make:
    """A decision that belongs to its target, as the mutating webhook leaves all of them."""
    return lambda target: decision(
        target, reason=reason, metadata={"ownerReferences": [owner(target)]} | metadata
    )


LINKED = linked()


DECISIONS: dict[str, Case] = dict(_own_acts()) | {
    "a decision in another's name": Case(
        new=deciding(by="bob"), verbs=PROMOTES, paths=("spec.decidedBy",), by=Layer.POLICY, barred=True
    ),
    "a decision in another's name and without the verb": Case(
        new=deciding(by="bob"), paths=("spec.decidedBy", "spec.action"), by=Layer.POLICY, barred=True
    ),
    "a decision in another's name by the operator": Case(
        new=deciding(by="bob"),
        caller=OPERATOR,
        verbs=PROMOTES,
        paths=("spec.decidedBy",),
        by=Layer.POLICY,
        barred=True,
    ),
    "a decision by the operator, which holds no verb": Case(
        new=deciding(by=OPERATOR), caller=OPERATOR, paths=("spec.action",), by=Layer.POLICY, barred=True
    ),
    "a decision by nobody": Case(
        new=deciding(by=None), verbs=PROMOTES, paths=("spec.decidedBy",), by=Layer.SCHEMA, stamped="alice"
    ),
    "an unknown action": Case(
        new=lambda target: with_spec(decision(target), action="Destroy"),
        verbs=frozenset(Verb),
        paths=("spec.action",),
        by=Layer.SCHEMA,
    ),
    "a reason without end": Case(
        new=deciding(reason="x" * 4097), verbs=PROMOTES, paths=("spec.reason",), by=Layer.SCHEMA
    ),
    "a decision that belongs to its target": Case(new=LINKED, verbs=PROMOTES),
    "a decision that belongs to something else": Case(
        new=lambda target: decision(target, metadata={"ownerReferences": [owner(target, uid="other")]}),
        verbs=PROMOTES,
        paths=("metadata.ownerReferences",),
        by=Layer.POLICY,
        barred=True,
    ),
    "a decision that is waited for": Case(
        new=deciding(metadata={"finalizers": ["example.com/mine"]}),
        verbs=PROMOTES,
        paths=("metadata.finalizers",),
        by=Layer.POLICY,
        barred=True,
    ),
    "a decision about a workflow": Case(
        new=deciding(target={"kind": "AgentWorkflow", "name": "bot", "uid": "wf-1"}),
        verbs=PROMOTES,
        paths=("spec.target.kind",),
        by=Layer.POLICY,
    ),
    "a decision about nothing": Case(
        new=deciding(target={"kind": "WorkflowRollout", "name": "bot-9", "uid": "ro-9"}),
        verbs=PROMOTES,
        paths=("spec.target.name",),
        by=Layer.WEBHOOK,
    ),
    "a decision about another object of that name": Case(
        new=deciding(target={"kind": "WorkflowRollout", "name": "bot-1", "uid": "other"}),
        verbs=PROMOTES,
        paths=("spec.target.uid",),
        by=Layer.WEBHOOK,
    ),
    "a decision that has expired": Case(
        new=deciding(expiresAt="2020-01-01T00:00:00Z"),
        verbs=PROMOTES,
        paths=("spec.expiresAt",),
        by=Layer.WEBHOOK,
    ),
    "a decision about another candidate": Case(
        new=deciding(expected={"candidate": f"sha256:{'0' * 64}", "stage": "Canary", "attempt": 1}),
        verbs=PROMOTES,
        paths=("spec.expected",),
        by=Layer.WEBHOOK,
    ),
    "a decision about a stage that is not now": Case(
        new=lambda target: decision(
            target, expected=decision(target)["spec"]["expected"] | {"stage": "Full"}
        ),
        verbs=PROMOTES,
        paths=("spec.expected",),
        by=Layer.WEBHOOK,
    ),
    "an approval by another person": Case(
        new=deciding(Action.APPROVE), verbs=frozenset({Verb.APPROVE}), world="approvals"
    ),
    "an approval by the author": Case(
        new=deciding(Action.APPROVE, by="author"),
        caller="author",
        verbs=frozenset({Verb.APPROVE}),
        world="approvals",
        paths=("spec.decidedBy",),
        by=Layer.WEBHOOK,
    ),
    "an override without a reason": Case(
        new=deciding(Action.OVERRIDE, reason=" "),
        verbs=frozenset({Verb.OVERRIDE}),
        paths=("spec.reason",),
        by=Layer.SCHEMA,
    ),
    "a review of nothing": Case(
        new=lambda target: {
            **decision(target),
            "spec": {**decision(target)["spec"], "action": "Review"},
        },
        verbs=frozenset({Verb.REVIEW}),
        paths=("spec.review",),
        by=Layer.SCHEMA,
    ),
    "a full abort": Case(
        new=deciding(Action.ABORT, full=True),
        verbs=frozenset({Verb.ABORT}),
        paths=("spec.full",),
        by=Layer.SCHEMA,
    ),
    "a pause of what has ended": Case(
        new=deciding(Action.PAUSE),
        verbs=frozenset({Verb.ABORT}),
        world="done",
        paths=("spec.action",),
        by=Layer.WEBHOOK,
    ),
    "a decision again as it is": Case(old=LINKED, new=LINKED),
    "an annotation on a decision": Case(old=LINKED, new=linked(annotations=LABELS)),
    "another reason, by who decided": Case(
        old=LINKED, new=linked(reason="other"), paths=("spec",), by=Layer.SCHEMA
    ),
    "another reason, by the operator": Case(
        old=LINKED, new=linked(reason="other"), caller=OPERATOR, paths=("spec",), by=Layer.SCHEMA
    ),
    "labels on a decision, by a person": Case(
        old=LINKED,
        new=linked(labels=LABELS),
        paths=("metadata.labels",),
        by=Layer.POLICY,
        barred=True,
    ),
    "labels on a decision, by the operator": Case(old=LINKED, new=linked(labels=LABELS), caller=OPERATOR),
    "a decision made to belong to something else, afterwards": Case(
        old=LINKED,
        new=lambda target: decision(target, metadata={"ownerReferences": [owner(target, uid="other")]}),
        paths=("metadata.ownerReferences",),
        by=Layer.POLICY,
        barred=True,
    ),
    "a decision that is waited for and labelled, afterwards": Case(
        old=LINKED,
        new=linked(labels=LABELS, finalizers=["example.com/mine"]),
        paths=("metadata.labels", "metadata.finalizers"),
        by=Layer.POLICY,
        barred=True,
    ),
    "a decision unlinked by garbage collection": Case(old=LINKED, new=PROMOTE, caller=COLLECTOR),
    "deletion of a decision by who made it": Case(
        old=LINKED, verbs=frozenset(Verb), paths=("kind",), by=Layer.POLICY, barred=True
    ),
    "deletion of a decision by the operator": Case(old=LINKED, caller=OPERATOR),
    "deletion of a decision by garbage collection": Case(old=LINKED, caller=COLLECTOR),
    "deletion of a decision with its namespace": Case(old=LINKED, caller=NAMESPACES),
}

ATTESTS = frozenset({Verb.ATTEST})
MINE, BOBS, NOBODYS = fixed(wish("alice")), fixed(wish("bob")), fixed(wish())
NEW, NEW_OF_BOB = fixed(wish("alice", version="3.0.0")), fixed(wish("bob", version="3.0.0"))
FREE = fixed(changed(wish("alice"), finalizers=[]))
FOLLOWED = fixed({**wish("alice"), "status": {"stableRevision": REVISION["metadata"]["name"]}})


def at_the_address_of(version: str) -> Json:
    """Components of 2.0.0 that are served where this version is."""
    (component,) = wish()["spec"]["components"]
    return {
        "components": [{**component, "endpoint": wish(version=version)["spec"]["components"][0]["endpoint"]}]
    }


def _forged(*, old: Make | None, new: Make, **more: object) -> Case:
    return Case(old=old, new=new, paths=(AUTHOR,), by=Layer.POLICY, barred=True, **more)  # type: ignore[arg-type]


def with_a_job(version: str) -> Make:
    """A gate of it starts Jobs."""
    gates = [
        {"name": "success", "signal": "WorkflowSuccessRate"},
        {"name": "load", "source": {"job": {"image": "load:1"}}},
    ]
    return fixed(
        wish("alice", version=version, spec={"rollout": {"stages": [{"name": "Canary", "gates": gates}]}})
    )


WORKFLOWS: dict[str, Case] = {
    "a gate with a Job, by who may not create Jobs": Case(
        new=with_a_job("2.0.0"), paths=("spec.rollout.stages",), by=Layer.POLICY, barred=True
    ),
    "a gate with a Job in another spec, by who may not create Jobs": Case(
        old=MINE, new=with_a_job("3.0.0"), paths=("spec.rollout.stages",), by=Layer.POLICY, barred=True
    ),
    "a workflow in one's own name": Case(new=MINE),
    "a workflow in nobody's name": _forged(old=None, new=NOBODYS, stamped="alice"),
    "a workflow in another's name": _forged(old=None, new=BOBS),
    "a workflow in the author's name by a bot that attests": Case(new=BOBS, caller=BOT, verbs=ATTESTS),
    "a workflow in nobody's name by a bot that attests": _forged(
        old=None, new=NOBODYS, caller=BOT, verbs=ATTESTS
    ),
    "a workflow in nobody's name by a person who attests": _forged(
        old=None, new=NOBODYS, verbs=ATTESTS, stamped="alice"
    ),
    "a workflow in nobody's name by a bot": _forged(old=None, new=NOBODYS, caller=BOT, stamped=BOT),
    "a workflow in another's name with every verb but attest": _forged(
        old=None, new=BOBS, verbs=frozenset(Verb) - ATTESTS
    ),
    "a workflow by the operator": Case(new=BOBS, caller=OPERATOR),
    "another spec in one's own name": Case(old=BOBS, new=NEW),
    "another spec, the author before left in place": _forged(old=BOBS, new=NEW_OF_BOB, stamped="alice"),
    "another spec in the name of a third": _forged(old=BOBS, new=fixed(wish("carol", version="3.0.0"))),
    "another spec in nobody's name": _forged(old=MINE, new=fixed(wish(version="3.0.0")), stamped="alice"),
    "another spec in the author's name by a bot that attests": Case(
        old=MINE, new=NEW_OF_BOB, caller=BOT, verbs=ATTESTS
    ),
    "a workflow again as it is, by another": Case(old=BOBS, new=BOBS),
    "labels on a workflow, by another": Case(old=BOBS, new=fixed(wish("bob", labels=LABELS))),
    "another author without another spec": _forged(old=BOBS, new=MINE),
    "another author without another spec, by a bot that attests": _forged(
        old=MINE, new=BOBS, caller=BOT, verbs=ATTESTS
    ),
    "no author any more": _forged(old=BOBS, new=NOBODYS, stamped="bob"),
    "an author where there was none": Case(old=NOBODYS, new=MINE),
    "another author where there was none": _forged(old=NOBODYS, new=BOBS),
    "the finalizer dropped by a person": Case(
        old=MINE,
        new=FREE,
        verbs=frozenset(Verb) - {Verb.BREAKGLASS},
        paths=("metadata.finalizers",),
        by=Layer.POLICY,
        barred=True,
    ),
    "the finalizer dropped by breaking the glass": Case(
        old=MINE, new=FREE, verbs=frozenset({Verb.BREAKGLASS})
    ),
    "the finalizer dropped by the operator": Case(old=MINE, new=FREE, caller=OPERATOR),
    "another's finalizer dropped by a person": Case(
        old=fixed(changed(wish("alice"), finalizers=[FINALIZER, "example.com/mine"])), new=MINE
    ),
    "another spec in another's name, the finalizer dropped": Case(
        old=MINE,
        new=fixed(changed(wish("bob", version="3.0.0"), finalizers=[])),
        paths=(AUTHOR, "metadata.finalizers"),
        by=Layer.POLICY,
        barred=True,
    ),
    "deletion of a workflow by a person": Case(old=MINE),
    "a workflow without components": Case(
        new=fixed(wish("alice", spec={"components": []})), paths=("spec.components",), by=Layer.SCHEMA
    ),
    "a workflow with a negative rate": Case(
        new=fixed(wish("alice", spec={"expectedRunsPerHour": -1})),
        paths=("spec.expectedRunsPerHour",),
        by=Layer.SCHEMA,
    ),
    "a used version with another body": Case(
        old=MINE,
        new=fixed(wish("alice", version="1.0.0", spec={"output": {"answer": "steps.agent.answer"}})),
        paths=("spec.version",),
        by=Layer.WEBHOOK,
    ),
    "another version of a component, at the address of the stable one": Case(
        old=FOLLOWED,
        new=fixed(wish("alice", spec=at_the_address_of("1.0.0"))),
        paths=("spec.components[0].endpoint",),
        by=Layer.WEBHOOK,
    ),
    "another version of a component, at another address": Case(
        old=FOLLOWED, new=fixed(wish("alice", version="3.0.0"))
    ),
    "a step of an unknown component": Case(
        new=fixed(wish("alice", spec={"steps": [{"name": "a", "component": "nobody"}]})),
        paths=("spec.steps",),
        by=Layer.SCHEMA,
    ),
}


def _rollout(target: Json) -> Json:
    metadata = {key: target["metadata"][key] for key in ("name", "labels") if key in target["metadata"]}
    return {**target, "metadata": metadata}


def _other(target: Json) -> Json:
    return changed(_rollout(target), name="bot-2")


def _other_labelled(target: Json) -> Json:
    return changed(_other(target), labels=LABELS)


def _other_salted(target: Json) -> Json:
    return with_spec(_other(target), salt="other")


def _held(target: Json) -> Json:
    return {**_other(target), "status": {**target["status"], "held": True}}


def _own(**more: object) -> Case:
    return Case(paths=("kind",), by=Layer.POLICY, barred=True, **more)  # type: ignore[arg-type]


def _reading(**more: object) -> Case:
    return Case(paths=("status",), by=Layer.POLICY, barred=True, is_status=True, **more)  # type: ignore[arg-type]


CHILDREN: dict[str, Case] = {
    "a rollout by a person": _own(new=_other, verbs=frozenset(Verb)),
    "a rollout by garbage collection": _own(new=_other, caller=COLLECTOR),
    "a rollout by the operator": Case(new=_other, caller=OPERATOR),
    "a revision by a person": _own(new=fixed(REVISION)),
    "a revision by the operator": Case(new=fixed(REVISION), caller=OPERATOR),
    "labels on a rollout by a person": _own(old=_other, new=_other_labelled),
    "labels on a rollout by the operator": Case(old=_other, new=_other_labelled, caller=OPERATOR),
    "labels on a rollout by garbage collection": Case(old=_other, new=_other_labelled, caller=COLLECTOR),
    "another plan of a rollout by the operator": Case(
        old=_other, new=_other_salted, caller=OPERATOR, paths=("spec",), by=Layer.SCHEMA
    ),
    "deletion of a rollout by a person": _own(old=_other, verbs=frozenset(Verb)),
    "deletion of a rollout by the operator": Case(old=_other, caller=OPERATOR),
    "deletion of a rollout by garbage collection": Case(old=_other, caller=COLLECTOR),
    "deletion of a revision with its namespace": Case(old=fixed(REVISION), caller=NAMESPACES),
    "deletion of a revision by a person": _own(old=fixed(REVISION)),
    "the status of a rollout by a person": _reading(old=_other, new=_held, verbs=frozenset(Verb)),
    "the status of a rollout by garbage collection": _reading(old=_other, new=_held, caller=COLLECTOR),
    "the status of a rollout by the operator": Case(old=_other, new=_held, caller=OPERATOR, is_status=True),
    "the status of a workflow by a person": _reading(
        old=MINE, new=fixed({**wish("alice"), "status": {"stableRevision": "bot-2"}})
    ),
    "the status of a workflow by the operator": Case(
        old=MINE,
        new=fixed({**wish("alice"), "status": {"stableRevision": "bot-2"}}),
        caller=OPERATOR,
        is_status=True,
    ),
}

CASES: dict[str, Case] = DECISIONS | WORKFLOWS | CHILDREN
