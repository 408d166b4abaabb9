"""The API of `sluicegate up`, over its Unix socket. Standard library only, so that every command starts fast."""

import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
    Unavailable,
)
from sluicegate.operator.local.state_dir import StateDir, UpFile, default_state_dir, read_up

ROOT = "/apis/sluicegate.io/v1alpha1"
WORKFLOWS = "agentworkflows"
ROLLOUTS = "workflowrollouts"
DECISIONS = "decisions"

Object = dict[str, Any]

_ERRORS: dict[int, type[SluicegateError]] = {
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Conflict,
    HTTPStatus.TOO_MANY_REQUESTS: Unavailable,
    HTTPStatus.BAD_GATEWAY: Unavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: Unavailable,
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What an apply did, or would do, to one object.

    operation: created, configured or unchanged. previous: the object as stored before, None when new.
    """

    operation: str
    object: Object
    previous: Object | None = None
    warnings: tuple[str, ...] = ()


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


class Client:
    """Requests to one running `sluicegate up`.

    Every method raises the errors of contracts.errors: NotFound, Conflict, Refused, Forbidden, and
    Unavailable when nothing listens. act_as: the user to act for, which the server may refuse.
    """

    def __init__(
        self, state_dir: Path | None = None, *, act_as: str | None = None, timeout: float = 30.0
    ) -> None:
        if act_as is not None and not (act_as.isascii() and act_as.isprintable()):
            raise Refused((Problem(path="--as", message="not a user name", value=repr(act_as)[:80]),))
        self.state = StateDir((state_dir or default_state_dir()).expanduser())
        self._headers = {"Accept": "application/json"} | ({"Sluicegate-As": act_as} if act_as else {})
        self._timeout = timeout

    @property
    def socket(self) -> Path:
        """The socket's path."""
        return self.state.socket

    def request(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: object = None
    ) -> Object:
        """One request, one JSON object as answer."""
        with self._open(method, path, query=query, body=body) as response:
            answer = _decode(response.read())
        if response.status >= 400:
            raise _error(response.status, answer)
        if not isinstance(answer, dict):
            raise Unavailable(
                f"the server answered with {type(answer).__name__} where an object was expected"
            )
        return answer

    def get(self, plural: str, namespace: str, name: str) -> Object:
        """One object."""
        return self.request("GET", _path(plural, namespace, name))

    def listing(self, plural: str, namespace: str | None, *, labels: str | None = None) -> list[Object]:
        """All objects of a kind in a namespace, or in all (None), by namespace and name."""
        return _items(self.request("GET", _path(plural, namespace), query={"labelSelector": labels}))

    def apply(self, documents: Sequence[Object], *, dry_run: bool = False) -> tuple[Applied, ...]:
        """Create or update all of them in one commit, or none; with dry_run nothing is stored."""
        query = {"dryRun": "All"} if dry_run else None
        answer = self.request("POST", f"{ROOT}/apply", query=query, body={"documents": list(documents)})
        return tuple(
            Applied(
                operation=item["operation"],
                object=item["object"],
                previous=item.get("previous"),
                warnings=tuple(item.get("warnings") or ()),
            )
            for item in _items(answer)
        )

    def create(self, plural: str, obj: Object) -> Object:
        """Create; Conflict when the name is taken."""
        return self.request("POST", _path(plural, obj["metadata"]["namespace"]), body=obj)

    def delete(self, plural: str, namespace: str, name: str, *, dry_run: bool = False) -> Object:
        """Mark for deletion; gone when its finalizers are."""
        query = {"dryRun": "All"} if dry_run else None
        return self.request("DELETE", _path(plural, namespace, name), query=query)

    def watch(
        self,
        plural: str,
        namespace: str | None,
        *,
        labels: str | None = None,
        silence: float | None = None,
    ) -> Iterator[tuple[str, Object]]:
        """(ADDED | MODIFIED | DELETED, object): what exists now first, then every change, until the server ends.

        silence: seconds without any change after which the watch ends; None: never.
        """
        path = _path(plural, namespace)
        listed = self.request("GET", path, query={"labelSelector": labels})
        yield from (("ADDED", item) for item in _items(listed))
        version = listed.get("metadata", {}).get("resourceVersion")
        query = {"watch": "1", "resourceVersion": version, "labelSelector": labels}
        with self._open("GET", path, query=query, wait=silence) as response:
            if response.status >= 400:
                raise _error(response.status, _decode(response.read()))
            yield from _lines(response)

    def events(self, namespace: str | None, *, limit: int = 20, **about: str | None) -> list[Object]:
        """Events, newest first. about: workflow, or kind and name."""
        found = _items(
            self.request("GET", "/events", query={"namespace": namespace, "limit": limit, **about})
        )
        return sorted(found, key=lambda event: str(event.get("lastAt", "")), reverse=True)

    def runs(self, query: Mapping[str, Any]) -> list[Object]:
        """Summaries of runs, newest first."""
        return _items(self.request("GET", "/lineage/runs", query=query))

    def run(self, run_id: str) -> list[Object]:
        """The documents of one run, one per arm."""
        return _items(self.request("GET", f"/lineage/runs/{quote(run_id, safe='')}"))

    def fallbacks(self, query: Mapping[str, Any]) -> list[Object]:
        """Fallbacks that wait for a review."""
        return _items(self.request("GET", "/lineage/fallbacks", query=query))

    def server_version(self) -> Object:
        """What the server says of itself."""
        return self.request("GET", "/version")

    def up(self) -> UpFile:
        """Ports of the running `up`."""
        found = read_up(self.state)
        if found is None:
            raise Unavailable(self._down(f"no running process in {self.state.up}"))
        return found

    @contextmanager
    def _open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        wait: float | None = -1.0,
    ) -> Iterator[http.client.HTTPResponse]:
        connection = _UnixConnection(self.socket, self._timeout if wait == -1.0 else wait)
        headers = dict(self._headers)
        raw = None
        if body is not None:
            raw = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path + _encoded(query), body=raw, headers=headers)
            yield connection.getresponse()
        except TimeoutError as error:
            raise Unavailable(
                f"{self.socket} did not answer in {self._timeout:g} s; is the machine overloaded?"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(self._down(_why(error))) from error
        finally:
            connection.close()

    def _down(self, why: str) -> str:
        option = "" if self.state.root == default_state_dir() else f" --state-dir {self.state.root}"
        return (
            f"sluicegate is not running: nothing answers on {self.socket} ({why}).\n"
            f"Start it in another terminal:  sluicegate up{option}"
        )


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _path(plural: str, namespace: str | None, name: str | None = None) -> str:
    scope = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{ROOT}{scope}/{plural}" + (f"/{quote(name, safe='')}" if name else "")


def _encoded(query: Mapping[str, Any] | None) -> str:
    kept = {key: str(value) for key, value in (query or {}).items() if value is not None}
    return f"?{urlencode(kept)}" if kept else ""


def _items(answer: Object) -> list[Object]:
    return list(answer.get("items") or ())


def _decode(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return {"message": raw[:500].decode("utf-8", "replace")}


def _lines(response: http.client.HTTPResponse) -> Iterator[tuple[str, Object]]:
    while line := _line(response):
        if not line.strip():
            continue  # a heartbeat
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise _error(int(event["object"].get("code", 500)), event["object"])
        yield event["type"], event["object"]


def _line(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.readline()
    except TimeoutError:
        return b""


def error_of(status: int, raw: bytes) -> SluicegateError:
    """The error that an answer of the gateway means: its problem document (RFC 9457)."""
    body = _decode(raw)
    if not isinstance(body, dict):
        return _error(status, body)
    message = body.get("detail") or body.get("title") or body.get("message")
    return _error(status, {"message": message, "details": {"causes": body.get("problems") or ()}})


def _error(status: int, body: Any) -> SluicegateError:
    """The error that the server means: its Status object says all problems at once."""
    body = body if isinstance(body, dict) else {"message": str(body)}
    message = str(body.get("message") or HTTPStatus(status).phrase)
    kind = _ERRORS.get(status, Refused if 400 <= status < 500 else SluicegateError)
    if issubclass(kind, Refused):
        causes = (body.get("details") or {}).get("causes") or ()
        return kind(tuple(_problem(cause) for cause in causes) or (Problem(path="request", message=message),))
    return kind(message)


def _problem(cause: Mapping[str, Any]) -> Problem:
    texts = {
        key: str(cause[key]) for key in ("value", "allowed", "hint", "source") if cause.get(key) is not None
    }
    path = str(cause.get("field") or cause.get("path") or "")
    line = cause.get("line")
    return Problem(
        path=path, message=str(cause.get("message", "")), line=int(line) if line else None, **texts
    )
