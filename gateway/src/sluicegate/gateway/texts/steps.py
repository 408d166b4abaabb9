"""The order of steps in a text that speaks of one: clauses as they happen, and whether two texts order them alike."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？；\n]")
_MARKS = frozenset(
    [
        "first",
        "firstly",
        "second",
        "secondly",
        "third",
        "thirdly",
        "then",
        "next",
        "afterwards",
        "finally",
        "lastly",
        "before",
        "after",
        "once",
        "from",
    ]
)
_HAN_MARK = re.compile(r"[先首然接其随最再后前才从]")
_MARKED = re.compile(
    r"\b(?:first|firstly|second|secondly|third|thirdly|then|next|afterwards|finally|lastly|before|after|once)\b|"
    r"先|首先|然后|接着|其次|随后|最后|再(?!见|次)|之后|之前|以后|以前|才能",
    re.IGNORECASE,
)
_LED = re.compile(
    r"(before|after|once)\s([^,.;]{3,120}),\s?(.{3,200})|(?:在|等)?([^,.;]{2,60}?)(之前|以前|之后|以后|后)[,，]?\s?(.{2,100})",
    re.IGNORECASE,
)
_TRAILED = re.compile(r"(.{3,200}?),?\s(before|after|once)\s(?!which\b|that\b)(.{3,200})", re.IGNORECASE)
_TURNING = ("before", "after", "once", "前", "后")
_SPLIT = re.compile(
    r"[,;:，；：]|\b(?:and then|then|next|after that|after which|afterwards|finally|lastly|firstly|first|secondly|second|thirdly|third)\b|"
    r"首先|然后|接着|其次|随后|最后|再(?!见|次)|先|\d[.)、]\s",
    re.IGNORECASE,
)
_LATIN = re.compile(r"[a-z]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "to",
        "of",
        "in",
        "on",
        "at",
        "for",
        "your",
        "you",
        "it",
        "its",
        "is",
        "are",
        "be",
        "we",
        "our",
        "us",
        "please",
        "and",
        "or",
        "with",
        "this",
        "that",
        "will",
        "can",
        "must",
        "need",
        "have",
        "has",
        "before",
        "after",
        "once",
        "by",
        "from",
        "as",
        "i",
        "my",
        "if",
    ]
)
_SUFFIX = re.compile(r"(?:ing|ied|ies|ed|es|s|e|y)$")
_MOST = 24
_ALIKE = 0.5

_ROUTE = re.compile(r"\bfrom (?:the )?([^\W_]+) (?:up )?to (?:the )?([^\W_]+)|从([^从到至,.;:]{1,8}?)(?:改|换|转|移)?(?:到了?|至|成了?|为)([^,.;:了]{1,8})", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """Steps as they happen, as sets of stems: none when the text speaks of no order. routes: from where to where."""

    steps: tuple[frozenset[str], ...]
    routes: frozenset[tuple[str, str]]


_NONE = Order((), frozenset())


def order_of(text: str, words: frozenset[str]) -> Order:
    """The order that a text speaks of. words: those of the text."""
    if words.isdisjoint(_MARKS) and not _HAN_MARK.search(text):
        return _NONE
    routes = frozenset(
        (found[1] or found[3], found[2] or found[4]) for found in _ROUTE.finditer(text.casefold())
    )
    if not _MARKED.search(text):
        return Order((), routes)
    clauses = (clause for sentence in _SENTENCE.split(text) for clause in _ordered(sentence))
    found = (frozenset(_stems(clause)) for clause in clauses)
    return Order(tuple(step for step in found if step)[:_MOST], routes)


def reordered(one: Order, other: Order) -> bool:
    """Whether steps that both texts have come in another order, or a way is gone backwards."""
    if any(
        end[:2] == first[:2] and start[:2] == last[:2]
        for start, end in one.routes - other.routes
        for first, last in other.routes - one.routes
    ):
        return True
    return _crossed(one.steps, other.steps) and _crossed(other.steps, one.steps)


def _crossed(steps: tuple[frozenset[str], ...], others: tuple[frozenset[str], ...]) -> bool:
    """Whether the steps, each beside the one that is most alike and not yet taken, come in another order."""
    places: list[int] = []
    for step in steps:
        alike = [(_overlap(step, there), -place) for place, there in enumerate(others) if place not in places]
        best, place = max(alike, default=(0.0, 0))
        if best >= _ALIKE:
            places.append(-place)
    return any(left > right for left, right in pairwise(places))


def _ordered(sentence: str) -> Iterator[str]:
    lower = sentence.lower()
    if any(word in lower for word in _TURNING):
        led = _LED.match(sentence)
        if led is not None:
            word, inner, outer = (led[1], led[2], led[3]) if led[1] else (led[5], led[4], led[6])
            yield from _in_time(word, outer, inner)
            return
        trailed = _TRAILED.match(sentence)
        if trailed is not None:
            yield from _in_time(trailed[2], trailed[1], trailed[3])
            return
    yield from _SPLIT.split(sentence)


def _in_time(word: str, main: str, other: str) -> Sequence[str]:
    is_before = word.lower() == "before" or word.endswith("前")
    return (
        [*_SPLIT.split(main), *_SPLIT.split(other)]
        if is_before
        else [*_SPLIT.split(other), *_SPLIT.split(main)]
    )


def _stems(clause: str) -> Iterator[str]:
    for word in _LATIN.findall(clause.casefold()):
        if word not in _STOP:
            yield _SUFFIX.sub("", word) if len(word) > 4 else word
    for run in _HAN.findall(clause):
        yield from (run[place : place + 2] for place in range(len(run) - 1))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other))
