"""Completion of kinds and names in the shell; silent and quick when nothing runs."""

from sluicegate.console.client import WORKFLOWS, Client
from sluicegate.contracts.errors import SluicegateError

SECONDS = 1.0


def complete_kind(incomplete: str) -> list[str]:
    """Plurals and short names of the kinds."""
    from sluicegate.contracts.resources import KINDS

    words = [word for kind in KINDS.values() for word in (kind.plural, kind.short)]
    return [word for word in words if word.startswith(incomplete)]


def complete_name(incomplete: str) -> list[str]:
    """Names of workflows, from the default state folder; none when `up` is not running."""
    try:
        found = Client(timeout=SECONDS).listing(WORKFLOWS, None)
    except SluicegateError:
        return []
    return sorted(
        {item["metadata"]["name"] for item in found if item["metadata"]["name"].startswith(incomplete)}
    )
