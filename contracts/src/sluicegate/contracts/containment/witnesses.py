"""Search for a value that the producer may give and the consumer refuses; deterministic, bounded, shrunk.

Candidates are values of the difference of both schemas where it can be made, of the producer's schema, of the consumer's
schema, and of a producer's value with one part replaced. Every candidate is validated with both schemas.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from sluicegate.contracts.containment.instances import BASIC, instances
from sluicegate.contracts.containment.structure import Place

MOST_CHECKS: Final = 6_000
_MOST_PLACES: Final = 40
MOST_SHRINKING: Final = 400
NOTHING: Final = object()

Test = Callable[[Any], bool]


class Search:
    """One budget of checks for all that is tried. `shows(value)`: the producer accepts it and the consumer refuses it."""

    def __init__(self, gives: Test, takes: Test, checks: int = MOST_CHECKS) -> None:
        self.gives, self.takes = gives, takes
        self.left = checks

    def shows(self, value: Any) -> bool:
        """Whether the value is a witness; False once the budget is spent."""
        self.left -= 1
        return self.left >= 0 and _holds(self.gives, value) and not _holds(self.takes, value)

    def first(self, values: Iterable[Any]) -> Any:
        """The first witness among the values, or NOTHING."""
        return next((value for value in values if self.shows(value)), NOTHING)

    def shrunk(self, value: Any) -> Any:
        """A small witness below this one: parts left out, or simpler, while it stays one."""
        self.left = MOST_SHRINKING
        smaller: Any = value
        while smaller is not NOTHING:
            value, smaller = smaller, self.first(_simpler(smaller))
        return value


def _holds(test: Test, value: Any) -> bool:
    try:
        return test(value)
    except ValueError:
        return False


def candidates(producer: Any, consumer: Any, difference: Any) -> Iterator[Any]:
    """From the likeliest to the wild guesses. The schemas stand alone."""
    if difference is not None and difference is not False:
        yield from instances(difference, most=200)
    given = instances(producer, most=200)
    yield from given
    taken = instances(consumer, most=120)
    yield from taken
    for value in given[:40]:
        if isinstance(value, dict):
            yield from ({**value, **other} for other in taken[:40] if isinstance(other, dict))
    pool = [*BASIC, *_parts(taken), *_parts(given)][:120]
    for value in given[:60]:
        yield from varied(value, pool)


def _parts(values: list[Any]) -> list[Any]:
    """What stands inside, one level down."""
    found: list[Any] = []
    for value in values:
        below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        found += [item for item in below if item not in found[-20:]]
    return found[:60]


def varied(value: Any, pool: list[Any]) -> Iterator[Any]:
    """The value with one part replaced, left out, or repeated."""
    for place in islice(_places(value), _MOST_PLACES):
        for other in pool:
            yield with_part(value, place, other)
        yield without_part(value, place)
    if isinstance(value, list):
        yield from ([*value, other] for other in pool[:20])
        yield value + value
    if isinstance(value, dict):
        yield from ({**value, "k0": other} for other in pool[:20])


def _places(value: Any) -> Iterator[Place]:
    waiting: list[tuple[Place, Any]] = [((), value)]
    while waiting:
        place, item = waiting.pop(0)
        if place:
            yield place
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        waiting.extend(((*place, key), below) for key, below in islice(pairs, 24))


def with_part(value: Any, place: Place, part: Any) -> Any:
    """A copy with `part` at `place`; objects and lists on the way are made when they are not there."""
    if not place:
        return part
    key, rest = place[0], place[1:]
    if isinstance(key, int):
        items = list(value) if isinstance(value, list) else []
        items += [items[-1] if items else None] * (key + 1 - len(items))
        items[key] = with_part(items[key], rest, part)
        return items
    fields = dict(value) if isinstance(value, dict) else {}
    fields[key] = with_part(fields.get(key), rest, part)
    return fields


def without_part(value: Any, place: Place) -> Any:
    """A copy without what stands at `place`."""
    key, rest = place[0], place[1:]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        kept = [without_part(value[key], rest)] if rest else []
        return [*value[:key], *kept, *value[key + 1 :]]
    if isinstance(value, dict) and key in value:
        fields = dict(value)
        if rest:
            fields[str(key)] = without_part(value[key], rest)
        else:
            del fields[str(key)]
        return fields
    return value


def _simpler(value: Any) -> Iterator[Any]:
    """Strictly smaller values, the smallest first: a walk along them ends."""
    rank = _rank(value)
    if isinstance(value, dict | list):
        empty: Any = {} if isinstance(value, dict) else []
        if value:
            yield empty
    for place in reversed(list(islice(_places(value), 60))):
        yield without_part(value, place)
    for place in [(), *islice(_places(value), 60)]:
        part = part_at(value, place)
        for other in _smaller_parts(part):
            if _rank(with_part(value, place, other)) < rank:
                yield with_part(value, place, other)


def _smaller_parts(part: Any) -> Iterator[Any]:
    if isinstance(part, str) and part:
        yield from ("", "a", part[:1], part[: len(part) // 2], part[:-1])
    elif isinstance(part, dict | list) and part:
        yield from ({}, [], None, 0, "")
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield from (0, 1, -1, int(part) if abs(part) < 2**53 else 0)


def _rank(value: Any) -> tuple[int, int, int]:
    """Smaller is simpler: parts, length of texts, digits of numbers."""
    if isinstance(value, dict):
        below = [_rank(item) for item in value.values()]
        return (
            2 + sum(one for one, _, _ in below),
            sum(map(len, value)) + sum(two for _, two, _ in below),
            sum(three for _, _, three in below),
        )
    if isinstance(value, list):
        below = [_rank(item) for item in value]
        return (
            2 + sum(one for one, _, _ in below),
            sum(two for _, two, _ in below),
            sum(three for _, _, three in below),
        )
    if isinstance(value, str):
        return 1, len(value), sum(sign != "a" for sign in value[:600])
    if isinstance(value, bool) or value is None:
        return 1, 0, 0
    return 1, 0, len(repr(value)) + (value < 0) if value else 1


def part_at(value: Any, place: Place) -> Any:
    """What stands at a place that is there."""
    for key in place:
        value = value[key]
    return value
