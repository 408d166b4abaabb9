"""Who changed a rule of ours, and whether it has become a fight. Pure."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from sluicegate.operator.cluster import names
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Trouble

MOST_FLIPS: Final = 5
WINDOW_SECONDS: Final = 600.0
"""One manager that changes one field more often than this within the window is not answered any more."""

SOMEBODY: Final = "an unknown field manager"


@dataclass(slots=True)
class Fight:
    """The changes of others to one rule. A change is told once, by the route's resourceVersion."""

    flips: dict[tuple[str, str], deque[float]] = field(default_factory=dict)
    against: tuple[str, str] | None = None  # manager, field: it is left to them
    last: float = 0.0
    version: str = ""

    def is_new(self, version: str) -> bool:
        """Whether this version of the route was not told yet."""
        return version != self.version

    def flip(self, manager: str, changed: str, version: str, now: float) -> None:
        """`manager` changed field `changed`, seen at `now` (monotonic seconds)."""
        self.version, self.last = version, now
        times = self.flips.setdefault((manager, changed), deque(maxlen=MOST_FLIPS + 1))
        times.append(now)
        if len(times) > MOST_FLIPS and now - times[0] <= WINDOW_SECONDS:
            self.against = (manager, changed)

    def is_over(self, now: float) -> bool:
        """Nobody changed anything for as long as the window."""
        return now - self.last >= WINDOW_SECONDS

    def forget(self) -> None:
        """A new plan, or the rule is as wanted again."""
        self.flips.clear()
        self.against = None

    def trouble(self, route: str) -> Trouble | None:
        """What people are told while it lasts."""
        if self.against is None:
            return None
        manager, changed = self.against
        said = (
            f"{manager} changed {changed} of the rule in HTTPRoute {route} more than {MOST_FLIPS} times within "
            f"{WINDOW_SECONDS / 60:.0f} min; it is left so: let {manager} leave the field alone, then retry, or abort"
        )
        return Trouble(reason="TrafficContested", message=said, stalls=True, lasting=True)


def changed_by(operations: Iterable[Json]) -> str:
    """The field that a repair puts right: backendRefs, filters or annotations."""
    for operation in operations:
        for name in ("backendRefs", "filters", "annotations"):
            if f"/{name}" in operation["path"]:
                return name
    return "spec"


def last_writer(route: Json) -> str:
    """The field manager other than ours that wrote the rules last, as managedFields say."""
    entries = [
        entry
        for entry in route["metadata"].get("managedFields") or ()
        if entry.get("manager") != names.ROUTES and not entry.get("subresource")
    ]
    ruling = [entry for entry in entries if "f:rules" in (entry.get("fieldsV1") or {}).get("f:spec", {})]
    newest = max(ruling or entries, key=lambda entry: str(entry.get("time", "")), default=None)
    return SOMEBODY if newest is None else str(newest.get("manager") or SOMEBODY)
