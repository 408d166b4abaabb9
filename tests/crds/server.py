"""Objects to and from the API server, as JSON; a dry run stores nothing."""

import http.client
import itertools
import json
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from sluicegate.contracts.resources import KINDS
from tests.controlplane.plane import ControlPlane

Json = dict[str, Any]
_NUMBERS = itertools.count()
_GROUP = "/apis/sluicegate.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong."""

    field: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An object, or a Status."""

    code: int
    body: Json

    @property
    def causes(self) -> list[Cause]:
        """Of a refusal."""
        found = (self.body.get("details") or {}).get("causes", ())
        return [Cause(one.get("field", ""), one.get("reason", ""), one.get("message", "")) for one in found]

    def require(self) -> Json:
        """The object, or an AssertionError with the message."""
        assert self.code < 400, f"{self.code}: {self.body.get('message')}"
        return self.body


@dataclass(frozen=True, slots=True)
class Server:
    """As admin."""

    plane: ControlPlane
    namespace: str = "default"
    _tls: list[Any] = field(default_factory=list)

    def create(self, item: Json, *, dry: bool = False) -> Answer:
        """POST; unknown fields are errors."""
        return self._ask("POST", self._path(item), item, dry=dry)

    def replace(self, item: Json, *, subresource: str = "", dry: bool = False) -> Answer:
        """PUT."""
        return self._ask("PUT", f"{self._path(item)}/{item['metadata']['name']}{subresource}", item, dry=dry)

    def get(self, item: Json) -> Json:
        """As stored."""
        return self._ask("GET", f"{self._path(item)}/{item['metadata']['name']}").require()

    def stored(self, item: Json) -> Json:
        """Created, with its status when it has one, under a name that is new."""
        made = {
            **item,
            "metadata": {**item["metadata"], "name": f"{item['metadata']['name']}-{next(_NUMBERS)}"},
        }
        found = self.create({key: value for key, value in made.items() if key != "status"}).require()
        if "status" not in item:
            return found
        return self.replace({**found, "status": item["status"]}, subresource="/status").require()

    def served(self, path: str) -> Json:
        """Any GET."""
        return self._ask("GET", path).require()

    def _path(self, item: Json) -> str:
        kind = KINDS[item["kind"]]
        if kind.scope == "Cluster":
            return f"{_GROUP}/{kind.plural}"
        return f"{_GROUP}/namespaces/{self.namespace}/{kind.plural}"

    def _ask(self, method: str, path: str, item: Json | None = None, *, dry: bool = False) -> Answer:
        if not self._tls:
            self._tls.append(self.plane.tls())
        query = f"?fieldValidation=Strict{'&dryRun=All' if dry else ''}" if item is not None else ""
        host, port = self.plane.server.removeprefix("https://").split(":")
        with closing(http.client.HTTPSConnection(host, int(port), context=self._tls[0], timeout=60)) as link:
            body = None if item is None else json.dumps(self._here(item))
            link.request(method, path + query, body, {"Content-Type": "application/json"})
            answer = link.getresponse()
            return Answer(answer.status, json.loads(answer.read()))

    def _here(self, item: Json) -> Json:
        """In this namespace; what is of the whole cluster is in none."""
        metadata = {key: value for key, value in item["metadata"].items() if key != "namespace"}
        if KINDS[item["kind"]].scope == "Namespaced":
            metadata["namespace"] = self.namespace
        return {**item, "metadata": metadata}
