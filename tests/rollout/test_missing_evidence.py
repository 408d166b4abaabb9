"""Every gate beside every kind of missing evidence, by the real fold, judge and reconcile: it waits with the reason, is
inconclusive at the deadline, and stays so when sound evidence comes late, until a person acts.
"""

import math
from datetime import datetime
from typing import Any

import pytest

from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import GateStatus, RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Action, Signal, Stage, State, Verdict
from sluicegate.rollout import gates
from sluicegate.rollout.measurements import Outcome, Reading
from sluicegate.rollout.model import Plan, RolloutObserved
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout import feeds, measured
from tests.rollout.feeds import FEEDS, KINDS, OUTSIDE, World
from tests.rollout.samples import decision, in_stage, later, observed, remember, workflow_spec

IN_TIME, AT_DEADLINE, AFTER = later(900.0), later(3700.0), later(3800.0)


def spec_of(**gate: Any) -> WorkflowSpec:
    """Every stage has this gate alone, and an hour."""
    stages = [
        {
            "name": name.value,
            "minRuns": 1,
            "minDurationSeconds": 60,
            "maxDurationSeconds": 3600,
            "gates": [{"name": "asked", **gate}],
        }
        for name in Stage
    ]
    body = workflow_spec("2.0.0", stages=stages).to_json() | {"reward": "output.reward"}
    return remember(WorkflowSpec.model_validate(body))


def rollout_of(signal: Signal, stage: Stage) -> WorkflowRollout:
    feed = FEEDS[signal]
    item = in_stage(stage, spec_of(signal=signal.value, **feed.gate), baseline=feeds.BASELINE)
    return item.model_copy(update={"spec": item.spec.model_copy(update=feed.spec)})


def look(
    item: WorkflowRollout, signal: Signal, stage: Stage, world: World, now: datetime
) -> Plan[RolloutStatus]:
    return reconcile_rollout(observed(item, feeds.evidence(signal, world, item.spec, stage, now)), now)


def gate_of(plan: Plan[RolloutStatus]) -> GateStatus:
    return next(gate for gate in plan.status.gates if gate.name == "asked")


def after(item: WorkflowRollout, plan: Plan[RolloutStatus]) -> WorkflowRollout:
    return item.model_copy(update={"status": plan.status})


def test_every_signal_is_fed() -> None:
    assert set(FEEDS) | OUTSIDE == set(Signal), "say in tests/rollout/feeds.py how the new one is fed"


SOUND = [(signal, stage) for signal, feed in FEEDS.items() for stage in feed.stages]


@pytest.mark.parametrize(("signal", "stage"), SOUND)
def test_sound_evidence_passes(signal: Signal, stage: Stage) -> None:
    """Without this the rows below would show nothing."""
    plan = look(rollout_of(signal, stage), signal, stage, World(), IN_TIME)
    assert plan.status.state is not State(stage.value), plan.status.message
    assert not plan.status.held
    assert plan.status.history[-1].gates[0].verdict == "Pass"


ROWS = [
    (signal, stage, kind) for signal, stage in SOUND for kind in KINDS if feeds.applies(signal, stage, kind)
]


@pytest.mark.parametrize(("signal", "stage", "kind"), ROWS)
def test_missing_evidence_never_passes(signal: Signal, stage: Stage, kind: str) -> None:
    world, expected = KINDS[kind][0], feeds.reason(signal, kind)
    item = rollout_of(signal, stage)
    early = look(item, signal, stage, world, IN_TIME)
    assert (early.status.state, early.status.held) == (State(stage.value), False)
    found = gate_of(early)
    assert (found.verdict, found.reason) == (Verdict.WAIT, expected), found.message
    item = after(item, early)
    late = look(item, signal, stage, world, AT_DEADLINE)
    assert (late.status.state, late.status.held) == (State(stage.value), True)
    found = gate_of(late)
    at_end = "InsufficientSamples" if expected == "NeedsMore" else expected
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, at_end), found.message
    assert found.reason in gates.REASONS
    assert "inconclusive at the deadline" in str(late.status.hold_reason)
    stays(after(item, late), signal, stage)


def stays(item: WorkflowRollout, signal: Signal, stage: Stage) -> None:
    """Held whatever comes, until a person acts."""
    sound = look(item, signal, stage, World(), AFTER)
    assert (sound.status.state, sound.status.held) == (State(stage.value), True)
    seen = observed(item, None, decision(Action.RETRY, item))
    assert reconcile_rollout(seen, AFTER).status.state is State.PENDING


# --- gates with a source: the numbers are measured elsewhere -----------------------------------------------

SOURCES = {
    "a value": measured.VALUE,
    "counts": measured.COUNTS,
    "Jobs": measured.JOB,
    "Jobs that count": measured.JOB_COUNTS,
}
COUNTING = ("counts", "Jobs that count")
GOOD = {
    "a value": [measured.values(400.0)] * 3,
    "counts": [
        measured.counts(0, 0, 0, 0),
        measured.counts(2, 200, 2, 200),
        measured.counts(10, 2200, 10, 2200),
    ],
    "Jobs": [measured.values(1.0)] * 3,
    "Jobs that count": [measured.counts(2, 200, 2, 200), measured.counts(8, 2000, 8, 2000)],
}
NONE = Reading(Outcome.NO_DATA, message="no series")
ROLES = [(arm, role) for arm in ("candidate", "stable") for role in ("value", "bad", "total")]
ARMS = {
    "stable's arm is empty": measured.counts(10, 4000, 10, 4000) | {("stable", "total"): NONE},
    "the candidate's arm is empty": measured.counts(10, 4000, 10, 4000) | {("candidate", "bad"): NONE},
}
NO_NUMBER = {
    "empty": (measured.missing(Outcome.NO_DATA), "NoData"),
    "NaN or infinite": (measured.missing(Outcome.NON_FINITE), "NonFinite"),
    "NaN that a provider let through": (
        measured.values(math.nan) | measured.counts(math.nan, 4000, 10, 4000),
        "NonFinite",
    ),
    "stale": (measured.missing(Outcome.STALE), "StaleData"),
    "partial": (measured.missing(Outcome.PARTIAL), "PartialData"),
    "ambiguous": (measured.missing(Outcome.AMBIGUOUS), "AmbiguousData"),
    "the provider fails": (measured.missing(Outcome.ERROR), "ProviderError"),
    "the provider does not answer": (measured.missing(Outcome.TIMEOUT), "ProviderTimeout"),
    "both arms are empty": (dict.fromkeys(ROLES, NONE), "NoData"),
    "nothing was asked": ({}, "NoData"),
}
"""The newest measurement, after sound ones."""
CLOCKS = {"late, or the clock steps forward": -1800.0, "the clock steps back": 1800.0}


def outside(stage: Stage, source: str) -> WorkflowRollout:
    """No unit is asked for, as of a service whose runs are not seen."""
    margin = {"margin": "0.02"} if source in COUNTING else {}
    item = in_stage(stage, spec_of(source=SOURCES[source], **margin))
    stages = tuple(one.model_copy(update={"min_runs": 0}) for one in item.spec.stages)
    return item.model_copy(update={"spec": item.spec.model_copy(update={"stages": stages})})


def held_by(item: WorkflowRollout, stage: Stage, source: str, at: datetime, *more: Any) -> Measured:
    planned = next(one.gates[0] for one in item.spec.stages if one.name is stage)
    return measured.folded(planned, *GOOD[source], *more, at=at).model_copy(update={"gate": "asked"})


def measuring(item: WorkflowRollout, found: Measured | None, now: datetime) -> Plan[RolloutStatus]:
    assert item.status is not None
    status = item.status.model_copy(update={"measured": () if found is None else (found,)})
    return reconcile_rollout(observed(item.model_copy(update={"status": status})), now)


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("source", SOURCES)
def test_a_sound_source_passes(source: str, stage: Stage) -> None:
    item = outside(stage, source)
    plan = measuring(item, held_by(item, stage, source, IN_TIME), IN_TIME)
    assert plan.status.state is not State(stage.value), gate_of(plan)


def not_passed(
    item: WorkflowRollout,
    stage: Stage,
    source: str,
    found: tuple[Measured | None, Measured | None],
    reason: str,
) -> None:
    early = measuring(item, found[0], IN_TIME)
    assert (early.status.state, early.status.held) == (State(stage.value), False)
    assert (gate_of(early).verdict, gate_of(early).reason) == (Verdict.WAIT, reason), gate_of(early)
    late = measuring(after(item, early), found[1], AT_DEADLINE)
    assert (late.status.state, late.status.held) == (State(stage.value), True)
    assert (gate_of(late).verdict, gate_of(late).reason) == (Verdict.INCONCLUSIVE, reason), gate_of(late)
    kept = after(item, late)
    sound = measuring(kept, held_by(item, stage, source, AFTER), AFTER)
    assert (sound.status.state, sound.status.held) == (State(stage.value), True)
    retried: RolloutObserved = observed(kept, None, decision(Action.RETRY, kept))
    assert reconcile_rollout(retried, AFTER).status.state is State.PENDING


@pytest.mark.parametrize("kind", NO_NUMBER)
@pytest.mark.parametrize("source", SOURCES)
def test_a_source_without_a_number_never_passes(source: str, kind: str) -> None:
    newest, reason = NO_NUMBER[kind]
    for stage in (Stage.CANARY, Stage.FULL):
        item = outside(stage, source)
        found = [held_by(item, stage, source, now, newest) for now in (IN_TIME, AT_DEADLINE)]
        not_passed(item, stage, source, (found[0], found[1]), reason)


@pytest.mark.parametrize("kind", ARMS)
@pytest.mark.parametrize("source", COUNTING)
def test_a_source_with_one_arm_never_passes(source: str, kind: str) -> None:
    item = outside(Stage.CONTROLLED, source)
    found = [held_by(item, Stage.CONTROLLED, source, now, ARMS[kind]) for now in (IN_TIME, AT_DEADLINE)]
    not_passed(item, Stage.CONTROLLED, source, (found[0], found[1]), "NoData")


OF_JOBS = {
    "stable's Job counted nothing": (measured.counts(1, 100, 0, 0), "NoData"),
    "the candidate's Job counted nothing": (measured.counts(0, 0, 1, 100), "NoData"),
    "more were bad than there were": (measured.counts(101, 100, 1, 100), "AmbiguousData"),
    "no whole number": (measured.counts(0.5, 100, 1, 100), "AmbiguousData"),
    "below zero": (measured.counts(-1, 100, 1, 100), "AmbiguousData"),
    "more than a status can hold": (measured.counts(1, 2.0**53, 1, 2.0**53), "AmbiguousData"),
}


@pytest.mark.parametrize("kind", OF_JOBS)
def test_jobs_that_counted_wrongly_never_pass(kind: str) -> None:
    item, (newest, reason) = outside(Stage.CONTROLLED, "Jobs that count"), OF_JOBS[kind]
    found = [
        held_by(item, Stage.CONTROLLED, "Jobs that count", now, newest) for now in (IN_TIME, AT_DEADLINE)
    ]
    not_passed(item, Stage.CONTROLLED, "Jobs that count", (found[0], found[1]), reason)


@pytest.mark.parametrize("kind", CLOCKS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_source_read_by_another_clock_never_passes(source: str, kind: str) -> None:
    item = outside(Stage.SHADOW, source)
    found = [
        held_by(item, Stage.SHADOW, source, later((now - later(0)).total_seconds() + CLOCKS[kind]))
        for now in (IN_TIME, AT_DEADLINE)
    ]
    not_passed(item, Stage.SHADOW, source, (found[0], found[1]), "StaleData")


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_that_was_never_read_never_passes(source: str) -> None:
    item = outside(Stage.CANARY, source)
    not_passed(item, Stage.CANARY, source, (None, None), "NoData")
