"""What every resource store promises. A subclass gives `store` (a fixture with a store of 50 changes of history).

Used for the in-memory store, SQLite and Kubernetes. Statuses and specs are of the real kinds, so that a real schema takes them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest

from sluicegate.contracts.errors import Conflict, NotFound, Refused
from sluicegate.operator.ports import Change, ChangeType, Json, ResourceStore
from sluicegate.operator.resources.store import Expired
from sluicegate.rollout.model import Ref
from tests.operator.samples import component, owned, workflow

KIND = "AgentComponent"
HISTORY = 50


def at(name: str) -> Ref:
    return Ref(KIND, "default", name)


async def taken(changes: AsyncIterator[Change], count: int) -> list[tuple[ChangeType, str]]:
    """The next `count` changes."""
    found: list[tuple[ChangeType, str]] = []
    async with asyncio.timeout(90):
        while len(found) < count:
            change = await anext(changes)
            found.append((change.type, change.item["metadata"]["name"]))
    return found


def spec_of(item: Json, **changes: object) -> Json:
    return {**item, "spec": {**item["spec"], **changes}}


def reported(item: Json, generation: int) -> Json:
    """The item with this status."""
    return {**item, "status": {"observedGeneration": generation}}


def generation_in(item: Json) -> int:
    """What the status says."""
    found: int = item["status"]["observedGeneration"]
    return found


class StoreContract:
    async def eventually(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Dependents go in the same commit; a store whose garbage collector is another process waits."""
        assert await condition()

    async def test_a_new_object_gets_its_system_fields_and_no_status(self, store: ResourceStore) -> None:
        wanted = {**component(generation=7, uid="mine", resourceVersion=""), "status": {"x": 1}}
        made = await store.create(wanted)
        metadata = made["metadata"]
        assert metadata["uid"] not in {"", "mine"}
        assert metadata["generation"] == 1
        assert int(metadata["resourceVersion"]) > 0
        assert metadata["creationTimestamp"].endswith("Z")
        assert "status" not in made
        assert await store.get(at("planner")) == made

    async def test_a_name_is_taken_once(self, store: ResourceStore) -> None:
        await store.create(component())
        with pytest.raises(Conflict):
            await store.create(component())

    async def test_what_is_not_there_is_not_found(self, store: ResourceStore) -> None:
        with pytest.raises(NotFound):
            await store.get(at("nobody"))
        with pytest.raises(NotFound):
            await store.update(component("nobody"))
        with pytest.raises(NotFound):
            await store.delete(at("nobody"))

    async def test_versions_grow_over_all_kinds(self, store: ResourceStore) -> None:
        one = await store.create(component("a"))
        two = await store.create(workflow("b"))
        three = await store.update(spec_of(one, owner="other"))
        versions = [int(item["metadata"]["resourceVersion"]) for item in (one, two, three)]
        assert versions == sorted(set(versions))

    async def test_generation_moves_with_the_spec_only(self, store: ResourceStore) -> None:
        made = await store.create(workflow())
        labelled = await store.update({**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}})
        assert labelled["metadata"]["generation"] == 1
        told = await store.update_status(reported(labelled, 1))
        assert told["metadata"]["generation"] == 1
        changed = await store.update(spec_of(told, version="1.0.1"))
        assert changed["metadata"]["generation"] == 2

    async def test_spec_and_status_have_separate_paths(self, store: ResourceStore) -> None:
        made = await store.create(workflow())
        told = await store.update_status(reported(spec_of(made, version="6.6.6"), 1))
        assert told["spec"] == made["spec"]
        assert generation_in(told) == 1
        changed = await store.update(reported(spec_of(told, version="1.0.1"), 2))
        assert generation_in(changed) == 1
        assert changed["spec"]["version"] == "1.0.1"

    async def test_a_status_is_replaced_not_merged(self, store: ResourceStore) -> None:
        made = await store.create(workflow())
        full = reported(made, 1)
        full["status"]["latchedDigests"] = ["sha256:" + "0" * 64]
        told = await store.update_status(full)
        assert told["status"]["latchedDigests"]
        assert "latchedDigests" not in (await store.update_status(reported(told, 2)))["status"]

    async def test_a_write_that_changes_nothing_makes_no_version(self, store: ResourceStore) -> None:
        made = await store.create(workflow())
        told = await store.update_status(reported(made, 1))
        before = (await store.listing("AgentWorkflow")).version
        assert await store.update(told) == told
        assert await store.update_status(told) == told
        assert (await store.listing("AgentWorkflow")).version == before

    async def test_a_stale_write_is_a_conflict(self, store: ResourceStore) -> None:
        stale = await store.create(workflow())
        await store.update(spec_of(stale, version="1.0.1"))
        for write in (store.update, store.update_status):
            with pytest.raises(Conflict):
                await write(reported(spec_of(stale, version="1.0.2"), 1))
        held = await store.get(Ref("AgentWorkflow", "default", "echo"))
        assert held["spec"]["version"] == "1.0.1"
        assert held.get("status", {}).get("observedGeneration") != 1

    async def test_a_write_without_a_version_is_not_conditional(self, store: ResourceStore) -> None:
        made = await store.create(component())
        await store.update(spec_of(made, owner="other"))
        changed = await store.update(component(owner="third"))
        assert changed["spec"]["owner"] == "third"
        assert changed["metadata"]["uid"] == made["metadata"]["uid"]

    async def test_an_object_made_again_is_another_object(self, store: ResourceStore) -> None:
        first = await store.create(component())
        await store.delete(at("planner"), uid=first["metadata"]["uid"])
        second = await store.create(component())
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
        with pytest.raises(Conflict):
            await store.update(first)
        with pytest.raises(Conflict):
            await store.delete(at("planner"), uid=first["metadata"]["uid"])

    async def test_finalizers_hold_an_object_until_the_last_one_goes(self, store: ResourceStore) -> None:
        made = await store.create(component(finalizers=["a/b", "c/d"]))
        await store.delete(at("planner"))
        held = await store.get(at("planner"))
        assert held["metadata"]["deletionTimestamp"]
        await store.delete(at("planner"))
        assert await store.get(at("planner")) == held, "asking twice changes nothing"
        held = await store.update({**held, "metadata": {**held["metadata"], "finalizers": ["c/d"]}})
        with pytest.raises(Refused):
            await store.update({**held, "metadata": {**held["metadata"], "finalizers": ["c/d", "e/f"]}})
        await store.update({**held, "metadata": {**held["metadata"], "finalizers": []}})
        with pytest.raises(NotFound):
            await store.get(at("planner"))
        assert made["metadata"]["uid"]

    async def test_one_finalizer_comes_and_goes_and_the_others_stay(self, store: ResourceStore) -> None:
        made = await store.create(component(finalizers=["a/b"]))
        uid = made["metadata"]["uid"]
        await store.update(spec_of(made, owner="meanwhile"))
        for _ in range(2):
            await store.finalizer(at("planner"), uid, "c/d", present=True)
        assert sorted((await store.get(at("planner")))["metadata"]["finalizers"]) == ["a/b", "c/d"]
        await store.delete(at("planner"))
        with pytest.raises(Refused):
            await store.finalizer(at("planner"), uid, "e/f", present=True)
        with pytest.raises(Conflict):
            await store.finalizer(at("planner"), "another", "c/d", present=False)
        for _ in range(2):
            await store.finalizer(at("planner"), uid, "c/d", present=False)
        assert (await store.get(at("planner")))["metadata"]["finalizers"] == ["a/b"]
        await store.finalizer(at("planner"), uid, "a/b", present=False)
        with pytest.raises(NotFound):
            await store.finalizer(at("planner"), uid, "a/b", present=False)

    async def test_children_go_with_their_last_owner(self, store: ResourceStore) -> None:
        one, two = await store.create(component("one")), await store.create(component("two"))
        both = owned("both", one)
        both["metadata"]["ownerReferences"] += owned("x", two)["metadata"]["ownerReferences"]
        child = await store.create(owned("child", one))
        await store.create(owned("grandchild", child))
        await store.create(both)

        async def left(*expected: str) -> bool:
            return tuple(item["metadata"]["name"] for item in (await store.listing(KIND)).items) == expected

        await store.delete(at("one"))
        await self.eventually(lambda: left("both", "two"))
        await store.delete(at("two"))
        await self.eventually(left)

    async def test_a_child_with_a_finalizer_stays_until_it_is_let_go(self, store: ResourceStore) -> None:
        owner = await store.create(component("owner"))
        await store.create(owned("child", owner, finalizers=["a/b"]))
        await store.delete(at("owner"))

        async def is_marked() -> bool:
            return "deletionTimestamp" in (await store.get(at("child")))["metadata"]

        await self.eventually(is_marked)
        child = await store.get(at("child"))
        await store.update({**child, "metadata": {**child["metadata"], "finalizers": []}})
        with pytest.raises(NotFound):
            await store.get(at("child"))

    async def test_children_are_found_by_their_owner(self, store: ResourceStore) -> None:
        mine, other = [await store.create(component(name)) for name in ("mine", "other")]
        for name, owner in (("b", mine), ("a", mine), ("c", other)):
            await store.create(owned(name, owner))
        found = await store.owned(KIND, mine["metadata"]["uid"])
        assert [item["metadata"]["name"] for item in found] == ["a", "b"]
        assert await store.owned("AgentWorkflow", mine["metadata"]["uid"]) == ()
        await store.delete(at("a"))
        assert len(await store.owned(KIND, mine["metadata"]["uid"])) == 1

    async def test_no_child_outlives_its_owner_by_being_late(self, store: ResourceStore) -> None:
        owner = await store.create(component("owner"))
        await store.delete(at("owner"))
        with pytest.raises(Conflict):
            await store.create(owned("late", owner))

    async def test_lists_are_by_kind_namespace_and_label(self, store: ResourceStore) -> None:
        await store.create(component("b", labels={"team": "x"}))
        await store.create(component("a", labels={"team": "y"}))
        await store.create({**component("c"), "metadata": {"name": "c", "namespace": "shop"}})
        await store.create(workflow("w"))

        async def names(*args: object) -> list[str]:
            return [item["metadata"]["name"] for item in (await store.listing(KIND, *args)).items]  # type: ignore[arg-type]

        assert await names() == ["a", "b", "c"]
        assert await names("default") == ["a", "b"]
        assert await names(None, {"team": "x"}) == ["b"]

    async def test_a_watch_tells_every_change_in_order_from_where_it_begins(
        self, store: ResourceStore
    ) -> None:
        await store.create(component("before"))
        version = (await store.listing(KIND)).version
        async with aclosing(store.watch(frozenset({KIND}), version)) as changes:  # type: ignore[type-var]
            one = await store.create(component("one"))
            await store.create(workflow("unwatched"))
            await store.update(spec_of(one, owner="other"))
            await store.delete(at("one"))
            told = await taken(changes, 3)
            assert told == [
                (ChangeType.ADDED, "one"),
                (ChangeType.MODIFIED, "one"),
                (ChangeType.DELETED, "one"),
            ]
            waiting = asyncio.ensure_future(taken(changes, 1))
            await asyncio.sleep(0)
            await store.create(component("live"))
            assert await waiting == [(ChangeType.ADDED, "live")]

    async def test_a_watch_resumes_without_loss_or_repetition(self, store: ResourceStore) -> None:
        names = [f"c{number:02}" for number in range(20)]
        for name in names:
            await store.create(component(name))
        seen: list[str] = []
        after = 0
        while len(seen) < len(names):
            async with aclosing(store.watch(frozenset({KIND}), after)) as changes:  # type: ignore[type-var]
                for _ in range(3):
                    if len(seen) < len(names):
                        change = await anext(changes)
                        seen.append(change.item["metadata"]["name"])
                        after = change.version
        assert seen == names

    async def test_a_watch_that_comes_too_late_is_told_so(self, store: ResourceStore) -> None:
        item = await store.create(component())
        for number in range(3 * HISTORY):
            item = await store.update(spec_of(item, owner=f"team-{number}"))
        with pytest.raises(Expired):
            async with aclosing(store.watch(frozenset({KIND}), 1)) as changes:  # type: ignore[type-var]
                await anext(changes)
        version = (await store.listing(KIND)).version
        async with aclosing(store.watch(frozenset({KIND}), version - 5)) as changes:  # type: ignore[type-var]
            assert len(await taken(changes, 5)) == 5

    async def test_a_storm_of_conflicting_writers_loses_no_increment(self, store: ResourceStore) -> None:
        await store.create(component(owner="0"))

        async def increment() -> None:
            while True:
                held = await store.get(at("planner"))
                await asyncio.sleep(0)
                try:
                    await store.update(spec_of(held, owner=str(int(held["spec"]["owner"]) + 1)))
                except Conflict:
                    continue
                return

        await asyncio.gather(*(increment() for _ in range(25)))
        held = await store.get(at("planner"))
        assert held["spec"]["owner"] == "25"
        assert held["metadata"]["generation"] == 26
