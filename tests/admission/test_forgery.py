"""No process of the project runs: the API server refuses what is forged, or it is not counted. The audit log names who tried."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow, Decision, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.rollout import DecisionRecord
from sluicegate.operator.cluster.edge import inward
from sluicegate.operator.cluster.names import PLAN_LABEL, plan_name
from sluicegate.rollout import planning
from sluicegate.rollout.approvals import standing
from sluicegate.rollout.model import RolloutObserved
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.admission.api import Api, Caller
from tests.admission.cases import OPERATOR
from tests.admission.forgeries import GROUPS, REFUSED, UNCOUNTED, Attempt, approval
from tests.admission.objects import WORLDS, Json, sent, wish
from tests.controlplane.audit import Entry
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until
from tests.rollout.samples import STABLE, candidate_spec, later, revision

pytestmark = pytest.mark.cluster

NOW = later(30)
IN_PERSON, IMPERSONATED = "in person", "impersonated"


@pytest.fixture(scope="module")
def scene(governed: ControlPlane) -> Iterator[Api]:
    """carol's change waits in Canary for two people; bob has approved it. RBAC allows everybody every write."""
    api = Api(governed).in_fresh_namespace()
    for user in GROUPS:
        governed.allow(f"user:{user}", "test-writer", api.namespace)
    for subject in ("group:board", "user:carol"):
        governed.allow(subject, "sluicegate-approver", api.namespace)
    operator = Caller(OPERATOR)
    followed = {"rollout": "bot-1", "stableRevision": STABLE.metadata.name}
    bot = api.create(wish("carol"), Caller("carol")).require()
    api.replace({**bot, "status": followed}, operator, subresource="/status").require()
    rollout = WORLDS["approvals"]
    plan = {"changed_by": "carol", "workflow_uid": bot["metadata"]["uid"]}
    rollout = rollout.model_copy(update={"spec": rollout.spec.model_copy(update=plan)})
    for item in (STABLE, revision(candidate_spec(rollout), 2), rollout):
        made = api.create(sent(item), operator).require()
    api.replace({**made, "status": rollout.to_json()["status"]}, operator, subresource="/status").require()
    routes = {"name": plan_name("bot"), "labels": {PLAN_LABEL: "bot"}}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": routes, "data": {}}, operator).require()
    api.create(approval("bob", "earlier")(target(api)), Caller("bob", GROUPS["bob"])).require()
    yield api
    for user in GROUPS:
        name = f"rolebinding/test-writer-user-{user}"
        governed.kubectl("delete", name, "-n", api.namespace, "--ignore-not-found")


def target(api: Api) -> Json:
    """The rollout as stored."""
    return api.get("WorkflowRollout", "bot-1")


def tried(api: Api, attempt: Attempt, how: str) -> subprocess.CompletedProcess[str]:
    """Run kubectl, as the person or with impersonation headers by an administrator."""
    words = [*attempt.words, "-n", api.namespace]
    text = None if attempt.item is None else json.dumps(_bare(attempt.item(target(api)), api.namespace))
    if how == IN_PERSON:
        return api.plane.kubectl(*words, user=attempt.user, input=text, check=False)
    groups = [f"--as-group={group}" for group in GROUPS[attempt.user]]
    return api.plane.kubectl(*words, f"--as={attempt.user}", *groups, input=text, check=False)


def _bare(item: Json, namespace: str) -> Json:
    metadata = {key: value for key, value in item["metadata"].items() if key not in _STORED}
    body = {key: value for key, value in item.items() if value is not None}
    return {**body, "metadata": {**metadata, "namespace": namespace}}


_STORED = {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}


def noted(api: Api, attempt: Attempt, how: str, code: int, since: int) -> Entry:
    """The audit log's entry of the attempt."""
    user, acting_as = (attempt.user, "") if how == IN_PERSON else ("admin", attempt.user)

    def found() -> Entry | None:
        for entry in api.plane.audit(since):
            who = (entry.user, entry.acting_as)
            what = (entry.verb, entry.resource, entry.namespace, entry.code)
            if who == (user, acting_as) and what == (attempt.verb, attempt.resource, api.namespace, code):
                return entry
        return None

    entry: Entry = until(f"the audit log tells that {attempt.user} tried", found)
    return entry


@pytest.mark.parametrize("how", [IN_PERSON, IMPERSONATED])
@pytest.mark.parametrize("sentence", REFUSED)
def test_refused_and_noted(scene: Api, sentence: str, how: str) -> None:
    attempt, since = REFUSED[sentence], scene.plane.audit_position()
    before = target(scene), scene.get("Decision", "earlier"), scene.get("AgentWorkflow", "bot")
    done = tried(scene, attempt, how)
    assert done.returncode != 0
    assert f"{attempt.path}: " in done.stderr
    noted(scene, attempt, how, attempt.code, since)
    assert before == (target(scene), scene.get("Decision", "earlier"), scene.get("AgentWorkflow", "bot"))


@pytest.mark.parametrize("sentence", UNCOUNTED)
def test_accepted_and_not_counted(scene: Api, sentence: str) -> None:
    attempt, since = UNCOUNTED[sentence], scene.plane.audit_position()
    done = tried(scene, attempt, IN_PERSON)
    assert done.returncode == 0, done.stderr
    noted(scene, attempt, IN_PERSON, 201, since)
    try:
        records, people = counted(scene)
    finally:
        scene.delete("Decision", "try", Caller(OPERATOR)).require()
    (record,) = [item for item in records if item.name == "try"]
    assert record.result in {"Refused", "Expired"}
    assert attempt.uncounted is not None
    assert record.message.startswith(attempt.uncounted)
    assert people == ("bob",)


def test_two_people_are_counted(scene: Api) -> None:
    """The same scene with an honest second person."""
    made = scene.create(approval("alice")(target(scene)), Caller("alice", GROUPS["alice"])).require()
    try:
        records, people = counted(scene)
    finally:
        scene.delete("Decision", made["metadata"]["name"], Caller(OPERATOR)).require()
    assert [record.result for record in records] == ["Counted", "Counted"]
    assert people == ("alice", "bob")


@pytest.mark.parametrize("victim", ["alice", OPERATOR, "system:kube-controller-manager"])
def test_nobody_impersonates_without_the_right(scene: Api, victim: str) -> None:
    since = scene.plane.audit_position()
    text = json.dumps(approval(victim)(target(scene)))
    done = scene.plane.kubectl(
        "create",
        "--validate=false",
        "-n",
        scene.namespace,
        "-f",
        "-",
        f"--as={victim}",
        user="mallory",
        input=text,
        check=False,
    )
    assert done.returncode != 0
    assert "cannot impersonate" in done.stderr
    until(
        "the audit log tells that mallory tried",
        lambda: any(entry.user == "mallory" and entry.code == 403 for entry in scene.plane.audit(since)),
    )


def test_a_rollout_of_the_same_name_takes_no_decision_over(scene: Api) -> None:
    """Decisions are pinned by uid: those about another object of the name are never looked at."""
    theirs = approval("alice", "stale", target={"kind": "WorkflowRollout", "name": "bot-1", "uid": "before"})
    scene.create(theirs(target(scene)), Caller("alice", GROUPS["alice"])).require()
    try:
        _, people = counted(scene)
    finally:
        scene.delete("Decision", "stale", Caller(OPERATOR)).require()
    assert people == ("bob",)


def counted(api: Api) -> tuple[tuple[DecisionRecord, ...], tuple[str, ...]]:
    """What the control loop makes of the objects in the API server: its records, and who approved."""
    rollout = read(api, WorkflowRollout, "bot-1")
    found = api.plane.get("decisions", "-n", api.namespace)["items"]
    decisions = [parse_data(inward(item)) for item in found]
    about = [
        item
        for item in decisions
        if isinstance(item, Decision) and item.spec.target.uid == rollout.metadata.uid
    ]
    observed = RolloutObserved(
        rollout=rollout,
        workflow=read(api, AgentWorkflow, "bot"),
        stable=read(api, WorkflowRevision, rollout.spec.stable.name),
        candidate=read(api, WorkflowRevision, rollout.spec.candidate.name),
        decisions=tuple(about),
        programmed=3,
        live_gateways=1,
    )
    status = reconcile_rollout(observed, NOW).status
    assert status.stage is not None
    planned = planning.stage_of(rollout.spec, status.stage)
    people = standing(planned, status, about, sampled=0, now=NOW).people
    return status.decisions, people


def read(api: Api, model: type[Any], name: str) -> Any:
    """As the operator's adapter reads it."""
    return parse_data(inward(api.get(model.__name__, name)))
