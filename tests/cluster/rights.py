"""What the chart grants an account, and which of it was used: from rendered roles and the API server's audit log. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.controlplane.audit import Entry

ACCOUNTS = ("sluicegate-operator", "sluicegate-gateway", "sluicegate-lineage")
_ANSWERED = (404, 409, 410)
"""Codes of a request that was let through: there was nothing, or somebody was first."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One verb of an account. name: of that object only. namespace: there only."""

    account: str
    verb: str
    group: str
    resource: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        """In the words of the table in the test."""
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        words = [self.account.removeprefix("sluicegate-"), self.verb, what, self.name]
        return " ".join(filter(None, words)) + (f" in {self.namespace}" if self.namespace else "")


def granted(manifests: list[dict[str, Any]], home: str) -> set[Grant]:
    """By every binding of the chart."""
    roles = {_key(item): item.get("rules") or [] for item in manifests if item["kind"].endswith("Role")}
    return {
        grant
        for item in manifests
        if item["kind"].endswith("RoleBinding")
        for subject in item["subjects"]
        if subject["kind"] == "ServiceAccount" and subject["namespace"] == home
        for rule in roles[_meant(item)]
        for grant in _expanded(subject["name"], item["metadata"].get("namespace", ""), rule)
    }


def _key(item: dict[str, Any]) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _meant(binding: dict[str, Any]) -> tuple[str, str, str]:
    role = binding["roleRef"]
    return role["kind"], binding["metadata"]["namespace"] if role["kind"] == "Role" else "", role["name"]


def _expanded(account: str, namespace: str, rule: dict[str, Any]) -> Iterator[Grant]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames") or ("",):
                    yield Grant(account, verb, group, resource, name, namespace)


def requests(entries: Iterable[Entry], home: str) -> Iterator[tuple[str, Entry]]:
    """Account and request, of the product's accounts."""
    users = {f"system:serviceaccount:{home}:{account}": account for account in ACCOUNTS}
    for entry in entries:
        if entry.user in users and entry.resource:
            yield users[entry.user], entry


def used(entries: Iterable[Entry], home: str) -> set[Grant]:
    """As narrow as they were asked for. A patch that made its object (server-side apply) needs `create` as well."""
    found = set()
    for account, one in requests(entries, home):
        if one.code < 400 or one.code in _ANSWERED:
            resource = f"{one.resource}/{one.subresource}" if one.subresource else one.resource
            for verb in ("patch", "create") if (one.verb, one.code) == ("patch", 201) else (one.verb,):
                found.add(Grant(account, verb, one.group, resource, one.name, one.namespace))
    return found


def unused(grants: Iterable[Grant], uses: Iterable[Grant]) -> set[Grant]:
    """Grants that no request needed."""
    asked = {
        Grant(one.account, one.verb, one.group, one.resource, name, namespace)
        for one in uses
        for name in ("", one.name)
        for namespace in ("", one.namespace)
    }
    return set(grants) - asked
