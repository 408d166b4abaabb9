"""A large table is compiled beside the event loop: the plan is taken at once, and the table of before answers until then."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import RoutePlan, RuleSetBody
from sluicegate.gateway import worker
from sluicegate.gateway.plan_table import PlanTable
from sluicegate.gateway.plans import PlanBook, compiled
from sluicegate.gateway.worker import PlanWatch
from sluicegate.lineage.spool import SpoolWriter
from tests.gateway.components import stable_plan
from tests.gateway.rules import guarded, rule_set

SPEC = guarded("http://127.0.0.1:9/")
OLD, NEW = rule_set(), rule_set(version="2", default={"text": "another"})


def plan(workflow: str, version: int, body: RuleSetBody) -> RoutePlan:
    return stable_plan(SPEC, workflow=workflow, version=version, rule_sets=(body,))


def deferring() -> PlanBook:
    """Two workflows answer with the old table, and the next one is to be compiled elsewhere."""
    book = PlanBook()
    book.update([plan("bot", 1, OLD), plan("web", 1, OLD)])
    book.defers = True
    return book


def versions(book: PlanBook) -> list[str]:
    return [live.rules["care"].body.version for live in book.by_key.values()]


def test_the_plan_is_taken_at_once_and_the_table_of_before_answers_until_the_next_is_made() -> None:
    book = deferring()
    served = book.update([plan("bot", 2, NEW), plan("web", 2, NEW)])
    assert (list(served.values()), versions(book)) == ([2, 2], ["1.2.0", "1.2.0"])
    book.fill(NEW, compiled(NEW))
    assert (versions(book), book.waiting) == (["2", "2"], {})
    assert {live.rules["care"].body.version for live in book.by_path.values()} == {"2"}
    tables = {id(live.rules["care"].table) for live in book.by_key.values()}
    assert len(tables) == 1, "one table, however many plans name it"


def test_a_plan_that_comes_meanwhile_gets_its_own_table() -> None:
    book, newest = deferring(), rule_set(version="3")
    second = plan("web", 2, NEW)
    book.update([plan("bot", 2, NEW), second])
    book.update([plan("bot", 3, newest), second])
    assert sorted(body.version for body in book.waiting.values()) == ["2", "3"]
    book.fill(NEW, compiled(NEW))
    assert versions(book) == ["1.2.0", "2"]
    book.fill(newest, compiled(newest))
    assert versions(book) == ["3", "2"]


def test_a_table_that_cannot_be_used_leaves_the_one_of_before_and_is_told() -> None:
    book = deferring()
    spoilt = replace(NEW, spec=NEW.spec | {"columns": []})
    book.update([plan("bot", 2, spoilt), plan("web", 1, OLD)])
    made = compiled(spoilt)
    book.fill(spoilt, made)
    assert (versions(book), list(book.spoilt.values())) == (["1.2.0", "1.2.0"], [made])
    assert not book.waiting


def test_what_only_words_changed_of_is_not_compiled_again() -> None:
    book, described = deferring(), replace(OLD, spec=OLD.spec | {"description": "for nights"})
    book.update([plan("bot", 2, described), plan("web", 1, OLD)])
    assert not book.waiting
    assert [live.rules["care"].body.spec.get("description") for live in book.by_key.values()] == [
        "for nights",
        None,
    ]


def test_the_first_plans_come_with_their_rules_however_late_and_the_next_defer(tmp_path: Path) -> None:
    table, spool = PlanTable(tmp_path / "plans.db", creates=False), SpoolWriter(tmp_path / "spool", "w0")
    watch = PlanWatch(table=table, book=PlanBook(), worker="w0", spool=spool)
    watch.look(system.now())
    assert not watch.readiness()[0], "there is no table yet"
    writer = PlanTable(tmp_path / "plans.db")
    writer.write(plan("bot", 1, OLD))
    watch.look(system.now())
    assert (watch.readiness()[0], versions(watch.book), watch.book.waiting) == (True, ["1.2.0"], {})
    writer.write(plan("bot", 2, NEW))
    watch.look(system.now())
    assert (versions(watch.book), len(watch.book.waiting)) == (["1.2.0"], 1)


async def test_a_worker_compiles_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def recorded(body: RuleSetBody) -> Any:
        threads.append(threading.get_ident())
        return compiled(body)

    monkeypatch.setattr(worker, "compiled", recorded)
    book, spool = deferring(), SpoolWriter(tmp_path / "spool", "w0")
    watch = PlanWatch(table=PlanTable(tmp_path / "plans.db"), book=book, worker="w0", spool=spool)
    book.update([plan("bot", 2, NEW), plan("web", 2, NEW)])
    task = asyncio.ensure_future(worker._compile_on(watch))
    async with asyncio.timeout(90):
        while book.waiting:  # noqa: ASYNC110 - for another thread
            await asyncio.sleep(0.01)
    task.cancel()
    assert versions(book) == ["2", "2"]
    assert len(threads) == 1
    assert threading.get_ident() not in threads
