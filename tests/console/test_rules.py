"""`sluicegate rules`: tables with a gap, an overlap and a shadow are refused with an input that shows it; the rest of the group on the example."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.console.conftest import Cli

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "support-bot" / "fallback.yaml")
WORKFLOW = str(ROOT / "examples" / "support-bot" / "workflow.yaml")


def rules(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    columns = [
        {"name": "intent", "value": "input.intent", "type": "Enum", "values": ["refund", "track"]},
        {"name": "amount", "value": "input.amount", "type": "Number", "minimum": "0"},
    ]
    written = [
        {"id": name, "when": when, "answer": {"say": name}} for row in rows for name, when in row.items()
    ]
    spec = {"version": "1", "owner": "support", "columns": columns, "rules": written} | more
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "FallbackRuleSet",
        "metadata": {"name": "broken"},
        "spec": spec,
    }


def write(path: Path, document: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return str(path)


REFUND, TRACK = {"oneOf": ["refund"]}, {"oneOf": ["track"]}
# What is wrong -> the rule set, code, path, line of that path in the file, and the input that shows it.
BROKEN: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "gap": (
        rules({"small": {"intent": REFUND, "amount": {"below": "50"}}}, {"track": {"intent": TRACK}}),
        "RuleGap", "spec.rules", {"intent": "refund", "amount": 50},
    ),
    "overlap": (
        rules({"small": {"amount": {"below": "50"}}}, {"large": {"amount": {"atLeast": "49.5"}}}),
        "RuleOverlap", "spec.rules[1]", {"intent": "refund", "amount": 49.5},
    ),
    "shadow": (
        rules({"small": {"amount": {"below": "50"}}}, {"tiny": {"amount": {"below": "5"}, "intent": REFUND}}, {"rest": {}}, hitPolicy="First"),
        "RuleShadowed", "spec.rules[1]", {"intent": "refund", "amount": 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_table_that_may_not_answer_is_refused_with_an_input_that_shows_it(
    case: str, cli: Cli, tmp_path: Path
) -> None:
    document, code, path, witness = BROKEN[case]
    file = write(tmp_path / "rules.yaml", document)
    said = cli("rules", "check", "-f", file)
    assert said.code == 2
    assert f"error {code} {file}:" in said.out
    assert f"witness: {json.dumps(witness)}" in said.out
    (found,) = json.loads(cli("rules", "prove", "-f", file, "-o", "json").out)["items"]
    (finding,) = found["findings"]
    assert (finding["code"], finding["path"], json.loads(finding["witness"])) == (code, path, witness)
    assert (found["ok"], finding["severity"], found["proof"]["witness"]) == (False, "Error", witness)
    lines = Path(file).read_text().splitlines()
    assert ("rules:" if path == "spec.rules" else "id:") in lines[finding["line"] - 1]


def test_a_table_that_cannot_be_compiled_is_refused_with_every_problem(cli: Cli, tmp_path: Path) -> None:
    document = rules({"a": {"intnt": REFUND, "amount": {"atLeast": "5", "below": "5"}}})
    said = cli("rules", "check", "-f", write(tmp_path / "r.yaml", document))
    assert said.code == 2
    assert "there is no such column" in said.out
    assert "is an empty range" in said.out


def test_the_example_is_proved_and_keeps_the_contract_of_its_workflow(cli: Cli) -> None:
    said = cli("rules", "check", "-f", EXAMPLE, "--against", WORKFLOW)
    assert (said.code, said.out.splitlines()[0]) == (0, f"{EXAMPLE}: FallbackRuleSet/support-fallback ok")
    assert "6 rules, 12 cells: complete" in said.out


def test_an_answer_that_the_workflow_may_not_give_is_told(cli: Cli, tmp_path: Path) -> None:
    document = yaml.safe_load(Path(EXAMPLE).read_text())
    document["spec"] |= {"contract": True}
    document["spec"]["rules"][0]["answer"]["status"] = "lost"
    said = cli("rules", "check", "-f", write(tmp_path / "r.yaml", document), "--against", WORKFLOW)
    assert said.code == 2
    assert "AnswerBreaksContract" in said.out
    assert "answer/status" in said.out


def test_examples_are_run(cli: Cli, tmp_path: Path) -> None:
    assert cli("rules", "test", "-f", EXAMPLE).code == 0
    document = yaml.safe_load(Path(EXAMPLE).read_text())
    document["spec"]["examples"][0]["rule"] = "refund"
    said = cli("rules", "test", "-f", write(tmp_path / "r.yaml", document))
    assert said.code == 2
    assert "example chinese fails: rule parcel-in-chinese answers, not refund" in said.out


def test_an_input_is_answered_from_columns_and_from_a_run(cli: Cli, tmp_path: Path) -> None:
    told = json.loads(cli("rules", "eval", "-f", EXAMPLE, "--input", '{"topic": "refund"}', "-o", "json").out)
    assert (told["rule"], told["default"], told["problem"]) == ("refund-of-unknown", False, None)
    run = tmp_path / "run.json"
    run.write_text(
        json.dumps({"input": {"user_query": "我的快递呢?"}, "steps": {"remember": {"tier": "gold"}}})
    )
    said = cli("rules", "eval", "-f", EXAMPLE, "--input", f"@{run}")
    assert said.code == 0
    assert "您的快递正在路上" in said.out
    assert "from rule parcel-in-chinese: Chinese customers are answered in Chinese" in said.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"topic": "refnd"}', 'no answer: topic: "refnd" is none of the values'),
        ('{"input": {}}', "no answer: topic: "),
        ("{", "is not JSON"),
        ("[]", "is no object"),
    ],
)
def test_what_is_not_understood_has_no_answer(given: str, message: str, cli: Cli) -> None:
    said = cli("rules", "eval", "-f", EXAMPLE, "--input", given)
    assert said.code == 2
    assert message in said.out + said.err


def test_an_answer_is_explained_rule_by_rule(cli: Cli) -> None:
    said = cli("rules", "explain", "-f", EXAMPLE, "--input", '{"topic": "refund", "tier": "plus"}')
    lines = {line.split()[0]: line for line in said.out.splitlines() if line and line[0] not in " {}"}
    assert "yes" in lines["refund"]
    assert "asks that tier is gold" in lines["refund-of-gold"]
    rows = json.loads(
        cli("rules", "explain", "-f", EXAMPLE, "--input", '{"topic": "order"}', "-o", "json").out
    )["rows"]
    assert [row["rule"] for row in rows if row["answers"]] == ["order"]


def test_an_edit_is_told_as_the_inputs_whose_answer_changes(cli: Cli, tmp_path: Path) -> None:
    document = yaml.safe_load(Path(EXAMPLE).read_text())
    edited = copy.deepcopy(document)
    edited["spec"]["rules"][1]["when"]["tier"]["oneOf"] = ["gold", "plus"]
    edited["spec"]["rules"][2]["when"]["tier"]["oneOf"] = ["basic"]
    said = cli("rules", "diff", EXAMPLE, write(tmp_path / "r.yaml", edited))
    assert said.code == 1
    assert said.out.splitlines()[0] == "1 of 16 cells change"
    assert (
        'topic is refund, tier is plus (1 cell), for instance {"topic": "refund", "tier": "plus"}' in said.out
    )
    assert (cli("rules", "diff", EXAMPLE, EXAMPLE).code, cli("rules", "diff", EXAMPLE, EXAMPLE).out) == (
        0,
        "no answer changes\n",
    )


@pytest.mark.parametrize("way", ["jdm", "csv", "xlsx"])
def test_the_example_goes_out_and_comes_back_the_same(way: str, cli: Cli, tmp_path: Path) -> None:
    there, back = str(tmp_path / f"t.{way}"), str(tmp_path / "t.yaml")
    assert cli("rules", "export", "-f", EXAMPLE, "--to", way, "--to-file", there).code == 0
    assert (
        cli("rules", "import", there, "--from", way, "--name", "support-fallback", "--to-file", back).code
        == 0
    )
    assert cli("rules", "diff", EXAMPLE, back).code == 0
    digests = [
        json.loads(cli("rules", "prove", "-f", file, "-o", "json").out)["items"][0]["digest"]
        for file in (EXAMPLE, back)
    ]
    assert digests[0] == digests[1]


def test_dmn_goes_to_auditors(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "t.dmn"
    assert cli("rules", "export", "-f", EXAMPLE, "--to", "dmn", "--to-file", str(target)).code == 0
    assert '<decisionTable hitPolicy="UNIQUE">' in target.read_text()


def test_a_file_without_a_rule_set_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "no FallbackRuleSet" in cli("rules", "check", "-f", WORKFLOW).err
    assert cli("rules", "import", str(tmp_path / "none"), "--from", "csv").code == 2
