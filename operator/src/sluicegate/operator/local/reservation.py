"""The gateway's port: chosen once, kept over restarts of workers, never shared with another `up`."""

import errno
import socket

from sluicegate.contracts.errors import Unavailable


class PortReservation:
    """Holds a port. Workers listen on it with SO_REUSEPORT; the socket here is bound and never listens.

    SO_REUSEPORT would let a second `up` of the same user take half of the traffic, so the port has a lock too: an
    abstract Unix socket, which the kernel frees at the holder's death and which lives in the same network namespace.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._socket = self._bound(port)
        self.port: int = self._socket.getsockname()[1]
        try:
            self._lock = self._locked()
        except OSError as error:
            self._socket.close()
            raise Unavailable(
                f"port {host}:{self.port} belongs to another running sluicegate up; choose another with --port (0: any)"
            ) from error

    def close(self) -> None:
        """Give it back."""
        self._socket.close()
        self._lock.close()

    def _bound(self, port: int) -> socket.socket:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except socket.gaierror as error:
            raise Unavailable(f"{self._host} is no address of this machine: {error.strerror}") from error
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            found.bind(address)
        except OSError as error:
            found.close()
            taken = error.errno == errno.EADDRINUSE
            why = "is used by another program" if taken else f"cannot be used ({error.strerror})"
            raise Unavailable(
                f"port {self._host}:{port} {why}; choose another with --port (0: any)"
            ) from error
        return found

    def _locked(self) -> socket.socket:
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0sluicegate-gateway-{self.port}")
        except OSError:
            lock.close()
            raise
        return lock
