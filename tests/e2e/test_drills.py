"""A drill of the business fallback in a running `up`: users notice nothing, people are told, and the rollout waits."""

from typing import Any

import pytest

from tests.e2e import drilled, life
from tests.e2e.users import cli
from tests.operator.up import Up, run, until

pytestmark = pytest.mark.e2e
NAME, DRILLS = "rehearsed", "DrillsPassing"


def shop(up: Up) -> dict[str, Any]:
    (found,) = (one for one in up.objects("agentworkflows") if one["metadata"]["name"] == NAME)
    return dict(found)


def business(up: Up, run_id: str) -> dict[str, Any]:
    """What the stored run says of the rules."""
    until("stored", lambda: up.api("GET", f"/lineage/runs/{run_id}")[0] == 200)
    (document,) = up.api("GET", f"/lineage/runs/{run_id}")[1]["items"]
    return dict(document["business"])


def test_a_drill_that_fails_is_told_and_holds_the_rollout_until_people_free_it(up: Up, url: str) -> None:
    up.apply(drilled.RULES, drilled.workflow("1.0.0", url, NAME))
    life.serving(up, NAME)
    until("ready", lambda: drilled.condition(shop(up), "FallbackReady") == ("True", "RuleSetReady"))
    up.apply(drilled.workflow("2.0.0", url, NAME))
    life.in_state(up, "Canary", "2.0.0", NAME)
    known = run(up.port, {"topic": "refund"}, NAME)
    assert known, "users get the answer of the workflow"
    rehearsed = business(up, known)
    assert (rehearsed["trigger"], rehearsed["answered_by"], rehearsed["rule"]) == ("drill", "Rules", "refund")
    assert rehearsed["answer"] == {"path": "none"}

    unknown = run(up.port, {"topic": "gold"}, NAME)
    assert unknown, "also where the rules have no answer"
    assert business(up, unknown).get("answered_by") is None
    until("told", lambda: drilled.condition(shop(up), DRILLS) == ("False", "DrillFailed"), drilled.SECONDS)
    report = shop(up)["status"]["lastDrill"]
    assert (report["failedRun"], report["runs"], report["answered"], report["passed"]) == (
        unknown,
        2,
        1,
        False,
    )

    code, words = cli(up, "promote", NAME)
    assert code != 0
    assert "DrillFailed" in words
    up.apply(drilled.workflow("2.0.0", url, NAME, blocksPromotion=False))
    until("free again", lambda: cli(up, "promote", NAME)[0] == 0)
    life.in_state(up, "Shadow", "2.0.0", NAME)
