"""The admission server by itself: whatever goes wrong is no `allowed`; what is filled in is the caller."""

import asyncio
import base64
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import pytest

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Problem, Unavailable
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.operator.cluster import certificates, webhook_stamps
from sluicegate.operator.cluster.certificates import Ages
from sluicegate.operator.cluster.webhook import MAX_BODY, WebhookServer
from sluicegate.operator.cluster.webhook_review import Answer, Request
from tests.operator import samples


@dataclass
class Rules:
    """An admitter that does as told."""

    answer: Callable[[Request], Awaitable[Answer]]
    asked: list[Request] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    async def validate(self, request: Request) -> Answer:
        self.asked.append(request)
        return await self.answer(request)

    async def mutate(self, request: Request) -> Answer:
        return await self.validate(request)

    def admitted(self, path: str, code: int, seconds: float) -> None:
        self.codes.append(code)


@dataclass
class Client:
    session: aiohttp.ClientSession
    url: str
    rules: Rules

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        data = io.BytesIO(body if isinstance(body, bytes) else orjson.dumps(body))
        async with self.session.post(f"{self.url}{path}", data=data) as response:
            raw = await response.read()
            return response.status, orjson.loads(raw) if response.content_type == "application/json" else raw


@asynccontextmanager
async def serving(answer: Callable[[Request], Awaitable[Answer]]) -> AsyncIterator[Client]:
    rules = Rules(answer)
    server = WebhookServer("127.0.0.1", 0, rules, rules)
    held = certificates.made(frozenset({"127.0.0.1"}), system.now(), Ages())
    server.use(held.leaf)
    await server.start()
    trusting = ssl.create_default_context(cadata=held.bundle)
    connector = aiohttp.TCPConnector(ssl=trusting)
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Client(session, f"https://127.0.0.1:{server.port}", rules)
    finally:
        await server.stop()


def review(item: dict[str, Any] | None = None, **request: Any) -> dict[str, Any]:
    """As an API server sends it (admission.k8s.io/v1)."""
    item = item or samples.workflow()
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "resource": {
                "group": "sluicegate.io",
                "version": "v1alpha1",
                "resource": KINDS[item["kind"]].plural,
            },
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["board"]},
            "object": item,
            **request,
        },
    }


async def allowing(_: Request) -> Answer:
    return Answer(warnings=("a risk",))


async def test_an_allowed_request_has_its_uid_and_its_warnings() -> None:
    async with serving(allowing) as client:
        code, answer = await client.post("/validate/agentworkflows", review())
        assert code == 200
        assert answer == {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "allowed": True,
                "warnings": ["a risk"],
            },
        }
        asked = client.rules.asked[0]
        assert (asked.caller, asked.kind, asked.operation, asked.old) == (
            "alice",
            "AgentWorkflow",
            "CREATE",
            None,
        )


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/validate",
        "/validate/",
        "/validate/pods",
        "/validate/agentworkflows/x",
        "/mutate/workflowrevisions",
        "/Validate/decisions",
    ],
)
async def test_an_unknown_path_is_404_and_asks_nobody(path: str) -> None:
    async with serving(allowing) as client:
        code, answer = await client.post(path, review())
        assert code == 404
        assert b"allowed" not in answer
        assert client.rules.asked == []


_BROKEN = {
    "no JSON": b"{",
    "a list": [],
    "another kind": {"kind": "Pod"},
    "an older version": {**review(), "apiVersion": "admission.k8s.io/v1beta1"},
    "no request": {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"},
    "no uid": review(uid=""),
    "no user": review(userInfo={}),
    "another resource": review(resource={"group": "", "version": "v1", "resource": "pods"}),
    "an object of another kind": review(object=samples.component()),
    "an object without metadata": review(object={"kind": "AgentWorkflow"}),
    "no object": review(object=None),
    "an update without the old object": review(operation="UPDATE"),
    "an unknown operation": review(operation="CONNECT"),
}


@pytest.mark.parametrize("body", _BROKEN.values(), ids=_BROKEN)
async def test_a_malformed_review_is_400(body: Any) -> None:
    async with serving(allowing) as client:
        code, _ = await client.post("/validate/agentworkflows", body)
        assert code == 400
        assert client.rules.asked == []


async def test_a_body_beyond_the_limit_is_413() -> None:
    async with serving(allowing) as client:
        code, _ = await client.post("/validate/agentworkflows", b" " * (MAX_BODY + 1))
        assert code == 413
        assert client.rules.asked == []


async def test_a_denial_carries_every_problem() -> None:
    problems = (
        Problem(path="spec.version", message="is taken", value="1.0.0", allowed="another", hint="raise it"),
        Problem(path="spec.components", message="is empty"),
    )

    async def deny(_: Request) -> Answer:
        return Answer(code=422, reason="Invalid", message="two problems", problems=problems)

    async with serving(deny) as client:
        _, answer = await client.post("/validate/agentworkflows", review())
        status = answer["response"]["status"]
        assert answer["response"]["allowed"] is False
        assert (status["code"], status["reason"], status["message"]) == (422, "Invalid", "two problems")
        assert status["details"]["name"] == "echo"
        assert status["details"]["causes"] == [
            {
                "reason": "FieldValueInvalid",
                "field": "spec.version",
                "message": "is taken; got 1.0.0; allowed: another; hint: raise it",
            },
            {"reason": "FieldValueInvalid", "field": "spec.components", "message": "is empty"},
        ]


async def _bug(_: Request) -> Answer:
    raise KeyError("a bug")


async def _away(_: Request) -> Answer:
    raise Unavailable("the API server does not answer")


async def _slow(_: Request) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("fails", "code"), [(_bug, 500), (_away, 503), (_slow, 504)], ids=["bug", "away", "slow"]
)
async def test_whatever_fails_denies(fails: Any, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate.operator.cluster.webhook.SECONDS", 0.2)
    async with serving(fails) as client:
        status, answer = await client.post("/validate/agentworkflows", review())
        assert status == 200
        assert answer["response"]["allowed"] is False
        assert answer["response"]["status"]["code"] == code
        assert "a bug" not in str(answer), "internals stay inside"
        status, _ = await client.post("/mutate/agentworkflows", review())
        assert status == code, "nothing is filled in; failurePolicy Ignore goes on"
        assert client.rules.codes == [code, code]


async def test_what_is_filled_in_is_a_json_patch() -> None:
    async def fill(_: Request) -> Answer:
        return Answer(patch=({"op": "add", "path": "/spec/decidedBy", "value": "alice"},))

    async with serving(fill) as client:
        _, answer = await client.post("/mutate/agentworkflows", review())
        assert answer["response"]["patchType"] == "JSONPatch"
        patch = orjson.loads(base64.b64decode(answer["response"]["patch"]))
        assert patch == [{"op": "add", "path": "/spec/decidedBy", "value": "alice"}]


async def test_a_new_certificate_is_used_for_new_connections_and_open_ones_go_on() -> None:
    rules = Rules(allowing)
    server = WebhookServer("127.0.0.1", 0, rules, rules)
    one, two = (certificates.made(frozenset({"127.0.0.1"}), system.now(), Ages()) for _ in range(2))
    server.use(one.leaf)
    await server.start()
    url = f"https://127.0.0.1:{server.port}/validate/agentworkflows"

    def session(held: certificates.Certificates) -> aiohttp.ClientSession:
        trusting = ssl.create_default_context(cadata=held.bundle)
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting))

    async with session(one) as early, session(two) as late:
        async with early.post(url, data=orjson.dumps(review())) as response:
            assert response.status == 200
        server.use(two.leaf)
        async with late.post(url, data=orjson.dumps(review())) as response:
            assert response.status == 200
        async with early.post(url, data=orjson.dumps(review())) as response:
            assert response.status == 200
    await server.stop()


def _workflow(author: str | None, version: str = "1.0.0") -> dict[str, Any]:
    item = samples.workflow(version=version)
    if author is not None:
        item["metadata"]["annotations"] = {CHANGED_BY: author}
    return item


# old author and version (None: create), new author and version, may attest -> the author in the end.
# From the rule of rollout.authority: whoever changes the spec is its author, or names one with the right to.
_AUTHORS = {
    "a new one": (None, (None, "1"), False, "bob"),
    "a new one in the caller's name": (None, ("bob", "1"), False, "bob"),
    "a new one in another's name is left to the policy": (None, ("alice", "1"), False, "alice"),
    "a change": (("alice", "1"), (None, "2"), False, "bob"),
    "a change under the name that stands there": (("alice", "1"), ("alice", "2"), False, "bob"),
    "a bot names the same author again": (("alice", "1"), ("alice", "2"), True, "alice"),
    "a bot that names nobody is not the author": (None, (None, "1"), True, None),
    "a bot that changes and names nobody": (("alice", "1"), (None, "2"), True, None),
    "a bot that changes what was nobody's": ((None, "1"), (None, "2"), True, None),
    "a bot that leaves the spec alone": (("alice", "1"), (None, "1"), True, "alice"),
    "a bot that names itself": (("alice", "1"), ("bob", "2"), True, "bob"),
    "a bot names another": (("alice", "1"), ("carol", "2"), True, "carol"),
    "the same spec keeps its author": (("alice", "1"), ("alice", "1"), False, "alice"),
    "the same spec, replaced without the name": (("alice", "1"), (None, "1"), False, "alice"),
    "the same spec of nobody stays nobody's": ((None, "1"), (None, "1"), False, None),
}


@pytest.mark.parametrize(("old", "new", "attests", "expected"), _AUTHORS.values(), ids=_AUTHORS)
def test_the_author_is_who_changed_the_spec(old: Any, new: Any, attests: bool, expected: str | None) -> None:
    before, after = None if old is None else _workflow(*old), _workflow(*new)
    patch = list(webhook_stamps.author_patch(before, after, "bob", attests=attests))
    annotations = dict(after["metadata"].get("annotations") or {})
    for operation in patch:
        assert operation["op"] == "add"
        if operation["path"] == "/metadata/annotations":
            assert not annotations
            annotations = operation["value"]
        else:
            assert operation["path"] == "/metadata/annotations/sluicegate.io~1changed-by"
            annotations[CHANGED_BY] = operation["value"]
    assert annotations.get(CHANGED_BY) == expected


def test_a_decision_gets_its_decider_and_belongs_to_its_target() -> None:
    item = {"metadata": {"name": "d"}, "spec": {"action": "Abort", "target": {"name": "echo-1", "uid": "u"}}}
    owner = {"apiVersion": "sluicegate.io/v1alpha1", "kind": "WorkflowRollout", "name": "echo-1", "uid": "u"}
    assert list(webhook_stamps.decision_patch(item, "alice")) == [
        {"op": "add", "path": "/spec/decidedBy", "value": "alice"},
        {"op": "add", "path": "/metadata/ownerReferences", "value": [owner]},
    ]


@pytest.mark.parametrize(
    "spec", [None, {}, {"decidedBy": "eve", "target": {"name": "x"}}, {"decidedBy": "eve", "target": 3}]
)
def test_what_a_person_named_or_left_unclear_stays(spec: Any) -> None:
    patch = list(webhook_stamps.decision_patch({"metadata": {}, "spec": spec}, "alice"))
    assert [one["path"] for one in patch] == (["/spec/decidedBy"] if spec == {} else [])
