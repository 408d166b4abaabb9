"""`backtest` on recorded units: what-if for margins, error rates, gates that nothing feeds."""

import gzip
import json
import random  # noqa: TID251 - seeded
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.console.backtesting import unfed
from sluicegate.console.files import only_workflow
from sluicegate.console.recordings.units import pairs
from sluicegate.rollout.backtest import backtest
from tests.console import objects
from tests.console.conftest import Cli


def unit(number: int, draw: random.Random, rates: tuple[float, float, float]) -> dict[str, Any]:
    arms = ("stable", "candidate", "control")
    return {"sequence": number, "unit": f"u{number}", "runs": [f"run-{number}"]} | {
        arm: {
            "success": float(draw.random() >= rate),
            "latencies_ms": [100 + 50 * draw.random()],
            "violated": 0.0,
            "disagrees": None if arm == "stable" else float(draw.random() < 0.1),
        }
        for arm, rate in zip(arms, rates, strict=True)
    }


def recorded(path: Path, count: int, candidate: float, *, seed: int = 1) -> str:
    draw = random.Random(seed)
    lines = [json.dumps(unit(number, draw, (0.05, candidate, 0.05))) for number in range(1, count + 1)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def strategy(tmp_path: Path) -> str:
    """Canary on success and latency, then Full on success."""
    document = objects.workflow()
    success = {"name": "success", "signal": "WorkflowSuccessRate", "margin": "0.1"}
    gates = [success, {"name": "latency", "signal": "WorkflowP95Latency", "margin": "0.1"}]
    document["spec"]["contract"] = {"sla": {"maxLatencyMs": 1000}}
    document["spec"]["rollout"] = {
        "skipStages": ["Shadow", "Controlled"],
        "stages": [
            {"name": "Canary", "minRuns": 50, "gates": gates},
            {"name": "Full", "minRuns": 50, "gates": [success]},
        ],
    }
    path = tmp_path / "strategy.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def play(cli: Cli, file: str, strategy: str, *words: str) -> Any:
    return cli("backtest", file, "--format", "units", "-f", strategy, *words)


def test_recorded_units_feed_the_latency_gate_as_well(cli: Cli, tmp_path: Path, strategy: str) -> None:
    said = play(cli, recorded(tmp_path / "u.jsonl", 1500, 0.05), strategy)
    assert (said.code, said.err) == (0, "")
    latency = next(line for line in said.out.splitlines() if line.startswith("latency"))
    assert latency.split()[1] == "Pass"
    assert said.out.splitlines()[0].endswith("recorded units, in their order, seed 1")


def test_a_gzipped_stream_says_the_same(cli: Cli, tmp_path: Path, strategy: str) -> None:
    plain = recorded(tmp_path / "u.jsonl", 1500, 0.05)
    packed = tmp_path / "u.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))
    one, other = (json.loads(play(cli, file, strategy, "-o", "json").out) for file in (plain, str(packed)))
    assert one == other


def test_a_worse_candidate_is_aborted_and_a_wide_margin_does_not_hide_it(
    cli: Cli, tmp_path: Path, strategy: str
) -> None:
    file = recorded(tmp_path / "u.jsonl", 2000, 0.3)
    said = play(cli, file, strategy, "--margin", "success=0.05,0.2", "--repeat", "5")
    assert said.code == 7
    rows = [line for line in said.out.splitlines() if line.startswith("success=")]
    assert [row.split()[0] for row in rows] == ["success=0.05", "success=0.2"]
    assert all("5 of 5 (56.6–100.0 %)" in row for row in rows)


def test_a_larger_margin_uses_no_more_runs(cli: Cli, tmp_path: Path, strategy: str) -> None:
    file = recorded(tmp_path / "u.jsonl", 2000, 0.05)
    words = ("--margin", "success=0.05,0.1,0.2", "--repeat", "2", "-o", "json")
    found = json.loads(play(cli, file, strategy, *words).out)["items"]
    used: dict[str, int] = {}
    for one in found:
        used[one["margin"]] = used.get(one["margin"], 0) + sum(stage["pairs"] for stage in one["stages"])
    assert list(used) == ["success=0.05", "success=0.1", "success=0.2"]
    assert list(used.values()) == sorted(used.values(), reverse=True)


def test_relabelled_units_give_the_rate_of_false_aborts_though_the_candidate_is_worse(
    cli: Cli, tmp_path: Path, strategy: str
) -> None:
    file = recorded(tmp_path / "u.jsonl", 300, 0.3)
    assert play(cli, file, strategy).code == 7, "without it the candidate is aborted"
    said = play(cli, file, strategy, "--relabel", "--repeat", "20")
    assert "chance decides which version is called which" in said.out
    heads, row = said.out.splitlines()[-3:-1]
    assert "FALSE ABORTED" in heads
    aborted = int(row.split("   ")[1].split(" of ")[0])
    assert aborted <= 4, "α = 0.05: more than 4 of 20 have a chance of 0.3 % (binomial)"


def test_a_gate_that_nothing_feeds_is_told_and_never_passes(cli: Cli, tmp_path: Path, strategy: str) -> None:
    lines = [
        json.loads(line) for line in Path(recorded(tmp_path / "u.jsonl", 800, 0.05)).read_text().splitlines()
    ]
    for one in lines:
        for arm in ("stable", "candidate", "control"):
            one[arm]["latencies_ms"] = []
    file = tmp_path / "silent.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    said = play(cli, str(file), strategy)
    assert said.code == 8
    assert "Canary/latency is not fed by these records: it never passes" in said.err
    assert "not fed" in next(line for line in said.out.splitlines() if line.startswith("latency"))
    without = play(cli, str(file), strategy, "--without", "latency")
    assert without.code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no unit that both versions saw"),
        ('{"unit": "u", "stable": {"success": 1}}\n', "holds no unit that both versions saw"),
        ("{}\nnot json\n", "u.jsonl:2: is no unit"),
        ('{"unit": "u", "stable": {"success": "x"}, "candidate": {"success": 1}}', "u.jsonl:1: is no unit"),
        ("[]\n", "u.jsonl:1: is no unit"),
    ],
    ids=str,
)
def test_what_is_no_recording_is_told_with_its_line(
    cli: Cli, tmp_path: Path, strategy: str, text: str, told: str
) -> None:
    (tmp_path / "u.jsonl").write_text(text)
    said = play(cli, str(tmp_path / "u.jsonl"), strategy)
    assert said.code == 2
    assert told in said.err


def test_a_damaged_gzip_is_told(cli: Cli, tmp_path: Path, strategy: str) -> None:
    packed = bytearray(gzip.compress(Path(recorded(tmp_path / "u.jsonl", 200, 0.05)).read_bytes()))
    packed[60:70] = bytes(10)
    (tmp_path / "u.jsonl.gz").write_bytes(packed)
    said = play(cli, str(tmp_path / "u.jsonl.gz"), strategy)
    assert said.code == 2
    assert "cannot be read" in said.err


def test_an_unknown_format_is_told_with_every_known_one(cli: Cli, tmp_path: Path) -> None:
    said = cli("backtest", str(tmp_path / "none"), "--format", "swe-bench")
    assert said.code == 2
    assert "allowed: tau-bench, units" in said.err


def test_every_wrong_name_is_told(cli: Cli, tmp_path: Path, strategy: str) -> None:
    said = play(cli, str(tmp_path / "none"), strategy, "--margin", "sucess=0.1", "--without", "x")
    assert said.code == 2
    assert "sucess" in said.err
    assert "--without" in said.err


def test_a_gate_that_a_backtest_does_not_ask_is_told(tmp_path: Path, strategy: str) -> None:
    """As of those that measure elsewhere: planned, and not among the reported ones."""
    spec = only_workflow(Path(strategy)).spec
    canary, full = spec.rollout.stages
    played = canary.model_copy(update={"gates": (canary.gates or ())[:1]})
    shorter = spec.model_copy(update={"rollout": spec.rollout.model_copy(update={"stages": (played, full)})})
    report = backtest(shorter, pairs(Path(recorded(tmp_path / "u.jsonl", 1500, 0.05))))
    assert list(unfed(shorter, [report])) == []
    assert list(unfed(spec, [report])) == [
        "Canary/latency is not fed by these records: it measures elsewhere, and is left out"
    ]
