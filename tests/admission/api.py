"""Plain requests to the API server in anybody's name, by impersonation."""

import http.client
import itertools
import json
import ssl
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sluicegate.contracts.resources import KINDS
from sluicegate.rollout.permissions import Verb
from tests.controlplane.plane import ControlPlane

Json = dict[str, Any]
_NUMBERS = itertools.count()
_LABEL = "test-admission"
GROUP_PATH = "/apis/sluicegate.io/v1alpha1"
OTHERS = {"ConfigMap": "/api/v1/{}configmaps", "Lease": "/apis/coordination.k8s.io/v1/{}leases"}


@dataclass(frozen=True, slots=True)
class Caller:
    """In whose name, and with which rights beside those of everybody who may write."""

    name: str
    groups: tuple[str, ...] = ("writers",)

    @classmethod
    def holding(cls, name: str, verbs: Iterable[Verb] = ()) -> "Caller":
        """A writer with these verbs."""
        return cls(name, ("writers", *(f"holders:{verb}" for verb in sorted(verbs))))


@dataclass(frozen=True, slots=True)
class Answer:
    """The API server's: an object, or a Status with its message."""

    code: int
    body: Json

    @property
    def is_refused(self) -> bool:
        """4xx."""
        return self.code >= 400

    @property
    def message(self) -> str:
        """Of a Status."""
        return str(self.body.get("message", ""))

    def require(self) -> Json:
        """The object, or an AssertionError with the message."""
        assert not self.is_refused, f"{self.code}: {self.message}"
        return self.body


@dataclass(frozen=True, slots=True)
class Api:
    """Requests in one namespace."""

    plane: ControlPlane
    namespace: str = "default"

    def in_fresh_namespace(self) -> "Api":
        """The same in a namespace that was not there."""
        name = f"{_LABEL}-{next(_NUMBERS)}"
        item = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {_LABEL: "yes"}},
        }
        self._request("POST", "/api/v1/namespaces", item).require()
        return replace(self, namespace=name)

    def empty(self) -> None:
        """Remove the fresh namespaces with all that is in them; needs the policies gone."""
        for item in self._request("GET", f"{GROUP_PATH}/agentworkflows").require()["items"]:
            metadata = item["metadata"]
            if metadata["namespace"].startswith(_LABEL) and metadata.get("finalizers"):
                free = {"metadata": {"finalizers": None}}
                path = f"{_path('AgentWorkflow', metadata['namespace'])}/{metadata['name']}"
                self._request("PATCH", path, free, kind="application/merge-patch+json")
        self.plane.kubectl("delete", "namespaces", "-l", _LABEL, "--wait=false", seconds=120)

    def get(self, kind: str, name: str) -> Json:
        """As stored."""
        return self._request("GET", f"{_path(kind, self.namespace)}/{name}").require()

    def create(self, item: Json, caller: Caller) -> Answer:
        """POST."""
        return self._request("POST", _path(item["kind"], self.namespace), self._here(item), caller)

    def replace(self, item: Json, caller: Caller, *, subresource: str = "", version: str = "") -> Answer:
        """PUT, on the stored version unless another one is given."""
        kind, name = item["kind"], item["metadata"]["name"]
        current = version or self.get(kind, name)["metadata"]["resourceVersion"]
        here = self._here(item)
        here = {**here, "metadata": {**here["metadata"], "resourceVersion": current}}
        return self._request("PUT", f"{_path(kind, self.namespace)}/{name}{subresource}", here, caller)

    def patch(self, kind: str, name: str, patch: Json, caller: Caller, *, subresource: str = "") -> Answer:
        """JSON merge patch."""
        path = f"{_path(kind, self.namespace)}/{name}{subresource}"
        return self._request("PATCH", path, patch, caller, kind="application/merge-patch+json")

    def delete(self, kind: str, name: str, caller: Caller) -> Answer:
        """DELETE."""
        return self._request("DELETE", f"{_path(kind, self.namespace)}/{name}", None, caller)

    def _here(self, item: Json) -> Json:
        return {**item, "metadata": {**item["metadata"], "namespace": self.namespace}}

    def _request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        caller: Caller | None = None,
        *,
        kind: str = "application/json",
    ) -> Answer:
        host, _, port = self.plane.server.removeprefix("https://").partition(":")
        connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=_tls(self.plane))
        with closing(connection):
            connection.putrequest(method, path)
            data = b"" if body is None else json.dumps(body).encode()
            headers = [("Content-Type", kind), ("Content-Length", str(len(data)))]
            if caller is not None:
                headers += [("Impersonate-User", caller.name)]
                headers += [("Impersonate-Group", group) for group in caller.groups]
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(data)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()))


@cache
def _tls(plane: ControlPlane) -> ssl.SSLContext:
    return plane.tls()


def _path(kind: str, namespace: str) -> str:
    place = f"namespaces/{namespace}/"
    if kind in OTHERS:
        return OTHERS[kind].format(place)
    return f"{GROUP_PATH}/{place}{KINDS[kind].plural}"
