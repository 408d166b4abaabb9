"""What the rules are given: revisions and targets from the cache, verbs from the API server only where they matter."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.base import API_VERSION, CHANGED_BY
from sluicegate.operator.cluster import edge, names
from sluicegate.operator.cluster.admitter import COLLECTORS, ClusterAdmitter
from sluicegate.operator.cluster.assembly import CAPABILITIES
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.ports import Api
from sluicegate.operator.cluster.webhook_review import Answer, Request
from sluicegate.rollout.model import FINALIZER
from sluicegate.rollout.revisions import new_revision
from tests.contracts import kinds
from tests.operator import samples

CONTROLLER = names.account(names.OPERATOR_ACCOUNT)


@dataclass
class Server:
    """The API server's part: verbs that callers hold, objects, and what was asked."""

    verbs: dict[str, set[str]] = field(default_factory=dict)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def get(self, api: Api, namespace: str | None, name: str) -> dict[str, Any]:
        self.asked.append(f"get {name}")
        if name not in self.objects:
            raise NotFound(name)
        return self.objects[name]

    async def review(self, api: Api, item: dict[str, Any]) -> dict[str, Any]:
        spec = item["spec"]
        verb = spec["resourceAttributes"]["verb"]
        self.asked.append(f"may {spec['user']} {verb}")
        return {"status": {"allowed": verb in self.verbs.get(spec["user"], set())}}


def admitter(server: Server, cache: Cache | None = None) -> ClusterAdmitter:
    return ClusterAdmitter(
        api=server,  # type: ignore[arg-type]
        cache=cache or Cache(),
        clock=SystemClock(),
        controller=CONTROLLER,
        synced=lambda: True,
        capabilities=CAPABILITIES,
    )


def stored(item: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """As the API server has it, with what the models do not know."""
    system = {"uid": f"uid-{item['metadata']['name']}", "resourceVersion": "7", "generation": 1}
    return {
        **item,
        "metadata": {**item["metadata"], **system, "managedFields": [{}], "selfLink": "/x", **metadata},
    }


def written(version: str, author: str | None = "alice", **metadata: Any) -> dict[str, Any]:
    annotations = {CHANGED_BY: author} if author else {}
    return stored(samples.workflow(version=version), annotations=annotations, **metadata)


def revision(item: dict[str, Any]) -> dict[str, Any]:
    """The workflow's, as the control loop makes it and the API server has it."""
    workflow = AgentWorkflow.model_validate(edge.inward(item))
    made = new_revision(workflow, revision_digest(workflow.spec), ()).to_json()
    return stored(
        made, ownerReferences=[{**made["metadata"]["ownerReferences"][0], "apiVersion": API_VERSION}]
    )


def request(
    old: dict[str, Any] | None, new: dict[str, Any] | None, caller: str = "bob", **more: Any
) -> Request:
    subject = new or old
    assert subject is not None
    operation = "DELETE" if new is None else "CREATE" if old is None else "UPDATE"
    values: dict[str, Any] = {
        "uid": "u",
        "kind": subject["kind"],
        "operation": operation,
        "subresource": "",
        "caller": caller,
        "namespace": "default",
        "user": {"username": caller, "groups": ["team"]},
        "old": old,
        "new": new,
    }
    return Request(**{**values, **more})


async def refused(server: Server, asked: Request, cache: Cache | None = None) -> Answer:
    return await admitter(server, cache).validate(asked)


async def test_a_person_needs_no_question_to_the_api_server() -> None:
    server = Server()
    answer = await refused(server, request(written("1.0.0"), written("2.0.0", "bob")))
    assert answer.code == 200, answer
    assert server.asked == []


@pytest.mark.parametrize(("verbs", "code"), [({"attest"}, 200), (set(), 403)], ids=["may", "may not"])
async def test_a_bot_names_the_author_with_the_verb_attest(verbs: set[str], code: int) -> None:
    server = Server(verbs={"bot": verbs})
    answer = await refused(server, request(written("1.0.0"), written("2.0.0", "carol"), "bot"))
    assert answer.code == code
    assert server.asked == ["may bot attest"]


async def test_a_bot_that_attests_the_same_author_again_is_not_overwritten() -> None:
    server = Server(verbs={"bot": {"attest"}})
    answer = await admitter(server).mutate(request(written("1.0.0"), written("2.0.0"), "bot"))
    assert answer.patch == ()
    answer = await admitter(server).mutate(request(written("1.0.0"), written("2.0.0"), "bob"))
    assert [operation["value"] for operation in answer.patch] == ["bob"]


BOT = "system:serviceaccount:flux-system:kustomize-controller"
# caller, old author and new author of a changed spec, caller's verbs -> the stamp; whether the API server is asked.
_STAMPS = {
    "a bot names nobody": (BOT, "alice", None, {"attest"}, [], True),
    "a bot names nobody on a new one": (BOT, ..., None, {"attest"}, [], True),
    "a bot that may not attest": (BOT, ..., None, set(), [BOT], True),
    "a person names nobody": ("bob", "alice", None, set(), ["bob"], False),
    "a person names nobody on a new one": ("bob", ..., None, set(), ["bob"], False),
    "an administrator, who may everything, names nobody": ("bob", ..., None, {"attest"}, ["bob"], False),
    "a person names themselves": ("bob", "alice", "bob", set(), [], False),
    "another is named": ("bob", "alice", "carol", set(), [], False),
}


@pytest.mark.parametrize(
    ("caller", "before", "named", "verbs", "stamp", "is_asked"), _STAMPS.values(), ids=_STAMPS
)
async def test_a_person_is_the_author_and_a_bot_that_attests_has_to_name_one(
    caller: str, before: Any, named: str | None, verbs: set[str], stamp: list[str], is_asked: bool
) -> None:
    server = Server(verbs={caller: verbs})
    old = None if before is ... else written("1.0.0", before)
    answer = await admitter(server).mutate(request(old, written("2.0.0", named), caller))
    assert [one["value"] for one in answer.patch] == [{CHANGED_BY: name} for name in stamp]
    assert server.asked == ([f"may {caller} attest"] if is_asked else [])


async def test_a_spec_that_stays_asks_nobody() -> None:
    server = Server(verbs={"bob": {"attest"}})
    answer = await admitter(server).mutate(request(written("1.0.0"), written("1.0.0", None)))
    assert [one["value"] for one in answer.patch] == [{CHANGED_BY: "alice"}]
    assert server.asked == []


@pytest.mark.parametrize(("verbs", "code"), [({"breakglass"}, 200), (set(), 403)], ids=["may", "may not"])
async def test_the_finalizer_is_taken_off_with_the_verb_breakglass(verbs: set[str], code: int) -> None:
    server = Server(verbs={"bob": verbs})
    old = written("1.0.0", finalizers=[FINALIZER])
    assert (await refused(server, request(old, written("1.0.0")))).code == code
    assert server.asked == ["may bob breakglass"]


async def test_a_version_that_another_body_bears_is_refused_from_the_cache() -> None:
    cache, workflow = Cache(), written("1.0.0")
    cache.put(revision(workflow))
    changed = written("1.0.0", "bob")
    changed["spec"]["components"][0]["endpoint"]["url"] = "http://127.0.0.1:10"
    answer = await refused(Server(), request(workflow, changed), cache)
    assert answer.code == 422
    assert [problem.path for problem in answer.problems] == ["spec.version"]


async def test_what_an_older_version_stored_may_be_labelled_and_let_go() -> None:
    old = written("1.0.0")
    old["spec"]["removedLongAgo"] = 1
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert (await refused(Server(), request(old, labelled))).code == 200
    changed = {**labelled, "spec": {**old["spec"], "version": "2.0.0"}}
    answer = await refused(Server(), request(old, changed))
    assert answer.code == 422
    assert "removedLongAgo" in answer.message
    assert (await refused(Server(), request(old, None))).code == 200


def rollout(stage: str, uid: str = "u-1") -> dict[str, Any]:
    """In a stage, as the API server has it."""
    status = {"state": stage, "stage": stage, "attempt": 1, "stageStartedAt": "2026-01-31T12:00:00Z"}
    return {**stored(kinds.of("WorkflowRollout", namespace="default"), uid=uid), "status": status}


def act(on: dict[str, Any]) -> Request:
    """A person's decision about the rollout that they see."""
    return request(None, samples.decision("d", "Promote", on, decidedBy="bob"))


@pytest.mark.parametrize(
    ("cached", "asked"),
    [
        pytest.param(rollout("Shadow"), [], id="the-same"),
        pytest.param(rollout("Canary"), ["get"], id="an-earlier-stage"),
        pytest.param(rollout("Shadow", uid="u-0"), ["get"], id="an-earlier-rollout"),
        pytest.param(None, ["get"], id="none"),
    ],
)
async def test_nobody_is_refused_because_the_cache_is_behind(
    cached: dict[str, Any] | None, asked: list[str]
) -> None:
    seen = rollout("Shadow")
    name = seen["metadata"]["name"]
    server, cache = Server(objects={name: seen}), Cache()
    if cached is not None:
        cache.put(cached)
    answer = await refused(server, act(seen), cache)
    assert answer.code == 200, answer
    assert server.asked == [f"{verb} {name}" for verb in asked]


async def test_a_target_that_is_not_there_is_looked_for_before_a_refusal() -> None:
    server = Server()
    answer = await refused(server, act(rollout("Shadow")))
    assert answer.code == 422
    assert "no such WorkflowRollout" in answer.message
    assert len(server.asked) == 1


@pytest.mark.parametrize(("caller", "code"), [("bob", 403), (CONTROLLER, 200)])
async def test_status_is_the_controllers(caller: str, code: int) -> None:
    item = written("1.0.0")
    asked = request(item, {**item, "status": {"observedGeneration": 1}}, caller, subresource="status")
    assert (await refused(Server(), asked)).code == code


@pytest.mark.parametrize("caller", sorted(COLLECTORS))
async def test_garbage_collection_is_not_stopped(caller: str) -> None:
    assert (await refused(Server(), request(revision(written("1.0.0")), None, caller))).code == 200


async def test_before_everything_was_read_nothing_is_decided() -> None:
    early = ClusterAdmitter(
        api=Server(),  # type: ignore[arg-type]
        cache=Cache(),
        clock=SystemClock(),
        controller=CONTROLLER,
        synced=lambda: False,
    )
    answer = await early.validate(request(None, written("1.0.0", "bob")))
    assert answer.code == 503
