"""`get` and `describe`: what people read."""

import json
from collections.abc import Callable

import pytest
import yaml

from sluicegate.rollout.model import Event, Ref
from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

Golden = Callable[[str, str], None]


@pytest.fixture
def busy(server: ApiServer, noon: None) -> ApiServer:
    """Two workflows, one with a rollout in Shadow."""
    server.put(objects.running_workflow())
    server.put(
        objects.with_status(
            objects.workflow("billing", version="1.0.0"),
            observedGeneration=1,
            phase="Healthy",
            stableRevision="billing-1",
            conditions=[objects.condition("Ready", "True", "Stable", "1.0.0 serves everybody")],
        )
    )
    server.put(objects.rollout())
    about = Ref("WorkflowRollout", "default", "support-bot-2")
    server.event(Event(about=about, reason="StageEntered", message="Shadow"))
    return server


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get-workflows", ("get", "awf")),
        ("get-workflows-wide", ("get", "agentworkflows", "-A", "-o", "wide")),
        ("get-rollouts", ("get", "aro")),
        ("get-rollouts-wide", ("get", "workflowrollout/support-bot-2", "-o", "wide")),
        ("get-two-kinds", ("get", "awf,aro")),
        ("describe-workflow", ("describe", "awf", "support-bot")),
        ("describe-rollout", ("describe", "aro/support-bot-2")),
        ("rollout-status", ("rollout", "status", "support-bot")),
        ("rollout-history", ("rollout", "history", "support-bot")),
        ("rollout-plan", ("rollout", "plan", "support-bot")),
    ],
)
def test_output_is_as_in_the_golden_file(
    busy: ApiServer, cli: Cli, golden: Golden, name: str, arguments: tuple[str, ...]
) -> None:
    said = cli(*arguments)
    assert said.code == 0, said.err
    golden(name, said.out)


def test_json_and_yaml_carry_the_object_as_the_server_has_it(busy: ApiServer, cli: Cli) -> None:
    held = busy.get("AgentWorkflow", "support-bot")
    assert json.loads(cli("get", "awf", "support-bot", "-o", "json").out) == held
    assert yaml.safe_load(cli("get", "awf/support-bot", "-o", "yaml").out) == held


def test_several_objects_are_a_list(busy: ApiServer, cli: Cli) -> None:
    answer = json.loads(cli("get", "awf", "-o", "json").out)
    assert answer["kind"] == "List"
    assert [item["metadata"]["name"] for item in answer["items"]] == ["billing", "support-bot"]


def test_names_can_be_given_to_get_again(busy: ApiServer, cli: Cli) -> None:
    names = cli("get", "awf", "-o", "name").out.split()
    assert names == ["agentworkflow/billing", "agentworkflow/support-bot"]
    assert all(cli("get", name).code == 0 for name in names)


def test_the_count_goes_to_standard_error(busy: ApiServer, cli: Cli) -> None:
    assert cli("get", "awf").err == "2 agentworkflows in namespace default\n"
    assert cli("get", "awf", "-n", "shop").err == "no agentworkflows in namespace shop\n"
    assert cli("get", "awf", "-n", "shop").out == ""


def test_a_selector_picks_by_label(server: ApiServer, cli: Cli) -> None:
    labelled = objects.workflow("labelled")
    labelled["metadata"]["labels"] = {"team": "shop"}
    server.put(labelled)
    server.put(objects.workflow("other"))
    assert cli("get", "awf", "-l", "team=shop", "-o", "name").out == "agentworkflow/labelled\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("get", "awf", "suport-bot"), 3, "did you mean support-bot?"),
        (("get", "awf", "support-bot", "-n", "shop"), 3, "add -n default"),
        (("get", "worfklows"), 2, "unknown kind"),
        (("get", "agentworkflow,workflowrolout"), 2, "did you mean workflowrollout?"),
        (("describe", "awf", "nothing-like-it"), 3, "there is: billing, support-bot"),
        (("rollout", "status", "support-bt"), 3, "did you mean support-bot?"),
        (("get", "awf", "support-bot", "-A"), 2, "one namespace"),
        (("get", "awf,aro", "support-bot"), 2, "one kind"),
    ],
)
def test_a_wrong_name_is_answered_with_what_was_meant(
    busy: ApiServer, cli: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    said = cli(*arguments)
    assert (said.code, said.out) == (code, "")
    assert words in said.err


def test_watch_prints_a_row_per_change_and_the_heads_once(
    busy: ApiServer, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sluicegate.console.client import Client

    real = Client.watch

    def bounded(client: Client, plural: str, namespace: str | None, **_: object) -> object:
        changes = real(client, plural, namespace)
        yield next(changes)
        yield next(changes)
        busy.put(objects.running_workflow(phase="Paused"))
        yield next(changes)

    monkeypatch.setattr(Client, "watch", bounded)
    lines = cli("get", "awf", "-w").out.splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "billing", "support-bot", "support-bot"]
    assert lines[-1].split()[1] == "Paused"


def test_the_stable_version_is_the_one_that_serves_not_the_one_that_was_wished(
    server: ApiServer, cli: Cli
) -> None:
    server.put(objects.running_workflow(rollout=None))  # the wish is 2.4.0
    server.put(objects.rollout(state="Done", outcome="Aborted"))
    row = cli("get", "awf", "support-bot", "-o", "wide").out.splitlines()[1]
    assert "2.3.0" in row
    assert "2.4.0" not in row.replace("support-bot", "")
