"""When a unit closes and what it then says; expected means are computed by fractions, apart from the code."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.evidence import Ablation, ArmFacts, RawObservation
from sluicegate.contracts.runs import Arm, Coalition, RunOutcome
from sluicegate.lineage import units
from sluicegate.lineage.entries import Amendment
from tests.lineage.builders import CONTROLLED, SHADOW, at, facts, observed

SESSION: dict[str, Any] = {"unit": "s", "session": True, "window_seconds": 10.0}
EXPECTS: dict[str, Any] = {"expects_reward": True, "window_seconds": 10.0}


def said(seconds: float, *, run_id: str = "a", **fields: Any) -> Amendment:
    defaults: dict[str, Any] = {"run_id": run_id, "kind": "outcome", "at": at(seconds)}
    return Amendment(**(defaults | fields))


CLOSING: dict[str, tuple[list[RawObservation], list[Amendment], float]] = {
    "nothing expected: at once": ([observed("a", 3)], [], 3),
    "a reward expected: after the window": ([observed("a", 3, **EXPECTS)], [], 13),
    "a reward expected and come: then": ([observed("a", 3, **EXPECTS)], [said(5, reward=1.0)], 5),
    "a reward come before the observation: at its time": (
        [observed("a", 3, **EXPECTS)],
        [said(1, reward=1.0)],
        3,
    ),
    "a reward come after the window: at the window": (
        [observed("a", 3, **EXPECTS)],
        [said(20, reward=1.0)],
        13,
    ),
    "an outcome without reward: the reward may still come": (
        [observed("a", 3, **EXPECTS)],
        [said(5, outcome=RunOutcome.FAILED)],
        13,
    ),
    "a reward of one of two arms: the other's may still come": (
        [observed("a", 3, candidate=facts(), **EXPECTS)],
        [said(5, reward=1.0)],
        13,
    ),
    "rewards of both arms: with the later": (
        [observed("a", 3, candidate=facts(), **EXPECTS)],
        [
            said(4, kind="after", arm=Arm.STABLE, reward=1.0),
            said(6, kind="after", arm=Arm.CANDIDATE, reward=1.0),
        ],
        6,
    ),
    "the reward of one arm was there: with the other": (
        [observed("a", 3, stable=facts(reward=0.5), candidate=facts(), **EXPECTS)],
        [said(6, kind="after", arm=Arm.CANDIDATE, reward=1.0)],
        6,
    ),
    "a session: after its last run": ([observed("a", 0, **SESSION), observed("b", 8, **SESSION)], [], 18),
    "a session in any order": ([observed("b", 8, **SESSION), observed("a", 0, **SESSION)], [], 18),
    "a session whose next run came too late": (
        [observed("a", 0, **SESSION), observed("b", 11, **SESSION)],
        [],
        10,
    ),
}


@pytest.mark.parametrize(("parts", "amendments", "closes"), CLOSING.values(), ids=CLOSING.keys())
def test_a_unit_closes(parts: list[RawObservation], amendments: list[Amendment], closes: float) -> None:
    assert units.closing_time(parts, {"a": amendments}) == at(closes)


def closed(part: RawObservation, *amendments: Amendment) -> units.ClosedUnit:
    return units.close([part], {part.run_id: amendments})


def test_a_failed_outcome_makes_the_serving_arm_s_success_zero() -> None:
    pair = observed("a", 0, candidate=facts(0.75), **EXPECTS)
    result = closed(pair, said(1, outcome=RunOutcome.FAILED))
    assert {arm: found.success for arm, found in result.arms.items()} == {
        Arm.STABLE: 0.0,
        Arm.CANDIDATE: 0.75,
    }


def test_in_a_split_stage_the_outcome_is_the_only_arm_s() -> None:
    result = closed(
        observed("a", 0, key=CONTROLLED, stable=None, candidate=facts(), **EXPECTS), said(1, reward=0.25)
    )
    assert result.arms == {Arm.CANDIDATE: facts(reward=0.25)}


def test_a_good_outcome_does_not_mend_a_broken_contract() -> None:
    result = closed(observed("a", 0, stable=facts(0.0), **EXPECTS), said(1, outcome=RunOutcome.SUCCEEDED))
    assert result.arms[Arm.STABLE].success == 0.0


def test_the_last_outcome_counts_and_takes_back_an_earlier_one() -> None:
    part = observed("a", 0, **EXPECTS)
    failed, mended = said(2, outcome=RunOutcome.FAILED), said(3, outcome=RunOutcome.SUCCEEDED)
    assert closed(part, mended, failed).arms[Arm.STABLE].success == 1.0


def test_the_business_reward_replaces_the_evaluator_s() -> None:
    part = observed("a", 0, **EXPECTS)
    found = closed(part, said(2, reward=0.1), said(2, kind="after", arm=Arm.STABLE, reward=0.9))
    assert found.arms[Arm.STABLE].reward == 0.1


def test_a_late_outcome_is_no_evidence() -> None:
    assert (
        closed(observed("a", 0), said(1, outcome=RunOutcome.FAILED, reward=0.0)).arms[Arm.STABLE] == facts()
    )


def test_a_reward_known_of_one_arm_stays_unknown_of_the_other() -> None:
    pair = closed(observed("a", 0, candidate=facts(), **EXPECTS), said(1, reward=0.5))
    assert [found.reward for found in pair.arms.values()] == [0.5, None]


def test_a_pair_compares_the_same_requests() -> None:
    """The mirror of the second run was dropped: stable's second run has nothing to be compared with."""
    parts = [
        observed("a", 0, candidate=facts(), **SESSION),
        observed("b", 1, stable=facts(0.0), dropped=1, **SESSION),
    ]
    result = units.close(parts, {})
    assert (result.arms[Arm.STABLE].success, result.dropped) == (1.0, 1)


def earned(mask: int, reward: float | None) -> Ablation:
    return Ablation(coalition=Coalition(players=("a", "b"), mask=mask, probability=0.5), reward=reward)


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([], None),
        ([earned(1, 0.25), earned(1, 0.75)], earned(1, 0.5)),
        ([earned(1, 0.25), earned(1, None)], earned(1, 0.25)),
        ([earned(1, None)], earned(1, None)),
        ([earned(1, 0.25), earned(2, 0.75)], earned(1, 0.25)),
    ],
    ids=["none", "the mean", "of those known", "unknown", "another coalition is no run of it"],
)
def test_a_unit_has_one_coalition(runs: list[Ablation], found: Ablation | None) -> None:
    parts = [observed(f"r{n}", n, ablation=one, **SESSION) for n, one in enumerate(runs)]
    whole = units.close([*parts, observed("last", 9, **SESSION)], {})
    assert whole.ablation == found
    assert list(whole.arms) == [Arm.STABLE]


def test_a_unit_of_which_every_mirror_was_dropped_still_shows_stable() -> None:
    result = units.close([observed("a", 0, dropped=1)], {})
    assert (list(result.arms), result.dropped) == ([Arm.STABLE], 1)


def test_much_is_kept_within_bounds() -> None:
    parts = [
        observed(
            f"run-{n:03d}", n, stable=facts(latencies_ms=(float(n),), violations=(f"Enum {n}",)), **SESSION
        )
        for n in range(100)
    ]
    result = units.close(parts, {})
    stable = result.arms[Arm.STABLE]
    assert stable.latencies_ms == tuple(map(float, range(64)))
    assert len(stable.violations) == units.MAX_KINDS
    assert result.runs == tuple(f"run-{n:03d}" for n in range(8))


shares = st.integers(0, 8).map(lambda n: n / 8)
arm_facts = st.builds(
    ArmFacts,
    success=shares,
    latencies_ms=st.tuples(st.floats(0, 1e4)),
    fallbacks=st.dictionaries(st.sampled_from("xyz"), shares),
    violations=st.lists(st.sampled_from(("Enum a", "Type b")), max_size=2).map(tuple),
    violated=shares,
    reward=st.none() | shares,
    disagrees=st.none() | shares,
    similarity=st.none() | shares,
    texts=st.lists(st.none() | shares, max_size=2).map(tuple),
)


@given(
    st.lists(st.tuples(arm_facts, st.none() | arm_facts, st.integers(0, 2)), min_size=1, max_size=12),
    st.data(),
)
def test_means_over_runs(runs: list[tuple[ArmFacts, ArmFacts | None, int]], data: st.DataObject) -> None:
    parts = [
        observed(f"run-{n:03d}", n, stable=stable, candidate=candidate, dropped=dropped, **SESSION)
        for n, (stable, candidate, dropped) in enumerate(runs)
    ]
    result = units.close(data.draw(st.permutations(parts)), {})
    assert result.at == at(len(runs) - 1) + timedelta(seconds=10)
    assert result.dropped == sum(dropped for _, _, dropped in runs)
    pairs = [(stable, candidate) for stable, candidate, _ in runs if candidate is not None]
    expected = {
        Arm.STABLE: [s for s, _ in pairs] or [s for s, _, _ in runs],
        Arm.CANDIDATE: [c for _, c in pairs],
    }
    assert result.arms.keys() == {arm for arm, group in expected.items() if group}
    for arm, found in result.arms.items():
        group = expected[arm]
        assert found.success == mean([f.success for f in group])
        assert found.violated == mean([f.violated for f in group])
        assert found.latencies_ms == tuple(f.latencies_ms[0] for f in group)
        assert found.reward == mean([f.reward for f in group if f.reward is not None])
        assert found.disagrees == mean([f.disagrees for f in group if f.disagrees is not None])
        assert found.similarity == mean([f.similarity for f in group if f.similarity is not None])
        assert found.texts == tuple(text for f in group for text in f.texts)
        for name in {name for f in group for name in f.fallbacks}:
            assert found.fallbacks[name] == mean([f.fallbacks.get(name, 0.0) for f in group])
        assert set(found.violations) == {kind for f in group for kind in f.violations}
    shown = [(part.run_id, part.candidate, part.stable) for part in parts if part.candidate is not None]
    assert [(one.run, one.candidate, one.stable) for one in result.by_run] == (
        shown[:8] if len(runs) > 1 else []
    )


def mean(values: list[float]) -> float | None:
    """Exactly, then rounded once; sums of eighths are exact in floats too."""
    return float(sum(map(Fraction, values)) / len(values)) if values else None


@given(arm_facts, arm_facts)
def test_joining_adds_the_missing_arm_only(first: ArmFacts, second: ArmFacts) -> None:
    one, two = observed("a", stable=first), observed("a", stable=second, candidate=second)
    assert units.joined(one, two) == replace(one, candidate=second)
    assert units.joined(one, one) == one


def test_who_served() -> None:
    assert units.serving_arm(observed(key=SHADOW, candidate=facts())) is Arm.STABLE
    assert units.serving_arm(observed(key=CONTROLLED, stable=None, candidate=facts())) is Arm.CANDIDATE
