"""What comes out where certain rows hold, in a form that can be compared without an input."""

from collections.abc import Hashable

from sluicegate.contracts.resources.fallback import HitPolicy
from sluicegate.fallback_rules.axes import bits
from sluicegate.fallback_rules.searching import Reading

CONFLICT: Hashable = "conflict"
NOTHING: Hashable = "nothing"


def outcome(reading: Reading, mask: int) -> Hashable:
    """Equal when the answers are equal, whatever the guards give; a guard is its text."""
    if reading.policy in {HitPolicy.FIRST, HitPolicy.PRIORITY}:
        return _in_order(reading, reading.contenders(mask))
    if reading.policy is HitPolicy.COLLECT:
        return ("list", _in_order(reading, mask, collapse=False))
    together = mask & reading.unguarded
    kinds = {reading.kinds[bit] for bit in bits(together)}
    if len(kinds) > 1 or (reading.policy is HitPolicy.UNIQUE and together & (together - 1)):
        return CONFLICT
    return _in_order(reading, mask)


def _in_order(reading: Reading, mask: int, *, collapse: bool = True) -> Hashable:
    steps: list[tuple[str, Hashable]] = []
    for bit in bits(mask):
        guard = reading.rows[bit].guard
        steps.append((guard.text if guard else "", reading.kinds[bit]))
    if not mask & reading.unguarded:
        steps.append(("", NOTHING if reading.default_kind is None else ("default", reading.default_kind)))
    kinds = {_plain(kind) for _, kind in steps}
    return kinds.pop() if collapse and len(kinds) == 1 else tuple(steps)


def _plain(kind: Hashable) -> Hashable:
    return kind[1] if isinstance(kind, tuple) and kind[:1] == ("default",) else kind
