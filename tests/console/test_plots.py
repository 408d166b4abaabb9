"""Plots of the gates' e-values: in the terminal, as SVG and PNG, of a backtest and of a rollout."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sluicegate.console.charts import chart
from sluicegate.console.plotting import MOST_POINTS, Panel, Point
from sluicegate.contracts.stages import Stage, Verdict
from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli
from tests.console.test_lint import recording

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def worse(tmp_path: Path) -> list[str]:
    return ["backtest", recording(tmp_path / "r.json", (1.0, 0.0, 1.0), (1.0, 0.0, 1.0))]


def test_the_terminal_shows_every_gate_of_the_last_stage_without_colour(cli: Cli, worse: list[str]) -> None:
    said = cli(*worse, "--plot", "-")
    assert said.code == 7
    chart = said.out.split("Canary · reward (WorkflowReward): Fail at ")[1]
    assert "abort at 1,700" in chart
    assert "pass at 20" in chart
    assert {"×", "○", "┆", "╌"} <= set(chart)
    assert "\033" not in said.out


def test_an_svg_has_its_words_as_text_and_is_the_same_each_time(
    cli: Cli, worse: list[str], tmp_path: Path
) -> None:
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        assert f"{file} written" in cli(*worse, "--plot", str(file)).err
    assert files[0].read_bytes() == files[1].read_bytes()
    words = " ".join("".join(one.itertext()) for one in ElementTree.parse(files[0]).iter(f"{SVG}text"))
    for told in (
        "Canary · reward",
        "Fail at",
        "compared units (n = ",
        "log10 e-value",
        "abort",
        "1,700",
        "solid:",
    ):
        assert told in words, told


def test_a_png_is_one(cli: Cli, worse: list[str], tmp_path: Path) -> None:
    cli(*worse, "--plot", str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--plot", "p.pdf"], ".svg or .png"),
        (["--plot", "no-such-folder/p.svg"], "its folder does not exist"),
        (["--plot", "-", "--repeat", "2"], "one rollout is drawn"),
        (["--plot", "-", "-o", "json"], "standard output is taken"),
    ],
    ids=str,
)
def test_what_cannot_be_drawn_is_refused_before_anything_runs(
    cli: Cli, worse: list[str], words: list[str], told: str
) -> None:
    said = cli(*worse, *words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_without_the_library_it_says_what_to_install(
    cli: Cli, worse: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = cli(*worse, "--plot", "p.svg")
    assert said.code == 6
    assert "pip install 'sluicegate[plots]'" in said.err


def test_long_series_are_thinned_and_keep_the_decision() -> None:
    panel = Panel(stage=Stage.CANARY, gate="g", signal="s", harm_at=3.0, safe_at=1.3)
    for units in range(1, 100_001):
        panel.add(Point(units, 0.0, units / 1000), Verdict.PASS if units >= 1301 else Verdict.WAIT)
    assert len(panel.points) <= MOST_POINTS
    assert panel.decided == (1301, Verdict.PASS)
    assert 1301 in {point.units for point in panel.points}
    gaps = {b.units - a.units for a, b in zip(panel.points[5:-1], panel.points[6:], strict=True)}
    assert max(gaps) <= 512


def test_a_gate_that_goes_on_long_after_its_decision_keeps_its_thresholds_apart() -> None:
    panel = Panel(stage=Stage.SHADOW, gate="g", signal="s", harm_at=3.2, safe_at=1.3)
    for looked in range(1, 401):
        panel.add(Point(looked, -1.0, looked / 2), Verdict.PASS if looked > 2 else Verdict.WAIT)
    lines = chart(panel).splitlines()
    (abort,) = [index for index, line in enumerate(lines) if "abort at 1,585" in line]
    (passed,) = [index for index, line in enumerate(lines) if "pass at 20" in line]
    (zero,) = [index for index, line in enumerate(lines) if line.startswith("    0 ")]
    assert abort < passed < zero


def units(count: int) -> list[dict[str, object]]:
    return [
        {
            "sequence": number,
            "unit": f"u{number}",
            "runs": [],
            "at": f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}+00:00",
            "dropped": 0,
            "stable": {"success": 1.0, "latencies_ms": [10.0]},
            "candidate": {"success": float(number % 2), "latencies_ms": [10.0]},
            "control": None,
        }
        for number in range(1, count + 1)
    ]


@pytest.fixture
def server(server: ApiServer) -> ApiServer:
    """Its rollout has no Shadow."""
    server.put(objects.running_workflow())
    rollout = objects.rollout()
    stages = [one for one in rollout["spec"]["stages"] if one["name"] != "Shadow"]
    server.put(rollout | {"spec": rollout["spec"] | {"stages": stages}})
    return server


def test_a_rollouts_units_are_printed_in_their_order_over_pages(
    server: ApiServer, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sluicegate.console import refolding

    monkeypatch.setattr(refolding, "PAGE", 7)
    server.lineage.closed_units = units(20)
    said = cli("rollout", "units", "support-bot", "--stage", "Canary")
    assert said.code == 0, said.err
    assert [json.loads(line)["sequence"] for line in said.out.splitlines()] == list(range(1, 21))
    uid = server.get("WorkflowRollout", "support-bot-2")["metadata"]["uid"]
    asked, limit = server.lineage.asked[-1]
    assert (asked["rollout"], asked["stage"], limit) == (uid, "Canary", 7)


def test_a_rollouts_gates_are_drawn_from_its_units(server: ApiServer, cli: Cli) -> None:
    server.lineage.closed_units = units(60)
    said = cli("rollout", "plot", "support-bot", "--stage", "Canary")
    assert said.code == 0, said.err
    assert said.out.startswith("support-bot-2: ")
    assert "Canary · success (WorkflowSuccessRate): Fail at " in said.out


def test_a_rollout_without_units_says_so(server: ApiServer, cli: Cli) -> None:
    said = cli("rollout", "plot", "support-bot")
    assert said.code == 3
    assert "no unit is stored" in said.err


def test_a_stage_that_the_rollout_does_not_have(server: ApiServer, cli: Cli) -> None:
    said = cli("rollout", "units", "support-bot", "--stage", "Shadow")
    assert said.code == 2
    assert "Canary" in said.err
