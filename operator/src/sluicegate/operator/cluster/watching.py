"""The lines of a watch, as events."""

from collections.abc import AsyncIterator
from typing import Final

import orjson

from sluicegate.operator.cluster.errors import error_of
from sluicegate.operator.cluster.ports import Seen
from sluicegate.operator.ports import ChangeType

_BOOKMARK: Final = "BOOKMARK"
_ERROR: Final = "ERROR"


async def events_of(chunks: AsyncIterator[bytes], *, about: str) -> AsyncIterator[Seen]:
    """One per line, however the lines are cut; a last line without its end was cut off and does not count.

    An ERROR event is raised: Expired for 410, otherwise as an answer of its code would be.
    """
    async for line in _lines(chunks):
        event = orjson.loads(line)
        kind, item = event["type"], event["object"]
        if kind == _ERROR:
            raise error_of(int(item.get("code") or 500), item, about=about)
        version = item["metadata"]["resourceVersion"]
        if kind == _BOOKMARK:
            yield Seen(type=None, item=None, version=version)
        else:
            yield Seen(type=ChangeType(kind), item=item, version=version)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    parts: list[bytes] = []
    async for chunk in chunks:
        *done, rest = chunk.split(b"\n")
        for line in done:
            parts.append(line)
            whole = b"".join(parts)
            parts.clear()
            if whole.strip():
                yield whole
        if rest:
            parts.append(rest)
