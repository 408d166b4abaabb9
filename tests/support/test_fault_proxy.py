"""The proxy's faults, as a client of a real API server meets them."""

import http.client
import itertools
import json
import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.operator.up import until
from tests.support import faults
from tests.support.asked import Asked, asked
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Rule

pytestmark = pytest.mark.cluster
NUMBERS = itertools.count(1)
ACCOUNT = "tested"


class Client:
    """A service account that comes through the proxy."""

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, namespace: str) -> None:
        self.namespace = namespace
        self._context = ssl.create_default_context(cafile=str(plane.authority.certificate))
        self._port = proxy.port
        self._token = plane.token(namespace, ACCOUNT)

    def send(
        self, method: str, path: str, body: Any = None, *, seconds: float = 20, token: str | None = None
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection(
            "localhost", self._port, context=self._context, timeout=seconds
        )
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if token != "":
            headers["Authorization"] = f"Bearer {token or self._token}"
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            return connection.getresponse()
        finally:
            connection.close()  # the response keeps the socket until it is read

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any, Any]:
        with self.send(method, path, body, **more) as response:
            return response.status, json.loads(response.read()), response.headers

    @property
    def maps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def create(self, name: str) -> int:
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "1"}}
        return self.ask("POST", self.maps, item)[0]


@pytest.fixture(scope="module")
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as running:
        yield running


@pytest.fixture(scope="module")
def account(plane: ControlPlane, proxy: FaultProxy) -> Iterator[Client]:
    """One that may edit its namespace."""
    namespace = f"faults-{next(NUMBERS)}"
    plane.kubectl("create", "namespace", namespace)
    plane.kubectl("create", "serviceaccount", ACCOUNT, "-n", namespace)
    plane.allow(f"account:{namespace}:{ACCOUNT}", "edit", namespace)
    client = Client(plane, proxy, namespace)
    until("the account may read", lambda: client.ask("GET", client.maps)[0] == 200)
    yield client
    plane.kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def client(proxy: FaultProxy, account: Client) -> Iterator[Client]:
    """Without faults, and without ConfigMaps of its own."""
    for name in ("one", "two"):
        account.ask("DELETE", f"{account.maps}/{name}")
    yield account
    proxy.plan()


def names(plane: ControlPlane, namespace: str) -> set[str]:
    found = {item["metadata"]["name"] for item in plane.get("configmaps", "-n", namespace)["items"]}
    return found - {"kube-root-ca.crt"}


def test_without_faults_requests_and_answers_pass_as_they_are(
    plane: ControlPlane, proxy: FaultProxy, client: Client
) -> None:
    assert client.create("one") == 201
    mark = plane.audit_position()
    status, item, _ = client.ask("GET", f"{client.maps}/one")
    assert (status, item["data"]) == (200, {"x": "1"})
    account = f"system:serviceaccount:{client.namespace}:{ACCOUNT}"
    until(
        "the account's own entry",
        lambda: [e for e in plane.audit(mark) if e.user == account and e.name == "one"],
    )
    kubeconfig = str(proxy.account_kubeconfig(client.namespace, ACCOUNT))
    assert (
        plane.kubectl("get", "cm", "one", "-o", "name", "--kubeconfig", kubeconfig).stdout
        == "configmap/one\n"
    )


@pytest.mark.parametrize(("token", "code"), [("", 403), ("made-up", 401)])
def test_the_proxy_adds_no_rights(client: Client, token: str, code: int) -> None:
    assert client.ask("GET", client.maps, token=token)[0] == code


def test_what_the_account_may_not_do_is_refused_by_the_server(client: Client) -> None:
    status, answer, _ = client.ask("GET", "/api/v1/secrets")
    assert status == 403
    assert f"system:serviceaccount:{client.namespace}:{ACCOUNT}" in answer["message"]


ANSWERS = {
    "conflict": (faults.conflict(), 409, "Conflict", None),
    "gone": (faults.gone(), 410, "Expired", None),
    "too many": (faults.too_many(7), 429, "TooManyRequests", "7"),
    "broken": (faults.broken(), 500, "InternalError", None),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_instead_of_the_deed(
    plane: ControlPlane, proxy: FaultProxy, client: Client, case: str
) -> None:
    fault, code, reason, wait = ANSWERS[case]
    proxy.plan(Rule(fault, verb="create", resource="configmaps", when=faults.first(1)))
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    status, answer, headers = client.ask("POST", client.maps, item)
    assert (status, answer["kind"], answer["reason"], answer["code"]) == (code, "Status", reason, code)
    assert headers["Retry-After"] == wait
    assert names(plane, client.namespace) == set()
    assert client.create("one") == 201


def test_a_lost_answer_is_of_a_deed_that_was_done(
    plane: ControlPlane, proxy: FaultProxy, client: Client
) -> None:
    proxy.plan(Rule(faults.lost, verb="create", when=faults.first(1)))
    with pytest.raises(ConnectionError):
        client.create("one")
    assert names(plane, client.namespace) == {"one"}
    assert client.create("one") == 409


def test_a_refused_connection_did_nothing(plane: ControlPlane, proxy: FaultProxy, client: Client) -> None:
    proxy.plan(Rule(faults.refused, verb="create", when=faults.first(1)))
    with pytest.raises(ConnectionError):
        client.create("one")
    assert names(plane, client.namespace) == set()


def test_a_hang_is_left_by_the_clients_patience_only(
    plane: ControlPlane, proxy: FaultProxy, client: Client
) -> None:
    proxy.plan(Rule(faults.hang, verb="delete"))
    assert client.create("one") == 201
    with pytest.raises(TimeoutError):
        client.ask("DELETE", f"{client.maps}/one", seconds=0.3)
    assert names(plane, client.namespace) == {"one"}


def test_a_slow_answer_is_the_servers(proxy: FaultProxy, client: Client) -> None:
    proxy.plan(Rule(faults.slow(0.5), verb="list"))
    with pytest.raises(TimeoutError):
        client.ask("GET", client.maps, seconds=0.1)
    status, found, _ = client.ask("GET", client.maps)
    assert (status, found["kind"]) == (200, "ConfigMapList")


def watched(client: Client) -> Iterator[dict[str, Any]]:
    with client.send(
        "GET", f"{client.maps}?watch=true&fieldSelector=metadata.name%21%3Dkube-root-ca.crt"
    ) as response:
        while line := response.readline():
            yield json.loads(line)


def test_a_watch_streams_as_it_comes(client: Client) -> None:
    events = watched(client)
    for name in ("one", "two"):
        client.create(name)
        event = next(events)
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
    events.close()  # type: ignore[attr-defined]


def test_a_watch_is_cut_in_the_middle_of_a_line(proxy: FaultProxy, client: Client) -> None:
    client.create("one")
    client.create("two")
    proxy.plan(Rule(faults.cut(after=1), verb="watch"))
    events = watched(client)
    assert next(events)["type"] == "ADDED"
    with pytest.raises((ConnectionError, http.client.IncompleteRead, json.JSONDecodeError)):
        next(events)


def test_a_watch_ends_with_an_error_event(proxy: FaultProxy, client: Client) -> None:
    client.create("one")
    proxy.plan(Rule(faults.error_event(410, "Expired", after=1), verb="watch"))
    first, last = watched(client)
    assert first["type"] == "ADDED"
    assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_cut_all_ends_the_watches_that_run(proxy: FaultProxy, client: Client) -> None:
    client.create("one")
    events = watched(client)
    next(events)
    proxy.cut_all()
    with suppress(ConnectionError, http.client.IncompleteRead):  # http.client tells some resets as an end
        assert next(events, None) is None
    assert client.ask("GET", client.maps)[0] == 200


def test_the_first_rule_that_meets_a_request_happens_and_all_is_noted(
    proxy: FaultProxy, client: Client
) -> None:
    never = Rule(faults.broken(), verb="watch")
    second = Rule(faults.conflict(), resource="configmaps", when=faults.nth(2))
    always = Rule(faults.broken(), verb="get|list", name="one")
    proxy.plan(never, second, always)
    mark = len(proxy.passed)
    codes = [client.ask("GET", f"{client.maps}/{name}")[0] for name in ("one", "one", "other")]
    assert codes == [500, 409, 404]
    # What was answered is noted a moment after the answer.
    until("all is noted", lambda: all(passed.code for passed in proxy.passed[mark:]))
    assert [(passed.code, passed.fault) for passed in proxy.passed[mark:]] == [
        (500, always),
        (409, second),
        (404, None),
    ]
    assert [(rule.seen, rule.done) for rule in (never, second, always)] == [(0, 0), (3, 1), (1, 1)]


def test_chance_is_the_same_in_every_run_and_near_its_probability() -> None:
    once, again, other = faults.chance(0.3, 1), faults.chance(0.3, 1), faults.chance(0.3, 2)
    draws = [once(n) for n in range(1, 2001)]
    assert draws == [again(n) for n in range(1, 2001)]
    assert draws != [other(n) for n in range(1, 2001)]
    # 2000 draws of 0.3: the standard deviation of the sum is 20.5.
    assert abs(sum(draws) - 600) < 5 * 20.5


def test_when_counts_from_one() -> None:
    chosen = {"nth": faults.nth(2, 5), "first": faults.first(2), "every": faults.every(3)}
    assert {name: [n for n in range(1, 7) if when(n)] for name, when in chosen.items()} == {
        "nth": [2, 5],
        "first": [1, 2],
        "every": [3, 6],
    }


REQUESTS = [
    ("GET", "/api/v1/namespaces/{ns}/configmaps"),
    ("GET", "/api/v1/namespaces/{ns}/configmaps/one"),
    ("PUT", "/api/v1/namespaces/{ns}/configmaps/one"),
    ("PATCH", "/apis/apps/v1/namespaces/{ns}/deployments/one/status"),
    ("DELETE", "/api/v1/namespaces/{ns}/secrets/one"),
    ("DELETE", "/api/v1/namespaces/{ns}/secrets"),
    ("POST", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"),
    ("POST", "/api/v1/namespaces/{ns}/serviceaccounts/one/token"),
    ("GET", "/api/v1/configmaps"),
    ("GET", "/api/v1/namespaces"),
    ("GET", "/api/v1/namespaces/{ns}"),
    ("PUT", "/api/v1/namespaces/{ns}/finalize"),
    ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"),
    ("GET", "/api/v1/namespaces/{ns}/configmaps?watch=1&timeoutSeconds=1"),
]


@pytest.mark.parametrize(("method", "path"), REQUESTS, ids=[" ".join(request) for request in REQUESTS])
def test_a_request_is_read_as_the_server_reads_it(
    plane: ControlPlane, proxy: FaultProxy, client: Client, method: str, path: str
) -> None:
    """The independent source is the API server's audit log."""
    mark, passed = plane.audit_position(), len(proxy.passed)
    with client.send(method, path.format(ns=client.namespace)) as response:
        response.read()
    read = proxy.passed[passed].asked
    account = f"system:serviceaccount:{client.namespace}:{ACCOUNT}"
    (entry, *_) = until("its entry", lambda: [e for e in plane.audit(mark) if e.user == account])
    resource = f"{entry.resource}.{entry.group}" if entry.group else entry.resource
    whole = f"{resource}/{entry.subresource}" if entry.subresource else resource
    # Of a namespace itself the server says that it is in it.
    namespace = "" if entry.resource == "namespaces" else entry.namespace
    assert (read.verb, read.resource, read.namespace, read.name) == (entry.verb, whole, namespace, entry.name)


def test_what_is_no_resource_has_none() -> None:
    assert asked("GET", "/version", {}) == Asked(verb="get", path="/version")
    assert asked("GET", "/apis/apps/v1", {}) == Asked(verb="get", path="/apis/apps/v1")
