"""The API over a real Unix socket, with the store and the intake behind it. Who may do what: a small rule of its own."""

import asyncio
import io
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources import AgentComponent, Resource
from sluicegate.operator.api import server as api
from sluicegate.operator.api.callers import Peer, user_name
from sluicegate.operator.api.context import BASE, Api
from sluicegate.operator.api.intake import Intake
from sluicegate.operator.ports import ref_of
from sluicegate.operator.resources.store import SqliteStore
from sluicegate.operator.resources.watch import LocalStore
from sluicegate.rollout.model import Admission, Ref
from tests.operator.samples import Json, component, workflow

ME = user_name(os.geteuid())
ONE = f"{BASE}/namespaces/default/agentcomponents"


@dataclass
class Rules:
    """Owner "forbidden" and "wrong" are refused, "odd" is warned of; a workflow named keep may not go."""

    callers: list[str] = field(default_factory=list)

    async def admit(self, old: Resource | None, new: Resource | None, peer: Peer) -> Admission:
        self.callers.append(peer.name)
        if new is None:
            keep = old is not None and old.metadata.name == "keep"
            return Admission(problems=(Problem(path="", message="it stays"),) if keep else (), forbidden=True)
        owner = new.spec.owner if isinstance(new, AgentComponent) else ""
        if owner in {"forbidden", "wrong"}:
            problem = Problem(path="spec.owner", message="not this one", value=owner, allowed="a team")
            return Admission(problems=(problem,), forbidden=owner == "forbidden")
        return Admission(warnings=('an "odd" owner\nindeed',) if owner == "odd" else ())


class Nothing:
    async def find(self, **filters: Any) -> list[Json]:
        return [{"reason": "Asked", **{key: value for key, value in filters.items() if value}}]

    async def runs(self, filters: dict[str, str], limit: int) -> list[Json]:
        if filters.get("workflow") == "crash":
            raise RuntimeError("secret detail")
        return [{"filters": filters, "limit": limit}]

    async def run(self, run_id: str) -> list[Json]:
        return [{"run_id": run_id}] if run_id == "known" else []

    async def fallbacks(self, filters: dict[str, str], limit: int) -> list[Json]:
        return [filters]

    async def ablated(self, filters: dict[str, str]) -> list[Json]:
        return [filters]

    async def units(self, filters: dict[str, str], after: int, limit: int) -> list[Json]:
        return [{**filters, "after": after, "limit": limit}]

    async def counts(self) -> Json:
        return {"runs": 3}


@dataclass
class Reply:
    code: int
    body: Any
    headers: Any


@dataclass
class Served:
    session: aiohttp.ClientSession
    store: LocalStore
    rules: Rules
    unready: list[str]

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        raw = body if isinstance(body, bytes | None) else orjson.dumps(body)
        names = {key.replace("_", "-"): value for key, value in headers.items()}
        async with self.session.request(
            method, f"http://local{path}", data=None if raw is None else io.BytesIO(raw), headers=names
        ) as answer:
            return Reply(answer.status, await answer.json(), answer.headers)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    path = tmp_path / ("long-" * 25) / "api.sock"  # longer than a socket address may be
    path.parent.mkdir()
    path.write_text("left by a killed process")
    store, rules, nothing = LocalStore(SqliteStore(tmp_path / "resources.db", history=60)), Rules(), Nothing()
    unready: list[str] = []

    async def reasons() -> list[str]:
        return unready

    runner = await api.serve(
        Api(
            store=store,
            intake=Intake(store, rules),
            events=nothing,
            lineage=nothing,
            about=lambda: {"version": "1"},
            unready=reasons,
        ),
        path,
    )
    folder = os.open(path.parent, os.O_RDONLY)
    connector = aiohttp.UnixConnector(path=f"/proc/self/fd/{folder}/api.sock")
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Served(session, store, rules, unready)
    os.close(folder)
    await runner.cleanup()
    store.close()


def causes(reply: Reply) -> list[tuple[str, str]]:
    assert reply.body["kind"] == "Status"
    return [(cause["field"], cause["message"]) for cause in reply.body["details"].get("causes", [])]


def apply(*documents: Json) -> Json:
    return {"documents": list(documents)}


async def test_create_get_list_replace_delete(served: Served) -> None:
    made = await served.call("POST", ONE, component())
    assert (made.code, made.headers["Sluicegate-Operation"]) == (201, "created")
    assert (await served.call("GET", f"{ONE}/planner")).body == made.body
    listed = (await served.call("GET", f"{BASE}/agentcomponents")).body
    assert (listed["kind"], listed["items"]) == ("AgentComponentList", [made.body])
    assert listed["metadata"]["resourceVersion"] == made.body["metadata"]["resourceVersion"]
    changed = await served.call("PUT", f"{ONE}/planner", {**made.body, "spec": {"owner": "team-b"}})
    assert (changed.code, changed.body["metadata"]["generation"]) == (200, 2)
    stale = await served.call("PUT", f"{ONE}/planner", {**made.body, "spec": {"owner": "team-c"}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    gone = await served.call("DELETE", f"{ONE}/planner")
    assert gone.body["metadata"]["deletionTimestamp"]
    assert (await served.call("GET", f"{ONE}/planner")).code == 404


async def test_put_without_apply_needs_the_object_and_post_its_absence(served: Served) -> None:
    assert (await served.call("PUT", f"{ONE}/planner", component())).code == 404
    first = await served.call("PUT", f"{ONE}/planner?apply=1", component())
    assert first.code == 201
    assert (await served.call("POST", ONE, component())).code == 409
    again = await served.call("PUT", f"{ONE}/planner?apply=1", component())
    assert (again.code, again.headers["Sluicegate-Operation"]) == (200, "unchanged")
    assert again.body == first.body


async def test_an_apply_of_many_is_written_whole_or_not_at_all(served: Served) -> None:
    good = apply(component("a"), component("b"))
    wrong = apply(component("c"), component("d", owner="wrong"), {"kind": "Nonsense"}, component("c"))
    refused = await served.call("POST", f"{BASE}/apply", wrong)
    assert refused.code == 422
    assert {field for field, _ in causes(refused)} >= {"kind", "apiVersion", "metadata.name"}
    refused = await served.call("POST", f"{BASE}/apply", apply(component("c"), component("d", owner="wrong")))
    assert causes(refused) == [("spec.owner", "not this one")]
    assert (await served.call("GET", ONE)).body["items"] == []
    done = (await served.call("POST", f"{BASE}/apply", good)).body
    assert [item["operation"] for item in done["items"]] == ["created", "created"]
    version = (await served.call("GET", ONE)).body["metadata"]["resourceVersion"]
    mixed = apply(component("a"), component("b", owner="team-b"), component("c"))
    done = (await served.call("POST", f"{BASE}/apply", mixed)).body
    assert [item["operation"] for item in done["items"]] == ["unchanged", "configured", "created"]
    assert done["items"][1]["previous"]["spec"] == {"owner": "team-a"}
    assert int((await served.call("GET", ONE)).body["metadata"]["resourceVersion"]) == int(version) + 2


async def test_a_dry_run_shows_the_object_and_stores_nothing(served: Served) -> None:
    would = (await served.call("POST", f"{BASE}/apply?dryRun=All", apply(component()))).body
    assert would["dryRun"] is True
    assert would["items"][0]["object"]["metadata"]["generation"] == 1
    assert (await served.call("GET", ONE)).body["metadata"]["resourceVersion"] == "0"
    assert (await served.call("POST", f"{BASE}/apply?dryRun=yes", apply(component()))).code == 422
    await served.call("POST", ONE, component())
    assert (await served.call("DELETE", f"{ONE}/planner?dryRun=All")).code == 200
    assert (await served.call("GET", f"{ONE}/planner")).code == 200


async def test_apply_keeps_what_others_put_into_the_metadata(served: Served) -> None:
    made = await served.call("POST", ONE, component(finalizers=["a/b"], annotations={"other": "1"}))
    await served.call(
        "PUT", f"{ONE}/planner?apply=1", component(annotations={"mine": "2"}, labels={"a": "b"})
    )
    metadata = (await served.call("GET", f"{ONE}/planner")).body["metadata"]
    assert metadata["finalizers"] == ["a/b"]
    assert metadata["annotations"] == {"other": "1", "mine": "2", "sluicegate.io/changed-by": ME}
    assert metadata["generation"] == 1
    assert made.code == 201


async def test_the_caller_is_the_peer_of_the_socket(served: Served) -> None:
    assert (await served.call("GET", "/whoami")).body == {"name": ME, "user": ME, "uid": os.geteuid()}
    await served.call("POST", ONE, component(annotations={"sluicegate.io/changed-by": "somebody-else"}))
    held = (await served.call("GET", f"{ONE}/planner")).body
    assert held["metadata"]["annotations"]["sluicegate.io/changed-by"] == ME
    assert served.rules.callers == [ME]


@pytest.mark.parametrize("header", ["Impersonate_User", "Sluicegate_As"])
async def test_root_and_the_owner_may_act_in_another_name_and_both_are_recorded(
    served: Served, header: str
) -> None:
    name = f"alice (by {ME})"
    assert (await served.call("GET", "/whoami", **{header: "alice"})).body["name"] == name
    await served.call("POST", ONE, component(), **{header: "alice"})
    again = component(labels={"a": "b"})
    await served.call("PUT", f"{ONE}/planner?apply=1", again)
    held = (await served.call("GET", f"{ONE}/planner")).body
    assert held["metadata"]["annotations"]["sluicegate.io/changed-by"] == name, "the author of the spec"
    assert served.rules.callers == [name, ME]
    odd = await served.call("GET", "/whoami", **{header: "alice (by root)"})
    assert odd.code == 403


async def test_a_decision_is_the_callers(served: Served) -> None:
    rollout = await served.store.create(
        {**workflow(), "kind": "WorkflowRollout", "spec": {"workflow": "echo"}}
    )
    target = {"kind": "WorkflowRollout", "name": "echo", "uid": rollout["metadata"]["uid"]}

    def decision(**spec: Any) -> Json:
        metadata = {"name": f"d-{len(served.rules.callers)}"}
        return {"metadata": metadata, "spec": {"action": "Abort", "target": target, **spec}}

    path = f"{BASE}/namespaces/default/decisions"
    assert (await served.call("POST", path, decision())).body["spec"]["decidedBy"] == ME
    acted = await served.call("POST", path, decision(decidedBy="alice"), Impersonate_User="alice")
    assert acted.body["spec"]["decidedBy"] == f"alice (by {ME})"
    other = await served.call("POST", path, decision(decidedBy="bob"))
    assert other.body["spec"]["decidedBy"] == "bob", "left as it is: admission refuses it"


async def test_a_decision_goes_with_what_it_is_about(served: Served) -> None:
    rollout = await served.store.create(
        {**workflow(), "kind": "WorkflowRollout", "spec": {"workflow": "echo"}}
    )
    target = {"kind": "WorkflowRollout", "name": "echo", "uid": rollout["metadata"]["uid"]}
    thief = [{"kind": "AgentWorkflow", "name": "other", "uid": "other"}]
    body = {
        "metadata": {"name": "stop", "ownerReferences": thief},
        "spec": {"action": "Abort", "target": target},
    }
    path = f"{BASE}/namespaces/default/decisions"
    made = await served.call("POST", path, body)
    assert made.body["metadata"]["ownerReferences"] == [target], "the server knows better"
    await served.store.delete(ref_of(rollout))
    assert (await served.call("GET", f"{path}/stop")).code == 404


async def test_what_the_operator_makes_is_not_for_people(served: Served) -> None:
    await served.store.create({**workflow(), "kind": "WorkflowRevision", "spec": {"workflow": "echo"}})
    path = f"{BASE}/namespaces/default/workflowrevisions/echo"
    for reply in (
        await served.call("DELETE", path),
        await served.call("PUT", f"{ONE}/planner/status", {"status": {}}),
    ):
        assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    forbidden = await served.call("POST", ONE, component(owner="forbidden"))
    assert (forbidden.code, causes(forbidden)) == (403, [("spec.owner", "not this one")])
    await served.call("POST", f"{BASE}/namespaces/default/agentworkflows", workflow("keep"))
    assert (await served.call("DELETE", f"{BASE}/namespaces/default/agentworkflows/keep")).code == 403


async def test_warnings_come_in_one_line_of_a_header(served: Served) -> None:
    reply = await served.call("POST", ONE, component(owner="odd"))
    assert reply.headers["Warning"] == '299 - "an \\"odd\\" owner indeed"'


BAD: dict[str, tuple[str, str, Any, int]] = {
    "not JSON": ("POST", ONE, b"{nonsense", 400),
    "no body": ("POST", ONE, b"", 400),
    "not an object": ("POST", ONE, [1], 422),
    "nothing to apply": ("POST", f"{BASE}/apply", {"documents": []}, 422),
    "another name than the path": ("PUT", f"{ONE}/other?apply=1", component(), 422),
    "another kind than the path": ("POST", ONE, workflow(), 422),
    "unknown field": ("POST", ONE, {**component(), "spec": {"owner": "a", "ownr": "b"}}, 422),
    "metadata of a wrong type": ("POST", ONE, {**component(), "metadata": 5}, 422),
    "unknown resource": ("GET", f"{BASE}/pods", None, 404),
    "unknown path": ("GET", "/nowhere", None, 404),
    "wrong method": ("PATCH", f"{ONE}/planner", {}, 405),
    "too large": ("POST", ONE, b" " * (api.MAX_BODY + 1), 413),
    "larger than a file may be": ("POST", ONE, component(owner="x" * 2_000_000), 422),
    "too deep": ("POST", ONE, {**component(), "spec": {"owner": [[[[]]]]}}, 422),
    "bad version": ("GET", f"{ONE}?watch=1&resourceVersion=x", None, 422),
    "bad limit": ("GET", "/events?limit=-1", None, 422),
    "bad selector": ("GET", f"{ONE}?labelSelector=a", None, 422),
    "unknown filter": ("GET", "/lineage/runs?workfow=a", None, 422),
    "unknown run": ("GET", "/lineage/runs/nothing", None, 404),
    "a bug": ("GET", "/lineage/runs?workflow=crash", None, 500),
}


@pytest.mark.parametrize("case", BAD, ids=str)
async def test_every_failure_is_a_status_and_the_server_lives_on(served: Served, case: str) -> None:
    method, path, body, code = BAD[case]
    reply = await served.call(method, path, body)
    assert (reply.code, reply.body["kind"], reply.body["code"]) == (code, "Status", code)
    text = orjson.dumps(reply.body).decode()
    assert reply.body["message"]
    assert "Traceback" not in text
    assert "secret detail" not in text
    assert (await served.call("GET", "/healthz")).code == 200


async def test_reads_pass_their_filters_on(served: Served) -> None:
    runs = await served.call("GET", "/lineage/runs?workflow=echo&arm=stable&limit=7")
    assert runs.body["items"] == [{"filters": {"workflow": "echo", "arm": "stable"}, "limit": 7}]
    assert (await served.call("GET", "/lineage/runs/known")).body["items"] == [{"run_id": "known"}]
    assert (await served.call("GET", "/lineage/fallbacks?rollout=u")).body["items"] == [
        {"rollout": "u", "attempt": "1"}
    ]
    ablated = await served.call("GET", "/lineage/ablated?rollout=u&stage=Canary")
    assert ablated.body["items"] == [{"rollout": "u", "stage": "Canary", "attempt": "1"}]
    units = await served.call("GET", "/lineage/units?rollout=u&after=7")
    assert units.body["items"] == [{"rollout": "u", "attempt": "1", "after": 7, "limit": 1000}]
    assert (await served.call("GET", "/lineage/counts")).body == {"runs": 3}
    events = await served.call("GET", "/events?workflow=echo")
    assert events.body["items"] == [{"reason": "Asked", "workflow": "echo", "limit": 200}]


async def test_readiness_says_why_not(served: Served) -> None:
    assert (await served.call("GET", "/readyz")).code == 200
    served.unready.append("0 of 1 gateway workers listen")
    reply = await served.call("GET", "/readyz")
    assert (reply.code, reply.body["message"]) == (503, "0 of 1 gateway workers listen")


async def lines(response: aiohttp.ClientResponse, count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(90):
        while len(found) < count:
            line = (await response.content.readline()).strip()
            if line:
                event = orjson.loads(line)
                found.append((event["type"], event["object"]["metadata"]["name"]))
    return found


async def test_a_watch_gives_what_is_then_what_happens_and_resumes(served: Served) -> None:
    first = await served.call("POST", ONE, component("first"))
    async with served.session.get(f"http://local{ONE}?watch=1") as stream:
        assert await lines(stream, 1) == [("ADDED", "first")]
        await served.call("POST", ONE, component("second"))
        await served.call(
            "POST",
            f"{BASE}/namespaces/shop/agentcomponents",
            {"metadata": {"name": "far"}, "spec": {"owner": "a"}},
        )
        await served.call("DELETE", f"{ONE}/first")
        assert await lines(stream, 2) == [("ADDED", "second"), ("DELETED", "first")]
    after = first.body["metadata"]["resourceVersion"]
    async with served.session.get(f"http://local{ONE}?watch=1&resourceVersion={after}") as stream:
        assert await lines(stream, 2) == [("ADDED", "second"), ("DELETED", "first")]


async def test_a_watch_ends_when_asked_and_is_gone_when_too_late(served: Served) -> None:
    async with served.session.get(f"http://local{ONE}?watch=1&timeoutSeconds=1") as stream:
        assert await stream.content.read() == b""
    await served.call("POST", ONE, component())
    for number in range(150):
        await served.store.update(component(owner=f"team-{number}"))
    reply = await served.call("GET", f"{ONE}?watch=1&timeoutSeconds=soon")
    assert (reply.code, causes(reply)) == (422, [("timeoutSeconds", "not a whole number in range")])
    reply = await served.call("GET", f"{ONE}?watch=1&resourceVersion=1")
    assert (reply.code, reply.body["reason"]) == (410, "Expired")


async def test_applies_at_the_same_time_all_count(served: Served) -> None:
    """Each changes another label; apply replaces labels, so the last one stays, and every write was taken."""
    await served.call("POST", ONE, component())
    replies = await asyncio.gather(
        *(served.call("PUT", f"{ONE}/planner?apply=1", component(owner=f"team-{n}")) for n in range(12))
    )
    assert {reply.code for reply in replies} <= {200, 409}
    taken = sum(reply.code == 200 for reply in replies)
    held = await served.store.get(Ref("AgentComponent", "default", "planner"))
    assert held["metadata"]["generation"] == 1 + taken
