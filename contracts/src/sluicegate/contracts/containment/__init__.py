"""Whether a consumer takes everything that a producer may give: containment of JSON Schemas, with a witness.

    covers(consumer, producer) -> Containment(verdict, witness, where, message)

Compatible is a proof, Breaking has a witness that the producer's schema accepts and the consumer's refuses, everything
else is Unknown. The producer is closed: it gives the fields that it lists (`closing`). Formats count, as everywhere in
the product: a text is not covered by ``format: uuid``, and the examples of a format are texts of that format. Bounded:
schemas beyond `size` are not given to the library, the search for a witness has a budget of checks, and who asks many
questions gives all of them one `Budget` of steps.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import orjson

from sluicegate.contracts.containment import budget as steps_of
from sluicegate.contracts.containment import native
from sluicegate.contracts.containment.budget import Budget
from sluicegate.contracts.containment.closing import closed
from sluicegate.contracts.containment.instances import instances
from sluicegate.contracts.containment.lengths import with_lengths
from sluicegate.contracts.containment.proof import Proof
from sluicegate.contracts.containment.size import MAX_DEPTH, MAX_NODES, MAX_UNROLLED, MAX_WEIGHT, size_of
from sluicegate.contracts.containment.structure import Document, Gap, Place
from sluicegate.contracts.containment.witnesses import (
    MOST_CHECKS,
    MOST_SHRINKING,
    NOTHING,
    Search,
    candidates,
    with_part,
)
from sluicegate.contracts.containment.wording import described, shortened
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schemas import Schema, SchemaCheck, compile_schema

__all__ = ["Budget", "Containment", "Verdict", "closed", "covers"]

_REMEMBERED: Final = 4_096
_MAX_BYTES: Final = 200_000
_MAX_REMEMBERED_BYTES: Final = 20_000
"""Of each schema of a question whose answer is kept."""
_BASES: Final = 12
_PARTS: Final = 60


class Verdict(StrEnum):
    """Of one pair, one consumer, or a whole graph. What is not proven is no success: who enforces treats it as a failure."""

    COMPATIBLE = "Compatible"
    BREAKING = "Breaking"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """What was found.

    witness: of Breaking only, a small value that the producer gives and the consumer refuses. where: JSON Pointer of
    the first place that breaks, or of the first that could not be proven; ``""`` is the whole. message: one sentence with
    both sets of values.
    """

    verdict: Verdict
    witness: Any = None
    where: str = ""
    message: str = ""


_COMPATIBLE: Final = Containment(verdict=Verdict.COMPATIBLE)


def covers(
    consumer: Schema, producer: Schema, *, is_closed: bool = True, budget: Budget | None = None
) -> Containment:
    """Whether the consumer takes all that the producer gives. Never raises; the same answer for the same schemas.

    is_closed: False takes the producer's schema as it is written, with any field that it does not exclude. budget: of this
    question and others; Unknown once it is spent.
    """
    limit = budget or Budget()
    if limit.is_spent:
        message = f"not compared: the questions before took all of {limit.steps:.0f} steps"
        return Containment(verdict=Verdict.UNKNOWN, message=message)
    limit.spend(steps_of.QUESTION)
    try:
        texts = orjson.dumps(consumer), orjson.dumps(producer)
    except (TypeError, ValueError, RecursionError):
        return Containment(verdict=Verdict.UNKNOWN, message="is no JSON")
    if max(map(len, texts)) > _MAX_BYTES:
        return Containment(verdict=Verdict.UNKNOWN, message=f"the schema is larger than {_MAX_BYTES} bytes")
    sizes = tuple(size_of(orjson.loads(text)) for text in texts)
    limit.spend(sum(size.nodes * steps_of.LOOKED_AT + size.unrolled * steps_of.PATTERN for size in sizes))
    for size in sizes:
        if not size.is_readable:
            return Containment(
                verdict=Verdict.UNKNOWN,
                message=f"not compared: {size}; at most {MAX_NODES} ({MAX_WEIGHT:.0f}), {MAX_DEPTH} and {MAX_UNROLLED} are",
            )
    checks = MOST_CHECKS // (1 + max(size.unrolled // 100 + int(size.weight) // 400 for size in sizes))
    is_short = max(map(len, texts)) <= _MAX_REMEMBERED_BYTES
    found, steps = (_covers if is_short else _covers.__wrapped__)(*texts, is_closed, checks)
    limit.spend(steps)
    return found


@lru_cache(maxsize=_REMEMBERED)
def _covers(consumer: bytes, producer: bytes, is_closed: bool, checks: int) -> tuple[Containment, float]:
    """And the steps that it took."""
    try:
        question = _Question(orjson.loads(consumer), orjson.loads(producer), is_closed)
    except Refused as refused:
        return Containment(verdict=Verdict.UNKNOWN, message=str(refused.problems[0].message)), 0.0
    try:
        found = question.answer(checks)
    except Refused as refused:
        found = Containment(verdict=Verdict.UNKNOWN, message=str(refused.problems[0].message))
    except RecursionError:
        found = Containment(verdict=Verdict.UNKNOWN, message="not compared: too deep")
    return found, question.steps


class _Question:
    """Both schemas, compiled."""

    def __init__(self, consumer: Schema, producer: Schema, is_closed: bool) -> None:
        self.consumer, self.producer = consumer, producer
        self.differences: dict[tuple[int, int], Any] = {}
        self.steps = 0.0
        self.takes: SchemaCheck = compile_schema(consumer)
        written = self.gives = compile_schema(producer)
        meant = closed(producer) if is_closed else producer
        if meant is not producer and meant != producer:
            meant_canonical = native.canonical_of(meant)
            self.steps += steps_of.asking(meant_canonical.size, meant_canonical.size)
            if not native.is_empty(meant_canonical) or native.is_empty(native.canonical_of(producer)):
                self.producer = meant
                self.gives = compile_schema(meant)
        self.written = written

    def answer(self, checks: int) -> Containment:
        proof = Proof(Document(with_lengths(self.consumer)), Document(with_lengths(self.producer)))
        found = proof.whole()
        self.steps += len(proof.kept) * steps_of.PAIR + proof.read * steps_of.READ + proof.asked
        if found is None:
            return _COMPATIBLE
        search = Search(
            lambda value: self.gives.is_valid(value) and self.written.is_valid(value),
            self.takes.is_valid,
            checks,
        )
        witness = self._witness(found, search)
        self.steps += (checks - search.left) * steps_of.CHECK
        if witness is NOTHING:
            where = _pointer(found.place)
            said = self._said(found)
            return Containment(verdict=Verdict.UNKNOWN, where=where, message=f"not proven{said}")
        witness = search.shrunk(witness)
        self.steps += (MOST_SHRINKING - search.left) * steps_of.CHECK
        error = next(iter(self.takes.errors(witness)), None)
        place = _place(error)
        said = self._said(found) if place[: len(found.place)] == found.place else ""
        return Containment(
            verdict=Verdict.BREAKING,
            witness=witness,
            where=_pointer(place),
            message=f"{shortened(str(error.message)) if error else 'is refused'}{said}",
        )

    def _witness(self, found: Gap, search: Search) -> Any:
        """At the place of the gap first, inside a value that the producer gives; then anywhere."""
        if found.place and found.producer is not None and found.consumer is not None:
            difference = self._difference(found.producer, found.consumer)
            bases = _given(self.producer, self.gives)[:_BASES] or [{}]
            parts = list(_few(candidates(found.producer, found.consumer, difference)))
            inside = search.first(with_part(base, found.place, part) for part in parts for base in bases[:4])
            if inside is not NOTHING:
                return inside
            wider = search.first(
                with_part(base, found.place, part) for base in bases[4:] for part in parts[:20]
            )
            if wider is not NOTHING:
                return wider
        difference = self._difference(self.producer, self.consumer)
        return search.first(candidates(self.producer, self.consumer, difference))

    def _difference(self, producer: Any, consumer: Any) -> Any:
        key = id(producer), id(consumer)
        if key not in self.differences:
            theirs, ours = native.canonical_of(producer), native.canonical_of(consumer)
            price = steps_of.asking(theirs.size, ours.size)
            self.steps += price + (steps_of.DIFFERENCE if price else 0.0)
            self.differences[key] = native.difference(theirs, ours)
        return self.differences[key]

    def _said(self, found: Gap) -> str:
        """Both sets of values at the place, where they can be said in a few words."""
        if found.producer is None or found.consumer is None:
            return ""
        given = described(self._difference(found.producer, found.consumer))
        taken = described(found.consumer)
        if given and taken:
            return f"; given is also {given}, taken is {taken}"
        return f"; taken is {taken}" if taken else ""


def _given(producer: Any, gives: SchemaCheck) -> list[Any]:
    return [value for value in instances(producer, most=120) if gives.is_valid(value)]


def _few(values: Any) -> Any:
    return (value for value, _ in zip(values, range(_PARTS), strict=False))


def _place(error: Any) -> Place:
    if error is None:
        return ()
    place = tuple(error.instance_path)
    missing = error.kind.as_dict().get("property") if error.kind.name == "required" else None
    return (*place, missing) if isinstance(missing, str) else place


def _pointer(place: Place) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)
