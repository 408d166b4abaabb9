"""What a request to the Kubernetes API asks for."""

from collections.abc import Mapping
from dataclasses import dataclass

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_ON_MANY = {"GET": "list", "DELETE": "deletecollection"}
_ON_ONE = {"GET": "get", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """resource: `plural`, or `plural.group`, with `/subresource` behind it; "" for what is no resource (/version)."""

    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def asked(method: str, path: str, query: Mapping[str, str]) -> Asked:
    """As the API server's audit log names it."""
    group, rest = _group(path.strip("/").split("/"))
    if rest is None:
        return Asked(verb=method.lower(), path=path)
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (len(rest) == 3 and rest[2] in ("status", "finalize"))
    ):
        namespace, rest = rest[1], rest[2:]
    plural, name, sub = (*rest, "", "")[:3]
    resource = f"{plural}.{group}" if group else plural
    verb = _VERBS.get(method) or (_ON_ONE if name else _ON_MANY)[method]
    if verb == "list" and query.get("watch") in ("1", "true"):
        verb = "watch"
    return Asked(
        verb=verb,
        resource=f"{resource}/{sub}" if sub else resource,
        namespace=namespace,
        name=name,
        path=path,
    )


def _group(parts: list[str]) -> tuple[str, list[str] | None]:
    """The API group, and what follows its version; None when nothing follows."""
    if parts[:2] == ["api", "v1"] and len(parts) > 2:
        return "", parts[2:]
    if parts[0] == "apis" and len(parts) > 3:
        return parts[1], parts[3:]
    return "", None
