"""The plan table of a gateway pod: the API server's word holds; what every worker has taken is acknowledged, no more."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.gateway.plan_table import Broken, PlanTable, WorkflowKey
from sluicegate.gateway.protocols.places import CredentialFile, credential_path
from sluicegate.operator.edge.board import Applied, PlanBoard
from sluicegate.operator.edge.credentials import Secret, Wanted, wanted
from tests.gateway.components import component, spec_of, stable_plan

SPEC = spec_of(component("http://127.0.0.1:9"))


def plan(workflow: str, version: int, namespace: str = "shop") -> Any:
    return stable_plan(SPEC, namespace=namespace, workflow=workflow, version=version)


async def test_the_api_servers_word_holds(tmp_path: Path) -> None:
    """A workflow that was deleted and made again begins with a low version; a table of a host never falls."""
    board = PlanBoard(tmp_path / "plans.db", SystemClock())
    first = await board.adopt(plan("a", 9))
    assert await board.adopt(plan("a", 9)) == first, "nothing moved"
    assert await board.adopt(plan("a", 1)) > first
    assert await board.plans() == (plan("a", 1),)
    before = await board.adopt_all([plan("b", 3), plan("c", 4)], None)
    assert await board.plans() == (plan("b", 3), plan("c", 4))
    assert await board.adopt_all([plan("b", 3), plan("c", 4)], None) == before
    await board.adopt_all([plan("x", 1, "team")], ("team",))
    assert len(await board.plans()) == 3, "other namespaces stay"
    await board.adopt_all([], ("shop",))
    assert await board.plans() == (plan("x", 1, "team"),)
    await board.close()


async def test_workers_say_how_far_they_are(tmp_path: Path) -> None:
    board, clock = PlanBoard(tmp_path / "plans.db", SystemClock()), SystemClock()
    await board.adopt(plan("a", 1))
    workers = PlanTable(tmp_path / "plans.db")
    assert (await board.standing()).taken == 0, "nobody lives"
    key = WorkflowKey("shop", "a")
    workers.acknowledge("w0", {key: 1}, clock.now(), generation=5)
    workers.acknowledge("w1", {}, clock.now(), generation=3, broken=[Broken(key, 1, "no")])
    standing = await board.standing()
    assert (standing.workers, standing.taken, standing.broken) == (2, 3, (Broken(key, 1, "no"),))
    assert workers.still_alive("w1", clock.now(), 7)
    assert not workers.still_alive("w2", clock.now(), 7), "it has to say everything"
    assert (await board.standing()).taken == 5
    await board.forget("w1")
    assert (await board.standing()).broken == ()
    workers.close()
    await board.close()


def test_what_is_written_is_applied_when_it_is_taken() -> None:
    applied = Applied()
    applied.written("shop", 10, 1)
    applied.written("shop", 12, 2)
    applied.written("team", 11, 2)
    applied.taken(0)
    assert applied.done == {}
    applied.taken(1)
    assert (applied.done, applied.is_waiting()) == ({"shop": 10}, True)
    applied.written("shop", 20, 2)  # a bookmark: nothing to take
    applied.taken(5)
    assert (applied.done, applied.is_waiting()) == ({"shop": 20, "team": 11}, False)


def test_exactly_what_plans_name_is_wanted() -> None:
    own, stub = ({"secretKeyRef": {"name": name, "key": "token"}} for name in ("own", "stub"))
    part = component("http://127.0.0.1:9", endpoint={"credentialRef": own})
    part["mirrorStub"] = {"endpoint": {"url": "http://127.0.0.1:8", "credentialRef": stub}}
    other = component("http://127.0.0.1:9", name="free", endpoint={"credentialRef": {"env": "TOKEN"}})
    made = replace(stable_plan(spec_of(part, other)), namespace="shop")
    assert wanted(made) == {Wanted(Secret("shop", name), "token") for name in ("own", "stub")}


@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/passwd", "a/b", "."])
def test_a_key_leads_nowhere_else(tmp_path: Path, key: str) -> None:
    found = credential_path(tmp_path, "shop", "model", key)
    assert found.parent == tmp_path
    assert found.name.isalnum()


def test_a_credential_is_read_when_it_changed(tmp_path: Path) -> None:
    file = CredentialFile(tmp_path / "c")
    assert file.token() == ""
    for value in ("one", "two"):
        (tmp_path / "draft").write_text(f"{value}\n")
        (tmp_path / "draft").replace(tmp_path / "c")
        assert file.token() == value
    (tmp_path / "c").unlink()
    assert file.token() == ""
    assert "two" not in repr(file)
