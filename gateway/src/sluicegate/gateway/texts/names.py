"""Names in Latin script: what stands with a capital where no sentence begins, and abbreviations."""

import re
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:'[A-Za-z\u00c0-\u024f]+)?|[.!?:;\"*|(]|\d[.)]")
_MOST_SHARE = 0.2
"""Where more of the words have capitals they are no sign of a name: German nouns, headlines, shouting."""

_DAYS_AND_MONTHS = frozenset(
    [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "today",
        "tomorrow",
        "i",
        "i'm",
        "i've",
        "i'll",
        "i'd",
        "ok",
        "yes",
        "no",
        "am",
        "pm",
        "usd",
        "eur",
        "gbp",
        "cny",
        "jpy",
    ]
)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a text, and all of its words."""

    names: frozenset[str]
    words: frozenset[str]


def names(text: str) -> Names:
    """The names of a text."""
    words = _WORD.findall(text)
    found = set()
    for before, word in zip([".", *words], words, strict=False):
        begins = not before[0].isalpha()
        if word[0].isupper() and (not begins or (len(word) > 1 and word.isupper())):
            found.add(word.casefold())
    plain = frozenset(word.casefold() for word in words if word[0].isalpha())
    found -= _DAYS_AND_MONTHS
    return Names(frozenset(found) if len(found) <= max(1.0, _MOST_SHARE * len(words)) else frozenset(), plain)


def exchanged(one: Names, other: Names) -> bool:
    """Whether each has a name that the other does not say."""
    return bool(one.names - other.words) and bool(other.names - one.words)
