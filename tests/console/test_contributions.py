"""Who adds what to the reward, as people and programs read it."""

import json

import pytest

from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

REWARDS = "reward with every component 0.750, with their fallbacks 0.200"


@pytest.fixture
def server(server: ApiServer) -> ApiServer:
    server.put(objects.running_workflow())
    rollout = objects.rollout()
    stages = [dict(stage) for stage in rollout["spec"]["stages"]]
    stages[1]["ablationShare"] = {"numerator": 1, "denominator": 2}
    server.put(rollout | {"spec": rollout["spec"] | {"stages": stages}})
    return server


def cells(*masks: int) -> list[list[float]]:
    """30 units each: planner adds 0.4 alone, 0.25 more with the writer; the writer alone takes 0.1 away; from 0.2."""
    value = {0: 0.2, 1: 0.6, 2: 0.1, 3: 0.75}
    return [[mask, 30, 30 * value[mask], 30 * value[mask] ** 2] for mask in masks]


def ablated(*masks: int, missing: int = 0) -> list[dict[str, object]]:
    return [{"players": ["planner", "writer"], "cells": cells(*masks), "missing": missing}]


def test_a_table_by_size(server: ApiServer, cli: Cli) -> None:
    server.lineage.ablated_units = ablated(0, 1, 2, 3, missing=4)
    said = cli("rollout", "contributions", "support-bot")
    assert said.code == 0, said.err
    assert [" ".join(line.split()) for line in said.out.splitlines()] == [
        "support-bot-2: contributions to the reward of 2.4.0, Shadow, attempt 1",
        "COMPONENT CONTRIBUTION 95% INTERVAL EFFECT",
        "planner +0.525 +0.525 to +0.525 adds",
        "writer +0.025 +0.025 to +0.025 adds",
        f"{REWARDS}; 120 ablated units, 4 without a reward; exact, from the means of 4 coalitions",
    ]
    uid = server.get("WorkflowRollout", "support-bot-2")["metadata"]["uid"]
    asked = {"namespace": "default", "rollout": uid, "stage": "Shadow", "attempt": "1"}
    assert server.lineage.asked[-1][0] == asked


def test_as_json(server: ApiServer, cli: Cli) -> None:
    server.lineage.ablated_units = ablated(0, 1, 2, 3)
    found = json.loads(cli("rollout", "contributions", "support-bot-2", "-o", "json").out)
    assert [(one["component"], one["effect"]) for one in found["contributions"]] == [
        ("planner", "Adds"),
        ("writer", "Adds"),
    ]
    assert [one["value"] for one in found["contributions"]] == pytest.approx([0.525, 0.025])
    assert (found["game"], found["units"], found["confidence"]) == ("Fallback", 120, 0.95)
    assert "absent" not in found


def test_a_coalition_without_runs_is_no_contribution(server: ApiServer, cli: Cli) -> None:
    server.lineage.ablated_units = ablated(0, 1, 3)
    said = cli("rollout", "contributions", "support-bot")
    assert said.out.splitlines()[1] == (
        "none: 1 of 4 coalitions have no run yet (90 units so far; --regression estimates without them)"
    )
    found = json.loads(cli("rollout", "contributions", "support-bot", "-o", "json").out)
    assert (found["contributions"], found["absent"]) == ([], "1 of 4 coalitions have no run yet")
    assert (
        "do not tell the components apart"
        in cli("rollout", "contributions", "support-bot", "--regression").out
    )


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("--attempt", "3"), "no run was ablated yet in attempt 3 of Shadow"),
        (
            ("--stage", "canary"),
            "nothing is ablated in Canary: its ablationShare is 0, or the workflow has no reward",
        ),
    ],
    ids=["not yet", "not there"],
)
def test_why_there_is_none(server: ApiServer, cli: Cli, asked: tuple[str, ...], why: str) -> None:
    said = cli("rollout", "contributions", "support-bot", *asked)
    assert (said.code, said.out.splitlines()[1]) == (0, f"none: {why}")
