"""From what a person typed to the object that is meant, with a did-you-mean when there is none."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate.console import program
from sluicegate.console.client import ROLLOUTS, WORKFLOWS, Client, Object
from sluicegate.contracts.errors import Forbidden, NotFound, Problem, Refused

if TYPE_CHECKING:
    from sluicegate.contracts.resources import Kind

_PROMOTED = frozenset({"Promoted", "FastPromoted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A workflow and the rollout that is meant: the running one, else the last; None when there was none."""

    workflow: Object
    rollout: Object | None = None


def find_undoable(client: Client, namespace: str, name: str) -> Target:
    """What an undo of `name` is about: the running rollout, else the last one that was promoted, else the last."""
    target = find(client, namespace, name)
    running = (target.workflow.get("status") or {}).get("rollout")
    if running or name.rsplit("/", 1)[-1] != target.workflow["metadata"]["name"]:
        return target
    found = rollouts_of(client, namespace, target.workflow["metadata"]["name"])
    promoted = [item for item in found if (item.get("status") or {}).get("outcome") in _PROMOTED]
    return Target(workflow=target.workflow, rollout=promoted[-1]) if promoted else target


def find(client: Client, namespace: str, name: str, *, rollout: str | None = None) -> Target:
    """By the name of a workflow or of a rollout; `rollout` says which of the workflow's rollouts."""
    name = name.rsplit("/", 1)[-1]
    try:
        workflow = client.get(WORKFLOWS, namespace, name)
    except NotFound:
        return _by_rollout(client, namespace, name)
    wanted = rollout or (workflow.get("status") or {}).get("rollout")
    if wanted:
        try:
            return Target(workflow=workflow, rollout=client.get(ROLLOUTS, namespace, wanted))
        except NotFound:
            if rollout:
                raise
    return Target(workflow=workflow, rollout=_newest(client, namespace, name))


def rollouts_of(client: Client, namespace: str, workflow: str) -> list[Object]:
    """Rollouts of a workflow, oldest first."""
    found = [item for item in client.listing(ROLLOUTS, namespace) if item["spec"]["workflow"] == workflow]
    return sorted(found, key=lambda item: (str(item["metadata"].get("creationTimestamp", "")), _number(item)))


def _number(item: Object) -> int:
    """At the end of its name: a cluster's times have seconds only."""
    tail = str(item["metadata"]["name"]).rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0


def _newest(client: Client, namespace: str, workflow: str) -> Object | None:
    found = rollouts_of(client, namespace, workflow)
    return found[-1] if found else None


def _by_rollout(client: Client, namespace: str, name: str) -> Target:
    try:
        rollout = client.get(ROLLOUTS, namespace, name)
        return Target(workflow=client.get(WORKFLOWS, namespace, rollout["spec"]["workflow"]), rollout=rollout)
    except NotFound as error:
        raise unknown(client, WORKFLOWS, namespace, name, noun="workflow or rollout") from error


def unknown(client: Client, plural: str, namespace: str, name: str, *, noun: str) -> NotFound:
    """The error for a name that does not exist: what is near, where else it exists, or what there is."""
    everywhere = _visible(client, plural, namespace)
    here = [item["metadata"]["name"] for item in everywhere if item["metadata"]["namespace"] == namespace]
    elsewhere = [item["metadata"]["namespace"] for item in everywhere if item["metadata"]["name"] == name]
    if elsewhere:
        hint = f"it exists in namespace {elsewhere[0]}: add -n {elsewhere[0]}"
    elif close := nearest(name, here):
        hint = f"did you mean {close}?"
    elif here:
        hint = f"there is: {', '.join(here[:5])}" + (", …" if len(here) > 5 else "")
    else:
        hint = f"there is none in this namespace; `{program.line(f'get {plural} -A')}` shows all"
    return NotFound(f"no {noun} {name!r} in namespace {namespace}; {hint}")


def _visible(client: Client, plural: str, namespace: str) -> list[Object]:
    """Of all namespaces, or of those that the caller may see."""
    for scope in (None, namespace):
        try:
            return client.listing(plural, scope)
        except Forbidden:
            continue
    return []


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def kind(word: str) -> "Kind":
    """The kind meant by `word`; Refused with what there is."""
    from sluicegate.contracts.resources import KINDS, kind_of

    found = kind_of(word)
    if found is not None:
        return found
    words = {name.lower() for name in KINDS} | {one.plural for one in KINDS.values()}
    close = nearest(word.lower(), sorted(words))
    raise Refused(
        (
            Problem(
                path="KIND",
                message="unknown kind",
                value=repr(word),
                allowed=", ".join(f"{one.plural} ({one.short})" for one in KINDS.values()),
                hint=f"did you mean {close}?" if close else None,
            ),
        )
    )


def split(word: str, name: str | None) -> tuple[str, str | None]:
    """`kind/name` or `kind name` as (kind, name)."""
    if "/" in word and name is None:
        word, name = word.split("/", 1)
        if not word or not name:
            raise Refused(
                (Problem(path="KIND/NAME", message="one half is missing", allowed="awf/support-bot"),)
            )
    return word, name
