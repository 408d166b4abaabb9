"""Values in a file that two validators see differently, as in tests/contracts/test_second_opinion.py."""

from pathlib import Path
from typing import Any

import pytest

from sluicegate.console import exits
from sluicegate.console.contracting import instances
from sluicegate.contracts.second_opinion import SecondOpinion, second_opinion
from tests.console.conftest import Cli
from tests.console.contracting.made import CLEAN, RULES, write

VALUE = "    onFailure: {type: Value, value: {intent: track}}\n"
STANDS_IN = CLEAN.replace("    timeoutMs: 100\n", f"    timeoutMs: 100\n{VALUE}")
ODD = STANDS_IN.replace(
    "      output: {type: object, required: [intent], properties: {intent: {enum: [track, cancel]}}}",
    '      output: {type: object, required: [intent], properties: {intent: {enum: [track, cancel]}}, patternProperties: {"^x-": true}, unevaluatedProperties: false}',
)
STATIC = f"{CLEAN}  businessFallback: {{ruleSet: refunds, staticAnswer: {{value: {{intent: track}}}}}}\n"
TABLE = (
    RULES
    + "  default: {text: we look into it}\n  contract: {type: object, required: [text], properties: {text: {type: string}}}\n"
)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A second validator that refuses everything; the contracts that it was asked about."""
    asked: list[str] = []

    def opinion(schema: Any, path: str) -> SecondOpinion:
        asked.append(path)
        real = second_opinion(schema, path)
        return SecondOpinion(first=real.first, refusals=lambda value: [f"{value} is odd"], path=path)

    monkeypatch.setattr(instances, "second_opinion", opinion)
    return asked


def test_where_both_agree_nothing_is_said(cli: Cli, tmp_path: Path) -> None:
    for text in (STANDS_IN, STATIC):
        said = cli("contract", "check", "-f", write(tmp_path / "a.yaml", text), "-o", "wide")
        assert said.code == 0, said.out
        assert "second-validator" in said.out


def test_a_value_that_the_second_cannot_judge_is_told_and_passes(cli: Cli, tmp_path: Path) -> None:
    said = cli("contract", "check", "-f", write(tmp_path / "a.yaml", ODD))
    assert (said.code, "warning ValidatorsDisagree" in said.out) == (0, True), said.out
    assert "spec.components[0].onFailure.value" in said.out


@pytest.mark.parametrize(
    ("text", "path", "where"),
    [
        (STANDS_IN, "spec.components[0].onFailure.value", "spec.components[0].contract.output"),
        (STATIC, "spec.businessFallback.staticAnswer.value", "spec.contract.output"),
        (TABLE, "spec.rules[0].answer", "spec.contract"),
        (TABLE, "spec.default", "spec.contract"),
    ],
    ids=["a fallback value", "the static answer", "an answer of a rule", "a default"],
)
def test_the_stricter_one_counts(
    cli: Cli, tmp_path: Path, strict: list[str], text: str, path: str, where: str
) -> None:
    said = cli("contract", "check", "-f", write(tmp_path / "a.yaml", text))
    assert said.code == exits.FINDINGS, said.out
    [line] = [one for one in said.out.splitlines() if f" {path} " in one and "ValidatorsDisagree" in one]
    assert line.strip().startswith("error")
    assert strict == [where], "each contract is compiled once"


def test_without_the_second_validator_the_rest_is_checked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "find_spec", lambda _name: None)
    said = cli("contract", "check", "-f", write(tmp_path / "a.yaml", ODD), "-o", "wide")
    assert (said.code, "second-validator" in said.out) == (0, False), said.out
