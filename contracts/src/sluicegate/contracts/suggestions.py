"""Did-you-mean: the nearest of the words that would have been right."""

from collections.abc import Iterable

_NEAR = 70.0
"""Percent of similarity below which a guess would rather mislead."""


def closest(word: str, options: Iterable[str]) -> str | None:
    """The option nearest to `word`, or None when none is near. Case does not count."""
    from rapidfuzz import fuzz, process, utils  # noqa: PLC0415 - only after a mistake, and slow to import

    found = process.extractOne(
        word[:200], list(options), scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_NEAR
    )
    return None if found is None else found[0]


def did_you_mean(word: str, options: Iterable[str]) -> str | None:
    """A hint, or None when nothing is near."""
    near = closest(word, options)
    return None if near is None else f"did you mean {near}?"


def listed(words: Iterable[str], limit: int = 24) -> str:
    """Words as one comma-separated text, shortened."""
    items = list(words)
    rest = f", … ({len(items)} in all)" if len(items) > limit else ""
    return ", ".join(items[:limit]) + rest


def shown(value: object, limit: int = 80) -> str:
    """A value as JSON-like text, shortened; never fails and never walks far into a large value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            head = (
                value[: limit + 1].encode("unicode_escape").decode("ascii")
                if not value.isprintable()
                else value
            )
            return f'"{head[:limit]}…"' if len(value) > limit else f'"{head}"'
        case int() if abs(value) >= 10**40:
            return "an integer of more than 40 digits"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            keys = listed((str(key)[:30] for key in list(value)[:7]), limit=6)
            return f"an object with {keys}" if value else "an empty object"
    return str(value)[:limit]
