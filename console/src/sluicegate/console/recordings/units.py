"""Recorded evidence: one closed unit per line, as `sluicegate rollout units` writes it. Read as a stream.

    {"unit": "u1", "runs": ["..."], "stable": {...}, "candidate": {...}, "control": {...}}

An arm: success, latencies_ms, fallbacks, violations, violated, reward, disagrees (contracts.evidence.ArmFacts).
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from sluicegate.contracts.errors import Problem, Refused, SluicegateError
from sluicegate.lineage.entries import facts_from
from sluicegate.rollout.backtest import RecordedPair

FORMAT = "units"
MAX_LINE = 1 << 20


def pairs(path: Path) -> Iterator[RecordedPair]:
    """The units in which both versions saw the request, in the file's order; the others say nothing about a pair.

    Raises Refused, with the line, at the first one that cannot be read, and when there is no pair at all.
    """
    found = 0
    with _opened(path) as stream:
        for number, line in enumerate(_lines(stream, path), 1):
            if not line.strip():
                continue
            pair = _pair(line, path, number)
            if pair is not None:
                found += 1
                yield pair
    if not found:
        raise _refused(path, None, "holds no unit that both versions saw")


def _opened(path: Path) -> IO[bytes]:
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise _refused(path, None, f"cannot be read ({error.strerror or error})") from error


def _lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    number = 0
    try:
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise _refused(path, number, f"is longer than {MAX_LINE} bytes")
            yield line
    except (OSError, EOFError, zlib.error) as error:
        raise _refused(path, number + 1, f"cannot be read ({error})") from error


def _pair(line: bytes, path: Path, number: int) -> RecordedPair | None:
    try:
        data: dict[str, Any] = orjson.loads(line)
        stable, candidate = facts_from(data.get("stable")), facts_from(data.get("candidate"))
        if stable is None or candidate is None:
            return None
        return RecordedPair(
            unit=str(data["unit"]),
            runs=tuple(map(str, data.get("runs") or ())),
            stable=stable,
            candidate=candidate,
            control=facts_from(data.get("control")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, SluicegateError) as error:
        raise _refused(path, number, f"is no unit ({error or type(error).__name__})") from error


def _refused(path: Path, line: int | None, message: str) -> Refused:
    problem = Problem(
        path=str(path) if line is None else f"{path}:{line}",
        message=message,
        allowed='a JSON object per line: {"unit": …, "stable": {…}, "candidate": {…}}',
        hint="sluicegate rollout units NAME > units.jsonl",
    )
    return Refused((problem,))
