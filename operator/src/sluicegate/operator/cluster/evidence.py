"""`gather.EvidenceView` of a cluster: the lineage process folds, this asks.

When it does not answer the look fails with Unavailable and comes back; meanwhile nothing is promoted.
"""

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import Refused, Unavailable
from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.watch import WatchEvidence, WatchLook
from sluicegate.operator.cluster.remote import LineageClient, refused_gap
from sluicegate.operator.lineage_server import wire
from sluicegate.rollout.model import Look

RETRY_SECONDS = 5.0


class RemoteEvidence:
    """Asks anew at every look; whoever made `client` closes it."""

    def __init__(self, client: LineageClient) -> None:
        self._client = client

    async def evidence(self, wanted: Look) -> StageEvidence:
        """As of now. Unavailable when the lineage process does not answer, or not with the evidence of this key."""
        found = wire.decode(wire.EVIDENCE, await self._ask("/v1/evidence", wire.encode(wire.LOOK, wanted)))
        if found.key != wanted.key:
            raise Unavailable(f"the lineage process answered {found.key}, asked was {wanted.key}")
        return found

    async def watch(self, wanted: WatchLook) -> WatchEvidence:
        """The same of a version that serves."""
        found = wire.decode(wire.WATCH, await self._ask("/v1/watch", wire.encode(wire.WATCH_LOOK, wanted)))
        if found.look != wanted:
            raise Unavailable(
                f"the lineage process answered {found.look.watched}, asked was {wanted.watched}"
            )
        return found

    async def drill(self, wanted: DrillLook) -> DrillCounts:
        """How a drill went so far."""
        found = wire.decode(wire.DRILL, await self._ask("/v1/drills", wire.encode(wire.DRILL_LOOK, wanted)))
        if found.look != wanted:
            raise Unavailable(f"the lineage process answered {found.look}, asked was {wanted}")
        return found

    async def sampled_fallbacks(self, wanted: Look) -> frozenset[str]:
        """Fallbacks to review."""
        body = await self._ask("/v1/fallbacks", wire.encode(wire.KEY, wanted.key))
        found: list[str] = wire.decode(wire.NAMES, body)
        return frozenset(found)

    async def _ask(self, path: str, body: bytes) -> bytes:
        """Also what is refused is no verdict about a rollout: two versions of this program may be at work."""
        try:
            code, answer = await self._client.call("POST", path, body)
            refused_gap(code, answer)
        except Refused as error:
            raise Unavailable(f"no evidence from the lineage process: {error}", RETRY_SECONDS) from error
        return answer
