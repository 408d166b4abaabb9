"""A JSON document by GET: the numbers at given paths."""

import math
from typing import Any

import orjson

from sluicegate.contracts.web_paths import found_at, web_path
from sluicegate.operator.external.http import Answered, Fetcher
from sluicegate.operator.ports import Question
from sluicegate.rollout.measurements import Outcome, Reading


class WebEvidence:
    """`ports.ExternalEvidence`. The document is fetched once, so that its numbers belong together."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """A Reading of each path."""
        texts = [text for _, text in question.inquiry.texts]
        answer = await self._fetcher.get(
            question.inquiry.url, {}, token=question.token, seconds=question.timeout_seconds
        )
        if isinstance(answer, Reading):
            return (answer,) * len(texts)
        document, fault = _document(answer)
        return tuple(fault or reading_of(document, text) for text in texts)


def _document(answer: Answered) -> tuple[Any, Reading | None]:
    if answer.status != 200:
        return None, Reading(Outcome.ERROR, message=f"answers {answer.status}")
    try:
        return orjson.loads(answer.body), None
    except ValueError:
        return None, Reading(Outcome.ERROR, message=f"answers no JSON ({answer.kind})")


def reading_of(document: Any, path: str) -> Reading:
    """The number at `path`: a JSON number, or text that is one. Absent and null are no data, anything else is no number."""
    found = found_at(document, web_path(path))
    if found is None:
        return Reading(Outcome.NO_DATA, message=f"nothing at {path}")
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return Reading(Outcome.AMBIGUOUS, message=f"{path} is no number")
    try:
        value = float(found)
    except (ValueError, OverflowError):
        return Reading(Outcome.AMBIGUOUS, message=f"{path} is no number")
    if not math.isfinite(value):
        return Reading(Outcome.NON_FINITE, message=f"{path} is {value}")
    return Reading(Outcome.VALUE, value)
