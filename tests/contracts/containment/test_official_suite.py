"""The official suite's schemas against each other, with the suite's own values and verdicts as the oracle."""

from itertools import pairwise
from typing import Any

import pytest

from sluicegate.contracts.containment import Verdict, closed, covers
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schemas import SchemaCheck, compile_schema
from tests import json_schema_suite

DIALECTS = ("draft2020-12", "draft7")


def compiled(schema: Any) -> SchemaCheck | None:
    """None for what the product refuses: look-around, references to elsewhere, other vocabularies."""
    try:
        return compile_schema(schema)
    except Refused:
        return None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_schema_is_covered_by_one_that_refuses_its_values(dialect: str) -> None:
    """Each with itself and with its neighbours in the suite, which speak of the same keyword."""
    cases = json_schema_suite.cases(dialect)
    assert len(cases) > 200
    told = dict.fromkeys(Verdict, 0)
    for case, other in [
        *((case, case) for case in cases),
        *pairwise(cases),
        *((b, a) for a, b in pairwise(cases)),
    ]:
        consumer, producer = compiled(case.schema), compiled(other.schema)
        found = covers(case.schema, other.schema, is_closed=False)
        told[found.verdict] += 1
        if consumer is None or producer is None:
            assert found.verdict is Verdict.UNKNOWN
            continue
        values = [value for one in (case, other) for _, value, _ in one.tests]
        if found.verdict is Verdict.COMPATIBLE:
            assert all(consumer.is_valid(value) for value in values if producer.is_valid(value)), (
                case.name,
                other.name,
            )
        elif found.verdict is Verdict.BREAKING:
            assert producer.is_valid(found.witness), (case.name, other.name)
            assert not consumer.is_valid(found.witness), (case.name, other.name)
        if case is other:
            assert found.verdict is not Verdict.BREAKING, case.name
    assert min(told[Verdict.COMPATIBLE], told[Verdict.BREAKING]) > 100


def test_every_verdict_of_the_suite_is_a_containment_of_one_value() -> None:
    """A value is valid exactly if its schema covers the schema of that value alone. Formats are asserted here, which the required tests do not."""
    wrong = []
    for case in json_schema_suite.cases():
        if case.name.startswith("format:"):
            continue
        for description, value, is_valid in case.tests:
            found = covers(case.schema, {"const": value})
            if found.verdict is (Verdict.BREAKING if is_valid else Verdict.COMPATIBLE):
                wrong.append((case.name, description))
    assert not wrong


def test_closing_only_takes_away_from_the_suites_schemas() -> None:
    for case in json_schema_suite.cases():
        wide, narrow = compiled(case.schema), compiled(closed(case.schema))
        if wide is not None and narrow is not None:
            assert all(wide.is_valid(value) for _, value, _ in case.tests if narrow.is_valid(value)), (
                case.name
            )
