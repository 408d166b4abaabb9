"""File formats of recordings: a table from name to reader."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sluicegate.console.recordings import tau_bench
from sluicegate.console.recordings.model import Recording
from sluicegate.contracts.errors import Problem, Refused

MAX_BYTES = 512 * 1024 * 1024

FORMATS: dict[str, Callable[[Any, str], Recording]] = {"tau-bench": tau_bench.read}


def load(path: str | Path, format: str = "tau-bench") -> Recording:
    """Read a recording, plain or gzipped JSON. Raises Refused with every problem found (at most 20)."""
    reader = FORMATS.get(format)
    if reader is None:
        raise unknown(format, FORMATS)
    return reader(_json(Path(path)), str(path))


def unknown(format: str, known: Iterable[str]) -> Refused:
    """What to say of a format that there is not."""
    allowed = ", ".join(sorted(known))
    return Refused((Problem(path="--format", message="unknown format", value=format, allowed=allowed),))


def _json(path: Path) -> Any:
    try:
        return json.loads(_bytes(path))
    except (ValueError, RecursionError) as error:
        hint = "a result file of the agent's evaluation, .json or .json.gz"
        raise _refused(path, f"is not JSON ({error})", hint) from error


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _refused(path, f"cannot be read ({error})", "check the path") from error
    if len(data) > MAX_BYTES:
        raise _refused(path, f"is larger than {MAX_BYTES} bytes", "split the file")
    return data


def _refused(path: Path, message: str, hint: str) -> Refused:
    return Refused((Problem(path=str(path), message=message, hint=hint),))
