"""The book of plans in force: compiled once, replaced at once, never worse than before."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import RevisionBody, RoutePlan, TrafficMode
from sluicegate.gateway.engine import program
from sluicegate.gateway.engine.program import Program
from sluicegate.gateway.plan_table import PlanTable, WorkflowKey
from sluicegate.gateway.plans import PlanBook, paths_of
from sluicegate.gateway.worker import PlanWatch
from sluicegate.lineage.spool import SpoolWriter
from tests.gateway.components import component, revision, rolling, spec_of, stable_plan
from tests.gateway.rules import rule_set

KEY = WorkflowKey("default", "bot")
URL = "http://127.0.0.1:9/"
ONE = spec_of(component(URL))
TWO = spec_of(component(URL), version="2")
BROKEN = spec_of(component(URL, contract={"input": {"type": "strnig"}}), version="2")


def test_a_plan_that_did_not_move_is_not_looked_at_again() -> None:
    book, still = PlanBook(), stable_plan(ONE, workflow="still")
    book.update([still, stable_plan(ONE)])
    before = book.by_key[WorkflowKey("default", "still")]
    assert book.update([still, rolling(ONE, TWO, TrafficMode.SPLIT)]) == {
        WorkflowKey("default", "still"): 1,
        KEY: 2,
    }
    assert book.by_key[WorkflowKey("default", "still")] is before
    book.update([rolling(ONE, TWO, TrafficMode.SPLIT)])
    assert set(book.by_key) == {KEY}
    assert all("still" not in path for path in book.by_path)


def test_a_renewed_lease_or_a_new_share_compiles_nothing_anew() -> None:
    book = PlanBook()
    plan = rolling(ONE, TWO, TrafficMode.MIRROR)
    book.update([plan])
    before = book.by_key[KEY]
    book.update([replace(plan, version=3, attempt=2)])
    after = book.by_key[KEY]
    assert (after.stable is before.stable, after.candidate is before.candidate) == (True, True)
    assert after.plan.version == 3


def test_a_revision_of_the_same_name_with_another_body_is_another_program() -> None:
    book = PlanBook()
    book.update([stable_plan(ONE)])
    redacting = revision(ONE | {"lineage": {"redact": ["input.phone"]}})  # not part of the digest
    book.update([stable_plan(ONE, stable=redacting)])
    assert book.by_key[KEY].stable.redactor is not None


def test_programs_nobody_needs_are_let_go() -> None:
    book = PlanBook()
    book.update([rolling(ONE, TWO, TrafficMode.MIRROR)])
    book.update([stable_plan(ONE, version=3)])
    assert [(live.stable.body.name, live.candidate) for live in book.by_key.values()] == [("bot-1", None)]
    book.update([])
    assert (book.by_key, book.by_path, book.served) == ({}, {}, {})


def test_a_plan_that_cannot_be_compiled_leaves_the_old_one_and_says_why() -> None:
    book = PlanBook()
    assert book.update([stable_plan(ONE)]) == {KEY: 1}
    other = stable_plan(ONE, workflow="other")
    assert book.update([rolling(ONE, BROKEN, TrafficMode.SPLIT), other]) == {
        WorkflowKey("default", "other"): 1
    }
    assert book.by_key[KEY].plan.version == 1
    assert "strnig" in book.broken[0].reason
    assert book.update([rolling(ONE, TWO, TrafficMode.SPLIT), other])[KEY] == 2
    assert book.broken == ()


def test_a_body_that_is_no_workflow_is_not_served() -> None:
    book = PlanBook()
    assert book.update([stable_plan({"version": "1"})]) == {}
    assert book.by_path == {}
    assert book.broken[0].key == KEY


def test_a_bug_in_one_plan_is_not_felt_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_program(namespace: str, workflow: str, body: RevisionBody, *more: Any) -> Program:
        if workflow == "odd":
            raise ZeroDivisionError("a bug")
        return program.compile_program(namespace, workflow, body, *more)

    monkeypatch.setattr("sluicegate.gateway.plans.compile_program", compile_program)
    book = PlanBook()
    assert book.update([stable_plan(ONE, workflow="odd"), stable_plan(ONE)]) == {KEY: 1}
    assert "ZeroDivisionError" in book.broken[0].reason


def test_only_the_default_namespace_has_the_short_path() -> None:
    book = PlanBook()
    book.update([stable_plan(ONE), stable_plan(ONE, namespace="shop")])
    assert set(book.by_path) == {
        "/v1/workflows/bot/runs",
        "/v1/namespaces/default/workflows/bot/runs",
        "/v1/namespaces/shop/workflows/bot/runs",
    }


class Odd(PlanTable):
    """A table with a bug, as long as it is switched on."""

    is_on = False

    def generation(self) -> int:
        if self.is_on:
            raise ZeroDivisionError("a bug")
        return super().generation()


def test_a_bug_in_a_look_at_the_plans_is_told_and_ends_nothing(tmp_path: Path) -> None:
    table, spool = Odd(tmp_path / "plans.db"), SpoolWriter(tmp_path / "spool", "w0")
    watch = PlanWatch(table=table, book=PlanBook(), worker="w0", spool=spool)
    table.write(stable_plan(ONE))
    watch.look(system.now())
    table.is_on = True
    watch.look(system.now())
    assert (watch.readiness()[0], watch.readiness()[1]["plansUnavailable"]) == (True, "a bug")
    assert book_versions(watch) == [1]
    table.is_on = False
    table.write(stable_plan(TWO, version=2))
    watch.look(system.now())
    assert "plansUnavailable" not in watch.readiness()[1]
    assert book_versions(watch) == [2]
    table.close()


def test_what_cannot_be_used_is_told_once(tmp_path: Path) -> None:
    table, spool = PlanTable(tmp_path / "plans.db"), SpoolWriter(tmp_path / "spool", "w0")
    watch = PlanWatch(table=table, book=PlanBook(), worker="w0", spool=spool)
    table.write(rolling(ONE, BROKEN, TrafficMode.SPLIT))
    spoilt = replace(rule_set(), spec={})
    table.write(stable_plan(ONE, workflow="guarded", rule_sets=(spoilt,)))
    with capture_logs() as lines:
        for version in (1, 2, 3):
            table.write(stable_plan(ONE, workflow="other", version=version))
            watch.look(system.now())
    assert sorted(line["event"] for line in lines) == ["plan_not_served", "rule_set_not_used"]
    table.close()


def book_versions(watch: PlanWatch) -> list[int]:
    return [live.plan.version for live in watch.book.by_key.values()]


MOVES = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from(["stable", "rolling", "broken", "lease", "gone", "spoilt"])
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=st.lists(MOVES, max_size=4))
def test_a_book_that_follows_what_moves_is_the_book_of_all_plans(
    tmp_path: Path, rounds: list[list[tuple[str, str]]]
) -> None:
    """Whatever is written between two looks, in any order."""
    with TemporaryDirectory(dir=tmp_path) as folder:
        table, reader = PlanTable(Path(folder) / "plans.db"), PlanTable(Path(folder) / "plans.db")
        followed, version = PlanBook(), 0
        for moves in rounds:
            for name, move in moves:
                version += 1
                if move == "gone":
                    table.delete("default", name)
                else:
                    table.write(moved(move, name, version, table.read("default", name)))
            followed.change(*reader.read_moved())
        whole = PlanBook()
        whole.update(reader.read_all())
        assert {key: live.plan for key, live in followed.by_key.items() if key in whole.by_key} == {
            key: live.plan for key, live in whole.by_key.items()
        }
        assert (followed.served, set(followed.broken)) == (whole.served, set(whole.broken))
        assert followed.spoilt.keys() >= whole.spoilt.keys()
        assert set(followed.by_path) == {path for key in followed.by_key for path in paths_of(key)}
        table.close()
        reader.close()


def moved(move: str, name: str, version: int, held: RoutePlan | None) -> RoutePlan:
    match move:
        case "rolling":
            return rolling(ONE, TWO, TrafficMode.SPLIT, workflow=name, version=version)
        case "broken":
            return rolling(ONE, BROKEN, TrafficMode.SPLIT, workflow=name, version=version)
        case "lease" if held is not None and held.lease_until is not None:
            return replace(held, lease_until=held.lease_until + timedelta(seconds=version))
        case "spoilt":
            return stable_plan(ONE, workflow=name, version=version, rule_sets=(replace(rule_set(), spec={}),))
    return stable_plan(ONE, workflow=name, version=version)
