"""Bytes that no friendly client sends: each is answered or hung up on, and the next user is served."""

import json
import socket

import pytest

from tests.e2e import life
from tests.e2e.users import ask
from tests.operator.samples import staged
from tests.operator.up import Up

pytestmark = pytest.mark.e2e

RUNS = b"POST /v1/workflows/echo/runs HTTP/1.1\r\nHost: x\r\n"


def post(body: bytes, headers: bytes = b"") -> bytes:
    return RUNS + headers + b"content-length: %d\r\n\r\n" % len(body) + body


def first_line(up: Up, data: bytes) -> bytes:
    """The status line that comes back; empty when the connection was closed or reset without one."""
    with socket.create_connection(("127.0.0.1", up.port), timeout=60) as connection:
        try:
            connection.sendall(data)
            return connection.makefile("rb").readline().strip()
        except ConnectionError:
            return b""


@pytest.fixture(scope="module")
def served(up: Up, url: str) -> Up:
    wanted = staged("1.0.0", url)
    wanted["spec"]["routing"] = {"key": 'has(headers.session) ? headers.session : ""'}
    up.apply(wanted)
    life.serving(up, "echo")
    return up


BYTES = {
    "deep arrays": (post(b"[" * 100_000 + b"]" * 100_000), 400),
    "deep objects": (post(b'{"a":' * 5_000 + b"1" + b"}" * 5_000), 400),
    "20 MB": (post(b'"' + b"a" * 20_000_000 + b'"'), 413),
    "no UTF-8": (post(b'{"a": "\xff\xfe"}'), 400),
    "UTF-16": (post('{"a": 1}'.encode("utf-16")), 400),
    "half a surrogate": (post(b'{"a": "\\ud800"}'), 400),
    "not a number": (post(b'{"a": NaN}'), 400),
    "infinity by exponent": (post(b'{"a": 1e999}'), 400),
    "nothing": (post(b""), 400),
    "another content type": (post(b'{"a": 1}', b"content-type: text/html\r\n"), 200),
    "a routing key of odd bytes": (post(b'{"a": 1}', b"session: \xff\xfe\r\n"), 200),
    "a very long routing key": (post(b'{"a": 1}', b"session: " + b"s" * 60_000 + b"\r\n"), 200),
    "a routing key with a carriage return": (post(b'{"a": 1}', b"session: a\rx-evil: 1\r\n"), 400),
    "a routing key with a zero": (post(b'{"a": 1}', b"session: a\0b\r\n"), 400),
    "a trace of odd bytes": (post(b'{"a": 1}', b"traceparent: \xff\r\n"), 200),
    "chunks without lengths": (RUNS + b"transfer-encoding: chunked\r\n\r\nZZ\r\nx\r\n", 400),
    "a chunk of negative length": (RUNS + b"transfer-encoding: chunked\r\n\r\n-5\r\nx\r\n", 400),
    "a chunk longer than numbers": (RUNS + b"transfer-encoding: chunked\r\n\r\n" + b"F" * 40 + b"\r\n", 400),
    "two ways to say the length": (
        RUNS + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n",
        400,
    ),
    "two lengths": (RUNS + b"content-length: 1\r\ncontent-length: 2\r\n\r\n11", 400),
    "a negative length": (RUNS + b"content-length: -1\r\n\r\n", 400),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a path of odd bytes": (b"POST /v1/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a name of odd bytes": (
        b"POST /v1/workflows/%ff%00/runs HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n\r\n",
        404,
    ),
    "a tunnel": (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a web socket": (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 404),
}


@pytest.mark.parametrize(("data", "code"), BYTES.values(), ids=BYTES)
def test_odd_bytes_are_answered_and_the_next_user_is_served(served: Up, data: bytes, code: int) -> None:
    told = first_line(served, data)
    assert told.startswith(b"HTTP/1.1 %d " % code) or (code == 413 and told == b""), (
        "hung up on while it sends"
    )
    assert ask(served, "echo", "next").code == 200


def test_requests_in_one_packet_are_all_answered_in_order(served: Up) -> None:
    bodies = [json.dumps({"number": number}).encode() for number in range(20)]
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(b"".join(post(body) for body in bodies))
        answers = connection.makefile("rb")
        for number in range(20):
            length = 0
            while line := answers.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            assert json.loads(answers.read(length))["echo"] == {"number": number}


def test_a_thousand_unfinished_requests_stop_nobody(served: Up) -> None:
    waiting = []
    try:
        for _ in range(1_000):
            waiting.append(socket.create_connection(("127.0.0.1", served.port), timeout=60))
            waiting[-1].sendall(b"POST /v1/work")
        assert ask(served, "echo", "next").code == 200
    finally:
        for one in waiting:
            one.close()
