"""A component that answers at once with a fixed body: a bare httptools protocol on uvloop, far faster than any gateway.

    python -m benchmarks.component --port 0 --core 0 [--body FILE]

Prints the port it listens on.
"""

import argparse
import asyncio
import os
import signal
from pathlib import Path
from typing import cast

import httptools
import uvloop

DEFAULT_BODY = b'{"status":"ok","output":{"answer":"your parcel 4512 arrives on Monday","confidence":0.93}}'


class Fixed(asyncio.Protocol):
    """One connection. Requests are parsed only as far as their end."""

    def __init__(self, response: bytes) -> None:
        self._response = response
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if self._transport is not None:
                self._transport.close()

    def on_message_complete(self) -> None:
        assert self._transport is not None
        self._transport.write(self._response)


def response_of(body: bytes) -> bytes:
    """A whole HTTP/1.1 response."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(port: int, body: bytes) -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    response = response_of(body)
    server = await loop.create_server(lambda: Fixed(response), "127.0.0.1", port, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--body", type=Path, default=None)
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    uvloop.run(serve(options.port, options.body.read_bytes() if options.body else DEFAULT_BODY))


if __name__ == "__main__":
    main()
