"""Who the API server takes the caller for, and which verbs it grants."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from sluicegate.console.client import ROLLOUTS, WORKFLOWS, Identity, Object

Post = Callable[[str, Object], Object]
_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
GROUP = "sluicegate.io"
RESOURCE_OF = {"attest": WORKFLOWS}
"""Where a verb is held; all others on rollouts."""


class Caller:
    """Asked once per command. post: (path, body) → answer."""

    def __init__(self, post: Post) -> None:
        self._post = post

    @cached_property
    def _user(self) -> Object:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        found: Object = (self._post(_REVIEW, body).get("status") or {}).get("userInfo") or {}
        return found

    @property
    def name(self) -> str:
        """User name, as in admission and in the audit log."""
        return str(self._user.get("username") or "")

    def identity(self, namespace: str) -> Identity:
        """Name, groups, and each verb of a decision."""
        from sluicegate.rollout.permissions import Verb

        verbs = {verb.value: self._may(namespace, verb.value) for verb in Verb}
        return Identity(user=self.name, groups=tuple(self._user.get("groups") or ()), verbs=verbs)

    def _may(self, namespace: str, verb: str) -> bool:
        attributes = {
            "namespace": namespace,
            "verb": verb,
            "group": GROUP,
            "resource": RESOURCE_OF.get(verb, ROLLOUTS),
        }
        body: dict[str, Any] = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return bool((self._post(_ACCESS, body).get("status") or {}).get("allowed"))
