"""The check of the shares over what the gateway's own routing function chooses, and what gateways then write."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.evidence import EvidenceKey, Observation, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.routes import RevisionBody, RoutePlan, Share
from sluicegate.contracts.runs import Arm
from sluicegate.contracts.stages import Check, Stage
from sluicegate.gateway.arms import Assignment, assign
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, planning, routing
from sluicegate.rollout.judging import View
from tests.observability.facts import bad, good
from tests.observability.routed import moment, run_id
from tests.rollout.samples import in_stage

GAP = 2.0
"""Seconds between users."""
SPEC = in_stage(Stage.CONTROLLED).spec.model_copy(update={"outcome_window_seconds": 3600})
FIVE_POINTS = Share(15, 100)

Router = Callable[[RoutePlan, str, str | None, int], Assignment]
Closing = Callable[[Assignment], float]


def plan(stage: Stage) -> RoutePlan:
    """As the operator makes it: 20 % in Controlled, a second copy of stable for half of the pairs in Shadow."""
    planned = planning.stage_of(SPEC, stage)
    body = RevisionBody(name="bot-2", digest="sha256:2", version="2.0.0", spec={})
    return RoutePlan(
        namespace="default",
        workflow="bot",
        version=3,
        stable=replace(body, name="bot-1", version="1.0.0"),
        candidate=body,
        rollout="ro-1",
        stage=stage,
        attempt=1,
        mode=routing.mode_of(stage),
        share=routing.share_of(planned.share),
        control=routing.share_of(planned.control_share),
        salt=SPEC.salt,
    )


def as_planned(made: RoutePlan, run: str, key: str | None, _number: int) -> Assignment:
    return assign(made, run, key, leased=True)


def five_points_less(made: RoutePlan, run: str, key: str | None, _number: int) -> Assignment:
    """A gateway that follows another share."""
    changed = {"share": FIVE_POINTS} if made.stage is Stage.CONTROLLED else {"control": Share(45, 100)}
    return assign(replace(made, **changed), run, key, leased=True)  # type: ignore[arg-type]


def lease_comes_and_goes(made: RoutePlan, run: str, key: str | None, number: int) -> Assignment:
    """The control plane is away half of the time: stable answers everybody, and nobody is observed."""
    return assign(made, run, key, leased=number // 500 % 2 == 0)


def at_once(_chosen: Assignment) -> float:
    return 1.0


def candidate_fails_at_once(chosen: Assignment) -> float:
    """Stable's units wait for a reward that does not come; a failed run's unit waits for nothing (serving.py)."""
    return 1.0 if chosen.serving is Arm.CANDIDATE else 3600.0


def candidate_is_slow(chosen: Assignment) -> float:
    """The longest a caller may wait, and as long again in the steps after the answer."""
    return 1200.0 if chosen.serving is Arm.CANDIDATE else 1.0


def rewards_come_late_for_the_candidate(chosen: Assignment) -> float:
    return 3600.0 if chosen.serving is Arm.CANDIDATE else 60.0


def watched(
    stage: Stage,
    router: Router,
    closing: Closing = at_once,
    *,
    users: int,
    sessions: bool = True,
    lost: float = 0.0,
) -> tuple[list[Finding], StageEvidence]:
    """Every look, one in ten minutes, while `users` come and for three hours after. lost: mirrors that are dropped."""
    made, random = plan(stage), seeded(stage, users, sessions)
    units = []
    for number in range(users):
        chosen_at = moment(GAP * number)
        run = run_id(chosen_at, number)
        chosen = router(made, run, f"user-{number}" if sessions else None, number)
        if chosen.observed:
            closes = chosen_at + timedelta(seconds=closing(chosen))
            units.append((closes, _unit(chosen, stage, run, closes, dropped=random.random() < lost)))
    units.sort(key=lambda pair: (pair[0], pair[1].unit))
    fold = Fold(EvidenceKey("ro-1", stage, 1), ())
    found, sequence = [], 0
    now = moment(0)
    while now < moment(GAP * users + 3 * 3600):
        now += timedelta(seconds=600)
        while sequence < len(units) and units[sequence][0] <= now:
            fold.add(replace(units[sequence][1], sequence=sequence + 1))
            sequence += 1
        evidence = fold.evidence()
        view = View(spec=SPEC, stage=planning.stage_of(SPEC, stage), evidence=evidence, now=now)
        found += [one for one in gates.evaluate(view) if one.signal is Check.ROUTING]
    return found, fold.evidence()


def _unit(chosen: Assignment, stage: Stage, run: str, closes: datetime, *, dropped: bool) -> Observation:
    seen = Observation(
        sequence=0, key=EvidenceKey("ro-1", stage, 1), unit=chosen.unit, runs=(run,), at=closes
    )
    if chosen.mirrored and dropped:
        return replace(seen, dropped=1)
    if chosen.mirrored:
        return replace(seen, stable=good(), candidate=good(), control=good() if chosen.control else None)
    return replace(seen, candidate=bad()) if chosen.serving is Arm.CANDIDATE else replace(seen, stable=good())


QUIET: dict[str, tuple[Stage, Router, Closing]] = {
    "as planned": (Stage.CONTROLLED, as_planned, at_once),
    "a lease that comes and goes": (Stage.CONTROLLED, lease_comes_and_goes, at_once),
    "a candidate that fails at once": (Stage.CONTROLLED, as_planned, candidate_fails_at_once),
    "a slow candidate": (Stage.CONTROLLED, as_planned, candidate_is_slow),
    "rewards that come late": (Stage.CONTROLLED, as_planned, rewards_come_late_for_the_candidate),
    "everybody": (Stage.FULL, as_planned, at_once),
}


@pytest.mark.parametrize("sessions", [True, False])
@pytest.mark.parametrize("sentence", QUIET)
def test_the_gateways_routing_does_not_alarm(sentence: str, sessions: bool) -> None:
    stage, router, closing = QUIET[sentence]
    looks, evidence = watched(stage, router, closing, users=8000, sessions=sessions)
    assert {look.reason for look in looks} <= {"NoData", "NeedsMore", "SharesKept"}
    assert looks[-1].reason == "SharesKept"
    expected = evidence.units + evidence.stable_units
    assert expected / 3 < looks[-1].have <= expected


def test_the_second_copy_of_stable_does_not_alarm_even_when_mirrors_are_dropped() -> None:
    for lost in (0.0, 0.4):
        looks, _ = watched(Stage.SHADOW, as_planned, users=30_000, lost=lost)
        assert {look.reason for look in looks} <= {"NoData", "NeedsMore", "SharesKept"}
        assert looks[-1].reason == "SharesKept"


def test_a_router_that_is_five_points_off_alarms() -> None:
    looks, _ = watched(Stage.CONTROLLED, five_points_less, users=8000)
    assert looks[-1].reason == "SampleRatioMismatch"
    assert "declared 20.0 %" in looks[-1].message
    first = next(look for look in looks if look.reason == "SampleRatioMismatch")
    assert first.have < 3000  # median 900 units, 80 % within 1,540 (observability/README.md)


def test_a_mirror_that_copies_stable_five_points_too_seldom_alarms() -> None:
    looks, _ = watched(Stage.SHADOW, five_points_less, users=80_000)
    assert looks[-1].reason == "SampleRatioMismatch"
