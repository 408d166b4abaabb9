"""Calls of the Kubernetes API as data: paths, queries and bodies. Pure; a path follows from the kind, without discovery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from sluicegate.operator.cluster.ports import Api
from sluicegate.operator.ports import Json

WATCH_SECONDS: Final = 300
JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. resource: as metrics name it; writes: whether it can change anything."""

    verb: str
    method: str
    path: str
    resource: str
    query: Query = ()
    body: Any = None
    content_type: str = JSON
    writes: bool = True

    @property
    def about(self) -> str:
        """For people; no content."""
        return f"{self.verb} {self.path}"


def path_of(api: Api, namespace: str | None, name: str | None = None) -> str:
    """Of a kind or of one object; all namespaces when None."""
    root = f"/apis/{api.group}/{api.version}" if api.group else f"/api/{api.version}"
    place = f"/namespaces/{quote(namespace, safe='')}" if namespace and api.namespaced else ""
    tail = f"/{quote(name, safe='')}" if name else ""
    return f"{root}{place}/{api.plural}{tail}"


def get(api: Api, namespace: str | None, name: str) -> Call:
    """One object."""
    return Call(
        verb="get", method="GET", path=path_of(api, namespace, name), resource=api.plural, writes=False
    )


def listing(api: Api, namespace: str | None, labels: Mapping[str, str] | None) -> Call:
    """All of a kind."""
    return Call(
        verb="list",
        method="GET",
        path=path_of(api, namespace),
        resource=api.plural,
        query=_selector(labels),
        writes=False,
    )


def watch(api: Api, namespace: str | None, labels: Mapping[str, str] | None, after: str) -> Call:
    """With bookmarks, for at most WATCH_SECONDS."""
    more = (
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", after),
        ("timeoutSeconds", str(WATCH_SECONDS)),
    )
    found = listing(api, namespace, labels)
    return replace(found, verb="watch", query=(*found.query, *more))


def create(api: Api, item: Json, manager: str) -> Call:
    """POST."""
    return Call(
        verb="create",
        method="POST",
        path=path_of(api, item["metadata"].get("namespace")),
        resource=api.plural,
        query=_managed(manager),
        body=_typed(api, item),
    )


def put(api: Api, item: Json, manager: str) -> Call:
    """PUT."""
    return Call(
        verb="update",
        method="PUT",
        path=_path_of(api, item),
        resource=api.plural,
        query=_managed(manager),
        body=_typed(api, item),
    )


def apply(api: Api, item: Json, manager: str, subresource: str | None = None) -> Call:
    """A forced server-side apply."""
    tail = f"/{subresource}" if subresource else ""
    return Call(
        verb="apply",
        method="PATCH",
        path=f"{_path_of(api, item)}{tail}",
        resource=f"{api.plural}{tail}",
        query=(*_managed(manager), ("force", "true")),
        body=_typed(api, item),
        content_type=APPLY,
    )


def patch(api: Api, namespace: str | None, name: str, operations: Sequence[Json], manager: str) -> Call:
    """A JSON patch."""
    return Call(
        verb="patch",
        method="PATCH",
        path=path_of(api, namespace, name),
        resource=api.plural,
        query=_managed(manager),
        body=list(operations),
        content_type=JSON_PATCH,
    )


def delete(api: Api, namespace: str | None, name: str, uid: str | None) -> Call:
    """Dependents go in the background."""
    body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if uid:
        body["preconditions"] = {"uid": uid}
    return Call(
        verb="delete", method="DELETE", path=path_of(api, namespace, name), resource=api.plural, body=body
    )


def review(api: Api, item: Json) -> Call:
    """POST that stores nothing."""
    return Call(
        verb="create",
        method="POST",
        path=path_of(api, (item.get("metadata") or {}).get("namespace")),
        resource=api.plural,
        body={**item, "apiVersion": api.api_version, "kind": api.kind},
        writes=False,
    )


def tried_on(call: Call, held: Json) -> Call:
    """The same write without effect, as if it had been made from `held`."""
    metadata = {**call.body["metadata"], "resourceVersion": held["metadata"]["resourceVersion"]}
    return replace(
        call,
        body={**call.body, "metadata": metadata},
        query=(*call.query, ("dryRun", "All")),
        writes=False,
    )


def _path_of(api: Api, item: Json) -> str:
    return path_of(api, item["metadata"].get("namespace"), item["metadata"]["name"])


def _managed(manager: str) -> Query:
    """Strict: a field that the server does not know is told, not dropped."""
    return (("fieldManager", manager), ("fieldValidation", "Strict"))


def _typed(api: Api, item: Json) -> Json:
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {**item, "apiVersion": api.api_version, "kind": api.kind, "metadata": metadata}


def _selector(labels: Mapping[str, str] | None) -> Query:
    text = ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))
    return (("labelSelector", text),) if text else ()
