"""The API of `sluicegate up`, over its Unix socket. Standard library only."""

import http.client
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sluicegate.console.client import ROOT, Applied, Client, Identity, Object, items_of
from sluicegate.console.transport import Answer, Call, checked_user
from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.local.state_dir import StateDir, UpFile, default_state_dir, read_up


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket; a path longer than the kernel's 107 bytes goes through its folder's descriptor."""

    def __init__(self, path: Path, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with _short(self._path) as path:
            self.sock.connect(path)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    if len(os.fsencode(path)) < 108:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


class UnixSocket:
    """`transport.Transport` to the socket of one state folder. act_as: the user to act for, which the server may refuse."""

    def __init__(self, state: StateDir, *, act_as: str | None = None, timeout: float = 30.0) -> None:
        self.state, user = state, checked_user(act_as)
        self._headers = {"Accept": "application/json"} | ({"Sluicegate-As": user} if user else {})
        self._timeout = timeout

    @contextmanager
    def open(self, call: Call) -> Iterator[Answer]:
        """Send `call`."""
        path = self.state.socket
        connection = _UnixConnection(path, call.silence if call.streams else self._timeout)
        headers = self._headers | ({} if call.body is None else {"Content-Type": call.content_type})
        target = call.path + (f"?{urlencode(call.query)}" if call.query else "")
        try:
            connection.request(call.method, target, body=call.body, headers=headers)
            response = connection.getresponse()
            yield Answer(status=response.status, read=response.read, lines=lambda: _lines(response))
        except TimeoutError as error:
            raise Unavailable(
                f"{path} did not answer in {self._timeout:g} s; is the machine overloaded?"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(self.down(_why(error))) from error
        finally:
            connection.close()

    def down(self, why: str) -> str:
        """What to say when nothing answers."""
        option = "" if self.state.root == default_state_dir() else f" --state-dir {self.state.root}"
        return (
            f"sluicegate is not running: nothing answers on {self.state.socket} ({why}).\n"
            f"Start it in another terminal:  sluicegate up{option}"
        )


class LocalClient(Client):
    """Requests to one running `sluicegate up`. act_as: the user to act for, which the server may refuse."""

    def __init__(
        self, state_dir: Path | None = None, *, act_as: str | None = None, timeout: float = 30.0
    ) -> None:
        self.state = StateDir((state_dir or default_state_dir()).expanduser())
        self._unix = UnixSocket(self.state, act_as=act_as, timeout=timeout)
        super().__init__(self._unix)

    @property
    def socket(self) -> Path:
        """The socket's path."""
        return self.state.socket

    def apply(
        self, documents: Sequence[Object], *, dry_run: bool = False, force: bool = False
    ) -> tuple[Applied, ...]:
        """Create or update all of them in one commit, or none. force: nobody else owns fields here."""
        del force
        query = {"dryRun": "All"} if dry_run else None
        answer = self.request("POST", f"{ROOT}/apply", query=query, body={"documents": list(documents)})
        return tuple(
            Applied(
                operation=item["operation"],
                object=item["object"],
                previous=item.get("previous"),
                warnings=tuple(item.get("warnings") or ()),
            )
            for item in items_of(answer)
        )

    def events(self, namespace: str | None, *, limit: int = 20, **about: str | None) -> list[Object]:
        """Events, newest first. about: workflow, or kind and name."""
        found = items_of(
            self.request("GET", "/events", query={"namespace": namespace, "limit": limit, **about})
        )
        return sorted(found, key=lambda event: str(event.get("lastAt", "")), reverse=True)

    def runs(self, query: Mapping[str, Any]) -> list[Object]:
        """Summaries of runs, newest first."""
        return items_of(self.request("GET", "/lineage/runs", query=query))

    def run(self, run_id: str) -> list[Object]:
        """The documents of one run, one per arm."""
        return items_of(self.request("GET", f"/lineage/runs/{quote(run_id, safe='')}"))

    def fallbacks(self, query: Mapping[str, Any]) -> list[Object]:
        """Fallbacks that wait for a review."""
        return items_of(self.request("GET", "/lineage/fallbacks", query=query))

    def ablated(self, query: Mapping[str, Any]) -> list[Object]:
        """Ablated units by coalition."""
        return items_of(self.request("GET", "/lineage/ablated", query=query))

    def units(self, query: Mapping[str, Any]) -> list[Object]:
        """Closed units, in the order of the store."""
        return items_of(self.request("GET", "/lineage/units", query=query))

    def gateway_url(self) -> str:
        """On this machine."""
        up = self.up()
        host = "127.0.0.1" if up.gateway_host in {"0.0.0.0", "::"} else up.gateway_host  # noqa: S104 - compared
        return f"http://{host}:{up.gateway_port}"

    def whoami(self, namespace: str) -> Identity:
        """The peer of the socket: whoever reaches it may do everything."""
        del namespace
        answer = self.request("GET", "/whoami")
        from sluicegate.rollout.permissions import Verb

        return Identity(
            user=str(answer["name"]), verbs={verb.value: verb is not Verb.ATTEST for verb in Verb}
        )

    def server_version(self) -> Object:
        """What `up` says of itself."""
        return self.request("GET", "/version")

    def up(self) -> UpFile:
        """Ports of the running `up`."""
        found = read_up(self.state)
        if found is None:
            raise Unavailable(self._unix.down(f"no running process in {self.state.up}"))
        return found


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while line := _line(response):
        yield line


def _line(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.readline()
    except TimeoutError:
        return b""
