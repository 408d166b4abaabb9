"""Run documents, compressed: zstd with a dictionary that is trained on the store's own first documents.

A dictionary is used only after it is in the store (same transaction), and is never deleted: a body names its
dictionary. 0 is none.
"""

import sqlite3
import threading
from typing import Final

import zstandard

from sluicegate.contracts.errors import Unavailable

TRAIN_AFTER: Final = 400  # documents of this process
_SAMPLE_BYTES: Final = 4 << 20
_DICTIONARY_BYTES: Final = 64 << 10
_LEVEL: Final = 3


class BodyCodec:
    """Compresses in the writer's transaction; decompresses anywhere."""

    def __init__(self, *, train_after: int = TRAIN_AFTER) -> None:
        self._train_after = train_after
        self._samples: list[bytes | bytearray | memoryview] = []
        self._sampled = 0
        self._current: int | None = None  # None: not looked up yet
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._local = threading.local()

    def pack(self, connection: sqlite3.Connection, document: bytes) -> tuple[int, bytes]:
        """(dictionary id, data). connection: in the transaction that stores the body."""
        if self._current is None:
            self._adopt(connection)
        if self._current == 0:
            self._sample(connection, document)
        return self._current or 0, self._compressor.compress(document)

    def unpack(self, connection: sqlite3.Connection, dictionary: int, data: bytes) -> bytes:
        """The document. Raises Unavailable when it cannot be read any more."""
        known: dict[int, zstandard.ZstdDecompressor] | None = getattr(self._local, "known", None)
        if known is None:
            known = self._local.known = {}
        if dictionary not in known:  # (de)compressors are not thread safe
            known[dictionary] = zstandard.ZstdDecompressor(dict_data=_dictionary(connection, dictionary))
        try:
            return known[dictionary].decompress(data)
        except zstandard.ZstdError as error:
            raise Unavailable(f"a stored run document is damaged: {error}") from error

    def forget(self) -> None:
        """After a rolled back transaction: look the dictionary up again."""
        self._current = None

    def _adopt(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT max(id) FROM dictionaries").fetchone()[0] or 0
        self._use(found, _dictionary(connection, found))

    def _use(self, number: int, dictionary: zstandard.ZstdCompressionDict | None) -> None:
        self._current = number
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)

    def _sample(self, connection: sqlite3.Connection, document: bytes) -> None:
        if self._sampled < _SAMPLE_BYTES:
            self._samples.append(document[:16_384])
            self._sampled += len(self._samples[-1])
        if len(self._samples) < self._train_after and self._sampled < _SAMPLE_BYTES:
            return
        samples, self._samples, self._sampled = self._samples, [], 0
        try:
            # Fixed parameters: the search for better ones costs seconds and wins a few per cent.
            trained = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, k=1024, d=8)
        except zstandard.ZstdError:  # documents too few or too alike: plain zstd; tried again later
            return
        data = trained.as_bytes()
        inserted = connection.execute("INSERT INTO dictionaries (data) VALUES (?)", (data,))
        self._use(inserted.lastrowid or 0, zstandard.ZstdCompressionDict(data))


def _dictionary(connection: sqlite3.Connection, number: int) -> zstandard.ZstdCompressionDict | None:
    if number == 0:
        return None
    row = connection.execute("SELECT data FROM dictionaries WHERE id = ?", (number,)).fetchone()
    return zstandard.ZstdCompressionDict(row[0])
