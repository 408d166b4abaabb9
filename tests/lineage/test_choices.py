"""Outputs of components on their way through the store: entries, old lines, units of several runs."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, RawObservation
from sluicegate.contracts.stages import Stage
from sluicegate.lineage import entries
from sluicegate.lineage.choices import merged_choices, merged_numbers
from sluicegate.lineage.units import merged


def facts(**changes: Any) -> ArmFacts:
    return ArmFacts(success=1.0, latencies_ms=(1.0,), **changes)


def test_outputs_survive_the_spool() -> None:
    seen = facts(
        choices={"planner.intent": {"order": 0.5, "refund": 0.5}}, numbers={"judge.score": (0.25, 1.0)}
    )
    raw = RawObservation(
        key=EvidenceKey("r", Stage.SHADOW, 1),
        unit="u",
        run_id="run",
        at=datetime(2026, 3, 1, tzinfo=UTC),
        candidate=seen,
    )
    back = entries.raw_observation_from(entries.decode(entries.encode_observation(raw).rstrip()))
    assert back.candidate == seen


def test_a_line_of_an_earlier_version_brings_none() -> None:
    old = orjson.loads(b'{"success": 1.0, "latencies_ms": [3.0]}')
    found = entries.facts_from(old)
    assert found is not None
    assert (found.choices, found.numbers) == ({}, {})


def test_numbers_that_json_lacks_are_left_out() -> None:
    found = entries.facts_from(
        {"success": 1.0, "choices": {"a.b": {"x": None, "y": 1.0}}, "numbers": {"a.c": [None, 0.5]}}
    )
    assert found is not None
    assert (found.choices, found.numbers) == ({"a.b": {"y": 1.0}}, {"a.c": (0.5,)})


def test_a_session_gives_the_mean_of_the_runs_that_gave_any() -> None:
    runs = [
        facts(choices={"p.intent": {"order": 1.0}}, numbers={"j.score": (0.1,)}),
        facts(choices={"p.intent": {"refund": 1.0}, "q.kind": {"a": 1.0}}),
        facts(numbers={"j.score": (0.2, 0.3)}),
    ]
    unit = merged(runs)
    assert unit.choices == {"p.intent": {"order": 0.5, "refund": 0.5}, "q.kind": {"a": 1.0}}
    assert unit.numbers == {"j.score": (0.1, 0.2, 0.3)}


def test_a_session_stays_bounded() -> None:
    runs = [
        {"a.tool_calls": {f"tool-{run}-{n}": 1 / 20 for n in range(19)} | {"(other)": 1 / 20}}
        for run in range(5)
    ]
    shares = merged_choices(runs)["a.tool_calls"]
    assert len(shares) == 31  # thirty values, and all others
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["(other)"] == pytest.approx(0.70)
    assert len(merged_numbers([{"a.n": tuple(range(50))}] * 5)["a.n"]) == 64
