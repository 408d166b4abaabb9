"""What is looked at before anything starts: are the kinds served, are the rights there. Everything missing at once."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts.errors import Forbidden, NotFound, Problem, Refused
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.ports import (
    ACCESS_REVIEWS,
    CONFIG_MAPS,
    EVENTS,
    HTTP_ROUTES,
    LEASES,
    MUTATING_WEBHOOKS,
    SECRETS,
    SELF_REVIEWS,
    VALIDATING_WEBHOOKS,
    Api,
    KubeApi,
    NotServed,
    own,
)

FOLLOWED: Final = ("AgentWorkflow", "WorkflowRevision", "WorkflowRollout", "Decision", "FallbackRuleSet")
"""Kinds that the cache holds whole."""
_NOBODY: Final = "sluicegate-is-not-there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One verb. name: of that object only. namespace None: everywhere."""

    api: Api
    verb: str
    namespace: str | None = None
    subresource: str = ""
    name: str = ""

    def __str__(self) -> str:
        """As people write it in a role."""
        plural = f"{self.api.plural}/{self.subresource}" if self.subresource else self.api.plural
        named = f" {self.name}" if self.name else ""
        group = f".{self.api.group}" if self.api.group else ""
        return f"{self.verb} {plural}{group}{named}"


_IN_WATCHED: Final[tuple[tuple[Api, str, tuple[str, ...]], ...]] = (
    (own("AgentWorkflow"), "", ("get", "list", "watch", "patch")),
    (own("AgentWorkflow"), "status", ("patch",)),
    (own("WorkflowRevision"), "", ("get", "list", "watch", "create", "delete")),
    (own("WorkflowRollout"), "", ("get", "list", "watch", "create", "delete")),
    (own("WorkflowRollout"), "status", ("patch",)),
    (own("Decision"), "", ("get", "list", "watch", "delete")),
    (own("FallbackRuleSet"), "", ("get", "list", "watch")),
    (own("FallbackRuleSet"), "status", ("patch",)),
    (CONFIG_MAPS, "", ("get", "list", "watch", "create", "patch", "delete")),
    (LEASES, "", ("list", "watch")),
    (EVENTS, "", ("create", "patch")),
)
_AT_HOME: Final[tuple[tuple[Api, str, tuple[str, ...]], ...]] = (
    (LEASES, "", ("create", "list", "watch")),
    (LEASES, names.LEADER_LEASE, ("get", "update")),
    (SECRETS, "", ("create",)),
    (SECRETS, names.WEBHOOK_SECRET, ("get", "update")),
)
_CLUSTER: Final[tuple[tuple[Api, str, tuple[str, ...]], ...]] = (
    (VALIDATING_WEBHOOKS, names.WEBHOOKS, ("get", "patch")),
    (MUTATING_WEBHOOKS, names.WEBHOOKS, ("get", "patch")),
    (ACCESS_REVIEWS, "", ("create",)),
)


def rights(home: str, watch: Sequence[str]) -> Iterator[Right]:
    """Every verb that the operator uses without an optional kind."""
    for namespace in watch or (None,):
        for api, subresource, verbs in _IN_WATCHED:
            for verb in verbs:
                yield Right(api=api, verb=verb, namespace=namespace, subresource=subresource)
    for api, name, verbs in _AT_HOME:
        for verb in verbs:
            yield Right(api=api, verb=verb, namespace=home, name=name)
    for api, name, verbs in _CLUSTER:
        for verb in verbs:
            yield Right(api=api, verb=verb, name=name)


async def require_rights(api: KubeApi, wanted: Sequence[Right]) -> None:
    """Forbidden with every verb that is not granted."""
    granted = await asyncio.gather(*(_is_granted(api, right) for right in wanted))
    missing = tuple(right for right, is_there in zip(wanted, granted, strict=True) if not is_there)
    if missing:
        raise Forbidden(tuple(_lacking(right) for right in missing))


def _lacking(right: Right) -> Problem:
    where = f"in namespace {right.namespace}" if right.namespace else "everywhere"
    return Problem(
        path="rights",
        message=f"this account may not {right} {where}",
        hint="install the chart's roles (helm upgrade), or give --watch the namespaces that it may see",
    )


async def _is_granted(api: KubeApi, right: Right) -> bool:
    attributes = {
        "group": right.api.group,
        "version": right.api.version,
        "resource": right.api.plural,
        "subresource": right.subresource,
        "verb": right.verb,
        "namespace": right.namespace or "",
        "name": right.name,
    }
    asked = {"spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}}}
    answer = await api.review(SELF_REVIEWS, asked)
    return bool((answer.get("status") or {}).get("allowed"))


async def require_kinds(api: KubeApi, namespace: str) -> None:
    """Refused with every kind of ours that the API server does not serve."""
    served = await asyncio.gather(*(_is_served(api, own(kind), namespace) for kind in FOLLOWED))
    missing = [kind for kind, is_there in zip(FOLLOWED, served, strict=True) if not is_there]
    if missing:
        raise Refused(
            tuple(
                Problem(
                    path="kinds",
                    message=f"the API server does not serve {own(kind).plural}.{own(kind).group}",
                    hint="install the CRDs: kubectl apply --server-side -f crds/",
                )
                for kind in missing
            )
        )


async def _is_served(api: KubeApi, kind: Api, namespace: str) -> bool:
    """Whether the API server knows the kind: an object that is not there is then NotFound."""
    try:
        await api.get(kind, namespace, _NOBODY)
    except NotFound:
        return True
    except NotServed:
        return False
    return True


async def may_route(api: KubeApi, watch: Sequence[str]) -> bool:
    """Whether HTTPRoutes may be followed and written; without them workflows of runtime Service wait."""
    verbs = ("get", "list", "watch", "patch")
    wanted = [
        Right(api=HTTP_ROUTES, verb=verb, namespace=namespace)
        for namespace in watch or (None,)
        for verb in verbs
    ]
    return all(await asyncio.gather(*(_is_granted(api, right) for right in wanted)))
