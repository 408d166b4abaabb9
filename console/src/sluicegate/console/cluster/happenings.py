"""Events of a cluster in the shape of local mode. Pure.

Read as core/v1: the cluster's role `view` holds those, and not those of events.k8s.io, which are the same objects.
"""

import re
from collections.abc import Iterator
from typing import Any

from sluicegate.console.client import Object

_WORKFLOW, _ROLLOUT = "AgentWorkflow", "WorkflowRollout"


def selectors(about: dict[str, str | None]) -> Iterator[str | None]:
    """Field selectors whose events are wanted, together. about: workflow, or kind and name; nothing: all."""
    if about.get("workflow"):
        yield f"involvedObject.kind={_WORKFLOW},involvedObject.name={about['workflow']}"
        yield f"involvedObject.kind={_ROLLOUT}"
        return
    parts = [f"involvedObject.{key}={about[key]}" for key in ("kind", "name") if about.get(key)]
    yield ",".join(parts) or None


def wanted(event: Object, about: dict[str, str | None]) -> bool:
    """Ours, and of this workflow: its rollouts are called <workflow>-<number>."""
    regarding = event.get("involvedObject") or {}
    if not str(regarding.get("apiVersion", "")).startswith("sluicegate.io/"):
        return False
    workflow = about.get("workflow")
    if not workflow or regarding.get("kind") != _ROLLOUT:
        return True
    return re.fullmatch(re.escape(workflow) + r"-\d+", str(regarding.get("name"))) is not None


def told(event: Object) -> Object:
    """{type, reason, message, count, firstAt, lastAt, about}."""
    series: dict[str, Any] = event.get("series") or {}
    regarding = event.get("involvedObject") or {}
    first = (
        event.get("eventTime") or event.get("firstTimestamp") or event["metadata"].get("creationTimestamp")
    )
    return {
        "type": event.get("type") or "Normal",
        "reason": event.get("reason") or "",
        "message": event.get("message") or "",
        "about": {key: regarding.get(key) for key in ("kind", "namespace", "name")},
        "count": series.get("count") or event.get("count") or 1,
        "firstAt": first,
        "lastAt": series.get("lastObservedTime") or event.get("lastTimestamp") or first,
    }
