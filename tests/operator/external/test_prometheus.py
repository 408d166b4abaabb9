"""The Prometheus provider: on answers as the API documents them, and on a real Prometheus."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.adapters import system
from sluicegate.operator.external.http import Answered, Fetcher
from sluicegate.operator.external.prometheus import PrometheusEvidence, reading_of
from sluicegate.operator.ports import Question
from sluicegate.rollout.measurements import Inquiry, Outcome, Reading
from tests.operator.external.http_stub import said, serving
from tests.operator.external.provider_contract import AT, ProviderContract
from tests.prometheus.exporter import exporter
from tests.prometheus.server import Prometheus


def document(kind: str, result: Any, **more: Any) -> dict[str, Any]:
    """As in <https://prometheus.io/docs/prometheus/latest/querying/api/>."""
    return {"status": "success", "data": {"resultType": kind, "result": result}} | more


def sample(value: Any) -> dict[str, Any]:
    return {"metric": {}, "value": [1_435_781_451.781, value]}


class TestPrometheus(ProviderContract):
    kind = "prometheus"
    text = "sum(up)"

    def number(self, written: str) -> str:
        return json.dumps(document("vector", [sample(json.loads(written))]))

    def nothing(self) -> str:
        return json.dumps(document("vector", []))

    async def test_the_question_has_a_time_a_timeout_and_an_age(self, fetcher: Fetcher) -> None:
        async with serving(said(self.number('"1"'))) as stub:
            await self.read(fetcher, f"{stub.url}/prefix/", 'sum(a{b="c+d&e"})')
            (request,) = stub.seen
        assert request.path == "/prefix/api/v1/query"
        assert dict(request.query) == {
            "query": 'sum(a{b="c+d&e"})',
            "time": f"{AT.timestamp():.3f}",
            "timeout": "5s",
            "lookback_delta": "60s",
        }

    async def test_only_old_samples_are_stale(self, fetcher: Fetcher) -> None:
        async def answer(request: Any) -> Any:
            body = self.nothing() if "lookback_delta" in request.query else self.number('"1"')
            return await said(body)(request)

        found = await self.said(fetcher, answer)
        assert (found.outcome, found.value) == (Outcome.STALE, None)


HISTOGRAM = {"metric": {}, "histogram": [1.0, {"count": "1", "sum": "1"}]}
ANSWERS: dict[str, tuple[int, dict[str, Any], Outcome]] = {
    "a scalar": (200, document("scalar", [1.0, "2"]), Outcome.VALUE),
    "a scalar that is none": (200, document("scalar", [1.0, "NaN"]), Outcome.NON_FINITE),
    "one sample": (200, document("vector", [sample("2")]), Outcome.VALUE),
    "two series": (200, document("vector", [sample("1"), sample("2")]), Outcome.AMBIGUOUS),
    "a matrix": (200, document("matrix", [{"metric": {}, "values": [[1.0, "2"]]}]), Outcome.AMBIGUOUS),
    "a string": (200, document("string", [1.0, "2"]), Outcome.AMBIGUOUS),
    "a native histogram": (200, document("vector", [HISTOGRAM]), Outcome.AMBIGUOUS),
    "a number that is no text": (200, document("vector", [sample(2.0)]), Outcome.AMBIGUOUS),
    "warnings": (200, document("vector", [sample("2")], warnings=["a store is down"]), Outcome.PARTIAL),
    "infos": (200, document("vector", [sample("2")], infos=["ignored histograms in sum"]), Outcome.PARTIAL),
    "an info about a name": (
        200,
        document(
            "vector",
            [sample("2")],
            infos=["PromQL info: metric might not be a counter, name does not end in _total"],
        ),
        Outcome.VALUE,
    ),
    "no warnings": (200, document("vector", [sample("2")], warnings=[], infos=None), Outcome.VALUE),
    "remarks that are no list": (
        200,
        document("vector", [sample("2")], warnings=7, infos=True),
        Outcome.PARTIAL,
    ),
    "an error with status 200": (
        200,
        {"status": "error", "errorType": "execution", "error": "x"},
        Outcome.ERROR,
    ),
    "bad data": (400, {"status": "error", "errorType": "bad_data", "error": "parse error"}, Outcome.ERROR),
    "an execution error": (422, {"status": "error", "errorType": "execution", "error": "x"}, Outcome.ERROR),
    "a timeout of the query": (
        503,
        {"status": "error", "errorType": "timeout", "error": "x"},
        Outcome.TIMEOUT,
    ),
    "success with status 500": (500, document("vector", [sample("2")]), Outcome.ERROR),
    "no data at all": (200, {"status": "success"}, Outcome.AMBIGUOUS),
}


@pytest.mark.parametrize("sentence", ANSWERS)
def test_answers(sentence: str) -> None:
    status, body, outcome = ANSWERS[sentence]
    found = reading_of(Answered(status=status, kind="application/json", body=json.dumps(body).encode()))
    assert found.outcome is outcome
    assert found.value == (2.0 if outcome is Outcome.VALUE else None)


def test_an_error_is_told_in_the_words_of_prometheus_and_in_one_line() -> None:
    body = {"status": "error", "errorType": "bad_data", "error": "parse\nerror " + "x" * 999}
    found = reading_of(Answered(status=400, kind="application/json", body=json.dumps(body).encode()))
    assert found.message.startswith("answers 400 bad_data: parse error x")
    assert len(found.message) <= 200


TEXT = """\
# TYPE requests_total counter
requests_total{version="1"} 100
requests_total{version="2"} 50
# TYPE errors_total counter
errors_total{version="2"} 5
odd_name 3
# TYPE empty gauge
empty NaN
# TYPE endless gauge
endless +Inf
"""


@dataclass
class Asked:
    """A real Prometheus that has scraped TEXT."""

    prometheus: Prometheus
    provider: PrometheusEvidence

    async def read(self, text: str, *, later: float = 0.0, age: int = 300) -> Reading:
        at = system.now() + timedelta(seconds=later)
        inquiry = Inquiry(arm="candidate", url=self.prometheus.url, texts=(("value", text),))
        question = Question(inquiry=inquiry, at=at, max_age_seconds=age, timeout_seconds=10.0)
        (found,) = await self.provider.read(question)
        return found


@pytest.fixture
async def asked(prometheus: Prometheus) -> AsyncIterator[Asked]:
    fetcher = Fetcher()
    with exporter(TEXT) as target, prometheus.scraping("outside", target.port) as job:
        job.fresh()
        yield Asked(prometheus, PrometheusEvidence(fetcher))
    await fetcher.close()


REAL: dict[str, tuple[str, Outcome, float | None]] = {
    "a sum": ('sum(requests_total{version="1"})', Outcome.VALUE, 100.0),
    "a scalar": ("1 + 1", Outcome.VALUE, 2.0),
    "no series": ("sum(no_such_metric)", Outcome.NO_DATA, None),
    "no series, and zero for it": ("sum(no_such_metric) or vector(0)", Outcome.VALUE, 0.0),
    "two series": ("requests_total", Outcome.AMBIGUOUS, None),
    "NaN": ("empty", Outcome.NON_FINITE, None),
    "0 / 0": ("vector(0) / vector(0)", Outcome.NON_FINITE, None),
    "infinity": ("endless", Outcome.NON_FINITE, None),
    "a matrix": ("requests_total[1m]", Outcome.AMBIGUOUS, None),
    "a string": ('"hello"', Outcome.AMBIGUOUS, None),
    "a query that is none": ("sum(", Outcome.ERROR, None),
    "many on both sides": ("requests_total * on() errors_total", Outcome.ERROR, None),
    "a rate of what is not named as a counter": ("sum(rate(odd_name[1m])) or vector(0)", Outcome.VALUE, 0.0),
    "a quantile of no histogram": ("histogram_quantile(0.9, requests_total)", Outcome.PARTIAL, None),
}


@pytest.mark.parametrize("sentence", REAL)
async def test_of_a_real_prometheus(asked: Asked, sentence: str) -> None:
    text, outcome, value = REAL[sentence]
    found = await asked.read(text)
    assert (found.outcome, found.value) == (outcome, value), found.message


async def test_a_sample_that_is_too_old_is_stale(asked: Asked) -> None:
    """Asked two minutes from now: Prometheus itself would look back five."""
    text = 'sum(requests_total{version="1"})'
    assert (await asked.read(text, later=120.0, age=300)).outcome is Outcome.VALUE
    found = await asked.read(text, later=120.0, age=60)
    assert (found.outcome, found.value) == (Outcome.STALE, None)
    assert (await asked.read(text, later=900.0, age=60)).outcome is Outcome.NO_DATA


async def test_a_target_that_is_gone_is_no_data(prometheus: Prometheus) -> None:
    """Prometheus marks the series stale when its target goes, whatever the look-back."""
    fetcher = Fetcher()
    asked = Asked(prometheus, PrometheusEvidence(fetcher))
    with exporter("going_total 5\n") as target, prometheus.scraping("going", target.port) as job:
        job.fresh()
        assert (await asked.read("going_total")).value == 5.0
    deadline = time.monotonic() + 30.0
    while (found := await asked.read("going_total")).outcome is Outcome.VALUE and time.monotonic() < deadline:
        pass
    assert found.outcome is Outcome.NO_DATA
    await fetcher.close()
