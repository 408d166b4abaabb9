"""A real API server asks our admission server: across rotations of certificates, and with the rules behind it."""

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.errors import Conflict
from sluicegate.contracts.resources import KINDS
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.certificates import Ages
from sluicegate.operator.cluster.certificates_keeper import Keeper
from sluicegate.operator.cluster.ports import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, KubeApi
from tests.charts import installation
from tests.cluster.client import Client
from tests.cluster.conftest import WEBHOOKS
from tests.contracts import kinds
from tests.controlplane.plane import ControlPlane
from tests.operator import samples
from tests.operator.cluster.serving import SYSTEM, MovedClock, serving
from tests.operator.up import until

pytestmark = pytest.mark.cluster
NAMESPACE = "admitted"
ASKED = ("/mutate/agentworkflows", "/validate/agentworkflows")  # for a write to
WORKFLOWS = f"/apis/sluicegate.io/v1alpha1/namespaces/{NAMESPACE}/agentworkflows"


@pytest.fixture(scope="module")
def ruled(unruled: ControlPlane) -> ControlPlane:
    installed = unruled
    installation.install(installed, (*installation.ROLES, *installation.POLICIES, *WEBHOOKS))
    installed.kubectl("create", "namespace", NAMESPACE, check=False)
    for user in ("alice", "bob", "carol"):
        for role in ("edit", "approver", "aborter"):
            installed.allow(f"user:{user}", f"sluicegate-{role}", NAMESPACE)
    return installed


def named(name: str, **spec: Any) -> dict[str, Any]:
    item = samples.workflow(name, namespace=NAMESPACE)
    item["spec"] |= spec
    return item


def tried(plane: ControlPlane, item: dict[str, Any], user: str = "carol") -> tuple[int, dict[str, Any]]:
    """A create that stores nothing; the stamp is the webhook's."""
    code, said = Client(plane, user).request("POST", f"{WORKFLOWS}?dryRun=All", item)
    return code, said


@asynccontextmanager
async def traffic(plane: ControlPlane) -> AsyncIterator[list[str]]:
    """Creates without a pause, from another thread; how they ended."""
    codes: list[str] = []
    stop = threading.Event()

    def work() -> None:
        client = Client(plane, "carol")
        while not stop.is_set():
            code, said = client.request("POST", f"{WORKFLOWS}?dryRun=All", named("traffic"))
            codes.append("created" if code == 201 else str(said))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield codes
    finally:
        stop.set()
        await asyncio.to_thread(thread.join)  # its last request is answered in this loop


async def test_no_request_fails_while_leaf_and_authority_are_replaced(ruled: ControlPlane) -> None:
    clock = MovedClock(timedelta(days=250))
    ages = Ages(leaf=timedelta(days=360))  # so that what was made then is valid today
    async with serving(ruled, clock, ages) as served:
        await asyncio.to_thread(until, "admitted", lambda: tried(ruled, named("first"))[0] == 201)
        first, before = served.keeper.served, dict(served.server.connections)
        async with traffic(ruled) as ends:
            clock.behind = timedelta(hours=2)  # the authority is old: the next one is trusted beside it
            await served.keeper.once()
            second = served.keeper.served
            # An API server that took the bundle over has made another client: for either configuration.
            await asyncio.to_thread(
                until,
                "the new bundle is used",
                lambda: all(served.server.connections[path] != before[path] for path in ASKED),
                120,
            )
            clock.behind = timedelta()  # half an hour later and more: the next one signs
            await served.keeper.once()
            at = len(ends)
            await asyncio.to_thread(until, "requests after it", lambda: len(ends) > at + 10)
        await served.server.stop()
        await served.server.start()
        async with traffic(ruled) as later:
            await asyncio.to_thread(until, "over new connections", lambda: len(later) > 10)
        assert set(ends) | set(later) == {"created"}
        assert len({first, second, served.keeper.served}) == 3
        assert ("/validate/agentworkflows", 200) in served.counts.admissions
        held = await served.api.get(VALIDATING_WEBHOOKS, None, names.WEBHOOKS)
        bundle = base64.b64decode(held["webhooks"][0]["clientConfig"]["caBundle"])
        assert bundle.count(b"BEGIN CERTIFICATE") == 2, "the new authority and the former"


async def test_what_somebody_empties_is_put_right(ruled: ControlPlane) -> None:
    async with serving(ruled, MovedClock(), Ages()) as served:
        await asyncio.to_thread(until, "admitted", lambda: tried(ruled, named("first"))[0] == 201)
        for kind in ("validatingwebhookconfiguration", "mutatingwebhookconfiguration"):
            patch = json.dumps([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])
            ruled.kubectl("patch", kind, names.WEBHOOKS, "--type=json", f"--patch={patch}")
        ruled.kubectl("delete", "secret", names.WEBHOOK_SECRET, "-n", SYSTEM)
        leaf = served.keeper.served
        await served.keeper.once()
        assert served.keeper.served == leaf, "written back from memory, no request failed for it"
        for api in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
            held = await served.api.get(api, None, names.WEBHOOKS)
            assert all(one["clientConfig"].get("caBundle") for one in held["webhooks"])
        await asyncio.to_thread(until, "admitted", lambda: tried(ruled, named("first"))[0] == 201)


class AtOnce:
    """An API for several, whose first creates are sent when the last of them comes, so that all but one are too late."""

    def __init__(self, api: KubeApi, callers: int) -> None:
        self._api, self._start = api, asyncio.Barrier(callers)
        self.ends: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def create(self, *args: Any, **more: Any) -> dict[str, Any]:
        async with asyncio.timeout(90):
            await self._start.wait()
        try:
            made = await self._api.create(*args, **more)
        except Conflict:
            self.ends.append("too late")
            raise
        self.ends.append("created")
        return made


async def test_replicas_that_start_at_once_agree_on_one_secret(ruled: ControlPlane) -> None:
    """None finds a Secret, so each makes one of its own."""
    async with serving(ruled, MovedClock(), Ages()) as served:
        ruled.kubectl("delete", "secret", names.WEBHOOK_SECRET, "-n", SYSTEM)
        api: Any = AtOnce(served.api, callers=2)
        one, other = (
            Keeper(api=api, address=served.keeper.address, clock=MovedClock(), serve=lambda _: None)
            for _ in range(2)
        )
        await asyncio.gather(one.once(), other.once())
        assert sorted(api.ends) == ["created", "too late"]
        secret = await served.api.get(SECRETS, SYSTEM, names.WEBHOOK_SECRET)
        kept = base64.b64decode(secret["data"]["tls.crt"]).decode()
        assert [keeper.served and keeper.served.certificate for keeper in (one, other)] == [kept, kept]


async def test_people_are_told_everything_and_named(ruled: ControlPlane) -> None:
    async with serving(ruled, MovedClock(), Ages()) as served:

        def asked(item: dict[str, Any], user: str = "carol") -> tuple[int, dict[str, Any]]:
            return tried(ruled, item, user)

        code, said = await asyncio.to_thread(
            until, "stamped", lambda: found if (found := asked(named("first")))[0] == 201 else None
        )
        assert said["metadata"]["annotations"]["sluicegate.io/changed-by"] == "carol"
        assert said["metadata"].get("finalizers") is None
        wrong = named("wrong", reward="steps.two.y", output={"x": "steps.three.y"})
        code, said = await asyncio.to_thread(asked, wrong)
        assert (code, said["reason"]) == (422, "Invalid")
        fields = {cause["field"] for cause in said["details"]["causes"]}
        assert fields >= {"spec.reward", "spec.output.x"}, said
        served.is_synced = False
        code, said = await asyncio.to_thread(asked, named("early"))
        assert code == 503
        assert "try again" in said["message"]


async def test_a_decision_is_checked_against_its_rollout_even_before_the_cache_has_it(
    ruled: ControlPlane,
) -> None:
    async with serving(ruled, MovedClock(), Ages()) as served:
        await asyncio.to_thread(until, "admitted", lambda: tried(ruled, named("first"))[0] == 201)
        decision = {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": "Decision",
            "metadata": {"name": "d", "namespace": NAMESPACE},
            "spec": {"action": "Abort", "target": {"name": "nowhere-1", "uid": "u-1"}},
        }
        path = f"/apis/sluicegate.io/v1alpha1/namespaces/{NAMESPACE}/decisions"
        code, said = await asyncio.to_thread(Client(ruled, "alice").request, "POST", path, decision)
        assert code == 422, said
        assert "no such WorkflowRollout" in said["message"]
        assert ("/mutate/decisions", 200) in served.counts.admissions


async def test_kinds_that_nothing_acts_on_are_told_or_refused(ruled: ControlPlane) -> None:
    """The chart asks us about every kind that people write, also about those of the whole cluster."""

    def made(kind: str, api: str) -> tuple[int, dict[str, Any]]:
        return Client(ruled).request("POST", f"/apis/sluicegate.io/v1alpha1/{api}?dryRun=All", of(kind))

    def of(kind: str) -> dict[str, Any]:
        item = kinds.of(kind, namespace=NAMESPACE)
        if KINDS[kind].scope == "Cluster":
            del item["metadata"]["namespace"]
        return item

    async with serving(ruled, MovedClock(), Ages()) as served:
        await asyncio.to_thread(until, "admitted", lambda: tried(ruled, named("first"))[0] == 201)
        code, said = await asyncio.to_thread(made, "RetrainingRun", f"namespaces/{NAMESPACE}/retrainingruns")
        assert code == 422
        assert "this version trains nothing" in said["message"]
        code, said = await asyncio.to_thread(made, "GovernancePolicy", "governancepolicies")
        assert code == 201, said
        assert ("/validate/governancepolicies", 200) in served.counts.admissions
