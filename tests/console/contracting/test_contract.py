"""`sluicegate contract`: the command line."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sluicegate.console import exits
from sluicegate.console.contracting import git
from tests.console.conftest import Cli
from tests.console.contracting.made import CLEAN, REFUSED, RETRIES, RULES, changed, write

OTHERS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout


def commit() -> None:
    run("add", "-A")
    run("commit", "-qm", "x")


@pytest.fixture
def repository(here: Path) -> Path:
    run("init", "-q", "-b", "main")
    write(here / "flows/a.yaml", CLEAN)
    commit()
    return here


def test_a_clean_file_passes(cli: Cli) -> None:
    said = cli("contract", "check", "-f", write(Path("a.yaml"), CLEAN))
    assert (said.code, said.out) == (0, "a.yaml: AgentWorkflow/my-agent ok\npassed: nothing was found\n")


def test_a_finding_fails_with_its_place_and_exit_code(cli: Cli) -> None:
    said = cli("contract", "check", "-f", write(Path("a.yaml"), RETRIES))
    assert said.code == exits.FINDINGS == 9
    assert "error RetryAmplification a.yaml:13:5 spec.components[0].retry [" in said.out


def test_rule_sets_are_proved_as_well(cli: Cli) -> None:
    said = cli("contract", "check", "-f", write(Path("a.yaml"), RULES), "-o", "wide")
    assert said.code == exits.FINDINGS
    assert "checks: parsing, verification, proof, lint, second-validator" in said.out
    assert "error RuleGap a.yaml:" in said.out
    assert '{"intent": "track"}' in said.out
    broken = cli(
        "contract", "check", "-f", write(Path("a.yaml"), RULES.replace("oneOf: [refund]", "oneOf: [x]"))
    )
    assert broken.code == exits.REFUSED


def test_a_file_that_would_be_refused_is_2_whatever_the_threshold(cli: Cli) -> None:
    write(Path("f/a.yaml"), RETRIES)
    write(Path("f/b.yaml"), REFUSED)
    write(Path("f/c.yaml"), "a: [")
    said = cli("contract", "check", "-f", "f", "--fail-on", "never", "-o", "json")
    assert said.code == exits.REFUSED
    found = {
        one["source"]: [each["code"] for each in one["findings"]] for one in json.loads(said.out)["subjects"]
    }
    assert found == {"f/a.yaml": ["RetryAmplification"], "f/b.yaml": ["Refused"], "f/c.yaml": ["Refused"]}


@pytest.mark.parametrize("text", [OTHERS, "", "- 1\n"])
def test_nothing_to_check_is_no_clean_result(cli: Cli, text: str) -> None:
    assert cli("contract", "check", "-f", write(Path("a.yaml"), text)).code == exits.REFUSED
    assert cli("contract", "check", "-f", "gone.yaml").code == exits.REFUSED


def test_objects_of_other_products_are_passed_over_and_misspelled_ones_are_not(cli: Cli) -> None:
    said = cli("contract", "check", "-f", write(Path("a.yaml"), f"{CLEAN}---\n{OTHERS}"))
    assert (said.code, said.err) == (0, "note: 1 object of other products passed over\n")
    for wrong in (
        CLEAN.replace("sluicegate.io", "slucegate.io"),
        CLEAN.replace("AgentWorkflow", "AgentWorkflw"),
    ):
        assert cli("contract", "check", "-f", write(Path("b.yaml"), wrong)).code == exits.REFUSED


def test_one_run_prints_text_and_writes_what_machines_read(cli: Cli) -> None:
    write(Path("a.yaml"), RETRIES)
    said = cli(
        "contract", "check", "-f", "a.yaml", "--report", "sarif=out/a.sarif", "--report", "junit=out/a.xml"
    )
    assert "failed: 1 error" in said.out
    (result,) = json.loads(Path("out/a.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 13, "startColumn": 5}
    assert ET.parse("out/a.xml").getroot().get("failures") == "1"


def test_wrong_options_are_all_told_at_once_before_anything_is_checked(cli: Cli) -> None:
    said = cli("contract", "check", "-f", "gone.yaml", "--report", "sarif", "--report", "junitt=x", "--baseline", "b",
               "--waivers", "w")  # fmt: skip
    assert said.code == exits.REFUSED
    assert "is not FORMAT=FILE" in said.err
    assert "did you mean junit?" in said.err
    assert "--baseline: no such file; got b" in said.err
    assert "--waivers: no such file; got w" in said.err
    assert "gone.yaml" not in said.err


def test_github_is_told_beside_json_and_gets_a_summary(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write(Path("a.yaml"), RETRIES)
    said = cli("contract", "check", "-f", "a.yaml", "-o", "json")
    assert json.loads(said.out)["exitCode"] == 9
    assert said.err.startswith(
        "::error file=a.yaml,line=13,col=5,title=RetryAmplification AgentWorkflow/my-agent::"
    )
    assert Path("summary.md").read_text().startswith("### sluicegate contract check: failed: 1 error\n")
    cli("contract", "check", "-f", "a.yaml")
    assert Path("summary.md").read_text().count("###") == 2


def test_a_finding_is_waived_until_a_day(cli: Cli) -> None:
    write(Path("a.yaml"), RETRIES)
    found = json.loads(cli("contract", "check", "-f", "a.yaml", "-o", "json").out)
    known = found["subjects"][0]["findings"][0]["fingerprint"]
    said = cli("contract", "waive", known, "--owner", "a", "--reason", "b", "--expires", "2027-01-31")
    assert (said.code, said.out) == (0, f".sluicegate/waivers.yaml: {known} waived by a until 2027-01-31\n")
    assert cli("contract", "check", "-f", "a.yaml", "--today", "2027-01-31").out.endswith(
        "passed: 1 waived\n"
    )
    late = cli("contract", "check", "-f", "a.yaml", "--today", "2027-02-01")
    assert late.code == exits.FINDINGS
    assert "WaiverExpired .sluicegate/waivers.yaml:5:3 waivers[0].expires" in late.out
    wrong = cli("contract", "waive", "abc", "--owner", "", "--reason", " ", "--expires", "2027-01-31")
    assert wrong.code == exits.REFUSED
    assert [word in wrong.err for word in ("fingerprint:", "owner:", "reason:")] == [True] * 3


def test_a_baseline_lets_what_was_there_pass_and_no_more(cli: Cli) -> None:
    write(Path("a.yaml"), RETRIES)
    Path("b.json").write_text(cli("contract", "baseline", "-f", "a.yaml").out)
    assert cli("contract", "check", "-f", "a.yaml", "--baseline", "b.json").out.endswith(
        "passed: 1 in the baseline\n"
    )
    write(Path("a.yaml"), RETRIES.replace("maxAttempts: 5", "maxAttempts: 6"))
    assert cli("contract", "check", "-f", "a.yaml", "--baseline", "b.json").code == exits.FINDINGS


def test_the_same_version_breaks_nothing(cli: Cli, repository: Path) -> None:
    said = cli("contract", "diff", "git:main", "flows/a.yaml")
    assert said.code == 0
    assert "1.0.0 (git:main:flows/a.yaml) → 1.0.0: Compatible" in said.out


def test_a_file_that_is_new_has_nothing_to_break(cli: Cli, repository: Path) -> None:
    write(Path("flows/b.yaml"), CLEAN.replace("my-agent", "other"))
    for words in (["flows/b.yaml"], ["flows"]):
        said = cli("contract", "diff", "git:main", *words)
        assert said.code == 0
        assert "new: there is nothing that it could break" in said.out


def test_a_renamed_file_is_compared_with_its_former_self(cli: Cli, repository: Path) -> None:
    run("mv", "flows/a.yaml", "flows/b.yaml")
    said = cli("contract", "diff", "git:main", "flows/b.yaml")
    assert (said.code, "(git:main:flows/a.yaml) → 1.0.0: Compatible" in said.out) == (0, True)


def test_a_renamed_folder_is_compared_with_its_former_self(cli: Cli, repository: Path) -> None:
    run("mv", "flows", "workflows")
    said = cli("contract", "diff", "git:main", "workflows")
    assert (said.code, "(git:main:flows/a.yaml) → 1.0.0: Compatible" in said.out) == (0, True)


def test_the_path_is_seen_from_the_present_folder(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path("flows/b.yaml"), CLEAN.replace("my-agent", "other"))
    run("add", "-A")
    monkeypatch.chdir(repository / "flows")
    assert "(git:main:a.yaml) → 1.0.0" in cli("contract", "diff", "git:main", "a.yaml").out
    assert "(git:main:a.yaml) → 1.0.0" in cli("contract", "diff", "git:main:./a.yaml", "a.yaml").out
    assert (
        "(git:main:a.yaml) → 1.0.0"
        in cli("contract", "diff", "git:main", str(repository / "flows/a.yaml")).out
    )
    assert "(git:main:a.yaml) → 1.0.0" in cli("contract", "diff", "git:main", ".").out
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    for there in ("../a.yaml", str(repository / "flows/a.yaml")):
        assert "(git:main:../a.yaml) → 1.0.0" in cli("contract", "diff", "git:main", there).out
    lost = cli(
        "contract", "diff", "git:main", write(repository.parent / f"{repository.name}-out.yaml", CLEAN)
    )
    assert (lost.code, "git cannot read it" in lost.out) == (exits.REFUSED, True), lost.out


def test_both_sides_look_as_deep(cli: Cli, repository: Path) -> None:
    write(Path("flows/deep/b.yaml"), CLEAN.replace("my-agent", "other"))
    commit()
    for words in ([], ["-R"]):
        said = cli("contract", "diff", "git:main", "flows", *words)
        assert (said.code, "other" in said.out) == (0, bool(words)), said.out


def test_a_workflow_that_is_gone_or_has_another_name_breaks_its_callers(cli: Cli, repository: Path) -> None:
    write(Path("flows/b.yaml"), CLEAN.replace("my-agent", "other"))
    commit()
    Path("flows/b.yaml").unlink()
    said = cli("contract", "diff", "git:main", "flows")
    assert (said.code, "error WorkflowRemoved flows:1" in said.out) == (9, True)
    write(Path("flows/a.yaml"), CLEAN.replace("my-agent", "your-agent"))
    said = cli("contract", "diff", "git:main", "flows/a.yaml")
    assert (said.code, "error WorkflowRenamed flows/a.yaml:3:12 metadata.name" in said.out) == (9, True)


@pytest.mark.parametrize(
    ("sentence", "old", "told"),
    [
        ("no such revision", "git:nowhere", "no such revision; got nowhere"),
        ("an option instead of a revision", "git:--output=x", "no such revision; got --output=x"),
        ("no such file in it", "git:main:gone.yaml", "no such file in this revision; got main:gone.yaml"),
        ("a file that is gone", "gone.yaml", "No such file"),
    ],
    ids=lambda value: value if " " in value else "",
)
def test_what_cannot_be_compared_is_never_clean(
    cli: Cli, repository: Path, sentence: str, old: str, told: str
) -> None:
    said = cli("contract", "diff", old, "flows/a.yaml", "--fail-on", "never")
    assert (said.code, told in said.out) == (exits.REFUSED, True), said.out
    assert not Path("x").exists()


@pytest.mark.parametrize("new", ["-", "git:main:flows/a.yaml"])
def test_a_revision_without_a_path_takes_it_from_a_file_only(cli: Cli, repository: Path, new: str) -> None:
    """What has no path would be new, and break nothing."""
    said = cli("contract", "diff", "git:main", new)
    assert (said.code, "a path is missing" in said.out) == (exits.REFUSED, True), said.out
    assert "write git:main:workflow.yaml" in said.out


@pytest.mark.parametrize("new", ["flows/a.yaml", "flows"])
def test_an_old_version_that_would_be_refused_can_be_repaired_and_is_not_compared(
    cli: Cli, repository: Path, new: str
) -> None:
    write(Path("flows/a.yaml"), REFUSED)
    write(Path("flows/b.yaml"), CLEAN.replace("my-agent", "other"))
    commit()
    write(Path("flows/a.yaml"), CLEAN)
    said = cli("contract", "diff", "git:main", new)
    assert (said.code, "error NotProven flows/a.yaml" in said.out) == (exits.FINDINGS, True), said.out
    told = json.loads(cli("contract", "diff", "git:main", new, "-o", "json").out)
    [subject] = [one for one in told["subjects"] if one["findings"]]
    assert (subject["skipped"], len(subject["findings"])) == (["compatibility"], 1)
    assert "sideEffects" in subject["findings"][0]["message"]
    assert cli("contract", "diff", "git:main", new, "--mode", "report").code == 0
    write(Path("flows/a.yaml"), REFUSED)
    assert cli("contract", "diff", "git:main", new).code == exits.REFUSED
    Path("flows/a.yaml").unlink()
    said = cli("contract", "diff", "git:main", "flows")
    assert (said.code, "error NotProven flows:1" in said.out) == (exits.FINDINGS, True), said.out


BROKEN = CLEAN.replace("metadata: {", "metadata: {{")


@pytest.mark.parametrize("old", ["git:main", "git:main:flows/a.yaml"])
def test_an_old_file_that_is_no_yaml_is_told_and_what_replaces_it_is_new(
    cli: Cli, repository: Path, old: str
) -> None:
    write(Path("flows/a.yaml"), BROKEN)
    commit()
    write(Path("flows/a.yaml"), CLEAN)
    said = cli("contract", "diff", old, "flows/a.yaml")
    assert said.code == 0, said.out
    for told in (
        "warning NotProven flows/a.yaml:1", "the old file git:main:flows/a.yaml cannot be read, so what is in it now counts as new",
        "new: there is nothing that it could break",
    ):  # fmt: skip
        assert told in said.out
    assert cli("contract", "diff", old, "flows/a.yaml", "--fail-on", "warning").code == exits.FINDINGS
    write(Path("flows/a.yaml"), BROKEN)
    assert cli("contract", "diff", "flows/a.yaml", "git:main:flows/a.yaml").code == exits.REFUSED
    assert cli("contract", "diff", old, "flows/a.yaml").code == exits.REFUSED, (
        "the new one still has to be read"
    )


def test_beside_an_old_file_that_is_no_yaml_the_others_are_compared(cli: Cli, repository: Path) -> None:
    write(Path("flows/a.yaml"), BROKEN)
    write(Path("flows/b.yaml"), CLEAN.replace("my-agent", "other"))
    commit()
    write(Path("flows/a.yaml"), CLEAN)
    Path("flows/b.yaml").unlink()
    said = cli("contract", "diff", "git:main", "flows")
    assert (said.code, "error WorkflowRemoved" in said.out) == (exits.FINDINGS, True), said.out
    assert "WorkflowRenamed" not in said.out


def test_a_baseline_of_a_comparison_lets_what_was_broken_pass_and_no_more(cli: Cli, repository: Path) -> None:
    narrow = CLEAN.replace("maxLength: 500", "maxLength: 400")
    write(Path("flows/a.yaml"), narrow)
    diff = ("contract", "diff", "git:main", "flows/a.yaml")
    assert cli(*diff).code == exits.FINDINGS
    Path("b.json").write_text(cli("contract", "baseline", "-f", "flows/a.yaml", "--against", "git:main").out)
    known = ("--baseline", "b.json")
    assert cli(*diff, *known).code == 0
    checked = cli("contract", "check", "-f", "flows/a.yaml", *known)
    assert (checked.code, "no longer occur" in checked.out + checked.err) == (0, False), (
        "what diff found is not of check"
    )
    write(Path("flows/a.yaml"), narrow.replace("[track, cancel]", "[track, cancel, refund]"))
    assert cli(*diff, *known).code == exits.FINDINGS
    write(Path("flows/a.yaml"), CLEAN)
    said = cli(*diff, *known)
    assert (said.code, "of the baseline's findings no longer occur" in said.out + said.err) == (0, True)


TWICE = CLEAN.replace("spec:\n", "spec:\n  version: 1.0.0\n  version: 1.0.0\n", 1)
OTHER = CLEAN.replace("my-agent", "other")


@pytest.mark.parametrize(
    ("sentence", "text", "is_gone"),
    [
        ("a field given twice", TWICE, False),
        ("a document that is no object among others", f"{CLEAN}---\n- 1\n---\n{OTHER}", False),
        ("wrong syntax behind a good document", f"{OTHER}---\n{BROKEN}", False),
        ("wrong syntax before a good document", f"{BROKEN}\n---\n{OTHER}", False),
        ("more than a file may hold", CLEAN + "#" * 5_000_000, False),
        ("no YAML, and the file is gone", BROKEN, True),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 60 else "",
)
@pytest.mark.parametrize("old", ["git:main", "git:main:flows"])
def test_an_old_file_that_may_hide_a_removal_is_refused(
    cli: Cli, repository: Path, old: str, sentence: str, text: str, is_gone: bool
) -> None:
    write(Path("flows/a.yaml"), text)
    write(Path("flows/c.yaml"), CLEAN.replace("my-agent", "third"))
    commit()
    Path("flows/a.yaml").unlink() if is_gone else write(Path("flows/a.yaml"), CLEAN)
    said = cli("contract", "diff", old, "flows")
    assert (said.code, "now counts as new" in said.out) == (exits.REFUSED, False), said.out


def test_a_baseline_of_several_files_compares_them_as_one_side(cli: Cli, here: Path) -> None:
    for folder in ("old", "new"):
        write(Path(folder, "a.yaml"), CLEAN)
        write(Path(folder, "b.yaml"), OTHER)
    files = ("-f", "new/a.yaml", "-f", "new/b.yaml")
    said = cli("contract", "baseline", *files, "--against", "old")
    assert (said.code, json.loads(said.out)["findings"]) == (0, []), "nothing was removed"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-f", "gone.yaml"), "No such file"),
        (("-f", "flows/a.yaml", "--against", "git:nope"), "no such revision"),
        (("-f", "flows/a.yaml", "--against", "gone.yaml"), "No such file"),
        (("-f", "-", "--against", "git:main"), "cannot be compared"),
    ],
    ids=["a file", "a revision", "an old file", "standard input"],
)
def test_a_baseline_is_not_written_of_what_cannot_be_read(
    cli: Cli, repository: Path, words: tuple[str, ...], told: str
) -> None:
    said = cli("contract", "baseline", *words)
    assert (said.code, said.out, told in said.err) == (exits.REFUSED, "", True), said


def test_the_first_workflow_of_a_repository_is_new(cli: Cli, here: Path) -> None:
    run("init", "-q", "-b", "main")
    others = {
        "README": "hello\n", ".gitkeep": "", "empty.yaml": "# soon\n", "x.yaml": OTHERS,
        "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    }  # fmt: skip
    for name, text in others.items():
        write(here / "all" / name, text)
        write(here / name / name, text)
    commit()
    for folder in ("all", *others):
        write(here / folder / "flow.yaml", CLEAN)
        (here / folder / "empty.yaml").unlink(missing_ok=True)
        for old in ("git:main", f"git:main:{folder}"):
            said = cli("contract", "diff", old, folder)
            assert (said.code, "new: there is nothing" in said.out) == (0, True), (old, folder, said.out)
    write(here / "empty.yaml/empty.yaml", CLEAN)
    said = cli("contract", "diff", "git:main", "empty.yaml/empty.yaml")
    assert (said.code, "new: there is nothing" in said.out) == (0, True), said.out
    for new in ("git:main:all", "git:main:.gitkeep/.gitkeep"):
        assert cli("contract", "diff", "all/flow.yaml", new).code == exits.REFUSED


def test_a_file_that_is_named_is_read_whatever_its_suffix(cli: Cli, repository: Path) -> None:
    write(Path("flows/a.txt"), CLEAN.replace("1.0.0", "2.0.0"))
    commit()
    assert "2.0.0 (git:main:flows/a.txt)" in cli("contract", "diff", "git:main", "flows/a.txt").out
    assert (
        "2.0.0 (git:main:flows/a.txt)" in cli("contract", "diff", "git:main:flows/a.txt", "flows/a.yaml").out
    )


def test_what_git_cannot_tell_of_renamed_files_is_never_clean(cli: Cli, repository: Path) -> None:
    run("mv", "flows/a.yaml", "flows/b.yaml")
    Path(".git/index").write_bytes(b"no index")
    said = cli("contract", "diff", "git:main", "flows/b.yaml", "--fail-on", "never")
    assert (said.code, "git cannot tell what was renamed" in said.out) == (exits.REFUSED, True), said.out


def test_of_many_renamed_files_each_is_compared_with_its_former_self(cli: Cli, repository: Path) -> None:
    """git's own limit, here 1, leaves pairs that are not the same text unseen."""
    for name in ("b", "c"):
        write(Path(f"flows/{name}.yaml"), CLEAN.replace("my-agent", f"agent-{name}"))
    commit()
    run("config", "diff.renameLimit", "1")
    for name in ("b", "c"):
        run("mv", f"flows/{name}.yaml", f"flows/{name}-moved.yaml")
        file = Path(f"flows/{name}-moved.yaml")
        file.write_text(file.read_text().replace("1.0.0", "1.0.1"))
    said = cli("contract", "diff", "git:main", "flows/b-moved.yaml")
    assert "1.0.0 (git:main:flows/b.yaml) → 1.0.1" in said.out, said.out


def test_without_git_or_a_repository_it_is_said(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path("a.yaml"), CLEAN)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(here.parent))
    assert "this folder is in no git repository" in cli("contract", "diff", "git:main", "a.yaml").out
    monkeypatch.setenv("PATH", "/nowhere")
    said = cli("contract", "diff", "git:main", "a.yaml")
    assert (said.code, "git is not installed" in said.out) == (exits.REFUSED, True)
    assert cli("contract", "diff", "a.yaml", "a.yaml").code == 0


def test_what_is_not_proven_fails_or_warns(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict without a reason is not proven: as if the comparison had no diagnostics."""
    from dataclasses import replace

    from sluicegate.console.contracting import comparing
    from sluicegate.contracts.compatibility import Verdict
    from sluicegate.contracts.compatibility import compare as real

    monkeypatch.setattr(
        comparing, "compare", lambda *words, **facts: replace(real(*words, **facts), verdict=Verdict.UNKNOWN)
    )
    said = cli("contract", "diff", "git:main", "flows/a.yaml")
    assert (said.code, "error NotProven flows/a.yaml:4:1 spec" in said.out) == (9, True), said.out
    told = cli("contract", "diff", "git:main", "flows/a.yaml", "--mode", "report")
    assert (told.code, "warning NotProven" in told.out) == (0, True)


def test_of_several_workflows_with_one_name_each_is_compared_with_its_own_file(
    cli: Cli, repository: Path
) -> None:
    for folder, version in (("a", "2.0.0"), ("b", "3.0.0")):
        write(Path(f"many/{folder}/w.yaml"), changed(CLEAN, version=version))
    commit()
    said = cli("contract", "diff", "git:main", "many", "-R")
    assert said.code == 0
    assert "2.0.0 (git:main:many/a/w.yaml) → 2.0.0" in said.out
    assert "3.0.0 (git:main:many/b/w.yaml) → 3.0.0" in said.out


def test_git_reads_and_never_writes(repository: Path) -> None:
    at = git.revision("main")
    assert git.content(at, Path("flows/a.yaml")) == CLEAN.encode()
    assert git.listed(at, Path("flows")) == (Path("flows/a.yaml"),)
    assert run("status", "--porcelain") == ""
