"""The reference pages are fresh, complete, and say what there is."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from sluicegate.console import reference
from sluicegate.console.reference import errors, gates, resources
from sluicegate.contracts.stages import Signal
from sluicegate.gateway import app as gateway_app
from sluicegate.gateway.app import App
from sluicegate.operator.api import server as api
from sluicegate.rollout import conditions
from sluicegate.rollout import gates as rollout_gates
from tests.support.golden import ROOT, check

FOLDER = ROOT / "docs/reference"


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_fresh(name: str) -> None:
    check(FOLDER / name, reference.PAGES[name]())


def test_there_is_no_other_page() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(reference.PAGES)


@pytest.mark.parametrize(
    ("sentence", "table", "key", "make"),
    [
        ("a signal", gates._SIGNALS, Signal.DRIFT, gates.gates_page),
        ("a reason of a condition", conditions.REASONS, "Held", reference.PAGES["conditions.md"]),
        ("a failure", errors._FAILURES, next(iter(errors._FAILURES)), errors.errors_page),
    ],
)
def test_a_page_cannot_be_made_when_something_is_undocumented(
    sentence: str, table: dict[Any, str], key: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(table, key)
    with pytest.raises(KeyError):
        make()


def test_a_field_without_description_cannot_be_listed() -> None:
    schema = {"description": "A thing.", "properties": {"size": {"type": "integer"}}}
    with pytest.raises(LookupError, match=r"Thing\.size has no description"):
        list(resources._section("##", "Thing", schema))


def test_every_reason_that_a_gate_gives_is_listed_and_no_other() -> None:
    folder = ROOT / "rollout/src/sluicegate/rollout"
    source = "".join(path.read_text() for path in sorted(folder.glob("*.py")))
    assert set(re.findall(r'Verdict\.[A-Z]+,\s*"(\w+)"', source)) <= set(rollout_gates.REASONS)
    named = set(re.findall(r'"([A-Z]\w+)"(?!:)', source))  # elsewhere than as the key of a table
    assert set(rollout_gates.REASONS) <= named


def rows(text: str | None) -> list[str]:
    return re.findall(r"^\| ((?:GET|POST|PUT|DELETE) \S+)", text or "", re.MULTILINE)


def test_the_local_api_lists_exactly_its_endpoints() -> None:
    served = {
        f"{route.method} {route.resource.canonical}"
        for route in api.application(None).router.routes()  # type: ignore[arg-type]
        if route.method != "HEAD" and isinstance(route.resource, web.Resource)
    }
    names = {"{ns}": "{namespace}", "{id}": "{run_id}", "BASE": "/apis/sluicegate.io/v1alpha1"}
    listed = set()
    for row in rows(api.__doc__):
        for short, long in names.items():
            row = row.replace(short, long)  # noqa: PLW2901 - the same row, spelled out
        listed.add(row)
    assert listed == served


@pytest.mark.parametrize("row", rows(gateway_app.__doc__))
async def test_every_endpoint_of_the_gateway_that_is_listed_is_there(row: str) -> None:
    method, path = row.split()
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    book: Any = SimpleNamespace(by_path={}, by_key={})
    gateway = App(service=None, book=book, readiness=lambda: (True, {}), on_crash=pytest.fail)  # type: ignore[arg-type]
    scope = {"type": "http", "method": method, "path": path.replace("{id}", "no-uuid"), "headers": []}
    await gateway(scope, receive, send)
    assert b"no such path" not in sent[1]["body"]
