"""`plan`: what a rollout of a file would take, and with other numbers."""

import json
from pathlib import Path

import pytest
import yaml

from tests.console import objects
from tests.console.conftest import Cli


@pytest.fixture
def file(tmp_path: Path) -> str:
    document = objects.workflow()
    document["spec"] |= {"expectedRunsPerHour": 3600}
    path = tmp_path / "w.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def test_stages_gates_and_the_sum_are_shown(cli: Cli, file: str) -> None:
    said = cli("plan", "-f", file)
    assert (said.code, said.err) == (0, "")
    stages, gates, words = said.out.split("\n\n")
    assert [line.split()[0] for line in stages.splitlines()] == [
        "STAGE",
        "Canary",
        "Shadow",
        "Controlled",
        "Full",
    ]
    assert {line.split()[1] for line in gates.splitlines()} >= {"GATE", "success", "latency", "disagreement"}
    assert "to a decision in half of the rollouts" in words
    assert "→" not in said.out


def test_what_if_shows_both_numbers_where_they_differ(cli: Cli, file: str) -> None:
    out = cli("plan", "-f", file, "--margin", "success=0.04", "--share", "canary=1/50").out
    canary = next(line for line in out.splitlines() if line.startswith("Canary"))
    assert "1 % → 2 %" in canary
    assert "0.02 → 0.04" in out
    assert "0.05 → 0.04" in out
    assert out.splitlines()[-1].startswith("what if: ")


def test_as_json_both_outlooks_are_whole(cli: Cli, file: str) -> None:
    found = json.loads(cli("plan", "-f", file, "--traffic", "36000", "-o", "json").out)
    before, after = found["stages"][0], found["whatIf"]["stages"][0]
    assert before["needed"] == after["needed"]
    assert after["seconds"] < before["seconds"]
    assert before["gates"][0].keys() >= {"needed", "neededLate", "power", "powerTwice", "least", "abortAlpha"}
    assert yaml.safe_load(cli("plan", "-f", file, "-o", "yaml").out)["stages"] == found["stages"]


def test_a_strategy_that_would_be_refused_is_refused_here_too(cli: Cli, file: str) -> None:
    said = cli("plan", "-f", file, "--traffic", "1")
    assert said.code == 2
    assert "minRuns" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--margin", "success"], "GATE=RATE"),
        (["--margin", "success=2"], "GATE=RATE"),
        (["--margin", "success=0"], "GATE=RATE"),
        (["--margin", "success=0.1", "--margin", "success=0.2"], "success is given twice"),
        (["--margin", "sucess=0.1"], "no stage has this gate"),
        (["--share", "Canary=2"], "STAGE=SHARE"),
        (["--share", "Canary=0"], "STAGE=SHARE"),
        (["--share", "Canary=1/0"], "STAGE=SHARE"),
        (["--share", "Canry=1/2"], "no such stage"),
        (["--share", "Full=1/2"], "Controlled"),
    ],
    ids=str,
)
def test_a_wrong_what_if_is_told(cli: Cli, file: str, words: list[str], told: str) -> None:
    said = cli("plan", "-f", file, *words)
    assert said.code == 2
    assert told in said.err


def test_a_share_may_be_a_fraction_a_percentage_or_a_decimal(cli: Cli, file: str) -> None:
    shown = {
        json.loads(cli("plan", "-f", file, "--share", f"Canary={word}", "-o", "json").out)["whatIf"][
            "stages"
        ][0]["share"]
        for word in ("1/50", "2%", "0.02")
    }
    assert shown == {0.02}
