"""What the API server noted of each request: who, what, and how it ended."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request. code is 0 while it is not answered; reason is the authorizer's: which binding allowed it."""

    user: str
    groups: tuple[str, ...]
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    stage: str
    agent: str
    uri: str
    reason: str
    acting_as: str = ""  # whom the user impersonates


def read(path: Path, after: int = 0) -> list[Entry]:
    """Entries after a position (a size of the file, see `position`); a line that is being written is left for the next."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(after)
        lines = file.read().split(b"\n")[:-1]
    return [_entry(json.loads(line)) for line in lines]


def position(path: Path) -> int:
    """Where the next entry will be."""
    return path.stat().st_size if path.exists() else 0


def _entry(item: dict[str, Any]) -> Entry:
    about = item.get("objectRef") or {}
    return Entry(
        user=item["user"].get("username", ""),
        groups=tuple(item["user"].get("groups") or ()),
        verb=item["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=(item.get("responseStatus") or {}).get("code", 0),
        stage=item["stage"],
        agent=item.get("userAgent", ""),
        uri=item["requestURI"],
        acting_as=(item.get("impersonatedUser") or {}).get("username", ""),
        reason=(item.get("annotations") or {}).get("authorization.k8s.io/reason", ""),
    )
