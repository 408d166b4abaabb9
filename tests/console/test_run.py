"""`run list|show|outcome`: recorded runs for people."""

import json
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from sluicegate.operator.local.state_dir import UpFile
from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

RUN = objects.run_summary()["run_id"]
Golden = Callable[[str, str], None]


def test_list_shows_a_line_per_run(server: ApiServer, cli: Cli, noon: None, golden: Golden) -> None:
    server.lineage.summaries = [
        objects.run_summary(),
        objects.run_summary(arm="candidate", serving=False, version="2.4.0", outcome="Failed", reward=None,
                            latency_ms=12345.0, fallback=True, violated=True, error="Timeout"),
    ]  # fmt: skip
    golden("run-list", cli("run", "list").out)
    golden("run-list-wide", cli("run", "list", "-o", "wide").out)
    assert cli("run", "list").err == "2 runs, newest first\n"
    assert cli("run", "list", "-o", "name").out.split() == [RUN]


def test_an_empty_list_of_a_mistyped_workflow_says_so(server: ApiServer, cli: Cli, noon: None) -> None:
    server.lineage.summaries = []
    found = cli("run", "list", "--workflow", "suport-bot")
    assert (found.code, found.out) == (0, "")
    assert "no workflow 'suport-bot' in namespace default" in found.err
    assert found.err.endswith("0 runs\n")


def test_filters_go_to_the_server_as_it_names_them(server: ApiServer, cli: Cli, noon: None) -> None:
    arguments = "--workflow w --arm candidate --stage shadow --outcome failed --fallback --since 10m --limit 3 -n shop"
    assert cli("run", "list", *arguments.split()).code == 0
    assert server.lineage.asked[-1] == (
        {
            "namespace": "shop",
            "workflow": "w",
            "arm": "candidate",
            "outcome": "Failed",
            "stage": "Shadow",
            "fallback": "true",
            "since": "10m",
        },
        3,
    )
    assert cli("run", "list", "-A", "--since", "2026-01-01T00:00:00Z").code == 0
    assert server.lineage.asked[-1] == ({"since": "2026-01-01T00:00:00Z"}, 20)


def test_show_is_a_tree_of_arms_steps_attempts_and_differences(
    server: ApiServer, cli: Cli, golden: Golden
) -> None:
    comparison = {"agrees": False, "similarity": 0.6123, "differences": ["response: 'on its way' / 'lost'"]}
    server.lineage.documents = [
        objects.run_document(),
        objects.run_document("candidate", version="2.4.0", revision="support-bot-2", outcome="Failed",
                             error="Timeout in execute", comparison=comparison, reward=None),
    ]  # fmt: skip
    golden("run-show", cli("run", "show", RUN[:13]).out)
    assert "candidate" not in cli("run", "show", RUN, "--arm", "stable").out
    assert json.loads(cli("run", "show", RUN, "-o", "json").out)["items"] == server.lineage.documents


def test_an_unknown_run_or_arm_is_not_found(server: ApiServer, cli: Cli) -> None:
    assert cli("run", "show", "0195").code == 3
    server.lineage.documents = [objects.run_document()]
    assert cli("run", "show", RUN, "--arm", "control").code == 3


class Gateway(BaseHTTPRequestHandler):
    """Takes outcomes; refuses reward 0.5."""

    taken: list[tuple[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.taken.append((self.path, body))
        refused = body.get("reward") == 0.5
        problem = {"title": "Invalid", "detail": "no", "problems": [{"path": "reward", "message": "is odd"}]}
        raw = json.dumps(problem if refused else {}).encode()
        self.send_response(422 if refused else 202)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gateway(server: ApiServer) -> Iterator[list[tuple[str, Any]]]:
    """A gateway that up.json points at; what it was told."""
    taken: list[tuple[str, Any]] = []
    listener = HTTPServer(("127.0.0.1", 0), type("Handler", (Gateway,), {"taken": taken}))
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    UpFile(
        pid=os.getpid(),
        gateway_host="127.0.0.1",
        gateway_port=listener.server_port,
        metrics_port=0,
        workers=1,
        version="0",
        started_at="2026-03-01T11:00:00Z",
    ).write(server.state.up)
    yield taken
    listener.shutdown()
    listener.server_close()
    thread.join()


def test_outcome_goes_to_the_gateway(gateway: list[tuple[str, Any]], cli: Cli) -> None:
    said = cli("run", "outcome", RUN, "--reward", "0.8", "--outcome", "failed", "--note", "refunded")
    assert said.code == 0, said.err
    assert gateway == [(f"/v1/runs/{RUN}/outcome", {"reward": 0.8, "outcome": "Failed", "note": "refunded"})]


def test_a_proxy_of_the_environment_is_not_asked(
    gateway: list[tuple[str, Any]], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not reach a loopback address, and nobody told it to."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(urllib.request, "_opener", None)  # keeps what the environment was at its first use
    said = cli("run", "outcome", RUN, "--reward", "1", "--outcome", "succeeded")
    assert (said.code, len(gateway)) == (0, 1), said.err


def test_the_gateways_problems_are_told(gateway: list[tuple[str, Any]], cli: Cli) -> None:
    said = cli("run", "outcome", RUN, "--reward", "0.5")
    assert said.code == 2
    assert "reward: is odd" in said.err


def test_outcome_needs_something_to_say_and_a_gateway(server: ApiServer, cli: Cli) -> None:
    assert cli("run", "outcome", RUN).code == 2
    assert cli("run", "outcome", RUN, "--reward", "1.5").code == 2
    said = cli("run", "outcome", RUN, "--reward", "1")
    assert said.code == 6
    assert "sluicegate up" in said.err
