"""The library's set operations on schemas: the one place that asks jsonschema-rs whether one schema covers another.

Offline, formats asserted, linear-time patterns, as `contracts.schemas` validates. Nothing here raises: what the library
cannot answer, refuses or is not asked because it would take too long is None.
"""

from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from jsonschema_rs import canonical

from sluicegate.contracts.containment.size import MAX_COST, Size, cost, size_of

_PATTERNS = jsonschema_rs.RegexOptions()
_ERRORS = (ValueError, jsonschema_rs.ReferencingError, OverflowError, TypeError, RecursionError)


class Canonical:
    """A schema as the library sees it, made when it is first needed. `size` says whether it may be asked about."""

    __slots__ = ("_made", "_schema", "size")

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._made: Any = None
        self.size: Size = size_of(schema)

    def made(self) -> Any:
        """The library's form, or None."""
        if self._made is None and self.size.is_small:
            try:
                self._made = jsonschema_rs.canonicalize(
                    self._schema, offline=True, pattern_options=_PATTERNS, validate_formats=True
                )
            except _ERRORS:
                self._made = False
        return self._made or None


@lru_cache(maxsize=256)
def _canonical(text: bytes) -> Canonical:
    return Canonical(orjson.loads(text))


def canonical_of(schema: Any) -> Canonical:
    """The same schema is prepared once, as long as it is small."""
    try:
        text = orjson.dumps(schema)
    except (TypeError, ValueError):
        return Canonical(schema)
    return _canonical(text) if len(text) < 20_000 else Canonical(schema)


def covers(consumer: Canonical, producer: Canonical) -> bool | None:
    """Whether everything that the producer's schema admits is admitted by the consumer's. True is a proof."""
    if cost(consumer.size, producer.size) > MAX_COST:
        return None
    ours, theirs = consumer.made(), producer.made()
    if ours is None or theirs is None:
        return None
    try:
        found = ours.covers(theirs)
    except _ERRORS:
        return None
    return {canonical.Containment.YES: True, canonical.Containment.NO: False}.get(found)


def is_empty(schema: Canonical) -> bool:
    """Whether it is proven that no value satisfies it."""
    made = schema.made()
    try:
        return made is not None and made.satisfiability() == canonical.Satisfiability.NO
    except _ERRORS:
        return False


def difference(producer: Canonical, consumer: Canonical) -> Any:
    """A schema of what the producer's admits and the consumer's does not; None when there is none to show."""
    if cost(consumer.size, producer.size) > MAX_COST:
        return None
    theirs, ours = producer.made(), consumer.made()
    if ours is None or theirs is None:
        return None
    try:
        found = theirs.subtract(ours).to_json_schema()
    except _ERRORS:
        return None
    if isinstance(found, dict):
        found.pop("$schema", None)
    return found
