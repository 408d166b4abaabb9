"""kopf as an informer, on a real API server: it tells everything and writes nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.cluster.informer import SILENCE_SECONDS, Informer, Source
from sluicegate.operator.cluster.kube_access import KubeConfig, access_of
from sluicegate.operator.cluster.ports import CONFIG_MAPS, HTTP_ROUTES, LEASES, Api, own
from tests.controlplane.plane import ControlPlane
from tests.operator import samples
from tests.support import faults
from tests.support.fault_proxy import FaultProxy
from tests.support.faults import Rule

pytestmark = pytest.mark.cluster


@dataclass
class Heard:
    """What a sink was told, by name."""

    items: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, kind: str) -> "Sink":
        return Sink(self, kind)

    def within(self, namespace: str) -> set[str]:
        return {name for name in self.items if f" {namespace}/" in name}


@dataclass
class Sink:
    heard: Heard
    kind: str

    def listed(self, items: Iterable[dict[str, Any]], version: str, namespace: str | None) -> None:
        old = [name for name in self.heard.items if name.startswith(f"{self.kind} {namespace or ''}")]
        for name in old:
            del self.heard.items[name]
        self.heard.items |= {_name(item): item for item in items}

    def seen(self, item: dict[str, Any], *, deleted: bool) -> None:
        if deleted:
            self.heard.items.pop(_name(item), None)
        else:
            self.heard.items[_name(item)] = item


def _name(item: dict[str, Any]) -> str:
    return f"{item['kind']} {item['metadata']['namespace']}/{item['metadata']['name']}"


async def until(what: str, condition: Callable[[], Any], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {seconds:g} s: {what}"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def following(informer: Informer) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.ensure_future(informer.run())
    try:
        async with asyncio.timeout(90):
            await informer.synced.wait()
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def configmap(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def fresh(plane: ControlPlane, name: str) -> str:
    plane.kubectl("create", "namespace", name)
    return name


def watcher(plane: ControlPlane, proxy: FaultProxy) -> Path:
    """A service account that may do everything, by way of the proxy."""
    plane.kubectl("create", "serviceaccount", "watcher", "-n", "default", check=False)
    plane.allow("account:default:watcher", "cluster-admin")
    return proxy.account_kubeconfig("default", "watcher")


async def test_it_tells_what_is_there_what_changes_and_what_goes_and_writes_nothing(
    installed: ControlPlane,
) -> None:
    plane, namespace = installed, fresh(installed, "informed")
    plane.allow("user:walter", "cluster-admin")
    plane.apply(samples.workflow("before", namespace=namespace), configmap("other", namespace))
    plane.apply(configmap("plan", namespace, wanted="yes"))
    heard, since = Heard(), plane.audit_position()
    informer = Informer(
        access=access_of(KubeConfig(kubeconfig=plane.kubeconfig("walter"))),
        sources=(
            Source(api=own("AgentWorkflow"), sink=heard.of("AgentWorkflow")),
            Source(api=CONFIG_MAPS, sink=heard.of("ConfigMap"), labels="wanted"),
            Source(api=LEASES, sink=heard.of("Lease"), labels="wanted=yes"),
            Source(api=HTTP_ROUTES, sink=heard.of("HTTPRoute"), optional=True),
        ),
        monotonic=time.monotonic,
    )
    async with following(informer):
        assert heard.within(namespace) == {f"AgentWorkflow {namespace}/before", f"ConfigMap {namespace}/plan"}
        plane.apply(
            samples.workflow("after", namespace=namespace),
            samples.workflow("before", namespace=namespace, version="2.0.0"),
        )
        await until("the new one", lambda: f"AgentWorkflow {namespace}/after" in heard.items)
        await until(
            "the change",
            lambda: heard.items[f"AgentWorkflow {namespace}/before"]["spec"]["version"] == "2.0.0",
        )
        plane.kubectl("delete", "agentworkflow", "before", "-n", namespace)
        await until("the deletion", lambda: f"AgentWorkflow {namespace}/before" not in heard.items)
        assert informer.silent() == []
        late = time.monotonic() + SILENCE_SECONDS + 1
        informer.monotonic = lambda: late
        silent = {one.partition(" ")[0] for one in informer.silent()}
        assert silent == {"agentworkflows", "configmaps", "leases"}, "an optional kind may be served no more"
    await until("the audit log", lambda: any(entry.user == "walter" for entry in plane.audit(since)))
    verbs = {
        (entry.verb, entry.resource)
        for entry in plane.audit(since)
        if entry.user == "walter" and entry.resource
    }
    assert {verb for verb, _ in verbs} == {"list", "watch"}
    stored = plane.get("agentworkflow", "after", "-n", namespace)
    assert "finalizers" not in stored["metadata"]
    assert not [name for name in stored["metadata"].get("annotations", {}) if "kopf" in name]


async def test_a_namespaced_one_sees_and_asks_for_its_namespaces_only(installed: ControlPlane) -> None:
    plane, here, there = installed, fresh(installed, "here"), fresh(installed, "there")
    for namespace in (here, there):
        plane.apply(samples.workflow("one", namespace=namespace))
    plane.allow("user:mallory", "admin", here)
    plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "reads-workflows"},
            "rules": [{"apiGroups": ["sluicegate.io"], "resources": ["*"], "verbs": ["list", "watch"]}],
        }
    )
    plane.allow("user:mallory", "reads-workflows", here)
    heard = Heard()
    informer = Informer(
        access=access_of(KubeConfig(kubeconfig=plane.kubeconfig("mallory"))),
        sources=(
            Source(api=own("AgentWorkflow"), sink=heard.of("AgentWorkflow")),
            Source(api=CONFIG_MAPS, sink=heard.of("ConfigMap")),
        ),
        monotonic=time.monotonic,
        namespaces=(here,),
    )
    since = plane.audit_position()
    async with following(informer):
        plane.apply(samples.workflow("two", namespace=here), samples.workflow("two", namespace=there))
        await until("the new one", lambda: f"AgentWorkflow {here}/two" in heard.items)
        assert not [name for name in heard.items if there in name]
    refused = [entry for entry in plane.audit(since) if entry.user == "mallory" and entry.code == 403]
    assert refused == []


async def test_what_vanished_while_the_stream_was_away_is_noticed(installed: ControlPlane) -> None:
    plane, namespace = installed, fresh(installed, "vanishing")
    for name in ("stays", "goes"):
        plane.apply(samples.workflow(name, namespace=namespace))
    heard = Heard()
    with FaultProxy(plane) as proxy:
        informer = Informer(
            access=access_of(KubeConfig(kubeconfig=watcher(plane, proxy))),
            sources=(Source(api=own("AgentWorkflow"), sink=heard.of("AgentWorkflow")),),
            monotonic=time.monotonic,
        )
        proxy.plan(Rule(faults.broken(), verb="watch"))
        async with following(informer):
            plane.kubectl("delete", "agentworkflow", "goes", "-n", namespace)
            assert f"AgentWorkflow {namespace}/goes" in heard.items
            proxy.plan(Rule(faults.error_event(410, "Expired"), verb="watch", when=faults.nth(1)))
            await until("the list without it", lambda: f"AgentWorkflow {namespace}/goes" not in heard.items)
            assert f"AgentWorkflow {namespace}/stays" in heard.items


async def test_a_long_list_comes_in_chunks_and_starts_anew_when_it_grew_too_old(
    installed: ControlPlane,
) -> None:
    plane, namespace = installed, fresh(installed, "chunked")
    plane.apply(*(samples.workflow(f"w{number}", namespace=namespace) for number in range(5)))
    heard, asked = (
        Heard(),
        Rule(faults.gone(), verb="list", resource="agentworkflows.sluicegate.io", when=faults.nth(2)),
    )
    with FaultProxy(plane) as proxy:
        proxy.plan(asked)
        informer = Informer(
            access=access_of(KubeConfig(kubeconfig=watcher(plane, proxy))),
            sources=(Source(api=own("AgentWorkflow"), sink=heard.of("AgentWorkflow")),),
            monotonic=time.monotonic,
            namespaces=(namespace,),
            chunk=2,
        )
        async with following(informer) as task:
            assert heard.within(namespace) == {f"AgentWorkflow {namespace}/w{number}" for number in range(5)}
            assert asked.seen == 2 + 3, "two of the list that ended, three of the whole one"
            assert not task.done()


async def test_a_stream_that_fails_for_good_ends_the_informer(installed: ControlPlane) -> None:
    with FaultProxy(installed) as proxy:
        informer = Informer(
            access=access_of(KubeConfig(kubeconfig=watcher(installed, proxy))),
            sources=(Source(api=own("AgentWorkflow"), sink=Heard().of("AgentWorkflow")),),
            monotonic=time.monotonic,
        )
        proxy.plan(Rule(faults.error_event(500, "InternalError"), verb="watch"))
        with pytest.raises(Unavailable):
            async with asyncio.timeout(90):
                await informer.run()


@pytest.mark.parametrize("where", ["everywhere", "in one namespace"])
async def test_a_kind_that_is_served_no_more_ends_nothing_and_is_followed_again(
    installed: ControlPlane, where: str
) -> None:
    """kopf by itself takes the 404 of such a kind for the end of everything, when it comes before the deletion of the CRD."""
    plane, namespace, heard = installed, fresh(installed, f"unserved-{len(where)}"), Heard()
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "passings.test.sluicegate.io"},
        "spec": {
            "group": "test.sluicegate.io",
            "names": {"kind": "Passing", "plural": "passings", "singular": "passing"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    api = Api(group="test.sluicegate.io", version="v1", kind="Passing", plural="passings")
    item = {
        "apiVersion": api.api_version,
        "kind": "Passing",
        "metadata": {"name": "one", "namespace": namespace},
    }

    def serve() -> None:
        plane.apply(crd)
        plane.kubectl("wait", "--for=condition=Established", f"crd/{api.plural}.{api.group}")
        plane.apply(item)

    serve()
    informer = Informer(
        access=access_of(KubeConfig(kubeconfig=plane.kubeconfig())),
        sources=(
            Source(api=own("AgentWorkflow"), sink=heard.of("AgentWorkflow")),
            Source(api=api, sink=heard.of("Passing"), optional=True),
        ),
        monotonic=time.monotonic,
        namespaces=() if where == "everywhere" else (namespace,),
    )
    name = f"Passing {namespace}/one"
    async with following(informer) as task:
        await until("it is seen", lambda: name in heard.items)
        await asyncio.to_thread(plane.kubectl, "delete", "crd", f"{api.plural}.{api.group}")
        await until("it is gone", lambda: name not in heard.items)
        await asyncio.to_thread(serve)
        await until("it is seen again", lambda: name in heard.items)
        await asyncio.to_thread(plane.apply, samples.workflow("after", namespace=namespace))
        await until("the others are followed", lambda: f"AgentWorkflow {namespace}/after" in heard.items)
        assert not task.done()
    plane.kubectl("delete", "crd", f"{api.plural}.{api.group}")
