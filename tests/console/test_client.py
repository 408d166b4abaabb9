"""What the API's answers mean to the command line."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console.client import WORKFLOWS, error_of
from sluicegate.console.local import LocalClient
from sluicegate.contracts import errors
from tests.console import objects
from tests.console.apiserver import ApiServer


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Refused),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (405, errors.Refused),
        (409, errors.Conflict),
        (410, errors.Conflict),
        (413, errors.Refused),
        (422, errors.Refused),
        (429, errors.Unavailable),
        (500, errors.SluicegateError),
        (502, errors.Unavailable),
        (503, errors.Unavailable),
        (504, errors.Unavailable),
    ],
)
def test_a_status_becomes_the_error_it_means(status: int, kind: type[errors.SluicegateError]) -> None:
    error = error_of(status, b'{"detail": "because"}')
    assert type(error) is kind
    assert "because" in str(error)


@pytest.mark.parametrize("raw", [b"", b"<html>busy</html>", b"[]", b"null", b"\xff\xfe", b'{"detail": null}'])
def test_an_answer_that_is_no_document_is_still_an_error(raw: bytes) -> None:
    assert str(error_of(503, raw))


def test_problems_keep_everything_that_the_server_said() -> None:
    problem = {
        "path": "spec.x",
        "message": "no",
        "value": "1",
        "allowed": "2",
        "hint": "3",
        "line": 4,
        "source": "f",
    }
    error = error_of(422, json.dumps({"problems": [problem]}).encode())
    assert isinstance(error, errors.Refused)
    assert error.problems == (errors.Problem(**problem),)  # type: ignore[arg-type]


def test_a_conflict_names_itself(server: ApiServer) -> None:
    client = LocalClient(server.state.root)
    client.create(WORKFLOWS, objects.workflow())
    with pytest.raises(errors.Conflict, match="exists already"):
        client.create(WORKFLOWS, objects.workflow())


def test_a_watch_begins_with_what_is_there_and_ends_in_silence(server: ApiServer) -> None:
    client = LocalClient(server.state.root)
    server.put(objects.workflow("a"))
    seen = []
    for change, item in client.watch(WORKFLOWS, "default", silence=0.5):
        seen.append((change, item["metadata"]["name"]))
        if len(seen) == 1:
            server.put(objects.workflow("b"))
            server.put(objects.workflow("elsewhere", namespace="shop"))
        if len(seen) == 2:
            client.delete(WORKFLOWS, "default", "a")
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_is_of_the_wanted_labels_only(server: ApiServer) -> None:
    made = objects.workflow("a")
    server.put({**made, "metadata": {**made["metadata"], "labels": {"team": "x"}}})
    server.put(objects.workflow("b"))
    seen = LocalClient(server.state.root).watch(WORKFLOWS, "default", labels="team=x", silence=0.3)
    assert [item["metadata"]["name"] for _, item in seen] == ["a"]


@pytest.fixture
def rude(tmp_path: Path) -> Iterator[tuple[LocalClient, list[bytes]]]:
    """A client of a server that sends the given bytes, whatever is asked, and hangs up."""
    answers: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "api.sock"))
    listener.listen()

    def serve() -> None:
        while answers:
            connection, _ = listener.accept()
            connection.recv(65_536)
            connection.sendall(answers.pop(0))
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    client = LocalClient(tmp_path, timeout=10.0)
    original = client.request

    def request(*arguments: Any, **options: Any) -> Any:
        thread.start()
        return original(*arguments, **options)

    client.request = request  # type: ignore[method-assign]
    yield client, answers
    thread.join(10.0)
    listener.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
    ],
)
def test_a_server_that_misbehaves_is_unavailable(rude: tuple[LocalClient, list[bytes]], raw: bytes) -> None:
    client, answers = rude
    answers.append(raw)
    with pytest.raises(errors.Unavailable):
        client.request("GET", "/version")
