"""The web provider: a JSON document."""

import json
from typing import Any

import pytest

from sluicegate.operator.external.http import Fetcher
from sluicegate.operator.external.web import reading_of
from sluicegate.rollout.measurements import Outcome
from tests.operator.external.http_stub import said, serving
from tests.operator.external.provider_contract import ProviderContract


class TestWeb(ProviderContract):
    kind = "web"
    text = "data.items[0].errors"

    def number(self, written: str) -> str:
        return f'{{"data": {{"items": [{{"errors": {written}}}]}}}}'

    def nothing(self) -> str:
        return '{"data": {"items": []}}'

    async def test_the_document_is_fetched_once_for_all_paths(self, fetcher: Fetcher) -> None:
        async with serving(said('{"bad": 3, "total": 10}')) as stub:
            bad, total = await self.read(fetcher, stub.url, "bad", "total")
            assert len(stub.seen) == 1
        assert (bad.value, total.value) == (3.0, 10.0)


DOCUMENT: dict[str, Any] = {"a": {"b": [1, {"c": None}], "d-e": 2.5, "f": "3"}, "yes": True, "big": 10**400}


@pytest.mark.parametrize(
    ("path", "outcome", "value"),
    [
        ("a.b[0]", Outcome.VALUE, 1.0),
        ("a.d-e", Outcome.VALUE, 2.5),
        ("a.f", Outcome.VALUE, 3.0),
        ("a.b[1].c", Outcome.NO_DATA, None),
        ("a.b[2]", Outcome.NO_DATA, None),
        ("a.x.y", Outcome.NO_DATA, None),
        ("a[0]", Outcome.NO_DATA, None),
        ("[0]", Outcome.NO_DATA, None),
        ("a.b", Outcome.AMBIGUOUS, None),
        ("yes", Outcome.AMBIGUOUS, None),
        ("big", Outcome.AMBIGUOUS, None),
    ],
)
def test_paths(path: str, outcome: Outcome, value: float | None) -> None:
    found = reading_of(json.loads(json.dumps(DOCUMENT)), path)
    assert (found.outcome, found.value) == (outcome, value)
