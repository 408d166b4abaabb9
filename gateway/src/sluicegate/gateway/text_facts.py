"""The facts inside a text: what may not differ between two answers that mean the same."""

import re
from collections import Counter
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation

_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_ISO_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
)
# A token with letters and digits, or with inner punctuation between digits: order numbers, SKUs, versions.
_IDENTIFIER = re.compile(r"#?\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w]+(?:-[\w]+)*\b")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PERCENT = re.compile(r"\d\s*(?:%|percent\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_CURRENCIES = {
    "$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR", "euro": "EUR",
    "euros": "EUR", "£": "GBP", "gbp": "GBP", "pound": "GBP", "pounds": "GBP", "¥": "JPY", "jpy": "JPY", "yen": "JPY",
    "cny": "CNY", "rmb": "CNY", "元": "CNY",
}  # fmt: skip
_SYMBOL = re.compile(r"[$€£¥元]")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
_DAYS = {
    name: full[:3]
    for full in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    for name in (full, full[:3])
} | {
    name: full[:3]
    for full in (
        "january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
        "december",
    )
    for name in (full,)
} | {name: name for name in ("today", "tomorrow", "yesterday", "noon", "midnight")}  # fmt: skip
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nothing",
        "neither",
        "nor",
        "nobody",
        "nowhere",
        "without",
        "cannot",
        "unable",
        "impossible",
        "unfortunately",
    ]
) - {"unfortunately"}
_NEGATED = re.compile(r"n['’]t$")
_CJK_NEGATIONS = re.compile(r"[不没沒無无未别別勿]")
_POLARITY = {
    word: kind
    for kind, words in {
        "approve": "approve approved approves accept accepted accepts allow allowed grant granted permitted eligible",
        "decline": "decline declined declines reject rejected rejects refuse refused refuses deny denied denies "
        "forbidden ineligible disallowed",
        "success": "success successful successfully succeeded completed",
        "failure": "fail failed fails failure unsuccessful unsuccessfully error",
        "cancel": "cancel canceled cancelled cancels cancellation",
        "refusal": "sorry apologize apologise apologies afraid unable",
        "increase": "increase increased increases higher more above",
        "decrease": "decrease decreased decreases lower less below",
        "before": "before",
        "after": "after",
    }.items()
    for word in words.split()
}
_SEQUENCE = frozenset(
    [
        "first",
        "firstly",
        "second",
        "secondly",
        "third",
        "then",
        "next",
        "afterwards",
        "finally",
        "last",
        "lastly",
        "before",
        "after",
    ]
)
_MIN_WORDS = 4
_MIN_CJK = 8


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts of one text; equal facts mean that similarity may decide."""

    numbers: Counter[str]
    ids: Counter[str]
    dates: frozenset[str]
    urls: frozenset[str]
    money: frozenset[str]
    negations: int
    polarity: frozenset[str]
    steps: tuple[str, ...]  # words in order, when the text speaks of an order

    def differing(self, other: "TextFacts") -> tuple[str, ...]:
        """Names of the kinds that differ."""
        plain = tuple(
            item.name
            for item in fields(self)
            if item.name != "steps" and getattr(self, item.name) != getattr(other, item.name)
        )
        return (*plain, "steps") if _reordered(self.steps, other.steps) else plain


def is_free_text(text: str) -> bool:
    """Four words or more; scripts without spaces count by characters."""
    return text.count(" ") >= _MIN_WORDS - 1 or (not text.isascii() and len(_CJK.findall(text)) >= _MIN_CJK)


def facts_of(text: str) -> TextFacts:
    """The facts inside a text."""
    urls = frozenset(found.rstrip(".,;:!?").casefold() for found in _URL.findall(text))
    rest = _URL.sub(" ", text)
    iso = {found.replace(" ", "T") for found in _ISO_DATE.findall(rest)}
    rest = _ISO_DATE.sub(" ", rest)
    ids = Counter(found.lstrip("#").casefold() for found in _IDENTIFIER.findall(rest))
    rest = _IDENTIFIER.sub(" ", rest)
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(rest)]
    numbers = Counter(_plain_number(found) for found in _NUMBER.findall(rest))
    numbers.update(_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS)
    money = {_CURRENCIES[symbol] for symbol in _SYMBOL.findall(rest)}
    money |= {_CURRENCIES[word] for word in words if word in _CURRENCIES}
    if _PERCENT.search(rest):
        money.add("%")
    negations = sum(word in _NEGATIONS or _NEGATED.search(word) is not None for word in words)
    return TextFacts(
        numbers=numbers,
        ids=ids,
        dates=frozenset(iso | {_DAYS[word] for word in words if word in _DAYS}),
        urls=urls,
        money=frozenset(money),
        negations=negations + len(_CJK_NEGATIONS.findall(rest)),
        polarity=frozenset(_POLARITY[word] for word in words if word in _POLARITY),
        steps=tuple(word for word in words if word not in _SEQUENCE) if _SEQUENCE.intersection(words) else (),
    )


def _reordered(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """The same words in another order, in two texts that speak of an order."""
    return left != right and Counter(left) == Counter(right)


def _plain_number(text: str) -> str:
    try:
        return str(Decimal(text.replace(",", "")).normalize())
    except InvalidOperation:
        return text
