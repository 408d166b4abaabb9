"""Real agent behaviour (tau-bench airline, gpt-4o) through the gates, without servers.

Trials 0 and 3 both succeed in 21 of 50 tasks: the same agent. The best of four trials succeeds in 36, the worst in 10.
Abort alpha is 0.01.
"""

import json
from pathlib import Path

import pytest

from sluicegate.console import exits, main
from sluicegate.console.recordings import Recording
from sluicegate.console.replay import parse_selection
from sluicegate.console.replay.evidence import pairs
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.stages import Outcome
from tests.recorded.pairings import SEEDS, backtest

pytestmark = pytest.mark.recorded


@pytest.mark.parametrize(
    ("selection", "successes"), [("trial-0", 21), ("trial-3", 21), ("best", 36), ("worst", 10)]
)
def test_the_recorded_agents_succeed_as_often_as_published(
    tau_bench: Recording, selection: str, successes: int
) -> None:
    chosen = parse_selection(selection)
    assert sum(chosen.of(tau_bench, task).reward for task in tau_bench.tasks) == successes


def test_every_recorded_run_is_an_answer_with_its_calls(tau_bench: Recording) -> None:
    """50 tasks, 4 trials, 1,164 calls (shared/data/README.md)."""
    runs = [run for trials in tau_bench.runs.values() for run in trials.values()]
    assert (len(tau_bench.tasks), tau_bench.trials, len(runs)) == (50, (0, 1, 2, 3), 200)
    assert sum(len(run.tool_calls) for run in runs) == 1164
    assert all(run.answer for run in runs)


def test_the_same_agent_is_not_aborted(tau_bench: Recording) -> None:
    outcomes = [backtest(tau_bench, "same", seed, runs=3000).outcome for seed in SEEDS]
    assert outcomes.count(Outcome.ABORTED) <= 1
    assert outcomes.count(Outcome.PROMOTED) >= 18


def test_a_worse_agent_is_always_aborted_where_the_evidence_first_suffices(tau_bench: Recording) -> None:
    """Rewards differ by 0.52 on average: about 30 units, so in Canary, by the reward."""
    for seed in SEEDS:
        report = backtest(tau_bench, "worse", seed, runs=3000)
        assert (report.outcome, report.stage) == ("Aborted", "Canary"), seed
        failed = [gate.finding for gate in report.stages[-1].gates if gate.finding.verdict == "Fail"]
        assert [finding.gate for finding in failed] == ["reward"], seed
        assert failed[0].have <= 60, seed
        assert failed[0].runs, seed


def test_the_same_seed_draws_the_same_runs(tau_bench: Recording) -> None:
    first, again, other = (list(pairs(tau_bench, "0", "3", "1", runs=100, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_selection_that_was_not_recorded_is_refused(tau_bench: Recording) -> None:
    with pytest.raises(Refused, match="trial-0, trial-1, trial-2, trial-3"):
        pairs(tau_bench, "0", "4", "1", runs=1, seed=1)


def test_the_command_says_the_same(
    tau_bench_file: Path, tau_bench: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main.run(
        ["backtest", str(tau_bench_file), "--stable", "best", "--candidate", "worst", "--seed", "7"]
    )
    report = backtest(tau_bench, "worse", 7, runs=20_000)
    said = capsys.readouterr().out
    assert code == exits.ENDED_OTHERWISE
    assert report.message in said
    assert f"Aborted in Canary after {report.units} units" in said


def test_half_the_margin_costs_units_and_hides_nothing(
    tau_bench_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rewards of the same agent: the units grow at least as 1 / margin; harm does not depend on the margin."""
    words = ["--margin", "reward=0.15,0.3", "--repeat", "4", "--runs", "3000", "-o", "json"]
    assert main.run(["backtest", str(tau_bench_file), "--candidate", "trial-3", *words]) == exits.OK
    used: dict[str, list[int]] = {}
    for one in json.loads(capsys.readouterr().out)["items"]:
        units = [
            gate["decidedAfter"] for gate in one["stages"][0]["gates"] if gate["finding"]["gate"] == "reward"
        ]
        used.setdefault(one["margin"], []).extend(units)
    assert sum(used["reward=0.15"]) > 1.3 * sum(used["reward=0.3"])
    worse = ["backtest", str(tau_bench_file), "--stable", "best", "--candidate", "worst"]
    assert main.run([*worse, *words]) == exits.ENDED_OTHERWISE
    ended: dict[int, set[tuple[str, int]]] = {}
    for one in json.loads(capsys.readouterr().out)["items"]:
        ended.setdefault(one["seed"], set()).add((one["outcome"], one["stages"][0]["units"]))
    assert all(len(found) == 1 for found in ended.values()), ended


def test_relabelled_agents_are_hardly_ever_aborted_though_one_is_far_worse(
    tau_bench_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The strategy promises 1 %; of 15 rollouts two aborts would have a chance of 1 % (binomial)."""
    words = ["--stable", "best", "--candidate", "worst", "--relabel", "--repeat", "15", "--runs", "200"]
    main.run(["backtest", str(tau_bench_file), *words, "-o", "json"])
    outcomes = [one["outcome"] for one in json.loads(capsys.readouterr().out)["items"]]
    assert len(outcomes) == 15
    assert outcomes.count("Aborted") <= 1
