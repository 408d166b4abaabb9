"""One report in every form, held against what reads it."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.console.contracting.codes import CODES, OWN
from sluicegate.console.contracting.formats import RENDERERS, render
from sluicegate.console.contracting.formats.document import schema as report_schema
from sluicegate.console.contracting.report import Report, Standing, Subject, unreadable
from sluicegate.console.contracting.words import ReportFormat
from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.schemas import compile_schema
from tests.console.contracting import sarif_schema
from tests.console.contracting.made import finding, report

MIXED = report(
    finding(),
    finding(severity=Severity.WARNING, path="spec.a", line=None, column=None, witness=None, hint=None),
    finding(severity=Severity.INFO, path="spec.b"),
    finding(Standing.WAIVED, path="spec.c"),
    finding(Standing.KNOWN, path="spec.d"),
    notes=("the waiver of team-b for X covers nothing here",),
)
LOST = Report(
    tool="contract check", subjects=(unreadable(Problem(path="gone.yaml", message="no such file")),)
)
EMPTY = Report(tool="contract check", subjects=(Subject(name="", source="", checks=()),))
REPORTS = {"mixed": MIXED, "a file that is gone": LOST, "nothing": EMPTY}
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@pytest.fixture(scope="module")
def sarif() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(sarif_schema.schema(), format_checker=jsonschema.FormatChecker())


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def any_report(words: tuple[str, str, str, str, str]) -> Report:
    message, path, witness, source, subject = words
    facts: dict[str, Any] = {
        "message": message,
        "path": path,
        "witness": witness,
        "source": source,
        "subject": subject,
    }
    return report(finding(**facts), finding(Standing.WAIVED, **facts), finding(refused=True, **facts))


def test_every_format_has_a_renderer() -> None:
    assert set(RENDERERS) == set(ReportFormat)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_satisfies_its_schema(sarif: jsonschema.Draft4Validator, outside: None, name: str) -> None:
    assert list(sarif.iter_errors(json.loads(render(REPORTS[name], ReportFormat.SARIF)))) == []


def test_the_schema_of_sarif_notices_a_wrong_level(sarif: jsonschema.Draft4Validator) -> None:
    log = json.loads(render(MIXED, ReportFormat.SARIF))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert [error.json_path for error in sarif.iter_errors(log)] == ["$.runs[0].results[0].level"]


def test_sarif_says_where_what_and_who_lets_it_stand(outside: None) -> None:
    run = json.loads(render(MIXED, ReportFormat.SARIF))["runs"][0]
    first, *_, waived, known = run["results"]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "flows/a%20b.yaml"},
        "region": {"startLine": 12, "startColumn": 5},
    }
    assert first["partialFingerprints"] == {"sluicegate/v1": MIXED.findings[0].diagnostic.fingerprint}
    assert "suppressions" not in first
    assert waived["suppressions"][0]["justification"] == "team-a, until 2027-01-31: until <the> move"
    assert known["suppressions"][0]["justification"] == "in the baseline"
    rule = run["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert rule["id"] == first["ruleId"] == "RetryAmplification"
    assert rule["shortDescription"]["text"] == CODES["RetryAmplification"].title


def counted(root: ET.Element) -> None:
    """The rules of the JUnit schemas of Jenkins and Surefire: names are there, counts are true."""
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.get("name") is not None
        cases = list(suite)
        assert all(
            case.tag == "testcase" and {"name", "classname", "time"} <= set(case.keys()) for case in cases
        )
        assert all(len(case) <= 1 for case in cases)
        kinds = [child.tag for case in cases for child in case]
        own = {
            "tests": len(cases),
            "failures": kinds.count("failure"),
            "errors": kinds.count("error"),
            "skipped": kinds.count("skipped"),
        }
        assert {name: int(suite.get(name, "")) for name in own} == own
        total = {name: total[name] + own[name] for name in total}
    assert {name: int(root.get(name, "")) for name in total} == total


@pytest.mark.parametrize("name", REPORTS)
def test_junit_counts_what_it_holds(name: str) -> None:
    counted(ET.fromstring(render(REPORTS[name], ReportFormat.JUNIT)))


def test_junit_fails_what_fails_and_skips_what_is_let_through() -> None:
    root = ET.fromstring(render(MIXED, ReportFormat.JUNIT))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("7", "1", "2")
    names = [case.get("name") for case in root.iter("testcase")]
    assert names[:3] == ["parsing", "verification", "analysis RetryAmplification spec.components[0].retry"]
    assert [one.get("message") for one in root.iter("skipped")] == [
        "waived by team-a until 2027-01-31: until <the> move",
        "in the baseline: 20 calls, the limit is 10",
    ]


def test_annotations_are_lines_that_github_understands(outside: None) -> None:
    """docs.github.com, workflow commands: % CR LF are escaped, in properties also : and ,"""
    lines = render(
        report(finding(message="50 % of\r\nruns: a, b", source="flows/a,b:c.yaml")), ReportFormat.GITHUB
    ).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(
        "::error file=flows/a%2Cb%3Ac.yaml,line=12,col=5,title=RetryAmplification AgentWorkflow/my-agent::"
        "spec.components[0].retry: 50 %25 of%0D%0Aruns: a, b%0Awitness: "
    )


def test_annotations_begin_with_what_fails_and_leave_out_what_is_let_through() -> None:
    lines = render(MIXED, ReportFormat.GITHUB).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]


def test_a_file_is_told_from_the_root_of_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "part").mkdir()
    monkeypatch.chdir(tmp_path / "part")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert "file=part/flows/a b.yaml," in render(MIXED, ReportFormat.GITHUB)


def test_code_quality_of_gitlab_has_a_place_and_a_fingerprint_for_each_new_finding(outside: None) -> None:
    """docs.gitlab.com, code quality report format: the required fields and the allowed severities."""
    found = json.loads(render(MIXED, ReportFormat.GITLAB))
    assert len(found) == 3
    assert len({one["fingerprint"] for one in found}) == 3
    for one in found:
        assert set(one) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert one["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert one["location"]["lines"]["begin"] >= 1
    assert found[0]["location"] == {"path": "flows/a b.yaml", "lines": {"begin": 12}}


@pytest.mark.parametrize("name", REPORTS)
def test_json_satisfies_the_published_schema(name: str) -> None:
    check = compile_schema(report_schema())
    document = json.loads(render(REPORTS[name], ReportFormat.JSON))
    assert check.violations(document, "report") == ()
    assert document["schemaVersion"] == "1.0"
    assert not check.is_valid({**document, "result": "Fine"})


def test_json_has_what_a_program_needs() -> None:
    document = json.loads(render(MIXED, ReportFormat.JSON))
    assert (document["result"], document["exitCode"]) == ("Failed", 9)
    assert document["counts"] == {"error": 1, "warning": 1, "info": 1, "waived": 1, "known": 1}
    (subject,) = document["subjects"]
    assert subject["facts"] == {"verdict": "Breaking"}
    assert [one["fails"] for one in subject["findings"]] == [True, False, False, False, False]
    assert subject["findings"][3]["waiver"]["expires"] == "2027-01-31"


def test_text_shows_place_witness_hint_and_fingerprint() -> None:
    text = render(MIXED, ReportFormat.TABLE)
    shown = MIXED.findings[0].diagnostic.fingerprint
    assert f"  error RetryAmplification flows/a b.yaml:12:5 spec.components[0].retry [{shown}]\n" in text
    assert "    witness: callers 4 × agent retry 5 = 20\n    hint: retry in one layer\n" in text
    assert text.endswith("failed: 1 error, 1 warning; 1 waived, 1 in the baseline")
    assert "waived by" not in text
    assert "waived by team-a until 2027-01-31: until <the> move" in render(MIXED, ReportFormat.WIDE)


def test_the_summary_keeps_its_table_whole() -> None:
    text = render(report(finding(message="a | b\n<script>", path="x[0]")), ReportFormat.MARKDOWN)
    (row,) = [line for line in text.splitlines() if line.startswith("| Error")]
    assert "a \\| b &lt;script&gt;" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 6


@settings(max_examples=60, deadline=None)
@given(words=st.tuples(TEXT, TEXT, TEXT, TEXT, TEXT))
def test_no_text_breaks_a_form(
    sarif: jsonschema.Draft4Validator, words: tuple[str, str, str, str, str]
) -> None:
    found = any_report(words)
    counted(ET.fromstring(render(found, ReportFormat.JUNIT)))
    log = json.loads(render(found, ReportFormat.SARIF))
    assert [error for error in sarif.iter_errors(log) if error.validator != "format"] == []
    lines = render(found, ReportFormat.GITHUB).split("\n")
    assert len(lines) == 2
    assert all(line.startswith("::error ") and "\r" not in line for line in lines)
    rows = [line for line in render(found, ReportFormat.MARKDOWN).split("\n") if line.startswith("| ")]
    assert len(rows) == 4


def test_every_code_of_the_gate_is_explained() -> None:
    assert all(code.title and code.meaning and code.remedy for code in OWN.values())
