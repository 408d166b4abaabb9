"""In the place of a Service: one address, and the first replica behind it that says it is ready."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class Balancer:
    """Connections go to the first port that `ready` gives. Runs from `start` to `stop`."""

    def __init__(self, ready: Callable[[], list[int]]) -> None:
        self._ready = ready
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="balancer", daemon=True)

    def start(self) -> None:
        """Listen."""
        self._thread.start()

    def stop(self) -> None:
        """No new connection; those that are open end with their other side."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        for port in self._ready():
            try:
                server = socket.create_connection(("127.0.0.1", port), timeout=30)
            except OSError:
                continue
            server.settimeout(None)
            back = threading.Thread(target=_pipe, args=(server, client), daemon=True)
            back.start()
            _pipe(client, server)
            return
        client.close()


def _pipe(source: socket.socket, target: socket.socket) -> None:
    """Until either side ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
