"""`apply`, `diff`, `delete`, `init`: files in, objects out, nothing half-applied."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.documents import load
from sluicegate.contracts.parsing import parse
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.rollout.revisions import revision_name
from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli


def write(path: Path, *documents: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_apply_says_what_became_of_each_object(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "two.yaml", objects.workflow("one"), objects.workflow("two"))
    assert cli("apply", "-f", file).out == "agentworkflow/one created\nagentworkflow/two created\n"
    write(tmp_path / "two.yaml", objects.workflow("one"), objects.workflow("two", version="2.5.0"))
    changed = cli("apply", "-f", file)
    assert changed.out == "agentworkflow/one unchanged\nagentworkflow/two configured\n"
    assert "next: sluicegate rollout status two -w" in changed.err


def test_a_dry_run_stores_nothing(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "one.yaml", objects.workflow("one"))
    said = cli("apply", "-f", file, "--dry-run")
    assert (said.code, said.out) == (0, "agentworkflow/one created (dry run)\n")
    assert server.listing("AgentWorkflow") == ()


def test_folders_and_standard_input_are_read(
    server: ApiServer, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "wishes"
    folder.mkdir()
    write(folder / "b.yml", objects.workflow("b"))
    write(folder / "a.yaml", objects.workflow("a"))
    (folder / "notes.txt").write_text("not a document")
    piped = yaml.safe_dump(objects.workflow("piped")).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    said = cli("apply", "-f", str(folder), "-f", "-", "-o", "name")
    assert said.out.split() == ["agentworkflow/a", "agentworkflow/b", "agentworkflow/piped"]


def test_the_namespace_option_fills_only_what_the_file_leaves_open(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    loose, fixed = objects.workflow("loose"), objects.workflow("fixed", namespace="bank")
    del loose["metadata"]["namespace"]
    assert cli("apply", "-f", write(tmp_path / "x.yaml", loose, fixed), "-n", "shop").code == 0
    places = {
        item["metadata"]["name"]: item["metadata"]["namespace"] for item in server.listing("AgentWorkflow")
    }
    assert places == {"loose": "shop", "fixed": "bank"}


def test_one_broken_document_keeps_all_others_out_and_every_problem_is_told(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    broken, unknown = objects.workflow("broken"), objects.workflow("unknown")
    broken["spec"]["components"][0]["sideEfects"] = broken["spec"]["components"][0].pop("sideEffects")
    unknown["spec"]["version"] = 3
    file = write(tmp_path / "x.yaml", objects.workflow("fine"), broken, unknown)
    said = cli("apply", "-f", file)
    assert said.code == 2
    assert server.listing("AgentWorkflow") == ()
    for words in ("did you mean sideEffects", "spec.version", f"{file}:", "nothing was changed"):
        assert words in said.err


def test_a_refusal_of_the_server_lists_its_problems(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", objects.workflow("fine"), objects.workflow("worse", version="bad-1"))
    said = cli("apply", "-f", file)
    assert said.code == 2
    assert server.listing("AgentWorkflow") == ()
    assert "spec.version: is bad; got bad-1; hint: choose another" in said.err
    assert "would reach the same process" in said.err


def test_warnings_go_to_standard_error(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    said = cli("apply", "-f", write(tmp_path / "x.yaml", objects.workflow(version="0.1")))
    assert said.code == 0
    assert said.err == "warning: a version 0 is a promise to nobody\n"


def test_diff_of_what_is_live_is_empty_and_exits_0(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", objects.workflow())
    cli("apply", "-f", file)
    assert cli("diff", "-f", file) == type(cli("diff", "-f", file))(0, "", "")


def test_diff_shows_lines_the_changed_component_and_the_plan_it_starts(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    file = write(tmp_path / "x.yaml", objects.workflow())
    cli("apply", "-f", file)
    changed = objects.workflow(version="2.5.0")
    changed["spec"]["components"][0] |= {"version": "v2", "timeoutMs": 900}
    said = cli("diff", "-f", write(tmp_path / "x.yaml", changed))
    assert said.code == 1
    for words in (
        "-  version: 2.4.0",
        "+  version: 2.5.0",
        "# component agent: v1 → v2 changes timeoutMs",
        "# starts a rollout 2.4.0 → 2.5.0:",
        "Controlled   20 %",
    ):
        assert words in said.out
    assert server.get("AgentWorkflow", "support-bot")["spec"]["version"] == "2.4.0"


def test_diff_against_an_aborted_wish_says_what_is_stable(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    wish, stable = objects.workflow(version="2.5.0"), objects.workflow()
    wish["spec"]["components"][0]["timeoutMs"] = 900
    name = revision_name("support-bot", revision_digest(WorkflowSpec.model_validate(stable["spec"])))
    server.put(objects.with_status(wish, stableRevision=name))
    assert "# no rollout: 2.4.0 is stable" in cli("diff", "-f", write(tmp_path / "x.yaml", stable)).out
    newer = objects.workflow(version="2.6.0")
    newer["spec"]["components"][0]["timeoutMs"] = 901
    assert f"# starts a rollout {name} → 2.6.0:" in cli("diff", "-f", write(tmp_path / "y.yaml", newer)).out


def test_diff_says_that_a_strategy_alone_starts_no_rollout(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    cli("apply", "-f", write(tmp_path / "x.yaml", objects.workflow()))
    changed = objects.workflow()
    changed["spec"]["expectedRunsPerHour"] = 100_000
    said = cli("diff", "-f", write(tmp_path / "x.yaml", changed))
    assert said.code == 1
    assert "# no rollout: nothing that a run depends on changes" in said.out


def test_diff_of_a_new_workflow_says_that_it_has_no_stages(
    server: ApiServer, cli: Cli, tmp_path: Path
) -> None:
    said = cli("diff", "-f", write(tmp_path / "x.yaml", objects.workflow()))
    assert said.code == 1
    assert "becomes stable at once, without stages" in said.out


def test_delete_by_name_and_by_file(server: ApiServer, cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml", objects.workflow("one"), objects.workflow("two"))
    cli("apply", "-f", file)
    assert cli("delete", "awf", "one", "--dry-run").code == 0
    assert cli("delete", "awf", "one").out == "agentworkflow/one deleted\n"
    assert cli("delete", "-f", file).code == 3
    assert cli("delete", "-f", file, "--ignore-not-found").code == 0
    assert server.listing("AgentWorkflow") == ()


@pytest.mark.parametrize("protocol", ["http", "native", "openai"])
def test_init_writes_a_workflow_that_passes_every_check(cli: Cli, tmp_path: Path, protocol: str) -> None:
    file = tmp_path / "workflow.yaml"
    said = cli("init", "my-bot", "--protocol", protocol, "-o", str(file))
    assert said.code == 0
    (document,) = load(file.read_bytes(), source=str(file))
    assert parse(document).metadata.name == "my-bot"
    text = file.read_text()
    assert "sluicegate schema -o agentworkflow.schema.json" in text
    assert "https://sluicegate" not in text, "nothing is served there"
    assert len(text.splitlines()) <= 18


def test_init_names_the_schema_that_lies_beside_the_file(cli: Cli, tmp_path: Path) -> None:
    assert cli("schema", "-o", str(tmp_path / "agentworkflow.schema.json")).code == 0
    file = tmp_path / "workflow.yaml"
    assert cli("init", "-o", str(file)).code == 0
    assert file.read_text().startswith("# yaml-language-server: $schema=agentworkflow.schema.json\n")


def test_init_never_overwrites_unasked(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text("mine")
    said = cli("init", "-o", str(file))
    assert (said.code, file.read_text()) == (5, "mine")
    assert "--force" in said.err
    assert cli("init", "-o", str(file), "--force").code == 0
    assert file.read_text() != "mine"
