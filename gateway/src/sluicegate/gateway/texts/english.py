"""Negation and polarity in English text."""

import re
from typing import Final

from sluicegate.gateway.texts.polarity import ENGLISH

NUMBER_AHEAD: Final = r"(?=\s[$€£¥]?\d)"
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[.;:!?]")
_REACH = 4
"""A negation reaches so many words: `has not yet been approved`."""

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
        "non",
        "hardly",
        "barely",
        "rarely",
        "seldom",
        "unless",
        "isnt",
        "arent",
        "wasnt",
        "dont",
        "doesnt",
        "didnt",
        "cant",
        "couldnt",
        "wont",
        "wouldnt",
        "shouldnt",
        "hasnt",
        "havent",
        "hadnt",
    ]
)
_NEUTRAL = re.compile(
    r"\b(?:(?:do not|don't|no need to|not to) (?:worry|hesitate)(?: to)?|no (?:problem|worries|doubt|matter)|not only|"
    r"why not|whether or not|not just|if not|nothing to worry about|can't wait|no longer than|no\. ?(?=\d))",
    re.IGNORECASE,
)
_BOUNDS = (
    (re.compile(r"\b(?:at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum)\b", re.IGNORECASE), "bound+"),
    (re.compile(r"\b(?:at most|no more than|not more than|up to|a maximum of|maximum|no longer than)\b", re.IGNORECASE), "bound-"),
    (re.compile(rf"\b(?:more than|over|above|exceeding|exceeds){NUMBER_AHEAD}", re.IGNORECASE), "compare+"),
    (re.compile(rf"\b(?:less than|fewer than|under|below){NUMBER_AHEAD}", re.IGNORECASE), "compare-"),
)  # fmt: skip
_BOUNDING = frozenset(
    [
        "least",
        "less",
        "fewer",
        "minimum",
        "most",
        "more",
        "up",
        "maximum",
        "longer",
        "over",
        "above",
        "exceeding",
        "exceeds",
        "under",
        "below",
    ]
)
_PHRASES = (
    (re.compile(r"\bin stock\b", re.IGNORECASE), "available"),
    (re.compile(r"\b(?:out of stock|sold out)\b", re.IGNORECASE), "unavailable"),
)
_WHEN = re.compile(
    r"\b(before|after)(?=\s(?:the\s|next\s|this\s)?(?:\d|mon|tue|wed|thu|fri|sat|sun|noon|midnight|today|tomorrow|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|christmas|easter))",
    re.IGNORECASE,
)
_SAID_NO = re.compile(r"(?:^|(?<=[.!?]\s))no,", re.IGNORECASE)
_ANY_NEGATION = re.compile(r"\b(?:not|never|none|cannot|unable|without)\b|n't\b", re.IGNORECASE)
_SORRY = r"(?:sorry|afraid|apologi[sz]e|apologies|unfortunately|regret)"
_CANNOT = (
    r"(?:can't|cannot|can not|couldn't|could not|won't|unable|not able|not possible|impossible|not allowed)"
)
_DOING = (
    r"(?:help|assist|provide|answer|share|discuss|comply|fulfil+|do that|process|complete|support|disclose)"
)
_REFUSAL = re.compile(
    rf"\b{_SORRY}\b[^.!?]{{0,60}}\b{_CANNOT}\b|\b(?:I|we)(?:'m| am| are|'re)? {_CANNOT} (?:to )?{_DOING}\b|"
    r"\bas an ai\b|\bagainst (?:our|my) polic",
    re.IGNORECASE,
)


def said(text: str, words: frozenset[str]) -> tuple[int, set[str]]:
    """How often something is negated, and the sides taken (`approve+`, `cancel-`).

    text: before dates are taken out. words: those of the text.
    """
    sides: set[str] = set()
    if not words:
        return 0, sides
    if _REFUSAL.search(text):
        sides.add("refusal+")
    sides.update("time" + ("+" if found.lower() == "before" else "-") for found in _WHEN.findall(text))
    text = _NEUTRAL.sub(" ", text)
    for pattern, side in () if words.isdisjoint(_BOUNDING) else _BOUNDS:
        text, found = pattern.subn(" ", text)
        if found:
            sides.add(side)
    without = _SAID_NO.sub(" ", text)
    if without != text and _ANY_NEGATION.search(without):
        text = without  # `No, we do not`: once is enough
    for pattern, word in () if words.isdisjoint({"stock", "sold"}) else _PHRASES:
        text = pattern.sub(word, text)
    told = _WORD.findall(text.casefold())
    negations = {number for number, word in enumerate(told) if word in _NEGATIONS or word.endswith("n't")}
    used: set[int] = set()
    for number, word in enumerate(told):
        known = ENGLISH.get(word)
        if known is None:
            continue
        negation = _negation_of(told, number, negations)
        if negation is not None:
            used.add(negation)
        sides.add(known.axis + ("+" if known.pole is (negation is None) else "-"))
    return len(negations - used), sides


def _negation_of(words: list[str], at: int, negations: set[int]) -> int | None:
    """The negation that reaches word `at`: the nearest before it in its part of the sentence."""
    for number in range(at - 1, max(-1, at - 1 - _REACH), -1):
        if number in negations:
            return number
        if words[number] in ".;:!?" or words[number] in {"but", "and", "because", "so"}:
            return None
    return None
