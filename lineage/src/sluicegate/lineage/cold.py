"""Cold segments: immutable zstd files of documents, each with a manifest beside it.

<first run>-<hash>.ndjson.zst   one line per document: {"document": {...}, "amendments": [[entry, used], ...]}
<same name>.json                manifest: sha256 of the file, first and last run id, documents, times

The table `cold` says which segments count; a file it does not name is a leftover of a kill.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import zstandard

from sluicegate.contracts.errors import Unavailable

SUFFIX: Final = ".ndjson.zst"
_LEVEL: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A segment's row and manifest file; times in microseconds since the epoch."""

    name: str
    sha256: str
    first_run: str
    last_run: str
    documents: int
    first_at: int
    last_at: int
    namespace: str
    workflow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdDocument:
    """One document on its way to a segment."""

    run_id: str
    started_at: int
    document: dict[str, Any]
    amendments: tuple[tuple[dict[str, Any], bool], ...]


def write(directory: Path, workflow: tuple[str, str], items: list[ColdDocument]) -> Manifest:
    """Write and verify a segment and its manifest; both are on disk when this returns. items: not empty."""
    items = sorted(items, key=lambda item: (item.run_id, item.document["arm"]))
    lines = [
        orjson.dumps({"document": i.document, "amendments": i.amendments}, default=list, option=_LINE)
        for i in items
    ]
    data = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(b"".join(lines))
    sha256 = hashlib.sha256(data).hexdigest()
    times = [item.started_at for item in items]
    manifest = Manifest(
        name=f"{items[0].run_id[:36].replace('/', '_')}-{sha256[:16]}{SUFFIX}",
        sha256=sha256,
        first_run=items[0].run_id,
        last_run=items[-1].run_id,
        documents=len(items),
        first_at=min(times),
        last_at=max(times),
        namespace=workflow[0],
        workflow=workflow[1],
    )
    directory.mkdir(parents=True, exist_ok=True)
    _durable(directory / manifest.name, data)
    _durable(
        _manifest_path(directory, manifest.name), orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2)
    )
    if sum(1 for _ in read(directory, manifest.name, sha256)) != len(items):
        raise Unavailable(f"cold segment {manifest.name} does not read back; nothing was deleted")
    return manifest


def read(directory: Path, name: str, sha256: str) -> Iterator[dict[str, Any]]:
    """Lines of a segment. Raises Unavailable when the file is missing or was changed."""
    try:
        data = (directory / name).read_bytes()
    except OSError as error:
        raise Unavailable(f"cold segment {name} cannot be read: {error}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Unavailable(f"cold segment {name} was changed: its hash is not the manifest's")
    yield from map(orjson.loads, zstandard.ZstdDecompressor().decompress(data).splitlines())


def search(
    connection: sqlite3.Connection, directory: Path, prefix: str
) -> dict[str, dict[str, dict[str, Any]]]:
    """Lines of runs whose id starts with `prefix`: run id -> arm -> line."""
    segments = connection.execute(
        "SELECT name, sha256 FROM cold WHERE first_run <= ? AND last_run >= ? ORDER BY name",
        (prefix + "\U0010ffff", prefix),
    ).fetchall()
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, sha256 in segments:
        for line in read(directory, name, sha256):
            document = line["document"]
            if document["run_id"].startswith(prefix):
                found.setdefault(document["run_id"], {})[document["arm"]] = line
    return found


def remove(directory: Path, name: str) -> None:
    """Delete a segment and its manifest."""
    (directory / name).unlink(missing_ok=True)
    _manifest_path(directory, name).unlink(missing_ok=True)


def leftovers(connection: sqlite3.Connection, directory: Path) -> list[str]:
    """Segment files that the table does not name."""
    if not directory.is_dir():
        return []
    known = {row[0] for row in connection.execute("SELECT name FROM cold")}
    files = {path.name for path in directory.iterdir()}
    named = {name.removesuffix(".json") for name in files if not name.startswith(".")}
    return sorted(name for name in named if name.endswith(SUFFIX) and name not in known)


_LINE: Final = orjson.OPT_APPEND_NEWLINE


def _manifest_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.json"


def _durable(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
