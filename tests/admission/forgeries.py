"""What people try: each attempt is one call of kubectl, by somebody whose RBAC is far too generous."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.contracts.stages import Action
from sluicegate.operator.cluster.names import plan_name
from sluicegate.rollout.authority import AUTHOR
from tests.admission.objects import Json, changed, decision, owner, wish

GROUPS: Mapping[str, tuple[str, ...]] = {
    "alice": ("board",),
    "bob": ("board",),
    "carol": ("team",),
    "mallory": (),
}
"""alice and bob may approve; carol made the change, and may approve too; mallory may write everything and decide nothing."""

Make = Callable[[Json], Json]
"""Of the rollout there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """kubectl's words, and the answer. path: what is refused; uncounted: accepted, and then of no use: the record's message.

    verb and resource: as the audit log names it.
    """

    user: str
    words: tuple[str, ...]
    item: Make | None = None
    path: str | None = None
    code: int = 403
    uncounted: str | None = None
    verb: str = "create"
    resource: str = "decisions"


def creation(user: str, item: Make, **more: Any) -> Attempt:
    """`kubectl create -f -`."""
    return Attempt(user=user, words=("create", "-f", "-"), item=item, **more)


def patch(user: str, what: str, change: Json, *more: str, **answer: Any) -> Attempt:
    """`kubectl patch --type=merge`."""
    words = ("patch", *what.split(), "--type=merge", "-p", json.dumps(change), *more)
    kind = what.split(maxsplit=1)[0]
    return Attempt(user=user, words=words, verb="patch", resource=kind, **answer)


def approval(by: str, name: str = "try", **spec: Any) -> Make:
    """An Approve of bot-1."""
    metadata = {"name": name} | spec.pop("metadata", {})
    return lambda rollout: decision(rollout, Action.APPROVE, by=by, metadata=metadata, **spec)


def _expecting(**expected: Any) -> Make:
    def make(rollout: Json) -> Json:
        seen = decision(rollout)["spec"]["expected"]
        return decision(rollout, Action.APPROVE, by="bob", metadata={"name": "try"}, expected=seen | expected)

    return make


def _belonging(rollout: Json) -> Json:
    return approval("alice", metadata={"ownerReferences": [owner(rollout, name="bot-2", uid="other")]})(
        rollout
    )


def _another(rollout: Json) -> Json:
    return {**changed(rollout, name="bot-2"), "status": None}


def _plan(_rollout: Json) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": plan_name("other")}, "data": {}}


SPEC = {"expectedRunsPerHour": 1}
STATUS = {"status": {"state": "Done", "outcome": "Promoted"}}

REFUSED: dict[str, Attempt] = {
    "approving for someone else": creation("alice", approval("bob"), path="spec.decidedBy"),
    "approving without the verb": creation("mallory", approval("mallory"), path="spec.action"),
    "approving for someone else, without the verb": creation(
        "mallory", approval("alice"), path="spec.decidedBy"
    ),
    "promoting with the right to approve": creation(
        "alice", lambda rollout: decision(rollout, metadata={"name": "try"}), path="spec.action"
    ),
    "approving without saying what": creation(
        "bob", approval("bob", expected={}), path="spec.expected.candidate", code=422
    ),
    "patching a rollout's status": patch(
        "alice", "workflowrollouts bot-1", STATUS, "--subresource=status", path="status"
    ),
    "patching a workflow's status": patch(
        "alice",
        "agentworkflows bot",
        {"status": {"stableRevision": "mine"}},
        "--subresource=status",
        path="status",
    ),
    "editing one's own decision": patch(
        "bob", "decisions earlier", {"spec": {"reason": "other"}}, path="spec", code=422
    ),
    "editing a decision into another's": patch(
        "alice", "decisions earlier", {"spec": {"decidedBy": "alice"}}, path="spec", code=422
    ),
    "labelling a decision": patch(
        "alice", "decisions earlier", {"metadata": {"labels": {"a": "b"}}}, path="metadata.labels"
    ),
    "deleting a decision": Attempt(
        user="bob", words=("delete", "decisions", "earlier", "--wait=false"), verb="delete", path="kind"
    ),
    "deleting all decisions": Attempt(
        user="mallory", words=("delete", "decisions", "--all", "--wait=false"), verb="delete", path="kind"
    ),
    "changing a workflow in another's name": patch(
        "carol",
        "agentworkflows bot",
        {"metadata": {"annotations": {CHANGED_BY: "bob"}}, "spec": SPEC},
        path=AUTHOR,
    ),
    "changing a workflow and leaving its author": patch(
        "bob", "agentworkflows bot", {"spec": SPEC}, path=AUTHOR
    ),
    "putting the change on another": patch(
        "carol", "agentworkflows bot", {"metadata": {"annotations": {CHANGED_BY: "bob"}}}, path=AUTHOR
    ),
    "a new workflow in another's name": creation(
        "carol",
        lambda _: wish("bob", name="other"),
        path=AUTHOR,
        resource="agentworkflows",
    ),
    "a decision that belongs to another rollout": creation(
        "alice", _belonging, path="metadata.ownerReferences"
    ),
    "making a decision belong to another rollout": patch(
        "alice",
        "decisions earlier",
        {
            "metadata": {
                "ownerReferences": [owner({"metadata": {"name": "bot-2", "uid": "other"}}, controller=False)]
            }
        },
        path="metadata.ownerReferences",
    ),
    "making a rollout belong to nobody": patch(
        "alice",
        "workflowrollouts bot-1",
        {"metadata": {"ownerReferences": None, "labels": None}},
        path="kind",
    ),
    "a rollout by hand": creation("alice", _another, path="kind", resource="workflowrollouts"),
    "deleting a rollout": Attempt(
        user="alice",
        words=("delete", "workflowrollouts", "bot-1", "--wait=false"),
        verb="delete",
        resource="workflowrollouts",
        path="kind",
    ),
    "editing the plan": patch(
        "alice", f"configmaps {plan_name('bot')}", {"data": {"plan": "all to the candidate"}}, path="data"
    ),
    "a plan by hand": creation("mallory", _plan, path="data", resource="configmaps"),
    "dropping the finalizer": patch(
        "carol", "agentworkflows bot", {"metadata": {"finalizers": None}}, path="metadata.finalizers"
    ),
}

UNCOUNTED: dict[str, Attempt] = {
    "approving twice": creation(
        "bob", approval("bob"), uncounted="bob has approved already; one person counts once"
    ),
    "approving another candidate": creation(
        "bob",
        _expecting(candidate=f"sha256:{'0' * 64}"),
        uncounted=f"made for candidate sha256:{'0' * 64}",
    ),
    "approving another stage": creation(
        "bob", _expecting(stage="Full"), uncounted="made for stage Full, now it is Canary"
    ),
    "approving another attempt": creation(
        "bob", _expecting(attempt=2), uncounted="made for attempt 2, now it is 1"
    ),
    "approving after expiry": creation(
        "bob", approval("bob", expiresAt="2020-01-01T00:00:00Z"), uncounted="expired at 2020-01-01"
    ),
    "approving one's own change": creation(
        "carol", approval("carol"), uncounted="carol made the change and may not approve it"
    ),
}
