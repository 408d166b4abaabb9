"""`sluicegate contract sla` and `verify-evidence`: options, and evidence that is not what it should be."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console import main
from sluicegate.console.demo import files as demo_files
from tests.console.conftest import Cli

BOT = demo_files.support_bot()


def test_changed_old_or_unreadable_evidence_is_refused(cli: Cli, tmp_path: Path) -> None:
    from sluicegate.contracts.sla_record import sealed
    from tests.contracts.test_sla import record, workflow

    file, evidence = tmp_path / "workflow.yaml", tmp_path / "evidence.json"
    demo_files.write(workflow().to_json(), file)
    verify = ("contract", "verify-evidence", str(evidence), "-f", str(file))
    evidence.write_text(json.dumps(sealed(record(workflow())).to_json()))
    assert cli(*verify).code == 0
    assert "is not fresh" in cli(*verify, "--max-age", "60").err
    evidence.write_text(json.dumps(sealed(record(workflow(), verdict="Fail")).to_json()))
    assert cli(*verify).code == 9
    changed = sealed(record(workflow(), verdict="Fail")).to_json()
    changed["record"]["verdict"] = "Pass"
    evidence.write_text(json.dumps(changed))
    assert (cli(*verify).code, "changed after the test" in cli(*verify).err) == (2, True)
    evidence.write_text("{")
    assert cli(*verify).code == 2
    evidence.unlink()
    assert cli(*verify).code == 3


def test_evidence_of_a_part_or_of_a_test_that_is_not_sure_is_not_of_the_workflow(
    cli: Cli, tmp_path: Path
) -> None:
    from sluicegate.contracts.sla_record import sealed
    from tests.contracts.test_sla import record, workflow

    file, evidence = tmp_path / "workflow.yaml", tmp_path / "evidence.json"
    demo_files.write(workflow().to_json(), file)
    verify = ("contract", "verify-evidence", str(evidence), "-f", str(file))
    whole = record(workflow())
    name = next(iter(whole.tested.components))
    part = whole.model_copy(update={"tested": whole.tested.model_copy(update={"component": name})})
    evidence.write_text(json.dumps(sealed(part).to_json()))
    assert (cli(*verify).code, "is of another part" in cli(*verify).err) == (2, True)
    assert cli(*verify, "--component", name).code == 0
    evidence.write_text(json.dumps(sealed(whole).to_json()))
    assert cli(*verify, "--component", name).code == 2
    assert cli(*verify, "--min-confidence", "0.99").code == 2
    evidence.write_text(json.dumps(sealed(record(workflow(), confidence="0.5")).to_json()))
    assert (cli(*verify).code, "is too low" in cli(*verify).err) == (2, True)
    assert cli(*verify, "--min-confidence", "0.5").code == 0


def test_every_mistake_is_told_at_once_and_nothing_is_sent(cli: Cli, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.jsonl"
    inputs.write_text('{"session_id": 1}\nnope\n\n{"session_id": "s"}\n')
    said = cli(
        "contract", "sla", "-f", str(BOT / "workflow.yaml"), "--component", "memory", "--url", "ftp://x", "--rate", "0",
        "--duration", "soon", "--warm-up", "-1s", "--think-time", "5", "--timeout", "10ms", "--confidence", "2", "--arrivals", "poison",
        "--max-runs", "0", "--max-in-flight", "0", "--session", "input.", "--inputs", str(inputs), "--page", "/no/where/page.html",
    )  # fmt: skip
    assert said.code == 2
    for place in (
        "--url", "--rate", "--duration", "--warm-up", "--think-time", "--timeout", "--confidence", "--arrivals", "--max-runs",
        "--max-in-flight", "--session", "--page", "inputs.jsonl:1: input/session_id", "inputs.jsonl:2",
    ):  # fmt: skip
        assert place in said.err, place
    assert "did you mean poisson?" in said.err


@pytest.mark.parametrize(
    ("sla", "said"),
    [
        ({}, "promises nothing that can be tested"),
        ({"minSuccessRate": "1"}, "no number of runs can show that something never happens"),
    ],
)
def test_an_sla_that_no_test_can_decide_is_refused(
    cli: Cli, tmp_path: Path, sla: dict[str, Any], said: str
) -> None:
    document = demo_files.read(BOT / "workflow.yaml")
    document["spec"]["contract"]["sla"] = sla
    file = tmp_path / "workflow.yaml"
    demo_files.write(document, file)
    found = cli("contract", "sla", "-f", str(file), "--url", "http://127.0.0.1:9")
    assert found.code == 2
    assert said in found.err


@pytest.mark.parametrize("file", ["github/sla.yml", "gitlab/sla.gitlab-ci.yml"])
def test_the_examples_for_ci_use_options_that_there_are(file: str) -> None:
    import shlex

    [line] = re.findall(
        r"sluicegate contract sla .*?(?=\n    - |\n  artifacts)",
        (BOT.parent / "ci" / file).read_text(),
        re.DOTALL,
    )
    words = shlex.split(line.replace("\n", " "))[3:]
    contract = main.command().commands["contract"].commands["sla"]
    context = contract.make_context("sla", words)
    assert (context.params["component"], context.params["duration"]) == ("agent", "5m")


def test_an_unknown_component_gets_the_nearest(cli: Cli) -> None:
    said = cli("contract", "sla", "-f", str(BOT / "workflow.yaml"), "--component", "planer")
    assert (said.code, "did you mean planner?" in said.err) == (2, True)


def test_where_nothing_listens_it_is_no_finding(cli: Cli) -> None:
    said = cli("contract", "sla", "-f", str(BOT / "workflow.yaml"), "--url", "http://127.0.0.1:9")
    assert said.code == 6
    assert (
        "nothing answers at http://127.0.0.1:9/v1/namespaces/default/workflows/support-bot/runs" in said.err
    )
