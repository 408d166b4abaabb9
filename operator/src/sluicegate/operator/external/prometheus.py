"""Prometheus' HTTP API: an instant query must answer exactly one number.

<https://prometheus.io/docs/prometheus/latest/querying/api/>: `time`, `timeout` and `lookback_delta` are sent, so that a
sample older than the allowed age is no answer. Servers that do not know `lookback_delta` (Thanos, VictoriaMetrics) use
their own.
"""

import asyncio
import math
from typing import Any, Final

import orjson

from sluicegate.operator.external.http import Answered, Fetcher
from sluicegate.operator.ports import Question
from sluicegate.rollout.measurements import Outcome, Reading

_MOST_WORDS: Final = 200
_NAMING: Final = "might not be a counter"
"""Of an info about the name of a metric: nothing is missing from the answer."""


class PrometheusEvidence:
    """`ports.ExternalEvidence`."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """All texts at one time, beside each other."""
        texts = [text for _, text in question.inquiry.texts]
        return tuple(await asyncio.gather(*(self._ask(question, text) for text in texts)))

    async def _ask(self, question: Question, text: str) -> Reading:
        found = await self._instant(question, text, lookback=True)
        if found.outcome is not Outcome.NO_DATA:
            return found
        older = await self._instant(question, text, lookback=False)
        if older.outcome is Outcome.VALUE:
            return Reading(
                Outcome.STALE, message=f"no sample within {question.max_age_seconds} s, only older ones"
            )
        return found

    async def _instant(self, question: Question, text: str, *, lookback: bool) -> Reading:
        query = {
            "query": text,
            "time": f"{question.at.timestamp():.3f}",
            "timeout": f"{question.timeout_seconds:g}s",
        }
        if lookback:
            query["lookback_delta"] = f"{question.max_age_seconds}s"
        answer = await self._fetcher.get(
            f"{question.inquiry.url.rstrip('/')}/api/v1/query",
            query,
            token=question.token,
            seconds=question.timeout_seconds,
        )
        return answer if isinstance(answer, Reading) else reading_of(answer)


def reading_of(answer: Answered) -> Reading:
    """What the API's answer says. Never raises."""
    try:
        found = orjson.loads(answer.body)
    except ValueError:
        return Reading(Outcome.ERROR, message=f"answers {answer.status} and no JSON ({answer.kind})")
    if not isinstance(found, dict) or answer.status != 200 or found.get("status") != "success":
        return _failed(answer.status, found)
    told = [
        *_listed(found.get("warnings")),
        *(one for one in _listed(found.get("infos")) if _NAMING not in str(one)),
    ]
    if told:
        return Reading(Outcome.PARTIAL, message=_words(f"answers with a warning: {told[0]}"))
    data = found.get("data")
    return _result(data) if isinstance(data, dict) else _ambiguous("no data")


def _listed(remarks: Any) -> list[Any]:
    """Remarks as the API gives them; anything else that is there is one."""
    return remarks if isinstance(remarks, list) else [remarks] if remarks else []


def _failed(status: int, found: Any) -> Reading:
    """400 and 422 are the query's fault, 503 is a timeout of the query (API documentation, "Format overview")."""
    kind, words = "", ""
    if isinstance(found, dict):
        kind, words = str(found.get("errorType", "")), str(found.get("error", ""))
    outcome = Outcome.TIMEOUT if kind == "timeout" else Outcome.ERROR
    return Reading(
        outcome, message=_words(f"answers {status} {kind}: {words or 'not in the words of its API'}")
    )


def _result(data: dict[str, Any]) -> Reading:
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar":
        return _number(result)
    if kind != "vector" or not isinstance(result, list):
        return _ambiguous(f"a {kind}")
    if not result:
        return Reading(Outcome.NO_DATA, message="no sample; where none means zero write `or vector(0)`")
    if len(result) > 1:
        return _ambiguous(f"{len(result)} series")
    sample = result[0]
    return (
        _number(sample.get("value"))
        if isinstance(sample, dict) and "value" in sample
        else _ambiguous("a histogram")
    )


def _number(pair: Any) -> Reading:
    """`[time, "text"]`."""
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
        return _ambiguous("no sample")
    try:
        value = float(pair[1])
    except ValueError:
        return _ambiguous("a text")
    if not math.isfinite(value):
        return Reading(Outcome.NON_FINITE, message=f"the value is {pair[1][:8]}")
    return Reading(Outcome.VALUE, value)


def _ambiguous(what: str) -> Reading:
    return Reading(
        Outcome.AMBIGUOUS, message=f"answers {what} instead of one number: aggregate it, as by sum(…)"
    )


def _words(text: str) -> str:
    """One line, bounded."""
    return " ".join(text.split())[:_MOST_WORDS]
