"""Objects for the tests of this part."""

from typing import Any

from sluicegate.contracts.resources.base import API_VERSION

Json = dict[str, Any]


def workflow(
    name: str = "echo", *, namespace: str = "default", version: str = "1.0.0", url: str = "http://127.0.0.1:9"
) -> Json:
    """The smallest workflow: one component behind one URL."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentWorkflow",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "version": version,
            "components": [
                {
                    "name": "agent",
                    "version": version,
                    "endpoint": {"protocol": "Http", "url": url},
                    "sideEffects": "None",
                }
            ],
        },
    }


def component(name: str = "planner", *, owner: str = "team-a", **metadata: Any) -> Json:
    """An object without any control loop: for the store and the API."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentComponent",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"owner": owner},
    }


def owned(name: str, owner: Json, **metadata: Any) -> Json:
    """A component that belongs to `owner`."""
    reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return component(name, ownerReferences=[reference], **metadata)
