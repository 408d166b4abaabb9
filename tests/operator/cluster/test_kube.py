"""The client on a real kube-apiserver: errors as they come, and what is tried again through a proxy that fails."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
import yaml

from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Refused, Unavailable
from sluicegate.operator.cluster.kube import DynamicApi, connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.ports import CONFIG_MAPS, SECRETS, Api, Seen, own
from sluicegate.operator.ports import ChangeType, Json
from sluicegate.operator.resources.store import Expired
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.kubes import Counted, client, eventually
from tests.operator.samples import component
from tests.support import faults
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Rule

pytestmark = pytest.mark.cluster
NUMBERS = itertools.count(1)
PLACE = "kube-client"
REVIEWS = Api(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)


@pytest.fixture(scope="module")
def plane_(installed: ControlPlane) -> ControlPlane:
    installed.kubectl("create", "namespace", PLACE)
    installed.kubectl("create", "serviceaccount", "writer", "-n", PLACE)
    installed.allow(f"account:{PLACE}:writer", "cluster-admin")
    return installed


@pytest.fixture(scope="module")
def proxy(plane_: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane_) as running:
        yield running


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
async def api(plane_: ControlPlane, counted: Counted) -> AsyncIterator[DynamicApi]:
    async with client(plane_.kubeconfig(), counted) as found:
        yield found


@pytest.fixture
async def shaky(proxy: FaultProxy, counted: Counted) -> AsyncIterator[DynamicApi]:
    """Through the proxy; 5 seconds for a call."""
    proxy.plan()
    path = proxy.account_kubeconfig(PLACE, "writer")
    async with client(path, counted, seconds=15.0) as found:
        yield found
    proxy.plan()


def config_map(**data: str) -> Json:
    return {"metadata": {"name": f"map-{next(NUMBERS)}", "namespace": PLACE}, "data": data}


def codes(counted: Counted) -> list[int]:
    return [code for _, _, code in counted.calls]


# Errors as the API server words them


async def test_opening_a_client_makes_no_call_and_the_first_read_makes_one(
    api: DynamicApi, counted: Counted
) -> None:
    assert counted.calls == []
    await api.list(CONFIG_MAPS)
    assert counted.calls == [("list", "configmaps", 200)]


async def test_a_taken_name_is_a_conflict(api: DynamicApi) -> None:
    item = config_map()
    await api.create(CONFIG_MAPS, item, manager="tests")
    with pytest.raises(Conflict, match="already exists"):
        await api.create(CONFIG_MAPS, item, manager="tests")


async def test_an_absent_object_is_not_found_but_an_absent_kind_is_unavailable(api: DynamicApi) -> None:
    with pytest.raises(NotFound, match="nobody"):
        await api.get(CONFIG_MAPS, PLACE, "nobody")
    with pytest.raises(NotFound, match="nowhere"):
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "nowhere"}}, manager="tests")
    for group in ("sluicegate.io", "example.com"):
        with pytest.raises(Unavailable, match="does not serve this kind"):
            await api.get(Api(group=group, version="v1", kind="Ship", plural="ships"), PLACE, "nobody")


async def test_a_stale_replace_and_a_stale_apply_are_conflicts(api: DynamicApi) -> None:
    made = await api.create(CONFIG_MAPS, config_map(a="1"), manager="tests")
    await api.replace(CONFIG_MAPS, {**made, "data": {"a": "2"}}, manager="tests")
    for write in (api.replace, api.apply):
        with pytest.raises(Conflict, match="modified"):
            await write(CONFIG_MAPS, {**made, "data": {"a": "3"}}, manager="tests")


async def test_an_apply_of_another_or_of_no_object_with_a_uid_is_a_conflict(api: DynamicApi) -> None:
    made = await api.create(CONFIG_MAPS, config_map(), manager="tests")
    for name in (made["metadata"]["name"], "nobody"):
        metadata = {"name": name, "namespace": PLACE, "uid": "another"}
        with pytest.raises(Conflict):
            await api.apply(CONFIG_MAPS, {"metadata": metadata}, manager="tests")
    with pytest.raises(Conflict, match="UID"):
        await api.delete(CONFIG_MAPS, PLACE, made["metadata"]["name"], uid="another")


async def test_fields_that_are_not_applied_any_more_are_gone(api: DynamicApi) -> None:
    item = config_map(a="1", b="2")
    await api.apply(CONFIG_MAPS, item, manager="tests")
    left = await api.apply(CONFIG_MAPS, {**item, "data": {"a": "3"}}, manager="tests")
    assert left["data"] == {"a": "3"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "other"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        {"op": "remove", "path": "/data/b"},
    ],
    ids=["value", "version", "gone"],
)
async def test_a_patch_that_does_not_fit_is_a_conflict(api: DynamicApi, operation: Json) -> None:
    made = await api.create(CONFIG_MAPS, config_map(a="1"), manager="tests")
    with pytest.raises(Conflict):
        await api.patch(CONFIG_MAPS, PLACE, made["metadata"]["name"], [operation], manager="tests")


async def test_every_cause_is_a_problem_with_its_path(api: DynamicApi) -> None:
    item = {"metadata": {"name": "Map", "namespace": PLACE}, "data": {"a b": "1"}}
    with pytest.raises(Refused) as refused:
        await api.create(CONFIG_MAPS, item, manager="tests")
    assert not isinstance(refused.value, Forbidden)
    assert [problem.path for problem in refused.value.problems] == ["metadata.name", "data[a b]"]


async def test_an_apply_that_the_schema_does_not_know_is_refused_and_not_tried_again(
    api: DynamicApi, counted: Counted
) -> None:
    """The server's code for it is 500."""
    with pytest.raises(Refused, match="not declared in schema"):
        await api.apply(CONFIG_MAPS, {**config_map(), "dota": {}}, manager="tests")
    assert codes(counted) == [500]
    with pytest.raises(Refused, match="not declared in schema"):
        await api.apply(own("AgentComponent"), component() | {"spec": {"owner": "a", "oner": 1}}, manager="t")


@pytest.mark.filterwarnings("ignore:Sending a large body")
async def test_too_large_an_object_is_refused(api: DynamicApi) -> None:
    with pytest.raises(Refused, match=r"[Tt]oo l"):
        await api.create(CONFIG_MAPS, config_map(a="x" * 4_000_000), manager="tests")


async def test_a_caller_without_the_right_is_forbidden_with_the_servers_words(
    plane_: ControlPlane,
) -> None:
    async with client(plane_.kubeconfig("mallory")) as api:
        with pytest.raises(Forbidden) as forbidden:
            await api.list(SECRETS, PLACE)
    (problem,) = forbidden.value.problems
    assert problem.message == (
        f'secrets is forbidden: User "mallory" cannot list resource "secrets" in API group "" in the namespace "{PLACE}"'
    )


async def test_an_admission_policy_speaks_in_its_own_words(plane_: ControlPlane, api: DynamicApi) -> None:
    """Its reason Forbidden is a 403, its reason Invalid (the default) a 422."""
    for reason, error in (("Forbidden", Forbidden), ("Invalid", Refused)):
        message = f"maps called {reason} are not wanted here"
        plane_.apply(*_policy(f"no-{reason.lower()}", reason, message))
        found = await _refused(api, f"no-{reason.lower()}")
        assert type(found) is error
        (problem,) = found.problems
        assert problem.message.endswith(f"denied request: {message}")


async def _refused(api: DynamicApi, name: str) -> Refused:
    """Of a create; a policy is in force a moment after it was made."""
    async with asyncio.timeout(60):
        while True:
            try:
                await api.create(
                    CONFIG_MAPS, {"metadata": {"name": name, "namespace": PLACE}}, manager="tests"
                )
            except Refused as found:
                return found
            await api.delete(CONFIG_MAPS, PLACE, name)


def _policy(name: str, reason: str, message: str) -> tuple[Json, Json]:
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [
                {"expression": f"object.metadata.name != '{name}'", "message": message, "reason": reason}
            ],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return policy, binding


async def test_credentials_that_are_not_known_are_forbidden_and_never_shown(
    plane_: ControlPlane, tmp_path: Path
) -> None:
    text = plane_.account_kubeconfig(PLACE, "writer").read_text()
    secret = tmp_path / "token"
    secret.write_text("very-secret")
    path = tmp_path / "kubeconfig"
    path.write_text(_with_token_file(text, secret))
    async with client(path) as api:
        with pytest.raises(Forbidden, match="credentials") as forbidden:
            await api.list(SECRETS)
    assert (
        "very-secret"
        not in f"{forbidden.value!r} {forbidden.value.__cause__!r} {forbidden.value.__context__!r}"
    )


def _with_token_file(kubeconfig: str, token: Path) -> str:
    loaded = yaml.safe_load(kubeconfig)
    loaded["users"][0]["user"] = {"tokenFile": str(token)}
    return str(yaml.safe_dump(loaded))


async def test_a_token_that_is_not_taken_is_read_again(
    plane_: ControlPlane, tmp_path: Path, counted: Counted
) -> None:
    secret, path = tmp_path / "token", tmp_path / "kubeconfig"
    path.write_text(_with_token_file(plane_.account_kubeconfig(PLACE, "writer").read_text(), secret))
    secret.write_text("expired")
    async with client(path, counted) as api:
        with pytest.raises(Forbidden):
            await api.list(CONFIG_MAPS, PLACE)
        secret.write_text(plane_.token(PLACE, "writer"))
        counted.calls.clear()
        await api.list(CONFIG_MAPS, PLACE)  # the file was read a moment ago, so "expired" goes out first
        secret.write_text("expired again")
        await api.list(CONFIG_MAPS, PLACE)  # not read again: within a minute
    assert codes(counted) == [401, 200, 200]


async def test_a_review_is_answered(api: DynamicApi) -> None:
    asked = {"resource": "secrets", "verb": "get", "namespace": PLACE}
    found = await api.review(REVIEWS, {"spec": {"resourceAttributes": asked}})
    assert found["status"]["allowed"] is True


# What is tried again


async def test_what_passes_is_tried_again(shaky: DynamicApi, proxy: FaultProxy, counted: Counted) -> None:
    proxy.plan(
        Rule(faults.too_many(1), when=faults.nth(1)),
        Rule(faults.broken(), when=faults.nth(1)),
        Rule(faults.refused, when=faults.nth(1)),
    )
    await shaky.list(CONFIG_MAPS, PLACE)
    assert codes(counted) == [429, 500, 0, 200]


async def test_what_does_not_pass_is_not_tried_again(
    shaky: DynamicApi, proxy: FaultProxy, counted: Counted
) -> None:
    proxy.plan(Rule(faults.conflict()))
    with pytest.raises(Conflict):
        await shaky.apply(CONFIG_MAPS, config_map(), manager="tests")
    assert codes(counted) == [409]


async def test_who_is_told_to_wait_beyond_the_deadline_does_not(
    shaky: DynamicApi, proxy: FaultProxy, counted: Counted
) -> None:
    proxy.plan(Rule(faults.too_many(60)))
    with pytest.raises(Unavailable) as unavailable:
        await shaky.list(CONFIG_MAPS, PLACE)
    assert unavailable.value.retry_after == 60
    assert codes(counted) == [429]


async def test_a_server_that_hangs_is_unavailable_after_the_deadline(
    proxy: FaultProxy, counted: Counted
) -> None:
    proxy.plan(Rule(faults.hang))
    async with client(proxy.account_kubeconfig(PLACE, "writer"), counted, seconds=4.0) as api:
        with pytest.raises(Unavailable, match="no answer"):
            await api.list(CONFIG_MAPS, PLACE)
    assert len(counted.calls) >= 2, "a call that hangs leaves time for another"
    proxy.plan()


async def test_nobody_listens(tmp_path: Path, plane_: ControlPlane) -> None:
    path = tmp_path / "kubeconfig"
    text = plane_.account_kubeconfig(PLACE, "writer").read_text()
    path.write_text(text.replace(f":{plane_.port}", ":9"))  # the discard port
    async with client(path, seconds=3.0) as api:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
            await api.list(CONFIG_MAPS, PLACE)


async def test_a_create_whose_answer_was_lost_answers_with_what_it_made(
    shaky: DynamicApi, proxy: FaultProxy, counted: Counted
) -> None:
    proxy.plan(Rule(faults.lost, verb="create", when=faults.nth(1)))
    item = config_map(a="1")
    made = await shaky.create(CONFIG_MAPS, item, manager="tests")
    assert made["data"] == {"a": "1"}
    assert codes(counted) == [0, 409, 200]


@pytest.mark.parametrize(
    ("data", "manager"),
    [({"a": "2"}, "tests"), ({"a": "1"}, "others")],
    ids=["other-content", "other-manager"],
)
async def test_a_name_that_another_took_stays_a_conflict_also_after_a_lost_answer(
    shaky: DynamicApi, proxy: FaultProxy, api: DynamicApi, data: dict[str, str], manager: str
) -> None:
    item = config_map(a="1")
    await api.create(CONFIG_MAPS, {**item, "data": data}, manager=manager)
    proxy.plan(Rule(faults.lost, verb="create", when=faults.nth(1)))
    with pytest.raises(Conflict, match="already exists"):
        await shaky.create(CONFIG_MAPS, item, manager="tests")


async def test_a_deletion_whose_answer_was_lost_is_done(shaky: DynamicApi, proxy: FaultProxy) -> None:
    made = await shaky.create(CONFIG_MAPS, config_map(), manager="tests")
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    proxy.plan(Rule(faults.lost, verb="delete", when=faults.nth(1)))
    assert await shaky.delete(CONFIG_MAPS, PLACE, name, uid=uid) is None
    proxy.plan()
    with pytest.raises(NotFound):
        await shaky.delete(CONFIG_MAPS, PLACE, name)


async def test_a_replace_whose_answer_was_lost_answers_with_what_it_made(
    shaky: DynamicApi, proxy: FaultProxy
) -> None:
    made = await shaky.create(CONFIG_MAPS, config_map(a="1"), manager="tests")
    proxy.plan(Rule(faults.lost, verb="update", when=faults.nth(1)))
    told = await shaky.replace(CONFIG_MAPS, {**made, "data": {"a": "2"}}, manager="tests")
    assert told["data"] == {"a": "2"}
    assert told == await shaky.get(CONFIG_MAPS, PLACE, made["metadata"]["name"])


async def test_an_apply_with_a_precondition_whose_answer_was_lost_answers_with_what_it_made(
    shaky: DynamicApi, proxy: FaultProxy
) -> None:
    """Also one that only takes a field away: nothing of it could be found in the object."""
    item = config_map(a="1", b="2")
    made = await shaky.apply(CONFIG_MAPS, item, manager="tests")
    for data in ({"a": "1"}, {"a": "3"}):
        metadata = {**item["metadata"], "resourceVersion": made["metadata"]["resourceVersion"]}
        proxy.plan(Rule(faults.lost, verb="patch", when=faults.nth(1)))
        made = await shaky.apply(CONFIG_MAPS, {"metadata": metadata, "data": data}, manager="tests")
        assert made["data"] == data


async def test_an_apply_whose_answer_was_lost_because_another_was_faster_stays_a_conflict(
    shaky: DynamicApi, proxy: FaultProxy, api: DynamicApi
) -> None:
    item = config_map(a="1", b="2")
    made = await shaky.apply(CONFIG_MAPS, item, manager="tests")
    await api.patch(
        CONFIG_MAPS,
        PLACE,
        item["metadata"]["name"],
        [{"op": "replace", "path": "/data/a", "value": "9"}],
        manager="others",
    )
    proxy.plan(Rule(faults.lost, verb="patch", when=faults.nth(1)))
    metadata = {**item["metadata"], "resourceVersion": made["metadata"]["resourceVersion"]}
    for data in ({"a": "1"}, {"a": "5"}):
        with pytest.raises(Conflict):
            await shaky.apply(CONFIG_MAPS, {"metadata": metadata, "data": data}, manager="tests")
    held = await api.get(CONFIG_MAPS, PLACE, item["metadata"]["name"])
    assert held["data"] == {"a": "9", "b": "2"}


async def test_a_patch_whose_answer_was_lost_is_a_conflict_to_look_at_again(
    shaky: DynamicApi, proxy: FaultProxy
) -> None:
    made = await shaky.create(CONFIG_MAPS, config_map(a="1"), manager="tests")
    proxy.plan(Rule(faults.lost, verb="patch", when=faults.nth(1)))
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]
    with pytest.raises(Conflict):
        await shaky.patch(CONFIG_MAPS, PLACE, made["metadata"]["name"], operations, manager="tests")


class Closing:
    """A fence that closes after so many questions."""

    def __init__(self, open_for: int) -> None:
        self.left = open_for

    def epoch(self) -> int:
        if self.left == 0:
            raise Unavailable("not the leader any more")
        self.left -= 1
        return 1


async def test_no_write_is_tried_again_behind_a_closed_fence(
    shaky: DynamicApi, proxy: FaultProxy, counted: Counted
) -> None:
    proxy.plan(Rule(faults.broken(), when=faults.first(2)))
    with pytest.raises(Unavailable, match="not the leader"):
        await shaky.guarded(Closing(2)).apply(CONFIG_MAPS, config_map(), manager="tests")
    assert codes(counted) == [500, 500]


async def test_reads_and_reviews_pass_a_closed_fence(api: DynamicApi) -> None:
    guarded = api.guarded(Closing(0))
    await guarded.list(CONFIG_MAPS, PLACE)
    await guarded.review(REVIEWS, {"spec": {"resourceAttributes": {"resource": "pods", "verb": "get"}}})
    for write in (
        guarded.create(CONFIG_MAPS, config_map(), manager="tests"),
        guarded.replace(CONFIG_MAPS, config_map(), manager="tests"),
        guarded.apply(CONFIG_MAPS, config_map(), manager="tests"),
        guarded.patch(CONFIG_MAPS, PLACE, "any", [], manager="tests"),
        guarded.delete(CONFIG_MAPS, PLACE, "any"),
    ):
        with pytest.raises(Unavailable, match="not the leader"):
            await write


# Watches


async def seen(api: DynamicApi, after: str, count: int) -> list[Seen]:
    """Events, until there are `count` or the stream ends."""
    found: list[Seen] = []
    async with asyncio.timeout(90), aclosing(api.watch(CONFIG_MAPS, PLACE, after=after)) as stream:
        async for one in stream:
            found.append(one)
            if len(found) == count:
                break
    return found


async def test_a_watch_tells_what_happened_after_a_list(api: DynamicApi) -> None:
    version = (await api.list(CONFIG_MAPS, PLACE)).version
    made = await api.create(CONFIG_MAPS, config_map(a="1"), manager="tests")
    name = made["metadata"]["name"]
    changed = await api.replace(CONFIG_MAPS, {**made, "data": {"a": "2"}}, manager="tests")
    await api.delete(CONFIG_MAPS, PLACE, name)
    found = await seen(api, version, 3)
    assert [one.type for one in found] == [ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED]
    assert [one.item for one in found[:2]] == [made, changed]
    assert [int(one.version) for one in found] == sorted(int(one.version) for one in found)
    assert [one.version for one in found[:2]] == [
        one["metadata"]["resourceVersion"] for one in (made, changed)
    ]


async def test_a_watch_of_labels_and_one_of_all_namespaces(api: DynamicApi) -> None:
    version = (await api.list(CONFIG_MAPS)).version
    for label in ("x", "y"):
        item = config_map(a=label)
        item["metadata"]["labels"] = {"team": label}
        await api.create(CONFIG_MAPS, item, manager="tests")
    async with asyncio.timeout(90):
        async with aclosing(api.watch(CONFIG_MAPS, labels={"team": "y"}, after=version)) as stream:
            first = await anext(stream)
    assert first.item is not None
    assert first.item["data"] == {"a": "y"}
    page = await api.list(CONFIG_MAPS, labels={"team": "y"})
    assert [item["data"] for item in page.items] == [{"a": "y"}]


async def test_a_watch_that_breaks_ends_with_the_last_whole_event(
    shaky: DynamicApi, proxy: FaultProxy
) -> None:
    version = (await shaky.list(CONFIG_MAPS, PLACE)).version
    made = [await shaky.create(CONFIG_MAPS, config_map(a=str(n)), manager="tests") for n in range(3)]
    proxy.plan(Rule(faults.cut(after=2), verb="watch", when=faults.nth(1)))
    found = await seen(shaky, version, 3)
    assert [one.item for one in found] == made[:2]
    rest = await seen(shaky, found[-1].version, 1)
    assert [one.item for one in rest] == made[2:]


async def test_a_watch_from_too_long_ago_is_expired(shaky: DynamicApi, proxy: FaultProxy) -> None:
    """As an event in the stream, and as the answer."""
    for fault in (faults.error_event(410, "Expired"), faults.gone()):
        proxy.plan(Rule(fault, verb="watch"))
        with pytest.raises(Expired):
            await seen(shaky, "1", 1)


async def test_another_error_in_a_watch_is_unavailable(shaky: DynamicApi, proxy: FaultProxy) -> None:
    for code in (500, 504, 429):
        proxy.plan(Rule(faults.error_event(code, "Whatever"), verb="watch"))
        with pytest.raises(Unavailable, match="injected"):
            await seen(shaky, "1", 1)


async def test_a_watch_is_opened_again_when_the_server_is_busy(shaky: DynamicApi, proxy: FaultProxy) -> None:
    version = (await shaky.list(CONFIG_MAPS, PLACE)).version
    await shaky.create(CONFIG_MAPS, config_map(), manager="tests")
    proxy.plan(Rule(faults.broken(), verb="watch", when=faults.first(2)))
    assert len(await seen(shaky, version, 1)) == 1


async def test_a_silent_watch_ends(plane_: ControlPlane) -> None:
    config = KubeConfig(kubeconfig=plane_.kubeconfig())
    async with connect(config, Counted(), silence=0.3) as api:
        version = (await api.list(CONFIG_MAPS, PLACE)).version
        async with asyncio.timeout(90):
            assert [one async for one in api.watch(CONFIG_MAPS, PLACE, after=version)] == []


async def test_a_watch_is_bounded_and_asks_for_bookmarks(shaky: DynamicApi, plane_: ControlPlane) -> None:
    """timeoutSeconds as an integer: the audit log has what the API server was asked for."""
    position = plane_.audit_position()
    version = (await shaky.list(CONFIG_MAPS, PLACE)).version
    await shaky.create(CONFIG_MAPS, config_map(), manager="tests")
    await seen(shaky, version, 1)

    def asked() -> list[str]:
        return [one.uri for one in plane_.audit(position) if one.verb == "watch" and "configmaps" in one.uri]

    async def has_asked() -> bool:
        return bool(asked())

    await eventually(has_asked)
    assert "timeoutSeconds=300" in asked()[0]
    assert "allowWatchBookmarks=true" in asked()[0]
