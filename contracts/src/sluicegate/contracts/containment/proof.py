"""Containment part by part: where it fails, and proofs that the library has none for (recursive schemas).

Every rule says "the consumer covers the producer if …" of parts of both, and is sound: a consumer may be taken apart into
schemas that hold together, a producer may be replaced by anything that admits more. What no rule decides is asked of the
library. A pair that is met again inside itself, below a field or an item, holds if all else does: values are finite, so
a smallest counterexample cannot contain another one.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sluicegate.contracts.containment import native
from sluicegate.contracts.containment.budget import asking
from sluicegate.contracts.containment.size import MAX_COST, cost
from sluicegate.contracts.containment.structure import (
    ANNOTATIONS,
    SIMPLE,
    Document,
    Gap,
    Place,
    keys_in,
    text_of,
    unrolled,
)
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schemas import compile_schema

_MAX_PAIRS: Final = 4_000
_MAX_RUNNING: Final = 70
_MAX_READ: Final = 60_000  # values of schemas that are prepared for the library, in one question
_MAX_VALUES: Final = 2_000
_NEVER: Final = 1 << 30
_UNCOMPOSED: Final = SIMPLE | {
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "items",
    "prefixItems",
}
_FIELDS: Final = frozenset({"properties", "patternProperties", "additionalProperties"})

_Key = tuple[int, int]
Rule = Callable[["Proof", dict[str, Any], dict[str, Any], Place], "Gap | bool"]
"""A gap, True (proven), or False (the rule has nothing to say)."""


class Proof:
    """One question: both are roots, the producer's as it is meant (see `closing`). Schemas are known by identity, so all that were seen are kept.

    kept, read, asked: pairs, values prepared for the library, and steps of asking it, so far.
    """

    def __init__(self, consumer: Document, producer: Document) -> None:
        self.ours, self.theirs = consumer, producer
        self.running: dict[_Key, tuple[int, int]] = {}  # pair -> (length of its place, its number)
        self.proven: set[_Key] = set()
        self.failed: dict[_Key, Gap] = {}
        self.kept: list[Any] = []
        self.split: dict[int, list[Any]] = {}
        self.assumed = _NEVER
        self.cost = 0.0
        self.asked = 0.0
        self.read = 0
        self.same_references = (not consumer.has_references and not producer.has_references) or (
            consumer.refers_to_definitions
            and producer.refers_to_definitions
            and text_of(consumer.definitions) == text_of(producer.definitions) is not None
        )

    def whole(self) -> Gap | None:
        """Of the roots; None: proven."""
        found = None
        if self.ours.is_local and self.theirs.is_local:
            found = self.pair(self.ours.root, self.theirs.root, ())
            if found is None:
                return None
        ours, theirs = native.canonical_of(self.ours.root), native.canonical_of(self.theirs.root)
        self.asked += asking(ours.size, theirs.size)
        if native.covers(ours, theirs):
            return None
        return found or Gap(place=(), consumer=self.ours.root, producer=self.theirs.root)

    def pair(self, consumer: Any, producer: Any, place: Place) -> Gap | None:
        """One pair, each but once."""
        if consumer is True or consumer == {} or producer is False or self._is_same(consumer, producer):
            return None
        key = (id(consumer), id(producer))
        if key in self.proven:
            return None
        if key in self.failed:
            return self.failed[key]
        if key in self.running:
            length, number = self.running[key]
            if length < len(place):
                self.assumed = min(self.assumed, number)
                return None
            return self._gap(place, consumer, producer)
        if len(self.kept) > _MAX_PAIRS or len(self.running) > _MAX_RUNNING:
            return self._gap(place, consumer, producer)
        return self._new_pair(key, consumer, producer, place)

    def _new_pair(self, key: _Key, consumer: Any, producer: Any, place: Place) -> Gap | None:
        """A proof that leans on a pair further out is good only inside that one, so it is not remembered."""
        self.kept.append((consumer, producer))
        number = len(self.running)
        outer, self.assumed = self.assumed, _NEVER
        self.running[key] = (len(place), number)
        found = self._decided(consumer, producer, place)
        del self.running[key]
        if found is not None:
            self.failed[key] = found
        elif self.assumed >= number:
            self.proven.add(key)
            self.assumed = _NEVER
        self.assumed = min(outer, self.assumed)
        return found

    def _decided(self, consumer: Any, producer: Any, place: Place) -> Gap | None:
        found: Gap | None = None
        if isinstance(consumer, dict) and isinstance(producer, dict):
            for rule in _RULES:
                said = rule(self, consumer, producer, place)
                if said is True:
                    return None
                found = found or (said if isinstance(said, Gap) else None)
        if any(self._library(consumer, weaker) for weaker in self._weaker(producer)):
            return None
        return found or self._gap(place, consumer, producer)

    def _library(self, consumer: Any, producer: Any) -> bool:
        """Asks the library, within the budget of the whole question."""
        found = self._prepared(self.ours.alone(consumer), self.theirs.alone(producer))
        return found is not None and native.covers(*found) is True

    def _prepared(self, one: Any, other: Any) -> tuple[native.Canonical, native.Canonical] | None:
        if one is None or other is None or self.read > _MAX_READ or self.cost > MAX_COST:
            return None
        found = native.canonical_of(one), native.canonical_of(other)
        self.read += found[0].size.nodes + found[1].size.nodes
        price = cost(found[0].size, found[1].size)
        if price > MAX_COST or not (found[0].size.is_small and found[1].size.is_small):
            return None
        self.cost += price
        self.asked += asking(found[0].size, found[1].size)
        return found

    def _weaker(self, producer: Any) -> Iterator[Any]:
        """The producer's schema, and such as admit more: with references cut off, without all that is composed."""
        yield producer
        if isinstance(producer, dict):
            rest = {word: value for word, value in producer.items() if word not in ANNOTATIONS}
            if "$ref" in keys_in(rest):
                yield unrolled(rest, self.theirs)
            simple = {word: value for word, value in rest.items() if word in _UNCOMPOSED}
            if simple and len(simple) < len(rest):
                yield unrolled(simple, self.theirs)

    def _gap(self, place: Place, consumer: Any, producer: Any) -> Gap:
        return Gap(place=place, consumer=self.ours.alone(consumer), producer=self.theirs.alone(producer))

    def _is_same(self, consumer: Any, producer: Any) -> bool:
        if not self.same_references and ("$ref" in keys_in(consumer) or "$ref" in keys_in(producer)):
            return False
        ours = text_of(consumer)
        return ours is not None and ours == text_of(producer)

    def _all(self, pairs: Iterable[tuple[Any, Any, Place]]) -> "Gap | bool":
        return next((found for pair in pairs if (found := self.pair(*pair)) is not None), True)

    def finite(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """Few values: each is taken, or not given."""
        values = [producer["const"]] if "const" in producer else producer.get("enum")
        if not isinstance(values, list) or len(values) > _MAX_VALUES or self.read > _MAX_READ:
            return False
        ours, theirs = self.ours.alone(consumer), self.theirs.alone(producer)
        if ours is None or theirs is None:
            return False
        self.read += len(values) + (self.ours.nodes if self.ours.has_references else 0)
        try:
            takes, gives = compile_schema(ours).is_valid, compile_schema(theirs).is_valid
            is_taken = all(takes(value) or not gives(value) for value in values)
        except (Refused, ValueError):
            return False
        return is_taken or self._gap(place, consumer, producer)

    def alternatives_given(
        self, consumer: dict[str, Any], producer: dict[str, Any], place: Place
    ) -> "Gap | bool":
        """Each alternative of the producer by itself; what stands beside them is left out."""
        branches = producer.get("anyOf") or producer.get("oneOf")
        types = producer.get("type")
        if isinstance(types, list) and len(types) > 1 and "enum" not in producer and "const" not in producer:
            if id(producer) not in self.split:
                self.split[id(producer)] = [{**producer, "type": name} for name in types]
            branches = self.split[id(producer)]
        if not isinstance(branches, list) or not branches:
            return False
        return self._all((consumer, branch, place) for branch in branches)

    def together(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """All parts of the consumer."""
        parts = self.ours.parts(consumer)
        if len(parts) == 1 and parts[0] is consumer:
            return False
        return self._all((part, producer, place) for part in parts)

    def same_words(self, consumer: dict[str, Any], producer: dict[str, Any], _place: Place) -> "Gap | bool":
        """The producer says of itself all that the consumer asks for."""
        words = consumer.keys() - ANNOTATIONS
        if words & {"unevaluatedProperties", "unevaluatedItems"} or not words <= producer.keys():
            return False
        if "properties" in words or "items" in words or ("$ref" in words and not self.same_references):
            return False
        return all(self._is_same(consumer[word], producer[word]) for word in words) and not self._is_partial(
            words, producer
        )

    @staticmethod
    def _is_partial(words: Any, producer: dict[str, Any]) -> bool:
        """Words that mean something else when another stands beside them."""
        return any(
            words & group and producer.keys() & group - words
            for group in ({"additionalProperties", "properties", "patternProperties"}, {"if", "then", "else"},
                          {"contains", "minContains", "maxContains"}, {"items", "prefixItems"})
        )  # fmt: skip

    def fields(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """Field by field, where the consumer asks for nothing but fields."""
        words = consumer.keys() - ANNOTATIONS
        if not words or not words <= _FIELDS or "patternProperties" in words:
            return False
        ours, theirs = _dict(consumer.get("properties")), _dict(producer.get("properties"))
        extra = consumer.get("additionalProperties", True)
        open_ended = "patternProperties" in producer
        others = True if open_ended else producer.get("additionalProperties", True)
        pairs = [(ours.get(name, extra), below, (*place, name)) for name, below in theirs.items()]
        if others is not False:
            pairs += [(below, others, (*place, name)) for name, below in ours.items() if name not in theirs]
            pairs.append((extra, others, (*place, _unlisted(ours, theirs))))
        return self._all(pairs)

    def items(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """Item by item, where the consumer asks for nothing but items."""
        words = consumer.keys() - ANNOTATIONS
        if not words or not words <= {"items", "prefixItems"}:
            return False
        longest = producer.get("maxItems", _NEVER)
        ours, theirs = _list(consumer.get("prefixItems")), _list(producer.get("prefixItems"))
        rest, others = consumer.get("items", True), producer.get("items", True)
        count = int(min(max(len(ours), len(theirs)), longest))
        pairs = [(_at(ours, at, rest), _at(theirs, at, others), (*place, at)) for at in range(count)]
        if count < longest:
            pairs.append((rest, others, (*place, count)))
        return self._all(pairs)

    def required(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """Names that are always there."""
        if consumer.keys() - ANNOTATIONS != {"required"}:
            return False
        given = _list(producer.get("required"))
        missing = [name for name in _list(consumer["required"]) if name not in given]
        return self._gap(place, consumer, producer) if missing else True

    def condition(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """The same condition, and what follows from it."""
        if not (
            consumer.keys() - ANNOTATIONS <= {"if", "then", "else"} and "if" in consumer and "if" in producer
        ):
            return False
        if not self._is_same(consumer["if"], producer["if"]):
            return False
        return self._all(
            (consumer.get(word, True), producer.get(word, True), place) for word in ("then", "else")
        )

    def either_way(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """Each consequence takes everything, or never comes up."""
        if not (consumer.keys() - ANNOTATIONS <= {"if", "then", "else"} and "if" in consumer):
            return False
        sides = (("then", consumer["if"]), ("else", {"not": consumer["if"]}))
        return all(
            self.pair(consumer.get(word, True), producer, place) is None or self._is_disjoint(when, producer)
            for word, when in sides
        )

    def one_taken(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """One alternative of the consumer takes everything and the others nothing."""
        branches = consumer.get("oneOf")
        if consumer.keys() - ANNOTATIONS != {"oneOf"} or not isinstance(branches, list) or len(branches) > 12:
            return False
        for number, branch in enumerate(branches):
            if self.pair(branch, producer, place) is None:
                others = [*branches[:number], *branches[number + 1 :]]
                return all(self._is_disjoint(other, producer) for other in others)
        return False

    def _is_disjoint(self, one: Any, producer: Any) -> bool:
        """Whether nothing that the producer gives is in the other schema, which is the consumer's."""
        ours = self.ours.alone(one)
        for weaker in self._weaker(producer):
            theirs = self.theirs.alone(weaker)
            if ours is None or theirs is None or "$ref" in keys_in(ours) or "$ref" in keys_in(theirs):
                continue
            found = self._prepared({"allOf": [theirs, ours]}, ours)
            if found is not None and native.is_empty(found[0]):
                return True
        return False

    def negation(self, consumer: dict[str, Any], producer: dict[str, Any], _place: Place) -> "Gap | bool":
        """What the consumer refuses, the producer excludes, and perhaps more."""
        if consumer.keys() - ANNOTATIONS != {"not"}:
            return False
        if "not" not in producer:
            return self._is_disjoint(consumer["not"], producer)
        if self._is_disjoint(consumer["not"], producer):
            return True
        found = self._prepared(self.theirs.alone(producer["not"]), self.ours.alone(consumer["not"]))
        return found is not None and native.covers(*found) is True

    def any_taken(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """One alternative of the consumer takes everything."""
        branches = consumer.get("anyOf")
        if consumer.keys() - ANNOTATIONS != {"anyOf"} or not isinstance(branches, list):
            return False
        return any(self.pair(branch, producer, place) is None for branch in branches)

    def any_given(self, consumer: dict[str, Any], producer: dict[str, Any], place: Place) -> "Gap | bool":
        """One of the things that hold of the producer is enough."""
        below = self.theirs.followed(producer["$ref"]) if "$ref" in producer else None
        branches = [*([] if below is None else [below]), *_list(producer.get("allOf"))]
        gaps = [self.pair(consumer, branch, place) for branch in branches]
        if None in gaps:
            return True
        return gaps[0] if len(gaps) == 1 and gaps[0] is not None and not producer.keys() & SIMPLE else False


_RULES: Final[tuple[Rule, ...]] = (
    Proof.finite,
    Proof.same_words,
    Proof.together,
    Proof.alternatives_given,
    Proof.fields,
    Proof.items,
    Proof.required,
    Proof.condition,
    Proof.either_way,
    Proof.negation,
    Proof.any_taken,
    Proof.one_taken,
    Proof.any_given,
)


def _unlisted(*named: dict[str, Any]) -> str:
    """A field that none of them lists."""
    return next(name for number in range(10_000) if not any((name := f"k{number}") in each for each in named))


def _at(items: list[Any], at: int, rest: Any) -> Any:
    return items[at] if at < len(items) else rest


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
