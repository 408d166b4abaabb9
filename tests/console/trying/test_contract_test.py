"""`contract test` at running components: what breaks either side of a contract, or a meaning, is found with its input."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.console.conftest import Cli

INTENTS = {"查我的快递": "track_order", "where is my parcel": "track_order", "call it off": "cancel_order"}
Behave = Callable[[dict[str, Any]], tuple[int, Any]]


def understands(given: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"intent": INTENTS.get(given["user_query"], "other")}


class Planner:
    def __init__(self) -> None:
        self.behave: Behave = understands
        self.seen: list[tuple[dict[str, str], Any]] = []


@pytest.fixture
def planner() -> Iterator[tuple[Planner, str]]:
    component = Planner()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            component.seen.append(({name.lower(): value for name, value in self.headers.items()}, given))
            status, told = component.behave(given)
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield component, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def workflow(folder: Path, url: str, **component: Any) -> str:
    text = {"type": "string", "examples": ["hello", "where is it"]}
    planner = {
        "name": "planner",
        "version": "v1",
        "endpoint": {"protocol": "Http", "url": url},
        "sideEffects": "None",
        "contract": {
            "input": {"type": "object", "required": ["user_query"], "properties": {"user_query": text}},
            "output": {
                "type": "object",
                "required": ["intent"],
                "properties": {"intent": {"type": "string"}},
            },
        },
    }
    values = [
        {"value": "track_order", "aliases": ["查我的快递", "where is my parcel"]},
        {"value": "cancel_order", "aliases": ["call it off"]},
        {"value": "other"},
    ]
    spec = {
        "version": "1.0.0",
        "components": [planner | component],
        "contract": {"semantics": [{"field": "steps.planner.intent", "values": values}]},
    }
    file = folder / "workflow.yaml"
    whole = {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "AgentWorkflow",
        "metadata": {"name": "bot"},
        "spec": spec,
    }
    file.write_text(yaml.safe_dump(whole, allow_unicode=True))
    return str(file)


def test_a_component_that_keeps_its_contract_passes(
    cli: Cli, planner: tuple[Planner, str], tmp_path: Path
) -> None:
    component, url = planner
    told = cli("contract", "test", "-f", workflow(tmp_path, url))
    assert (told.code, told.err.splitlines()[-1]) == (0, "2 made, 3 alias")
    assert sorted(given["user_query"] for _, given in component.seen) == sorted(
        [*INTENTS, "hello", "where is it"]
    )


def test_calls_are_marked_as_a_rehearsal(cli: Cli, planner: tuple[Planner, str], tmp_path: Path) -> None:
    component, url = planner
    cli("contract", "test", "-f", workflow(tmp_path, url))
    assert {headers["sluicegate-dry-run"] for headers, _ in component.seen} == {"true"}


FAULTS: dict[str, tuple[Behave, str, str]] = {
    "an output without a field": (lambda _: (200, {}), "OutputBreaksContract", "output/intent"),
    "a value that no domain knows": (lambda _: (200, {"intent": "chat"}), "OutputBreaksContract", "steps.planner/intent"),
    "a phrase that is not understood": (lambda _: (200, {"intent": "other"}), "SemanticsMisaligned", "查我的快递"),
    "an error": (lambda _: (500, {}), "ComponentFailed", "Fault"),
}  # fmt: skip


@pytest.mark.parametrize(("behave", "code", "words"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_found_with_its_input(
    cli: Cli, planner: tuple[Planner, str], tmp_path: Path, behave: Behave, code: str, words: str
) -> None:
    component, url = planner
    component.behave = behave
    told = cli("contract", "test", "-f", workflow(tmp_path, url), "-o", "json")
    found = [one for subject in json.loads(told.out)["subjects"] for one in subject["findings"]]
    assert told.code == 9
    assert {one["code"] for one in found} == {code}
    assert words in json.dumps(found, ensure_ascii=False)
    assert all(one["witness"] for one in found)


def test_recorded_inputs_are_sent_and_those_outside_of_the_contract_are_told(
    cli: Cli, planner: tuple[Planner, str], tmp_path: Path
) -> None:
    component, url = planner
    steps = [
        {"component": "planner", "request": given} for given in ({"user_query": "mine"}, {"query": "renamed"})
    ]
    (tmp_path / "runs.json").write_text(json.dumps([{"run_id": "r", "steps": steps}]))
    file = workflow(tmp_path, url)
    told = cli("contract", "test", "-f", file, "--recorded", str(tmp_path / "runs.json"))
    assert told.code == 9
    assert "RecordedInputOutside" in told.out
    assert "user_query" in told.out
    assert {"user_query": "mine"} in [given for _, given in component.seen]
    assert "1 recorded" in told.err


def test_a_component_that_is_not_there_fails(cli: Cli, tmp_path: Path) -> None:
    told = cli("contract", "test", "-f", workflow(tmp_path, "http://127.0.0.1:9"))
    assert (told.code, "Unavailable" in told.out) == (9, True)


def test_a_live_component_is_called_only_when_asked(
    cli: Cli, planner: tuple[Planner, str], tmp_path: Path
) -> None:
    component, url = planner
    file = workflow(tmp_path, url, sideEffects="Live", mirrorStub={"value": {"intent": "other"}})
    told = cli("contract", "test", "-f", file)
    assert component.seen == []
    assert (told.code, "NothingToSend" in told.out, "--live" in told.out) == (9, True, True)
    assert cli("contract", "test", "-f", file, "--live").code == 0
    assert component.seen


def test_an_address_given_stands_for_the_endpoint(
    cli: Cli, planner: tuple[Planner, str], tmp_path: Path
) -> None:
    _, url = planner
    file = workflow(tmp_path, "http://127.0.0.1:9")
    assert cli("contract", "test", "-f", file, "--url", f"planner={url}").code == 0


def test_wrong_options_are_told_at_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text("{")
    told = cli(
        "contract", "test", "-f", workflow(tmp_path, "http://127.0.0.1:9"), "--component", "planer",
        "--url", "planner", "--recorded", str(tmp_path / "runs.json"),
    )  # fmt: skip
    assert told.code == 2
    assert all(words in told.err for words in ("did you mean planner", "is not COMPONENT=URL", "is not JSON"))
