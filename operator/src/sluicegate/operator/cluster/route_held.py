"""HTTPRoutes as last seen, read or written: the newest of these, in whatever order they come in."""

from collections import Counter
from typing import Final

from sluicegate.contracts.errors import NotFound
from sluicegate.operator.cluster.ports import HTTP_ROUTES, KubeReader, NotServed
from sluicegate.operator.ports import Json, LoopClock

FOLLOWED_SECONDS: Final = 300.0
"""A watch of which nothing was heard for so long has ended; streams begin anew more often."""

Key = tuple[str, str]
"""Namespace and name, of a workflow or of a route."""


class HeldRoutes:
    """Those that lines lead to. What is held is as new as the watch, where there is one (`follows`)."""

    def __init__(self, api: KubeReader, clock: LoopClock) -> None:
        self._api, self._clock = api, clock
        self._held: dict[Key, Json | None] = {}  # None: it is not there
        self._gone: dict[Key, int] = {}  # resourceVersion of its deletion
        self._reads: Counter[Key] = Counter()  # under way: what is seen meanwhile counts
        self._followed: dict[str | None, float] = {}  # when the watch was heard last

    def get(self, key: Key) -> Json | None:
        """As last seen; None when it is not there or not known."""
        return self._held.get(key)

    def forget(self, key: Key) -> None:
        """It is read anew when somebody asks."""
        self._held.pop(key, None)
        self._gone.pop(key, None)

    def follows(self, namespace: str | None) -> None:
        """Changes there (None: everywhere) are told to `seen`: a watch lives. Said again and again."""
        self._followed[namespace] = self._clock.monotonic()

    def is_followed(self, namespace: str) -> bool:
        """Whether changes are told; else what is held grows old."""
        since = self._clock.monotonic() - FOLLOWED_SECONDS
        return any(self._followed.get(place, since) > since for place in (namespace, None))

    def seen(self, item: Json, *, deleted: bool) -> bool:
        """Whether it is news about a route that is held."""
        key = _key(item)
        if key not in self._held and not self._reads[key]:
            return False
        if not deleted:
            return self.keep(item)
        held = self._held.get(key)
        if held is not None and held["metadata"]["uid"] != item["metadata"]["uid"]:
            return False
        self._held[key], self._gone[key] = None, _version(item)
        return True

    def keep(self, item: Json) -> bool:
        """Whether it is newer than what is held: an event may overtake the answer to a write, and the other way round."""
        key = _key(item)
        held = self._held.get(key)
        if _version(item) <= self._gone.get(key, 0) or (held is not None and not _is_newer(item, held)):
            return False
        self._held[key] = item
        return True

    async def route(self, key: Key, *, again: bool = False) -> Json | None:
        """None: it is not there. again: what may be old is read anew. NotServed, Forbidden, Unavailable."""
        if key not in self._held or (again and self._may_be_old(key)):
            await self._read(key)
        return self._held[key]

    def _may_be_old(self, key: Key) -> bool:
        return self._held[key] is None or not self.is_followed(key[0])

    async def _read(self, key: Key) -> None:
        before = self._held.get(key)
        self._reads[key] += 1
        try:
            self.keep(await self._api.get(HTTP_ROUTES, *key))
        except NotFound:
            if self._held.get(key) is before:
                self._held[key] = None
        except NotServed:
            self._held.pop(key, None)
            self._followed.clear()  # the watch has ended with the kind
            raise
        finally:
            self._reads -= Counter((key,))  # leaves none of 0
        self._held.setdefault(key, None)


def _key(item: Json) -> Key:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _version(item: Json) -> int:
    return int(item["metadata"]["resourceVersion"])


def _is_newer(item: Json, held: Json) -> bool:
    """Another uid is another object."""
    return item["metadata"]["uid"] != held["metadata"]["uid"] or _version(item) > _version(held)
