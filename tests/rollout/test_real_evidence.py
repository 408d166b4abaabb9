"""Rollouts judged by the real fold on simulated traffic: one good candidate, and five that are bad in their own way."""

import random  # noqa: TID251 - seeded
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import Share, place_of
from sluicegate.contracts.stages import MIRRORED_STAGES, Check, Outcome, Signal, Stage, State
from sluicegate.observability.fold import Fold
from sluicegate.rollout import planning
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.samples import T0, observed, remember, rollout, workflow_spec

Facts = Callable[[random.Random], ArmFacts]


def good(draw: random.Random, **changes: Any) -> ArmFacts:
    values: dict[str, Any] = {
        "success": float(draw.random() < 0.97),
        "latencies_ms": (draw.uniform(50, 1010),),
        "fallbacks": {"agent": float(draw.random() < 0.02)},
        "reward": draw.betavariate(8, 2),
        "disagrees": float(draw.random() < 0.1),
    }
    return ArmFacts(**(values | changes))


BAD: dict[str, tuple[Facts, Signal]] = {
    "a contract break": (
        lambda draw: (
            good(draw, success=0.0, violated=1.0, violations=("Enum output/intent",))
            if draw.random() < 0.3
            else good(draw)
        ),
        Signal.CONTRACT_VIOLATIONS,
    ),
    "a slower p95": (
        lambda draw: good(draw, latencies_ms=(draw.uniform(700, 1500),)),
        Signal.P95_LATENCY,
    ),
    "more fallbacks": (
        lambda draw: good(draw, fallbacks={"agent": float(draw.random() < 0.35)}),
        Signal.FALLBACK_RATE_MAX,
    ),
    "a lower reward with valid outputs": (
        lambda draw: good(draw, reward=draw.betavariate(4, 6)),
        Signal.REWARD,
    ),
    "crashes": (
        lambda draw: good(draw, success=0.0) if draw.random() < 0.4 else good(draw),
        Signal.SUCCESS_RATE,
    ),
}


def spec() -> WorkflowSpec:
    stages = [
        {
            "name": name,
            "minRuns": 100,
            "maxDurationSeconds": 400_000,
            "share": {"numerator": 1, "denominator": 2},
        }
        | ({"minDurationSeconds": 60} if name == "Controlled" else {})
        for name in ("Canary", "Shadow", "Controlled")
    ]
    stages.append({"name": "Full", "minRuns": 100, "minDurationSeconds": 60})
    body = workflow_spec("2.0.0", stages=stages).to_json()
    return remember(WorkflowSpec.model_validate({**body, "reward": "output.reward"}))


def lived(candidate: Facts, seed: int = 3, batch: int = 25) -> RolloutStatus:
    """One rollout from Pending to Done, a look after each batch of units; one unit in a second."""
    draw, now = random.Random(seed), T0
    item = rollout(spec(), observed_generation=1)
    seen = observed(item)
    folds: dict[EvidenceKey, Fold] = {}
    for _ in range(2000):
        wanted = planning.look(seen.rollout)
        evidence = None
        if wanted is not None:
            fold = folds.setdefault(wanted.key, Fold(wanted.key, wanted.questions))
            assert fold.questions == wanted.questions, "a stage's questions never change"
            for _ in range(batch):
                now += timedelta(seconds=1)
                fold.add(_unit(fold, draw, candidate, now))
            evidence = fold.evidence()
        now += timedelta(seconds=11)
        plan = reconcile_rollout(replace(seen, evidence=evidence), now)
        made = [act.plan for act in plan.actions if hasattr(act, "plan")]
        stored = made[-1] if made else seen.plan
        item = seen.rollout.model_copy(update={"status": plan.status})
        seen = replace(seen, rollout=item, plan=stored, programmed=stored.version if stored else 0)
        if plan.status.state is State.DONE:
            return plan.status
    raise AssertionError(f"no end: {seen.rollout.status}")


def _unit(fold: Fold, draw: random.Random, candidate: Facts, now: Any) -> Observation:
    number = fold.cursor + 1
    unit = f"{fold.key.stage}-{number}"
    seen = Observation(
        sequence=number,
        key=fold.key,
        unit=unit,
        runs=(f"run-{number}",),
        at=now,
        stable=good(draw),
        candidate=candidate(draw),
        control=good(draw),
    )
    if fold.key.stage in MIRRORED_STAGES:
        return seen
    inside = fold.key.stage is Stage.FULL or Share(1, 2).holds(place_of("salt", unit))
    return replace(seen, stable=None, control=None) if inside else replace(seen, candidate=None, control=None)


def test_a_good_candidate_passes_all_stages_and_is_promoted() -> None:
    status = lived(good)
    assert status.outcome is Outcome.PROMOTED, status.message
    assert [record.stage for record in status.history] == list(Stage)
    gates = [gate for record in status.history for gate in record.gates if gate.signal != Check.ROUTING]
    assert {gate.verdict for gate in gates} == {"Pass"}
    assert float(status.baseline["WorkflowSuccessRate"]) == pytest.approx(0.97, abs=0.03)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_candidate_is_aborted_by_the_gate_that_names_it(kind: str) -> None:
    candidate, signal = BAD[kind]
    status = lived(candidate)
    assert status.outcome is Outcome.ABORTED
    assert [record.stage for record in status.history] == [Stage.CANARY], "before any user saw it"
    failed = [gate for gate in status.history[-1].gates if gate.verdict == "Fail"]
    assert signal.value in {gate.signal for gate in failed}
    for gate in failed:
        assert gate.runs
        assert gate.have > 0


def test_a_candidate_that_turns_bad_in_full_is_taken_back() -> None:
    bad = BAD["crashes"][0]

    class Turning:
        """Good until Full."""

        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, draw: random.Random) -> ArmFacts:
            self.calls += 1
            return good(draw) if self.calls < self.turn else bad(draw)

        turn = 10**9

    probe = Turning()
    lived(probe)
    entered_full = probe.calls - 100
    turning = Turning()
    turning.turn = entered_full
    status = lived(turning)
    assert status.outcome is Outcome.ABORTED
    assert status.history[-1].stage in {Stage.CONTROLLED, Stage.FULL}
