"""Values of labels from the entries of a spool: bounded texts, and words of closed sets."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

OTHER: Final = "Other"
"""What is not in the closed set."""
_LONGEST: Final = 128


def known(kind: type[StrEnum], value: object) -> str:
    """The value when it is in the closed set, else Other."""
    return value if isinstance(value, str) and value in kind._value2member_map_ else OTHER


def text(entry: Mapping[str, Any], name: str) -> str:
    """A bounded text; empty when there is none."""
    value = entry.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""


def mappings(value: object) -> Iterable[Mapping[str, Any]]:
    """The objects of a list; of anything else none."""
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, (list, tuple)) else ()
