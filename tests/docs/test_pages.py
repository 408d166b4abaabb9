"""What the pages show can be done: commands parse, workflows verify, links lead somewhere, code runs."""

import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sluicegate.console.main import app
from sluicegate.contracts.documents import load
from sluicegate.contracts.parsing import parse
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.schemas import compile_schema
from sluicegate.rollout.lint import lint
from tests.controlplane.processes import free_port
from tests.support.golden import ROOT

PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("examples/*/README.md"),
        *ROOT.glob("docs/**/*.md"),
    }
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:kubectl )?sluicegate [^`\n]+)`")
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")
_STOP = re.compile(r"[;|&()<>]+")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text()) if kind == language]


def commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a script; redirections end one."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.commenters, lexer.whitespace_split = "#", True
        words: list[str] = []
        for token in lexer:
            if _STOP.fullmatch(token):
                yield words
                words = []
            else:
                words.append(token)
        yield words


def shown() -> Iterator[tuple[str, list[str], bool]]:
    """Every command line of every page, and whether it is whole (in a block, to be copied)."""
    for path in PAGES:
        scripts = [
            *blocks(path, "sh"),
            *(re.sub(r"^\$ ", "", text, flags=re.MULTILINE) for text in blocks(path, "console")),
        ]
        for script in scripts:
            yield from ((name(path), found, True) for words in commands(script) if (found := ours(words)))
        if path.name == "cli.md":
            continue  # usage lines, made from the commands themselves
        prose = _FENCE.sub("", path.read_text())
        yield from ((name(path), ours(shlex.split(text)), False) for text in _INLINE.findall(prose))


def ours(words: list[str]) -> list[str]:
    """What follows `sluicegate` or `kubectl sluicegate`; nothing for another program's words."""
    words = words[1:] if words[:2] == ["kubectl", "sluicegate"] else words
    return words[1:] if words[:1] == ["sluicegate"] else []


@pytest.mark.parametrize(("page", "words", "whole"), list(shown()), ids=str)
def test_a_command_line_parses(page: str, words: list[str], whole: bool) -> None:
    command: Any = typer.main.get_command(app)
    words = [word for before, word in zip(["", *words], words, strict=False) if is_said(before, word)]
    path = "sluicegate"
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{path} has no command {words[0]}"
        path, command, words = f"{path} {words[0]}", command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
        assert set(words) <= known
        return
    try:
        command.make_context(path, list(words))
    except Exception as error:
        if whole or type(error).__name__ != "MissingParameter":
            raise


def is_said(before: str, word: str) -> bool:
    """`…` stands for more words, but after an option for its value."""
    return word != "--debug" and (word != "…" or before.startswith("--"))


def workflows() -> Iterator[tuple[str, str]]:
    for path in PAGES:
        yield from ((name(path), text) for text in blocks(path, "yaml") if "apiVersion:" in text)


@pytest.mark.parametrize(("page", "text"), list(workflows()), ids=lambda value: str(value)[:60])
def test_a_resource_has_no_problem(page: str, text: str) -> None:
    for document in load(text, source=page):
        resource = parse(document)
        assert not isinstance(resource, AgentWorkflow) or lint(resource).problems == ()


def slugs(path: Path) -> set[str]:
    """Anchors of headings, the way GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", _FENCE.sub("", path.read_text()))):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), link
        assert not anchor or anchor in slugs(there), link


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    linked = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in _LINK.findall(index)}
    pages = {path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"}
    assert pages - {ROOT / "docs/README.md"} <= linked


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The Python program of a page, running."""
    (tmp_path / "program.py").write_text(blocks(ROOT / request.param, "python")[0])
    port = free_port()
    process = subprocess.Popen([sys.executable, str(tmp_path / "program.py"), str(port)])
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def post(url: str, body: Any) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=20) as answer:
        return json.loads(answer.read())


def output_schema(page: str) -> Any:
    (document,) = load(blocks(ROOT / page, "yaml")[0], source=page)
    return document.data["spec"]["components"][0]["contract"]["output"]


TUTORIAL, COMPONENT = "docs/tutorials/first-rollout.md", "docs/guides/write-a-component.md"


@pytest.mark.parametrize("served", [TUTORIAL], indirect=True)
def test_the_agent_of_the_tutorial_keeps_its_contract(served: str) -> None:
    answer = post(served, {"question": "Where is order 17?"})
    assert compile_schema(output_schema(TUTORIAL)).is_valid(answer)


@pytest.mark.parametrize("served", [COMPONENT], indirect=True)
@pytest.mark.parametrize(("order", "status"), [("17", "ok"), ("99", "fallback"), ("0", "rejected")])
def test_the_component_of_the_guide_keeps_its_contract(served: str, order: str, status: str) -> None:
    answer = post(served, {"input": {"order": order}})
    assert answer["status"] == status
    assert status == "rejected" or compile_schema(output_schema(COMPONENT)).is_valid(answer["output"])
