"""What users got becomes units of the version that served it."""

from pathlib import Path

import orjson
import pytest

from sluicegate.contracts.runs import Arm, RunOutcome, StepOutcome
from sluicegate.contracts.watch import Watched
from sluicegate.lineage.entries import (
    MalformedError,
    encode_after,
    encode_observation,
    encode_outcome,
    encode_run,
)
from sluicegate.lineage.retention import Policy, sweep
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at, fell_back, observed, run, step

KEY = Watched("shop", "support-bot", "support-bot-1").key


def served(number: int, **fields: object) -> bytes:
    run_id = f"run-{number:06d}"
    known = {"unit": run_id, "window_seconds": 60.0, "reward": 0.5, "started_at": at(number).isoformat()}
    return encode_run(run(run_id, **(known | fields)))  # type: ignore[arg-type]


def test_a_run_is_a_unit_of_the_version_that_served_it(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "l.db")
    steps = (
        fell_back("planner"),
        step("again"),
        step("skipped", component="writer", outcome=StepOutcome.SKIPPED),
        step("stub", component="orders", stubbed=True, attempts=()),
        fell_back("judge", forced=True),
    )
    candidate = {"arm": Arm.CANDIDATE, "serving": True, "revision": "support-bot-2", "rollout": "r"}
    store.ingest([served(1, steps=steps), served(2, **candidate)])
    [unit] = store.observations(KEY, after=0)
    assert unit.stable is not None
    assert (unit.runs, unit.stable.reward, unit.stable.success) == (("run-000001",), 0.5, 1.0)
    assert unit.stable.latencies_ms == (12.5,)
    assert unit.stable.fallbacks == {"planner": 1.0, "judge": 0.0}
    [other] = store.observations(Watched("shop", "support-bot", "support-bot-2").key, after=0)
    assert (other.stable, other.candidate is None) == (None, False)


@pytest.mark.parametrize(
    "fields",
    [{"serving": False}, {"outcome": RunOutcome.REJECTED}, {"window_seconds": None}],
    ids=["a copy", "an input that broke the contract", "a document of an earlier version"],
)
def test_what_no_user_got_is_none(tmp_path: Path, fields: dict[str, object]) -> None:
    store = LineageStore(tmp_path / "l.db")
    store.ingest([served(1, **fields)], now=at(1000))
    assert store.observations(KEY, after=0) == []


def test_a_reward_is_waited_for_as_in_a_rollout(tmp_path: Path) -> None:
    """The evaluator's closes the unit; without one it ends with the window; a later word of the business is late."""
    store = LineageStore(tmp_path / "l.db")
    store.ingest([served(number, reward=None) for number in (1, 2)], now=at(10))
    assert store.observations(KEY, after=0) == []
    store.ingest([encode_after("run-000001", Arm.STABLE, reward=0.75, at=at(3))], now=at(10))
    [first] = store.observations(KEY, after=0)
    assert first.stable is not None
    assert first.stable.reward == 0.75
    store.ingest([], now=at(70))
    store.ingest([encode_outcome("run-000002", at=at(71), reward=1.0)], now=at(80))
    second = store.observations(KEY, after=first.sequence)[0]
    assert second.stable is not None
    assert second.stable.reward is None


def test_a_failed_run_expects_no_reward(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "l.db")
    store.ingest([served(1, reward=None, outcome=RunOutcome.FAILED)])
    [unit] = store.observations(KEY, after=0)
    assert unit.stable is not None
    assert (unit.stable.success, unit.stable.reward) == (0.0, None)


def test_a_session_is_one_unit_and_another_when_it_comes_back(tmp_path: Path) -> None:
    """Whether the first was folded and forgotten before or not."""
    for forgets in (False, True):
        store = LineageStore(tmp_path / f"{forgets}.db")
        store.ingest([served(n, unit="s", reward=r) for n, r in ((1, 0.0), (2, 1.0))], now=at(30))
        store.ingest([served(9, unit="other")], now=at(200))
        if forgets:
            store.forget(KEY, before=10)
        store.ingest([served(300, unit="s", reward=0.25)], now=at(310))
        store.ingest([served(301, unit="s", reward=0.75)], now=at(310))
        store.ingest([], now=at(500))
        found = [(unit.runs, unit.stable.reward) for unit in store.observations(KEY, after=0) if unit.stable]
        assert found[-1] == (("run-000300", "run-000301"), 0.5)
        assert len(found) == (2 if forgets else 3)


def test_taking_a_spool_in_again_changes_nothing(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "l.db")
    lines = [served(1), served(2, unit="s"), encode_outcome("run-000002", at=at(3), reward=1.0)]
    store.ingest(lines, now=at(10))
    store.ingest(lines, now=at(100))
    store.ingest(lines, now=at(200))
    assert [unit.unit for unit in store.observations(KEY, after=0)] == ["run-000001", "s"]


def test_folded_units_go_and_the_newest_stays_for_retention(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "l.db")
    store.ingest([served(number) for number in range(1, 6)])
    store.save(KEY, b"state")
    last = store.observations(KEY, after=0)[-1].sequence
    store.forget(KEY, before=last + 100)
    assert [unit.sequence for unit in store.observations(KEY, after=0)] == [last]
    sweep(store, Policy(), at(86_400 * 30))
    assert store.load(KEY) == b"state"
    sweep(store, Policy(), at(86_400 * 91))
    assert (store.load(KEY), store.observations(KEY, after=0)) == (None, [])


def test_units_that_nobody_folds_are_kept_as_long_as_hot_runs(tmp_path: Path) -> None:
    """A version that serves with the watch off has a young unit at any time."""
    store = LineageStore(tmp_path / "l.db")
    store.ingest([encode_observation(observed(f"run-r{number}", number)) for number in (1, 2)])
    store.ingest([served(day * 86_400) for day in range(20)], now=at(20 * 86_400))
    sweep(store, Policy(), at(20 * 86_400))
    kept = [unit.runs[0] for unit in store.observations(KEY, after=0)]
    assert kept == [f"run-{day * 86_400:06d}" for day in range(13, 20)]
    assert len(store.observations(SHADOW, after=0)) == 2
    sweep(store, Policy(), at(40 * 86_400))
    assert [unit.runs[0] for unit in store.observations(KEY, after=0)] == kept[-1:]


def test_a_document_that_cannot_be_a_unit_is_refused_before_the_store(tmp_path: Path) -> None:
    document = orjson.loads(served(1))
    for broken in ({"window_seconds": "soon"}, {"steps": [{"name": "plan"}]}):
        with pytest.raises(MalformedError):
            LineageStore(tmp_path / "l.db").ingest([orjson.dumps(document | broken)])
