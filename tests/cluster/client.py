"""One user of the API server, without kubectl: for tests that look often."""

import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.plane import ControlPlane

Json = dict[str, Any]
OWN = "/apis/sluicegate.io/v1alpha1"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass
class Client:
    """JSON in, code and JSON out. acting: as whom the admin acts, a user or `system:serviceaccount:…`."""

    plane: ControlPlane
    user: str = "admin"
    acting: str | None = None
    _tls: ssl.SSLContext | None = field(default=None, repr=False)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Json]:
        """One request; a refused connection is an OSError."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, timeout=60, context=self._context()
        )
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        headers |= {"Impersonate-User": self.acting} if self.acting else {}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else {"text": text.decode()}
        finally:
            connection.close()

    def got(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Json:
        """The same; anything but a success is an AssertionError."""
        code, answer = self.request(method, path, body, content_type)
        assert code < 300, (code, answer)
        return answer

    def objects(self, plural: str, namespace: str) -> list[Json]:
        """All of one of our kinds in a namespace."""
        items: list[Json] = self.got("GET", f"{OWN}/namespaces/{namespace}/{plural}")["items"]
        return items

    def find(self, plural: str, namespace: str, name: str) -> Json | None:
        """One of our objects, None when it is not there."""
        code, found = self.request("GET", f"{OWN}/namespaces/{namespace}/{plural}/{name}")
        assert code in {200, 404}, found
        return found if code == 200 else None

    def create(self, plural: str, item: Json) -> tuple[int, Json]:
        """Create one of our objects."""
        return self.request("POST", f"{OWN}/namespaces/{item['metadata']['namespace']}/{plural}", item)

    def apply(self, plural: str, item: Json) -> Json:
        """Server-side apply of one of our objects."""
        metadata = item["metadata"]
        path = f"{OWN}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"
        return self.got("PATCH", f"{path}?fieldManager=test&force=true", item, APPLY)

    def replace(self, plural: str, item: Json) -> Json:
        """PUT of the spec of one of our objects."""
        metadata = item["metadata"]
        held = self.find(plural, metadata["namespace"], metadata["name"])
        assert held is not None
        path = f"{OWN}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"
        return self.got("PUT", path, {**held, "spec": item["spec"]})

    def merge_status(self, plural: str, namespace: str, name: str, status: Json) -> Json:
        """Change a status, as only the operator's account may."""
        path = f"{OWN}/namespaces/{namespace}/{plural}/{name}/status"
        return self.got("PATCH", path, {"status": status}, MERGE)

    def delete(self, plural: str, namespace: str, name: str) -> int:
        """Ask for deletion; the code."""
        return self.request("DELETE", f"{OWN}/namespaces/{namespace}/{plural}/{name}")[0]

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = self.plane.tls(self.user)
        return self._tls
