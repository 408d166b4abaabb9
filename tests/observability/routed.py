"""Observations whose run ids say when they began, as a gateway's do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sluicegate.contracts.evidence import ArmFacts, Observation
from sluicegate.contracts.stages import Stage
from tests.observability.facts import START, good, key


def run_id(at: datetime, number: int) -> str:
    """UUID version 7 (RFC 9562 §5.7) of a moment."""
    text = f"{round(at.timestamp() * 1000):012x}7{number % 4096:03x}8{number:015x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def routed(
    number: int,
    stage: Stage,
    *,
    chosen: datetime,
    closed: datetime | None = None,
    session: bool = False,
    dropped: int = 0,
    stable: ArmFacts | None = None,
    candidate: ArmFacts | None = None,
    control: ArmFacts | None = None,
) -> Observation:
    """Closed 2 s after its arm was chosen, unless said."""
    run = run_id(chosen, number)
    return Observation(
        sequence=number + 1,
        key=key(stage),
        unit=f"{number:032x}" if session else run,
        runs=(run,),
        at=closed or chosen + timedelta(seconds=2),
        dropped=dropped,
        stable=stable,
        candidate=candidate,
        control=control,
    )


def split(number: int, *, candidate: bool, chosen: datetime, closed: datetime | None = None) -> Observation:
    """A unit of Controlled."""
    arms = {"candidate": good()} if candidate else {"stable": good()}
    return replace(routed(number, Stage.CONTROLLED, chosen=chosen, closed=closed), **arms)  # type: ignore[arg-type]


def moment(seconds: float) -> datetime:
    """After START."""
    return START.astimezone(UTC) + timedelta(seconds=seconds)
