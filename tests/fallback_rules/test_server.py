"""The rules server: what answers, what never replaces it, and that it needs nobody."""

import io
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from sluicegate.contracts.errors import Refused
from sluicegate.fallback_rules.server.app import Rules, application
from sluicegate.fallback_rules.server.shelf import Key, Shelf, read
from sluicegate.fallback_rules.server.telling import Telling
from tests.operator.up import Up, until

COLUMNS = [
    {"name": "intent", "value": "input.intent", "type": "Enum", "values": ["refund", "track"]},
    {"name": "amount", "value": "input.amount", "type": "Number", "minimum": "0", "maximum": "1000"},
]
RULES = [
    {
        "id": "small",
        "when": {"intent": {"oneOf": ["refund"]}, "amount": {"below": "50"}},
        "answer": {"text": "paid"},
    },
    {"id": "track", "when": {"intent": {"oneOf": ["track"]}}, "answer": {"text": "查到了"}},
]


def rule_set(name: str = "support", **spec: Any) -> str:
    whole = {
        "version": "1.0.0",
        "owner": "care",
        "columns": COLUMNS,
        "rules": RULES,
        "default": {"text": "a person calls"},
    }
    return yaml.safe_dump(
        {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": "FallbackRuleSet",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": whole | spec,
        },
        allow_unicode=True,
    )


KEY = Key("shop", "support")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "support.yaml").write_text(rule_set())
    return tmp_path


def test_a_folder_gives_its_rule_sets(folder: Path) -> None:
    shelf = read(folder, Shelf())
    assert shelf.sets[KEY].version == "1.0.0"
    assert not shelf.problems


def test_nothing_is_read_again_while_nothing_changes(folder: Path) -> None:
    shelf = read(folder, Shelf())
    assert read(folder, shelf) is shelf


REFUSED: dict[str, tuple[str, str]] = {
    "no YAML": ("{", "support.yaml"),
    "another kind": ("apiVersion: sluicegate.io/v1alpha1\nkind: Decision\n", "support.yaml"),
    "a rule of an unknown column": (
        rule_set(rules=[{"id": "r", "when": {"intnt": {"oneOf": ["refund"]}}, "answer": {}}]),
        "intnt",
    ),
    "a gap": (rule_set(default=None), "RuleGap"),
}


@pytest.mark.parametrize(("content", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_never_replaces_what_answers(folder: Path, content: str, told: str) -> None:
    before = read(folder, Shelf())
    (folder / "support.yaml").write_text(content)
    shelf = read(folder, before)
    assert shelf.sets[KEY].table is before.sets[KEY].table
    assert told in "\n".join(str(problem) for problem in shelf.problems)
    assert all(problem.source == "support.yaml" for problem in shelf.problems)
    (folder / "support.yaml").write_text(rule_set(version="2.0.0"))
    mended = read(folder, shelf)
    assert (mended.sets[KEY].version, mended.problems) == ("2.0.0", ())


def test_a_file_that_is_gone_answers_no_more(folder: Path) -> None:
    before = read(folder, Shelf())
    (folder / "support.yaml").unlink()
    assert not read(folder, before).sets


def test_of_two_with_one_name_the_first_file_answers(folder: Path) -> None:
    (folder / "a.yaml").write_text(rule_set(version="0.9.0"))
    shelf = read(folder, Shelf())
    assert shelf.sets[KEY].version == "0.9.0"
    assert [problem.source for problem in shelf.problems] == ["support.yaml"]


def test_a_mounted_config_map_is_read_once_per_content(tmp_path: Path) -> None:
    """As the kubelet writes it: names are links through `..data`, which is exchanged at once."""
    for version in ("1.0.0", "2.0.0"):
        (tmp_path / f"..{version}").mkdir()
        (tmp_path / f"..{version}" / "support.yaml").write_text(rule_set(version=version))
    (tmp_path / "..data").symlink_to("..1.0.0")
    (tmp_path / "support.yaml").symlink_to("..data/support.yaml")
    before = read(tmp_path, Shelf())
    (tmp_path / "..new").symlink_to("..2.0.0")
    (tmp_path / "..new").rename(tmp_path / "..data")
    assert [read(tmp_path, before).sets[KEY].version, len(before.files)] == ["2.0.0", 1]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="--rules: No such file"):
        read(tmp_path / "none", Shelf())


class Client:
    def __init__(self, session: aiohttp.ClientSession, url: str, rules: Rules) -> None:
        self.session, self.url, self.rules = session, url, rules

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.session.get(self.url + path) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if answer.content_type.endswith("json") else text

    async def ask(self, body: Any, name: str = "support") -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.post(
            f"{self.url}/v1/rulesets/shop/{name}/answer", data=io.BytesIO(data)
        ) as answer:
            return answer.status, await answer.json(content_type=None)


@pytest_asyncio.fixture
async def client(folder: Path) -> AsyncIterator[Client]:
    rules = Rules(shelf=read(folder, Shelf()), telling=Telling(), monotonic=lambda: 0.0)
    rules.telling.loaded(rules.shelf)
    runner = web.AppRunner(application(rules))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        yield Client(session, f"http://127.0.0.1:{runner.addresses[0][1]}", rules)
    await runner.cleanup()


ANSWERS: dict[str, tuple[dict[str, Any], str, str | None, str]] = {
    "a rule, by values": ({"values": {"intent": "refund", "amount": 10}}, "Rule", "small", "paid"),
    "a rule, by context": (
        {"context": {"input": {"intent": "track", "amount": 1}}},
        "Rule",
        "track",
        "查到了",
    ),
    "the default": ({"values": {"intent": "refund", "amount": 50}}, "Default", None, "a person calls"),
}


@pytest.mark.parametrize(("asked", "outcome", "rule", "text"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_names_its_rule_and_table(
    client: Client, asked: dict[str, Any], outcome: str, rule: str | None, text: str
) -> None:
    status, told = await client.ask(asked)
    assert (status, told["outcome"], told["rule"], told["answer"]) == (200, outcome, rule, {"text": text})
    served = client.rules.shelf.sets[KEY]
    assert told["ruleSet"] == {
        "namespace": "shop", "name": "support", "version": "1.0.0", "digest": served.table.digest, "source": "support.yaml",
    }  # fmt: skip


MISTAKES: dict[str, tuple[Any, int, str]] = {
    "an input that is not understood": ({"values": {"intent": "refnd", "amount": 1}}, 422, "intent"),
    "an input that is missing": ({"context": {"input": {"intent": "track"}}}, 422, "amount"),
    "an input that is a deep tree": (
        {"values": {"intent": json.loads("[" * 300 + "]" * 300), "amount": 1}},
        422,
        "intent",
    ),
    "no JSON": (b"{", 400, "no JSON"),
    "neither values nor context": ({"input": {}}, 400, '{"values"'),
    "both": ({"values": {}, "context": {}}, 400, '{"values"'),
    "a list": ([], 400, '{"values"'),
    "too large": (b" " * 1_100_000, 413, "Too Large"),
}


@pytest.mark.parametrize(("body", "status", "told"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_a_mistake_is_told_and_never_the_defaults(
    client: Client, body: Any, status: int, told: str
) -> None:
    code, document = await client.ask(body)
    assert code == status
    assert told in document["detail"]
    assert "answer" not in document


async def test_an_unknown_rule_set_has_a_hint(client: Client) -> None:
    code, document = await client.ask({"values": {}}, name="suport")
    assert (code, document["detail"]) == (404, "there is no rule set shop/suport; did you mean shop/support?")


async def test_metrics_count_answers_and_show_what_answers(client: Client, folder: Path) -> None:
    await client.ask({"values": {"intent": "refund", "amount": 10}})
    await client.ask({"values": {"intent": "nothing", "amount": 10}})
    (folder / "support.yaml").write_text(rule_set(version="2.0.0"))
    (folder / "broken.yaml").write_text("{")
    client.rules.shelf = read(folder, client.rules.shelf)
    client.rules.telling.loaded(client.rules.shelf)
    _, text = await client.get("/metrics")
    assert 'sluicegate_rules_answers_total{namespace="shop",outcome="Rule",rule_set="support"} 1.0' in text
    assert 'sluicegate_rules_answers_total{namespace="shop",outcome="Input",rule_set="support"} 1.0' in text
    assert re.findall(r'rules_loaded\{.*version="([^"]+)"', text) == ["2.0.0"]
    assert "sluicegate_rules_refused_files 1.0" in text


async def test_it_is_ready_while_anything_answers_and_tells_what_does_not(
    client: Client, folder: Path
) -> None:
    """One bad file must not take the good ones out of the Service."""
    assert await client.get("/readyz") == (200, {"ready": True, "reasons": []})
    (folder / "broken.yaml").write_text("{")
    client.rules.shelf = read(folder, client.rules.shelf)
    status, told = await client.get("/readyz")
    assert (status, len(told["reasons"])) == (200, 1)
    client.rules.shelf = Shelf()
    assert (await client.get("/readyz"))[0] == 503


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "sluicegate.fallback_rules.server"),
            *("--rules", str(folder), "--port", "0", "--every", "0.1"),
        ],
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "rules_server_ready":
                yield event["url"], process
                break
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def asked(url: str) -> dict[str, Any]:
    body = json.dumps({"values": {"intent": "refund", "amount": 10}}).encode()
    with urllib.request.urlopen(f"{url}/v1/rulesets/shop/support/answer", data=body, timeout=30) as answer:
        return dict(json.load(answer))


def test_a_process_of_its_own_takes_new_files_and_stops_when_asked(
    server: tuple[str, subprocess.Popen[bytes]], folder: Path
) -> None:
    url, process = server
    assert asked(url)["ruleSet"]["version"] == "1.0.0"
    (folder / "next").write_text(rule_set(version="2.0.0"))
    (folder / "next").replace(folder / "support.yaml")
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line).get("version") == "2.0.0":
            break
    assert asked(url)["ruleSet"]["version"] == "2.0.0"
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


@pytest.mark.e2e
def test_it_answers_with_gateway_operator_and_lineage_store_killed(
    server: tuple[str, subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """`up` is all three in local mode."""
    url, _ = server
    up = Up(tmp_path_factory.mktemp("up"))
    try:
        facts = up.start()
    finally:
        up.kill()
    until("the gateway is gone", lambda: is_refused(facts.gateway_port))
    assert asked(url)["rule"] == "small"


def is_refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_it_imports_nothing_else_of_ours() -> None:
    code = (
        "import sys, sluicegate.fallback_rules.server.__main__;"
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('sluicegate.')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['contracts', 'fallback_rules']"


def test_a_folder_that_is_not_there_ends_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sluicegate.fallback_rules.server", "--rules", str(tmp_path / "none")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "No such file" in done.stderr) == (2, True)
