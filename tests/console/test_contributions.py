"""Who adds what to the reward, as people and programs read it."""

import json

import pytest

from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

REWARDS = "reward with every component 0.750, with their fallbacks 0.200"

VARIANCE = "variance of the contributions 0.0625 (0.0625 to 0.0625)"


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
    return [game("ablated", "Fallback", cells(*masks), missing)]


def game(arm: str, name: str, table: list[list[float]], missing: int = 0) -> dict[str, object]:
    units = sum(int(row[1]) for row in table)
    players = ["planner", "writer"]
    return {
        "arm": arm,
        "game": name,
        "players": players,
        "cells": table,
        "missing": missing,
        "units": units,
        "estimates": [[player, 0.1, 0.01] for player in players],
        "spread": 0.0,
    }


def test_a_table_by_size(server: ApiServer, cli: Cli) -> None:
    server.lineage.ablated_units = ablated(0, 1, 2, 3, missing=4)
    said = cli("rollout", "contributions", "support-bot")
    assert said.code == 0, said.err
    assert [" ".join(line.split()) for line in said.out.splitlines()] == [
        "support-bot-2: contributions to the reward of 2.4.0, Shadow, attempt 1",
        "COMPONENT CONTRIBUTION 95% INTERVAL EFFECT",
        "planner +0.525 +0.525 to +0.525 adds",
        "writer +0.025 +0.025 to +0.025 adds",
        f"{REWARDS}; {VARIANCE}; 120 ablated units, 4 without a reward; exact, from the means of 4 coalitions",
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


def test_stable_and_the_version_game_stand_below(server: ApiServer, cli: Cli) -> None:
    """The version game by two players: planner takes 0.3 away, and the writer nothing."""
    mixed = [[mask, 30, 30 * reward, 30 * reward**2] for mask, reward in enumerate((0.8, 0.5, 0.8, 0.5))]
    server.lineage.ablated_units = [
        *ablated(0, 1, 2, 3),
        game("stable-ablated", "Fallback", cells(0, 1, 2, 3)),
        game("mixed", "Version", mixed),
    ]
    said = [
        " ".join(line.split()) for line in cli("rollout", "contributions", "support-bot").out.splitlines()
    ]
    assert said[6] == "of 2.3.0, ablated alike"
    assert said[12:] == [
        "from 2.3.0 to 2.4.0: what each changed component does to the reward",
        "COMPONENT CONTRIBUTION 95% INTERVAL EFFECT",
        "writer +0.000 +0.000 to +0.000 not told from 0",
        "planner -0.300 -0.300 to -0.300 takes away",
        "reward with every component 0.500, in stable's versions 0.800; 120 mixed units; exact, from the means of 4 coalitions",
    ]
    found = json.loads(cli("rollout", "contributions", "support-bot", "-o", "json").out)
    assert (found["versionGame"]["game"], found["versionGame"]["rewardOfStableVersions"]) == ("Version", 0.8)
    assert found["stable"]["variance"]["value"] == pytest.approx(0.0625)
    assert (found["game"], found["variance"]["value"]) == ("Fallback", pytest.approx(0.0625))


def test_more_components_than_a_table_is_kept_for(server: ApiServer, cli: Cli) -> None:
    """±: 95 % at every look, 100 units: √(2(Nρ²+1)/(Nρ²)·ln(√(Nρ²+1)/0.05)), ρ² = (6 + ln 7)/1000, is 5.1 errors."""
    players = [f"c{number:02}" for number in range(21)]
    item = game("ablated", "Fallback", []) | {"players": players, "units": 100}
    server.lineage.ablated_units = [item | {"estimates": [[name, 0.1, 0.01] for name in players]}]
    said = cli("rollout", "contributions", "support-bot").out
    assert said.count("adds") == 21
    assert "100 ablated units; running means of pseudo-outcomes" in said
    server.lineage.ablated_units = [item | {"units": 49}]
    assert (
        "none: 49 ablated runs; at least 50 are needed" in cli("rollout", "contributions", "support-bot").out
    )


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
