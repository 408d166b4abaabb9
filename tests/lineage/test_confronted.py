"""What the business says of a run no longer erases what its evaluator gave."""

from pathlib import Path

import orjson
import pytest

from sluicegate.contracts.evidence import ArmFacts
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.lineage import entries
from sluicegate.lineage.entries import encode_after, encode_observation, encode_outcome
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import CONTROLLED, at, facts, observed

SPOKEN = {
    "nobody": ((), (0.8, None, None)),
    "a reward": ([{"reward": 0.25}], (0.25, 0.8, 0.25)),
    "an outcome": ([{"outcome": RunOutcome.FAILED}], (0.8, 0.8, 0.0)),
    "both": ([{"outcome": RunOutcome.SUCCEEDED, "reward": 0.5}], (0.5, 0.8, 0.5)),
    "the last word": ([{"reward": 0.25}, {"outcome": RunOutcome.SUCCEEDED}], (0.25, 0.8, 1.0)),
}


@pytest.mark.parametrize("case", SPOKEN)
def test_both_are_kept_in_a_session(tmp_path: Path, case: str) -> None:
    said, expected = SPOKEN[case]
    store = LineageStore(tmp_path / "l.db")
    part = observed(key=CONTROLLED, session=True, window_seconds=60.0, stable=None, candidate=facts())
    lines = [encode_observation(part), encode_after("run-000001", Arm.CANDIDATE, reward=0.8, at=at(1))]
    lines += [encode_outcome("run-000001", at=at(2 + place), **one) for place, one in enumerate(said)]  # type: ignore[arg-type]
    store.ingest(lines, now=at(100))
    [unit] = store.observations(CONTROLLED, after=0)
    assert unit.candidate is not None
    assert (unit.candidate.reward, unit.candidate.evaluated, unit.candidate.outcome) == expected


def test_without_an_evaluator_there_is_nothing_to_confront(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "l.db")
    part = observed(key=CONTROLLED, session=True, window_seconds=60.0)
    store.ingest([encode_observation(part), encode_outcome("run-000001", at=at(1), reward=1.0)], now=at(100))
    [unit] = store.observations(CONTROLLED, after=0)
    assert unit.stable is not None
    assert (unit.stable.reward, unit.stable.evaluated, unit.stable.outcome) == (1.0, None, None)


def test_facts_of_earlier_versions_are_read() -> None:
    line = {
        "success": 1.0,
        "latencies_ms": [3.0],
        "fallbacks": {},
        "violations": [],
        "violated": 0.0,
        "reward": 0.5,
    }
    assert entries.facts_from(line) == ArmFacts(success=1.0, latencies_ms=(3.0,), reward=0.5)
    known = ArmFacts(success=1.0, latencies_ms=(), evaluated=0.25, outcome=1.0)
    assert entries.facts_from(orjson.loads(orjson.dumps(known))) == known
