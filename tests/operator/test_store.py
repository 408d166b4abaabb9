from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluicegate.contracts.errors import Conflict, NotFound, Unavailable
from sluicegate.operator.ports import ResourceStore
from sluicegate.operator.resources.memory import MemoryStore
from sluicegate.operator.resources.store import SqliteStore, Verb, Write
from sluicegate.operator.resources.watch import LocalStore
from tests.operator.samples import component
from tests.operator.store_contract import HISTORY, StoreContract, at


class TestSqlite(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ResourceStore]:
        store = LocalStore(SqliteStore(tmp_path / "resources.db", history=HISTORY))
        yield store
        store.close()


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> ResourceStore:
        return MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC), history=HISTORY)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "resources.db")
    yield store
    store.close()


def test_a_batch_is_written_whole_or_not_at_all(sqlite: SqliteStore) -> None:
    sqlite.create(component("taken"))
    before = sqlite.version()
    batch = [Write(verb=Verb.CREATE, item=component(name)) for name in ("a", "b", "taken")]
    with pytest.raises(Conflict):
        sqlite.write(batch)
    assert sqlite.version() == before
    with pytest.raises(NotFound):
        sqlite.get(at("a"))


def test_a_dry_run_answers_what_would_be_and_stores_nothing(sqlite: SqliteStore) -> None:
    told: list[int] = []
    sqlite.on_commit.append(lambda: told.append(1))
    (would,) = sqlite.write([Write(verb=Verb.CREATE, item=component())], dry_run=True)
    assert would["metadata"]["generation"] == 1
    assert (sqlite.version(), told) == (0, [])
    with pytest.raises(NotFound):
        sqlite.get(at("planner"))


def test_a_full_disk_is_told_and_the_next_write_works(sqlite: SqliteStore) -> None:
    pages = sqlite._base.execute("PRAGMA page_count").fetchone()[0]
    sqlite._base.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to be full
    with pytest.raises(Unavailable, match="full"):
        sqlite.create(component("large") | {"padding": "x" * 100_000})
    sqlite._base.execute("PRAGMA max_page_count=100000")
    assert sqlite.create(component("small"))["metadata"]["resourceVersion"] == "1"


def test_everything_is_there_after_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "resources.db"
    first = SqliteStore(path)
    made = first.create(component())
    first.close()
    again = SqliteStore(path)
    assert again.get(at("planner")) == made
    changes, _ = again.changes(frozenset({"AgentComponent"}), 0)
    assert [change.item for change in changes] == [made]
    again.close()


def test_a_commit_survives_the_process_being_killed(tmp_path: Path) -> None:
    """synchronous=FULL (2): SQLite documentation, pragma synchronous."""
    store = SqliteStore(tmp_path / "resources.db")
    assert store._base.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_a_file_of_another_schema_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "resources.db"
    store = SqliteStore(path)
    store._base.execute("PRAGMA user_version=99")
    store.close()
    with pytest.raises(Unavailable, match="another version"):
        SqliteStore(path)
