"""What a gateway says: how far its workers follow the plans, to the operator; whether it is ready, to its kubelet."""

from dataclasses import dataclass, field

from sluicegate.operator.cluster import gateways
from sluicegate.operator.cluster.gateways import EVERYWHERE, Acknowledged
from sluicegate.operator.edge.board import Applied, PlanBoard
from sluicegate.operator.edge.feed import PlanFeed
from sluicegate.operator.ports import Json


@dataclass(slots=True, kw_only=True)
class Voice:
    """serves: namespaces, or none for all."""

    serves: tuple[str, ...]
    board: PlanBoard
    applied: Applied
    feeds: tuple[PlanFeed, ...] = ()
    last: Acknowledged | None = field(default=None, repr=False)

    async def acknowledged(self) -> Acknowledged | None:
        """For the Lease; None until every scope's first plans are served."""
        standing = await self.board.standing()
        unreadable = [one for feed in self.feeds for one in feed.unreadable.values()]
        broken = gateways.listed((*standing.broken, *unreadable))
        if standing.workers and broken is not None:
            self.applied.taken(standing.taken)
        serves = self.serves or (EVERYWHERE,)
        if any(scope not in self.applied.done for scope in serves):
            return None
        if broken is None:  # more than can be said: then nothing is acknowledged that was not yet
            broken = dict(self.last.broken) if self.last is not None else {}
        self.last = Acknowledged(serves=serves, applied=dict(self.applied.done), broken=broken)
        return self.last

    def troubles(self) -> list[str]:
        """Why plans are not followed."""
        return sorted({feed.trouble for feed in self.feeds if feed.trouble})

    def document(self) -> Json:
        """For /readyz."""
        broken = self.last.broken if self.last is not None else {}
        return {
            "applied": dict(self.applied.done),
            "plansUnavailable": self.troubles(),
            "broken": [
                {"workflow": f"{key.namespace}/{key.workflow}", "version": version, "reason": reason}
                for key, (version, reason) in sorted(broken.items())
            ],
        }
