"""``{{version}}`` in queries and addresses: a closed set of names, filled in for one arm."""

import re
from collections.abc import Mapping
from typing import Final

PLACEHOLDERS: Final = ("arm", "version", "revision", "backend", "workflow", "namespace", "stage")
"""arm: candidate or stable. version, revision: of the arm. backend: its Service, with runtime Service only."""

OF_AN_ARM: Final = frozenset({"arm", "version", "revision", "backend"})
"""Those that differ between the arms."""

_PLACE: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


def names_in(text: str) -> tuple[str, ...]:
    """The names between double braces, in order, known or not."""
    return tuple(_PLACE.findall(text))


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with every placeholder replaced. KeyError for one that has no value."""
    return _PLACE.sub(lambda found: values[found.group(1)], text)
