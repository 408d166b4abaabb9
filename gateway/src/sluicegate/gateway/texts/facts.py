"""The facts inside a text: what may not differ between two answers that mean the same."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from sluicegate.gateway.texts import chinese, dates, english, names, numbers, polarity, quantities, steps
from sluicegate.gateway.texts.normal import has_han

_URL = re.compile(
    r"(?:https?://|www\.)[^\s<>\"')\]\u3000-\u9fff]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE
)
_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z_-]*+\d[A-Za-z0-9_-]*")
_UUID = re.compile(r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])")
_LATIN = re.compile(r"[a-z]+")
_NUMBER = re.compile(numbers.NUMBER)
_LISTED = re.compile(r"(?:^|(?<=[:,;.!?]\s)|(?<=[:,;]))(\d{1,2})[.)]\s(?=\w)")


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts of one text; where none differs similarity may decide.

    numbers: without 1, which is an article as often. names: words with a capital inside a sentence, abbreviations among
    them; they differ when each text has one that the other does not say at all (`words`).
    """

    numbers: Counter[str]
    ids: Counter[str]
    dates: frozenset[str]
    urls: frozenset[str]
    money: frozenset[str]
    units: frozenset[str]
    names: names.Names
    negations: int
    polarity: frozenset[str]
    steps: steps.Order

    def differing(self, other: "TextFacts") -> tuple[str, ...]:
        """Names of the kinds that differ."""
        return tuple(
            item.name
            for item in fields(self)
            if _DIFFER.get(item.name, _unequal)(getattr(self, item.name), getattr(other, item.name))
        )


def _unequal(one: object, other: object) -> bool:
    return one != other


_DIFFER: dict[str, Callable[[Any, Any], bool]] = {
    "polarity": polarity.differ,
    "steps": steps.reordered,
    "names": names.exchanged,
}


# The user's answer is compared with two copies, and answers repeat; some MB at the most.
@lru_cache(maxsize=512)
def facts_of(text: str) -> TextFacts:
    """The facts inside a text, as `normal` writes it. Numbers in words count like digits."""
    han, words = has_han(text), frozenset(_LATIN.findall(text.lower()))
    urls = frozenset(found.rstrip(".,;:!?").casefold() for found in _URL.findall(text))
    rest = _URL.sub(" ", text)
    ids = Counter(found.lower() for found in _UUID.findall(rest))
    rest = _UUID.sub(" ", rest)
    order = steps.order_of(rest, words)
    rest = _unlisted(rest)
    rest = numbers.english(numbers.chinese(rest) if han else rest, words)
    negations, sides = english.said(rest, words)
    if han:
        more, others = chinese.said(rest)
        negations, sides = negations + more, sides | others
    days, years, rest = dates.take(rest, words, han=han)
    money, amounts, found, rest = quantities.take(rest, words, han=han)
    named, rest = _ids(rest)
    return TextFacts(
        numbers=Counter(
            number for number in (*years, *found, *map(numbers.plain, _NUMBER.findall(rest))) if number != "1"
        ),
        ids=ids + named,
        dates=frozenset(days),
        urls=urls,
        money=frozenset(money),
        units=frozenset(amounts),
        names=names.names(rest),
        negations=negations,
        polarity=frozenset(sides),
        steps=order,
    )


def _unlisted(text: str) -> str:
    """Without the numbers that only count the items of a list."""
    listed = [int(number) for number in _LISTED.findall(text)[:2]] == [1, 2]
    return _LISTED.sub(" ", text) if listed else text


def _ids(text: str) -> tuple[Counter[str], str]:
    """Tokens with letters and digits: order numbers, SKUs, versions."""
    ids: Counter[str] = Counter()

    def take(found: re.Match[str]) -> str:
        token = found[0]
        if any(mark.isdigit() for mark in token) and any(mark.isalpha() for mark in token):
            ids[token.strip("-").casefold()] += 1
            return " "
        return token

    return ids, _TOKEN.sub(take, text)
