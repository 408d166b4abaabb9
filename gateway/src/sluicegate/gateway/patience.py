"""uvicorn's HTTP protocol with an end to its patience: what a client has not finished saying is bounded.

A head has to be whole within `HEAD_SECONDS` of its first byte (of the connection, for the first one) and below
`HEAD_BYTES`; the rest of a body that was answered early (413, 408) is thrown away for `HEAD_SECONDS` at the most.
Bodies in the making are the application's business (`App.body_seconds`), idle connections uvicorn's (keep-alive).
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 15.0
HEAD_BYTES = 64 << 10
_SWEEP_SECONDS = 1.0


class PatientProtocol(HttpToolsProtocol):
    """One connection. `waits_since`: loop time since when the client owes us bytes; None: it owes nothing."""

    waits_since: float | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first head is due."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; a head above the limit ends the connection."""
        if self._in_head:
            if self.waits_since is None:
                self._wait()
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request's head is too large.")

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head, self._head_bytes, self.waits_since = False, 0, None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; another may follow."""
        super().on_message_complete()
        self._in_head, self.waits_since = True, None

    def on_response_complete(self) -> None:
        """Answered; when the client still sends its body, it is thrown away for a while."""
        super().on_response_complete()
        if not self._in_head:
            self._wait()

    def _wait(self) -> None:
        self.waits_since = self.loop.time()


async def sweep(connections: set[Any], seconds: float = HEAD_SECONDS) -> None:
    """Close connections of `connections` whose client kept us waiting for longer than `seconds`, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        before = loop.time() - seconds
        for one in list(connections):
            if one.waits_since is not None and one.waits_since < before:
                one.transport.close()
