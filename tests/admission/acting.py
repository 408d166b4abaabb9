"""A case, carried out on an API server."""

from collections.abc import Callable

from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.rollout.permissions import Verb
from tests.admission.api import Answer, Api, Caller
from tests.admission.cases import OPERATOR, Case
from tests.admission.objects import REVISION, WORLDS, Json, changed, owner, sent

Seen = Callable[[Json], None]
"""Returns when whoever is asked knows of an object that the case starts from."""


def world(api: Api, case: Case, seen: Seen) -> Json:
    """The rollout there is, made by the operator."""
    rollout = WORLDS[case.world]
    operator = Caller(OPERATOR)
    made = api.create(sent(rollout), operator).require()
    status = {"metadata": made["metadata"], "kind": made["kind"], "status": rollout.to_json()["status"]}
    target = api.replace({**made, **status}, operator, subresource="/status").require()
    seen(target)
    return target


def before(api: Api, item: Json, seen: Seen) -> Json:
    """What the case changes or deletes; a workflow has its first revision, as the pure rules are told."""
    made = api.create(item, author_of(item)).require()
    if "status" in item:
        told = {**made, "status": item["status"]}
        made = api.replace(told, Caller(OPERATOR), subresource="/status").require()
    if made["kind"] == "AgentWorkflow":
        belonging = changed(REVISION, ownerReferences=[owner(made, kind="AgentWorkflow")])
        seen(api.create(belonging, Caller(OPERATOR)).require())
    return made


def author_of(item: Json) -> Caller:
    """Who may make it, whatever the case is about."""
    if item["kind"] == "Decision":
        return Caller.holding(item["spec"]["decidedBy"], Verb)
    if item["kind"] == "AgentWorkflow" and CHANGED_BY in item["metadata"]["annotations"]:
        return Caller(item["metadata"]["annotations"][CHANGED_BY])
    return Caller(OPERATOR)


def write(api: Api, case: Case, seen: Seen = lambda _: None) -> Answer:
    """Carry the case out."""
    target = world(api, case, seen)
    caller = Caller.holding(case.caller, case.verbs)
    if case.old is None:
        assert case.new is not None
        return api.create(case.new(target), caller)
    old = before(api, case.old(target), seen)
    if case.new is None:
        return api.delete(old["kind"], old["metadata"]["name"], caller)
    version = old["metadata"]["resourceVersion"]
    at = "/status" if case.is_status else ""
    return api.replace(case.new(target), caller, subresource=at, version=version)
