"""A server whose metrics are a text that the test sets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass
class Exporter:
    """text: what the next scrape gets; code: with which status."""

    port: int
    text: str = ""
    code: int = 200
    content_type: str = TEXT


@contextmanager
def exporter(text: str = "", content_type: str = TEXT) -> Iterator[Exporter]:
    """It listens on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = served.text.encode()
            self.send_response(served.code)
            self.send_header("Content-Type", served.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Exporter(server.server_address[1], text, content_type=content_type)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
