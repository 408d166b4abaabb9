"""Spools at the lineage process: appended once, whatever is sent again, whatever is killed between."""

import fcntl
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.errors import Conflict, Refused
from sluicegate.operator.lineage_server import receiver as receiving
from sluicegate.operator.lineage_server import wire
from sluicegate.operator.lineage_server.receiver import Ledger, Receiver
from sluicegate.operator.lineage_server.wire import Received

NAME = f"w0-{'a' * 32}-000000.spool"


class Place:
    """A folder, and processes that come and go over it."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 1_000_000.0
        self.ledger, self.receiver = self._opened()

    def _opened(self) -> tuple[Ledger, Receiver]:
        ledger = Ledger(self.root / "received.db")
        receiver = Receiver(self.root / "spool", ledger, lambda: self.now)
        receiver.adopt()
        return ledger, receiver

    def restart(self) -> None:
        self.close()
        self.ledger, self.receiver = self._opened()

    def close(self) -> None:
        self.receiver.close()
        self.ledger.close()

    def text(self) -> bytes:
        return (self.root / "spool" / NAME).read_bytes()

    def is_held(self) -> bool:
        fd = os.open(self.root / "spool" / NAME, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False


def test_bytes_are_taken_once_and_a_segment_ends_once(tmp_path: Path) -> None:
    place = Place(tmp_path)
    take = place.receiver.take
    assert take(NAME, 0, b"one\n", final=False) == Received(4)
    assert take(NAME, 0, b"one\n", final=False) == Received(4)
    assert take(NAME, 0, b"one\ntwo\n", final=False) == Received(8), "what is new of it"
    assert take(NAME, 9, b"gap", final=False) == Received(8), "nothing behind a gap"
    assert take(NAME, 9, b"gap", final=True) == Received(8)
    assert place.is_held(), "to the ingester its writer lives"
    assert take(NAME, 8, b"end", final=True) == Received(11, finished=True)
    assert not place.is_held()
    assert place.text() == b"one\ntwo\nend"
    (tmp_path / "spool" / NAME).unlink()  # as the ingester does
    assert take(NAME, 8, b"end", final=True) == Received(11, finished=True)
    assert place.receiver.received(NAME) == Received(11, finished=True)
    assert not (tmp_path / "spool" / NAME).exists(), "nothing is stored again"
    with pytest.raises(Conflict, match="finished with 11 bytes; 2 more"):
        take(NAME, 11, b"!!", final=True)
    place.close()


def test_an_unknown_segment_begins_at_its_beginning(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.receiver.received(NAME) == Received(0)
    assert place.receiver.take(NAME, 5, b"later", final=False) == Received(0)
    assert list((tmp_path / "spool").iterdir()) == []
    place.close()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_of_sending_and_restarting_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The expected value is the text itself: a receiver is a copy."""
    text = data.draw(st.binary(min_size=1, max_size=60))
    place = Place(tmp_path_factory.mktemp("place"))
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            place.restart()
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        place.receiver.take(NAME, start, text[start:end], final=False)
    found = place.receiver.received(NAME)
    for _ in range(len(text)):
        if found.finished:
            break
        chunk = text[found.size : found.size + 7]
        found = place.receiver.take(NAME, found.size, chunk, final=found.size + len(chunk) == len(text))
    assert (found, place.text()) == (Received(len(text), finished=True), text)
    place.close()


def test_a_segment_that_nobody_speaks_of_is_finished(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.receiver.take(NAME, 0, b"one\n", final=False)
    place.now += receiving.ABANDONED - 1
    assert place.receiver.expire() == ()
    place.receiver.take(NAME, 4, b"", final=False)  # a word is enough
    place.now += receiving.ABANDONED - 1
    assert place.receiver.expire() == ()
    place.now += 2
    assert place.receiver.expire() == (NAME,)
    assert place.receiver.received(NAME) == Received(4, finished=True)
    place.close()


def test_a_segment_that_is_finished_meanwhile_is_not_finished_twice(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.receiver.take(NAME, 0, b"one\n", final=False)
    place.now += receiving.ABANDONED + 1
    held = place.receiver._open[NAME]

    class Late:
        def __enter__(self) -> None:
            held.lock = threading.Lock()
            place.receiver.take(NAME, 4, b"", final=True)

        def __exit__(self, *_: object) -> None:
            pass

    held.lock = Late()  # type: ignore[assignment]
    assert place.receiver.expire() == ()
    assert place.receiver.received(NAME) == Received(4, finished=True)
    place.close()


@pytest.mark.parametrize(
    ("gateway", "worker", "segment"),
    [
        ("g1", "..", f"{'a' * 32}-000000/../../x"),
        ("g1", "w0", "short-000000"),
        ("g1", "a/b", f"{'a' * 32}-000000"),
        ("../g", "w0", f"{'a' * 32}-000000"),
        ("", "w0", f"{'a' * 32}-000000"),
    ],
)
def test_names_lead_nowhere_else(gateway: str, worker: str, segment: str) -> None:
    with pytest.raises(Refused, match="is no name"):
        wire.file_name(gateway, worker, segment)


def test_a_workers_file_and_its_path_are_one_name() -> None:
    parts = wire.parts_of(NAME)
    assert parts is not None
    assert wire.file_name("g1", *parts) == NAME
    assert wire.parts_of("ingested.json") is None
    assert wire.parts_of("w0.spool") is None
