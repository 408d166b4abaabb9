"""Which workflows use which rule set, and what is news to whom: learned from what is watched and looked at.

Asked without I/O, and without a scan: a rule set that changes wakes those that name it and nobody else.
"""

from collections.abc import Collection, Iterable
from typing import Final

from sluicegate.contracts.routes import RoutePlan
from sluicegate.operator.ports import Json, ref_of
from sluicegate.rollout.model import Ref
from sluicegate.rollout.rule_sets import PROVEN

RULE_SET: Final = "FallbackRuleSet"
WORKFLOW: Final = "AgentWorkflow"


class Users:
    """Belongs to one event loop. Users are keys of the loop: workflows, and rollouts while they route."""

    def __init__(self) -> None:
        self._used: dict[Ref, frozenset[Ref]] = {}
        self._users: dict[Ref, set[Ref]] = {}
        self._told: dict[Ref, tuple[str, int, str]] = {}
        self._carried: dict[Ref, frozenset[tuple[Ref, str, str]]] = {}

    def saw(self, item: Json) -> frozenset[Ref]:
        """A workflow as it is listed or watched: it uses what its wish names, and until it is looked at what it used before.
        The rule sets that got or lost it.
        """
        key = ref_of(item)
        wished = (item["spec"].get("businessFallback") or {}).get("ruleSet")
        before = self._used.get(key, frozenset())
        if not wished:
            return frozenset()
        return self._set(key, before | {Ref(RULE_SET, key.namespace, wished)})

    def uses(self, key: Ref, names: Iterable[str]) -> frozenset[Ref]:
        """What a look at `key` found that it uses. The rule sets that got or lost it."""
        return self._set(key, frozenset(Ref(RULE_SET, key.namespace, name) for name in names))

    def carries(self, workflow: Ref, plan: RoutePlan | None) -> frozenset[Ref]:
        """The rule sets that its plan has another table of than when it was seen last."""
        bodies = plan.rule_sets if plan is not None else ()
        tables = frozenset(
            (Ref(RULE_SET, workflow.namespace, one.name), one.version, one.digest) for one in bodies
        )
        before = self._carried.pop(workflow, frozenset())
        if tables:
            self._carried[workflow] = tables
        return frozenset(rule_set for rule_set, *_ in tables ^ before)

    def forget(self, key: Ref) -> frozenset[Ref]:
        """It is gone. The rule sets that lost it."""
        self._told.pop(key, None)
        self._carried.pop(key, None)
        return self._set(key, frozenset())

    def keep(self, keys: Collection[Ref]) -> None:
        """Of all users only these are left."""
        for gone in (self._used.keys() | self._carried.keys()) - set(keys):
            self.forget(gone)

    def keys(self, rule_set: Ref) -> tuple[Ref, ...]:
        """Whom a change of it concerns."""
        return tuple(sorted(self._users.get(rule_set, ())))

    def workflows(self, rule_set: Ref) -> tuple[str, ...]:
        """Names of the workflows that use it, in order."""
        return tuple(key.name for key in self.keys(rule_set) if key.kind == WORKFLOW)

    def is_news(self, item: Json, *, gone: bool) -> bool:
        """Whether users have to look again: its table was proved or refused, or it is gone. Not while it is being proved, nor
        for its status's other words.
        """
        ref, metadata = ref_of(item), item["metadata"]
        if gone:
            self._told.pop(ref, None)
            return True
        known = (item.get("status") or {}).get("conditions") or ()
        found = next((one for one in known if one["type"] == PROVEN), None)
        generation = metadata.get("generation", 0)
        if found is None or found.get("observedGeneration") != generation:
            return False
        news = (metadata["uid"], generation, found["status"])
        is_new = self._told.get(ref) != news
        self._told[ref] = news
        return is_new

    def _set(self, key: Ref, used: frozenset[Ref]) -> frozenset[Ref]:
        before = self._used.pop(key, frozenset())
        if used:
            self._used[key] = used
        for rule_set in before - used:
            left = self._users[rule_set]
            left.discard(key)
            if not left:
                del self._users[rule_set]
        for rule_set in used - before:
            self._users.setdefault(rule_set, set()).add(key)
        return before ^ used
