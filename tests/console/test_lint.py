"""`lint` and `backtest`: what is known before anything runs."""

import json
from pathlib import Path

import pytest
import yaml

from sluicegate.console.commands import backtest
from tests.console import objects
from tests.console.conftest import Cli


def write(path: Path, **spec: object) -> str:
    document = objects.workflow()
    document["spec"] |= spec
    path.write_text(yaml.safe_dump(document))
    return str(path)


def test_lint_of_a_good_file_shows_the_cost_of_each_stage_and_the_split_of_the_budget(
    cli: Cli, tmp_path: Path
) -> None:
    file = write(tmp_path / "w.yaml", expectedRunsPerHour=3600, rollout={"errorBudget": {"abort": "0.1"}})
    said = cli("lint", "-f", file, "-o", "wide")
    assert (said.code, said.err) == (0, "")
    first, second = said.out.split("\n\n")
    assert first.startswith(f"{file}: AgentWorkflow/support-bot ok\nSTAGE ")
    assert [line.split()[0] for line in first.splitlines()[2:6]] == ["Canary", "Shadow", "Controlled", "Full"]
    assert "estimated time to a decision: " in first
    gates = [line.split() for line in second.splitlines()[1:]]
    assert sum(float(row[4]) for row in gates) == pytest.approx(0.1, rel=1e-2), (
        "the split adds up to the budget"
    )
    assert {row[5] for row in gates} == {"0.05"}


def test_lint_tells_little_traffic_what_more_copies_would_save(cli: Cli, tmp_path: Path) -> None:
    little = cli("lint", "-f", write(tmp_path / "w.yaml", expectedRunsPerHour=100)).out
    assert "with share: {numerator: 100} in Canary and Shadow" in little
    assert (
        "numerator: 100" not in cli("lint", "-f", write(tmp_path / "w.yaml", expectedRunsPerHour=100_000)).out
    )


def test_lint_warns_where_the_time_is_not_known(cli: Cli, tmp_path: Path) -> None:
    said = cli("lint", "-f", write(tmp_path / "w.yaml"))
    assert said.code == 0
    assert "expectedRunsPerHour is not set" in said.err
    assert "estimated time" not in said.out


def test_lint_tells_every_problem_of_every_file_with_its_line(cli: Cli, tmp_path: Path) -> None:
    live = write(
        tmp_path / "a.yaml",
        components=[{**objects.workflow()["spec"]["components"][0], "sideEffects": "Live"}],
    )
    cycle = write(tmp_path / "b.yaml", steps=[{"name": "a", "component": "agent", "when": "steps.b.x"}])
    (tmp_path / "c.yaml").write_text("kind: AgentWorkflw\n")
    said = cli("lint", "-f", str(tmp_path))
    assert said.code == 2
    for words in (f"{live}:", f"{cycle}:", "did you mean AgentWorkflow?", "mirrorStub", "steps[0].when"):
        assert words in said.err, words
    assert "a.yaml: AgentWorkflow/support-bot 1 problem" in said.out


def test_lint_as_json_holds_problems_and_estimates(cli: Cli, tmp_path: Path) -> None:
    good = json.loads(cli("lint", "-f", write(tmp_path / "w.yaml"), "-o", "json").out)["items"]
    assert [one["ok"] for one in good] == [True]
    assert [stage["stage"] for stage in good[0]["stages"]] == ["Canary", "Shadow", "Controlled", "Full"]
    assert good[0]["stages"][0]["gates"][0].keys() >= {"abortAlpha", "promoteAlpha", "needed"}
    assert yaml.safe_load(cli("lint", "-f", str(tmp_path / "w.yaml"), "-o", "yaml").out)["items"] == good
    bad = cli("lint", "-f", write(tmp_path / "w.yaml", version=7), "-o", "json")
    (one,) = json.loads(bad.out)["items"]
    assert (bad.code, one["ok"], one["problems"][0]["path"]) == (2, False, "spec.version")


def test_an_empty_file_is_told_with_its_name(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "nothing.yaml").write_text("")
    assert (
        f"{tmp_path / 'nothing.yaml'}: (document): the file is empty" in cli("lint", "-f", str(tmp_path)).err
    )


@pytest.mark.parametrize("protocol", ["Http", "Native", "OpenAI"])
@pytest.mark.parametrize(("options", "longest"), [([], 30 * 86400.0), (["--trial"], 1800.0)])
def test_what_init_writes_has_no_problem_and_no_warning(
    cli: Cli, tmp_path: Path, protocol: str, options: list[str], longest: float
) -> None:
    """A trial takes minutes at the traffic that the file declares."""
    file = str(tmp_path / "w.yaml")
    assert cli("init", "my-bot", "--protocol", protocol, "-o", file, *options).code == 0
    said = cli("lint", "-f", file, "-o", "json")
    (one,) = json.loads(said.out)["items"]
    assert (said.code, one["problems"], one["warnings"]) == (0, [], [])
    assert one["seconds"] < longest


def recording(path: Path, *rewards: tuple[float, float, float]) -> str:
    """A tau-bench result file: one task per entry, one reward per trial."""
    runs = [
        {
            "task_id": task,
            "trial": trial,
            "reward": reward,
            "info": {},
            "traj": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": f"answer {trial}"},
            ],
        }
        for task, of_trials in enumerate(rewards)
        for trial, reward in enumerate(of_trials)
    ]
    path.write_text(json.dumps(runs))
    return str(path)


def test_a_worse_candidate_is_aborted_with_its_gate_and_numbers(cli: Cli, tmp_path: Path) -> None:
    file = recording(tmp_path / "r.json", (1.0, 0.0, 1.0), (1.0, 0.0, 1.0))
    said = cli("backtest", file, "--candidate", "trial-1", "--floor", "trial-2")
    assert said.code == 7
    for words in ("reward", "Fail", "0.000", "1.000", "Aborted in Canary", "left by Fail of gate reward"):
        assert words in said.out, words


def test_an_equal_candidate_is_promoted(cli: Cli, tmp_path: Path) -> None:
    file = recording(tmp_path / "r.json", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    said = cli("backtest", file)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1].startswith("Promoted after ")


def test_too_few_runs_decide_nothing(cli: Cli, tmp_path: Path) -> None:
    said = cli("backtest", recording(tmp_path / "r.json", (1.0, 1.0, 1.0)), "--runs", "5")
    assert said.code == 8
    assert "the records were used up" in said.out


def test_several_seeds_are_counted(cli: Cli, tmp_path: Path) -> None:
    file = recording(tmp_path / "r.json", (1.0, 0.0, 1.0))
    said = cli("backtest", file, "--repeat", "3")
    assert said.code == 7
    assert "0 of 3 (0.0–56.1 %)   3 of 3 (43.9–100.0 %)   0 of 3" in said.out, (
        "Wilson, by hand: z² / (n + z²)"
    )


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 0), 0), ((0, 8, 0), 8), ((8, 7, 0), 7), ((7, 8), 7)], ids=str
)
def test_the_worst_seed_gives_the_exit_code(codes: tuple[int, ...], code: int) -> None:
    assert backtest.worst(codes) == code


def test_backtest_as_json(cli: Cli, tmp_path: Path) -> None:
    file = recording(tmp_path / "r.json", (1.0, 0.0, 1.0))
    answer = json.loads(cli("backtest", file, "-o", "json").out)
    assert (answer["seed"], answer["outcome"], answer["stage"]) == (1, "Aborted", "Canary")
    assert answer["stages"][0]["gates"][0].keys() == {"finding", "decidedAfter"}


def test_the_strategy_may_come_from_a_file(cli: Cli, tmp_path: Path) -> None:
    """The file's α of 0.5 needs fewer runs than the default of 0.01."""
    file = recording(tmp_path / "r.json", (1.0, 0.0, 1.0))
    loose = write(tmp_path / "w.yaml", reward="steps.judge.reward", rollout={"errorBudget": {"abort": "0.5"}},
                  components=[
                      {**objects.workflow()["spec"]["components"][0], "name": name} for name in ("agent", "judge")
                  ],
                  steps=[{"name": name, "component": name} for name in ("agent", "judge")])  # fmt: skip
    default, own = (
        json.loads(cli("backtest", file, *option, "-o", "json").out)["stages"][0]["units"]
        for option in ((), ("-f", loose))
    )
    assert own < default


@pytest.mark.parametrize(
    "option", [("--candidate", "trial-9"), ("--stable", "fourth"), ("--format", "csv"), ("--runs", "0")]
)
def test_a_wrong_option_is_refused(cli: Cli, tmp_path: Path, option: tuple[str, str]) -> None:
    said = cli("backtest", recording(tmp_path / "r.json", (1.0, 0.0, 1.0)), *option)
    assert said.code == 2
    assert said.out == ""
