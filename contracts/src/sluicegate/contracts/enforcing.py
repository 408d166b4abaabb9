"""One side of a contract at run time: its schema, and what happens to fields that break it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sluicegate.contracts.paths import EACH, field_pattern
from sluicegate.contracts.resources.enforcement import FieldPolicy
from sluicegate.contracts.runs import Policy, Violation
from sluicegate.contracts.schemas import Located, Place, SchemaCheck

_STRICTEST: Final = (Policy.FAIL, Policy.REDACT, Policy.MAP, Policy.WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """A compiled `FieldPolicy`. below: the steps into the value, ``*`` for each item."""

    side: str  # input | output
    below: tuple[str, ...]
    policy: Policy
    value: Any = None

    def covers(self, place: Place) -> bool:
        """Whether the place is the field, or lies in it."""
        return len(self.below) <= len(place) and all(
            mine in (EACH, theirs) for mine, theirs in zip(self.below, place, strict=False)
        )


def field_rule(item: FieldPolicy) -> FieldRule:
    """ValueError for a bad field path."""
    side, *below = field_pattern(item.field)
    return FieldRule(side=side, below=tuple(below), policy=item.policy, value=item.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A schema and the policies of its fields; the first rule that covers a violation holds.

    `is_valid` is the fast question. The rest as `SchemaCheck`.
    """

    check: SchemaCheck
    rules: tuple[FieldRule, ...] = ()
    is_valid: Callable[[Any], bool] = field(compare=False, repr=False)

    def violations(self, value: Any, root: str) -> tuple[Violation, ...]:
        """Every broken rule, each with what would be done about it."""
        return tuple(one.violation for one in self._located(value, root))

    def enforced(self, value: Any, root: str) -> tuple[Any, tuple[Violation, ...]]:
        """The value that may go on, and what was broken. With a violation of policy Fail nothing may go on.

        The value itself is never changed: what is mapped or redacted is a copy. What Redact and Map leave has to keep the
        schema, but for fields of policy Warn.
        """
        if self.is_valid(value):
            return value, ()
        found = self._located(value, root)
        told = tuple(one.violation for one in found)
        if not self.rules or any(item.policy is Policy.FAIL for item in told):
            return value, told
        changed = self._changed(value, {place for one in found for place in one.places})
        if self.is_valid(changed):
            return changed, told
        left = [one.violation for one in self._located(changed, root)]
        failed = tuple(replace(item, policy=Policy.FAIL) for item in left if item.policy is not Policy.WARN)
        return (value, (*told, *failed)) if failed else (changed, told)

    def _located(self, value: Any, root: str) -> tuple[Located, ...]:
        found = self.check.located(value, root)
        if not self.rules:
            return found
        return tuple(
            replace(one, violation=replace(one.violation, policy=self._policy(one.places))) for one in found
        )

    def _policy(self, places: Sequence[Place]) -> Policy:
        rules = [self._rule(place) for place in places]
        policies = {Policy.FAIL if rule is None else rule.policy for rule in rules} or {Policy.FAIL}
        return min(policies, key=_STRICTEST.index)

    def _rule(self, place: Place) -> FieldRule | None:
        return next((rule for rule in self.rules if rule.covers(place)), None)

    def _changed(self, value: Any, places: Iterable[Place]) -> Any:
        """Each field once: first what is mapped, then what goes, last items first: so all places stay true."""
        mapped: dict[Place, Any] = {}
        removed: set[Place] = set()
        for place in places:
            rule = self._rule(place)
            if rule is not None and rule.policy is Policy.MAP:
                mapped[place[: len(rule.below)]] = rule.value
            elif rule is not None and rule.policy is Policy.REDACT:
                removed.add(place[: len(rule.below)])
        for where in sorted(mapped, key=_order, reverse=True):
            value = _put(value, where, mapped[where])
        for where in sorted(removed, key=_order, reverse=True):
            if not any(where[:length] in mapped for length in range(len(where) + 1)):
                value = _without(value, where)
        return value


def side_of(check: SchemaCheck, rules: Iterable[FieldRule] = ()) -> Side:
    """A side; rules of the other one are left out by the caller."""
    return Side(check=check, rules=tuple(rules), is_valid=check.is_valid)


def _order(place: Place) -> tuple[tuple[int, str], ...]:
    return tuple((key, "") if isinstance(key, int) else (-1, key) for key in place)


def _put(value: Any, place: Place, new: Any) -> Any:
    """A copy with another value there; unchanged where the way is gone."""
    if not place:
        return new
    key, rest = place[0], place[1:]
    if isinstance(value, dict) and isinstance(key, str) and (key in value or not rest):
        return value | {key: _put(value.get(key), rest, new)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [_put(item, rest, new) if index == key else item for index, item in enumerate(value)]
    return value


def _without(value: Any, place: Place) -> Any:
    """A copy that lacks it; unchanged where the way is gone. The whole value becomes null."""
    if not place:
        return None
    key, rest = place[0], place[1:]
    if isinstance(value, dict) and isinstance(key, str) and key in value:
        if rest:
            return value | {key: _without(value[key], rest)}
        return {name: item for name, item in value.items() if name != key}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        if rest:
            return [_without(item, rest) if index == key else item for index, item in enumerate(value)]
        return value[:key] + value[key + 1 :]
    return value
