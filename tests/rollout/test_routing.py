"""Who answers whom, and when a plan gets a new version."""

from dataclasses import replace

import pytest

from sluicegate.contracts.routes import Share, TrafficMode, place_of
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.rollout import planning, routing
from sluicegate.rollout.routing import LEASE, Passage
from tests.rollout.samples import STABLE, T0, in_stage, later, revision, workflow_spec

BODY = routing.body_of(STABLE)
CANDIDATE = routing.body_of(revision(workflow_spec("2.0.0"), 2))


def passage(stage: Stage) -> Passage:
    spec = in_stage(stage).spec
    return Passage(
        rollout="ro-1", spec=spec, stage=planning.stage_of(spec, stage), attempt=1, candidate=CANDIDATE
    )


@pytest.mark.parametrize("stage", list(Stage))
def test_users_are_answered_by_stable_in_mirrored_stages(stage: Stage) -> None:
    plan = routing.route(STABLE, BODY, passage=passage(stage), now=T0)
    assert (plan.mode is TrafficMode.MIRROR) == (stage in MIRRORED_STAGES)
    assert plan.lease_until == T0 + LEASE
    assert plan.salt == passage(stage).spec.candidate.digest


def test_without_a_candidate_there_is_no_share_and_no_lease() -> None:
    plan = routing.route(STABLE, BODY)
    assert (plan.candidate, plan.share, plan.lease_until) == (None, Share(0, 1), None)


def test_a_version_grows_with_content_only() -> None:
    idle = routing.route(STABLE, BODY)
    first = routing.program(idle, None, known=0, moved=False, now=T0)
    assert first.plan is not None
    assert first.version == 1
    assert routing.program(idle, first.plan, known=1, moved=False, now=T0).plan is None
    canary = routing.route(STABLE, BODY, passage=passage(Stage.CANARY), now=T0)
    second = routing.program(canary, first.plan, known=1, moved=True, now=T0)
    assert second.version == 2
    renewed = routing.program(
        replace(canary, lease_until=later(90)), second.plan, known=2, moved=False, now=later(30)
    )
    assert renewed.version == 2
    assert renewed.plan is not None
    assert renewed.plan.lease_until == later(90)


def test_a_lease_of_a_clock_that_was_ahead_is_taken_back() -> None:
    canary = routing.route(STABLE, BODY, passage=passage(Stage.CANARY), now=later(600))
    stored = replace(canary, version=3)
    wanted = routing.route(STABLE, BODY, passage=passage(Stage.CANARY), now=T0)
    renewed = routing.program(wanted, stored, known=3, moved=False, now=T0)
    assert renewed.version == 3
    assert renewed.plan is not None
    assert renewed.plan.lease_until == T0 + LEASE


def test_a_version_that_was_promised_for_another_content_is_not_used_for_this_one() -> None:
    # The status promised version 5 and the process died before the route; then the state moved.
    idle = routing.route(STABLE, BODY)
    stored = replace(idle, version=4, outcome_window_seconds=1.0)
    assert routing.program(idle, stored, known=5, moved=False, now=T0).version == 5
    assert routing.program(idle, stored, known=5, moved=True, now=T0).version == 6


def test_another_salt_draws_other_units() -> None:
    keys = [f"session-{number}" for number in range(2000)]
    inside = {key for key in keys if Share(1, 5).holds(place_of("a", key))}
    both = {key for key in inside if Share(1, 5).holds(place_of("b", key))}
    # Binomial(2000, 0.2): 400 ± 4 sd (72); of those again a fifth.
    assert 328 <= len(inside) <= 472
    assert len(both) < 0.35 * len(inside)
