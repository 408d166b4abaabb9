"""What a Job, or a process in its place, has to say: how it ended, or the last line of what it wrote. Pure, never raises."""

from dataclasses import dataclass

import orjson

from sluicegate.operator.external.web import reading_of
from sluicegate.rollout.measurements import Outcome, Reading

LONGEST = 4096
"""Bytes of a result, as of a termination message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """name: for people. code: exit status of the container, None when it completed and that is all that is known."""

    name: str
    code: int | None
    result: str = ""

    @property
    def completed(self) -> bool:
        """It did what it was asked to."""
        return not self.code

    def __str__(self) -> str:
        """One sentence."""
        return (
            f"{self.name} completed" if self.completed else f"{self.name} failed with exit code {self.code}"
        )


def readings(ended: Ended, texts: tuple[str, ...]) -> tuple[Reading, ...]:
    """One Reading for each field of the result; for an empty one how it ended: 1 completed, 0 failed."""
    if not any(texts):
        return (Reading(Outcome.VALUE, float(ended.completed), str(ended)),) * len(texts)
    lines = ended.result.split("\n")
    last = next((line for line in reversed(lines) if line.strip()), None)
    if last is None:
        return (Reading(Outcome.NO_DATA, message=f"{ended} and wrote no result"),) * len(texts)
    try:
        document = orjson.loads(last)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return (
            Reading(Outcome.AMBIGUOUS, message=f"{ended}; the last line of its result is no JSON object"),
        ) * len(texts)
    return tuple(reading_of(document, text) for text in texts)
