"""What goes over the wire between gateways, operator and lineage process: dataclasses as JSON, version in the path.

PUT  /v1/spools/{gateway}/{worker}/{segment}?offset=N[&final=1]   bytes  -> Received
GET  /v1/spools/{gateway}/{worker}/{segment}                             -> Received
POST /v1/watch       WatchLook -> WatchEvidence      POST /v1/drills     DrillLook -> DrillCounts
POST /v1/evidence    Look -> StageEvidence           POST /v1/fallbacks  EvidenceKey -> ["<run id>/<component>"]
"""

import re
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.evidence import EvidenceKey, StageEvidence
from sluicegate.contracts.watch import WatchEvidence, WatchLook
from sluicegate.lineage.spool import SUFFIX
from sluicegate.rollout.model import Look

CHUNK: Final = 1 << 20
"""Bytes of a spool in one request, at most."""
PATH: Final = "/v1/spools/{gateway}/{worker}/{segment}"
_SEGMENT: Final = re.compile(r"([A-Za-z0-9._-]{1,100})-([0-9a-f]{32}-[0-9]{6,9})")
_GATEWAY: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Received:
    """A segment at the lineage process. size: bytes that survive a power cut; finished: nothing can follow."""

    size: int
    finished: bool = False


# Infinite e-values are numbers like others here.
_EXACT: Final = ConfigDict(ser_json_inf_nan="constants")
RECEIVED: Final = TypeAdapter(tuple[Received], config=_EXACT)
LOOK: Final = TypeAdapter(tuple[Look], config=_EXACT)
KEY: Final = TypeAdapter(tuple[EvidenceKey], config=_EXACT)
WATCH_LOOK: Final = TypeAdapter(tuple[WatchLook], config=_EXACT)
WATCH: Final = TypeAdapter(tuple[WatchEvidence], config=_EXACT)
DRILL_LOOK: Final = TypeAdapter(tuple[DrillLook], config=_EXACT)
DRILL: Final = TypeAdapter(tuple[DrillCounts], config=_EXACT)
EVIDENCE: Final = TypeAdapter(tuple[StageEvidence], config=_EXACT)
NAMES: Final = TypeAdapter(tuple[list[str]], config=_EXACT)


def encode(adapter: TypeAdapter[tuple[T]], value: T) -> bytes:
    """JSON."""
    return adapter.dump_json((value,))


def decode(adapter: TypeAdapter[tuple[T]], data: bytes) -> T:
    """The inverse of `encode`. Refused when it cannot be read."""
    try:
        return adapter.validate_json(data)[0]
    except ValidationError as error:
        found = tuple(
            Problem(path=".".join(str(part) for part in one["loc"][1:]), message=one["msg"])
            for one in error.errors(include_input=False, include_url=False)[:10]
        )
        raise Refused(found) from error


def parts_of(file_name: str) -> tuple[str, str] | None:
    """(worker, segment) of a spool's file; None when it is no segment's name."""
    found = _SEGMENT.fullmatch(file_name.removesuffix(SUFFIX)) if file_name.endswith(SUFFIX) else None
    return (found[1], found[2]) if found else None


def file_name(gateway: str, worker: str, segment: str) -> str:
    """The file of a segment; the id in it is unique over all gateways and restarts. Refused for other names."""
    problems = []
    if not _GATEWAY.fullmatch(gateway):
        problems.append(Problem(path="gateway", message="is no name of a pod", value=gateway[:80]))
    if not _SEGMENT.fullmatch(f"{worker}-{segment}"):
        problems.append(
            Problem(
                path="segment",
                message="is no name of a spool's segment",
                value=f"{worker}/{segment}"[:160],
                allowed="<worker>/<32 hexadecimal digits>-<number>",
            )
        )
    if problems:
        raise Refused(tuple(problems))
    return f"{worker}-{segment}{SUFFIX}"
