"""The cache against a model: a dict that is told the same events in their true order."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.ports import Change, ChangeType, Json, ref_of
from sluicegate.operator.resources.store import Expired
from sluicegate.rollout.model import Ref
from tests.operator.samples import component, decision, owned, workflow

KIND = "AgentComponent"
KINDS = frozenset({KIND, "AgentWorkflow", "Decision"})
NAMES = ("a", "b", "c")


def stored(item: Json, version: int, uid: str | None = None) -> Json:
    """As the API server answers."""
    metadata = {
        **item["metadata"],
        "uid": uid or f"uid-{item['metadata']['name']}",
        "resourceVersion": str(version),
    }
    return {**item, "metadata": metadata}


def at(name: str) -> Ref:
    return Ref(KIND, "default", name)


def told(cache: Cache, after: int = 0) -> list[tuple[ChangeType, str]]:
    return [(change.type, change.item["metadata"]["name"]) for change in cache.changes(KINDS, after)]


# A history as a server would have it: each event has the next version; an object that was deleted comes back with a new uid.


@st.composite
def histories(draw: Any) -> list[tuple[str, Json]]:
    """Events in their true order: ("put" or "remove", the object)."""
    alive: dict[str, str] = {}
    events: list[tuple[str, Json]] = []
    for version in range(1, draw(st.integers(1, 25)) + 1):
        name = draw(st.sampled_from(NAMES))
        if name in alive and draw(st.booleans()):
            uid = alive.pop(name)
            events.append(("remove", stored(component(name), version, uid)))
            continue
        uid = alive.setdefault(name, f"{name}-{version}")
        owner = draw(st.sampled_from(("x", "y", None)))
        item = component(name, owner=str(version), labels={"team": draw(st.sampled_from("xy"))})
        if owner:
            item["metadata"]["ownerReferences"] = [{"kind": KIND, "name": owner, "uid": owner}]
        events.append(("put", stored(item, version, uid)))
    return events


def truth(events: list[tuple[str, Json]]) -> dict[Ref, Json]:
    state: dict[Ref, Json] = {}
    for verb, item in events:
        if verb == "put":
            state[ref_of(item)] = item
        else:
            state.pop(ref_of(item))
    return state


def fill(cache: Cache, events: list[tuple[str, Json]]) -> None:
    for verb, item in events:
        cache.put(item) if verb == "put" else cache.remove(item)


def assert_same(cache: Cache, expected: dict[Ref, Json]) -> None:
    assert {ref_of(item): item for item in cache.listing(KIND).items} == expected
    assert cache.counts() == ({KIND: len(expected)} if expected else {})
    for name in NAMES:
        assert cache.get(at(name)) == expected.get(at(name))
    for team in "xy":
        found = {ref_of(item) for item in cache.listing(KIND, "default", {"team": team}).items}
        assert found == {ref for ref, item in expected.items() if item["metadata"]["labels"]["team"] == team}
        owns = [ref for ref, item in sorted(expected.items()) if team in _owners(item)]
        assert [ref_of(item) for item in cache.owned(KIND, team)] == owns


def _owners(item: Json) -> Iterator[str]:
    for owner in item["metadata"].get("ownerReferences", ()):
        yield owner["uid"]


@given(histories())
def test_in_order_it_is_what_the_server_has(events: list[tuple[str, Json]]) -> None:
    cache = Cache()
    fill(cache, events)
    assert_same(cache, truth(events))


@given(histories(), st.randoms(use_true_random=False))
def test_in_any_order_and_more_than_once_it_comes_to_the_same_end(
    events: list[tuple[str, Json]], random: Any
) -> None:
    """A watch that lags behind the answers to our own writes is such an order."""
    mixed = events + random.sample(events, random.randint(0, len(events)))
    random.shuffle(mixed)
    cache = Cache()
    fill(cache, mixed)
    assert_same(cache, truth(events))


@given(histories(), st.integers(0, 25))
def test_a_list_repairs_what_was_missed(events: list[tuple[str, Json]], lost: int) -> None:
    """Nothing was told since `lost`; then the watch lists again."""
    cache = Cache()
    fill(cache, events[:lost])
    state = truth(events)
    cache.sync(KIND, state.values(), str(len(events)))
    assert_same(cache, state)


@given(histories(), st.integers(0, 25))
def test_a_list_that_is_late_undoes_nothing(events: list[tuple[str, Json]], since: int) -> None:
    cache = Cache()
    fill(cache, events)
    before = truth(events[:since])
    cache.sync(KIND, before.values(), str(len(events[:since])))
    assert_same(cache, truth(events))


@given(histories())
def test_the_changes_make_a_follower_equal(events: list[tuple[str, Json]]) -> None:
    cache = Cache()
    fill(cache, events)
    state: dict[Ref, Json] = {}
    changes = cache.changes(KINDS, 0)
    for change in changes:
        ref = ref_of(change.item)
        assert (ref in state) == (change.type is not ChangeType.ADDED)
        if change.type is ChangeType.DELETED:
            del state[ref]
        else:
            state[ref] = change.item
    assert state == truth(events)
    assert [change.version for change in changes] == list(range(1, cache.sequence + 1))


@given(histories(), st.integers(1, 10), st.integers(0, 30))
def test_a_bounded_history_tells_all_or_says_that_it_cannot(
    events: list[tuple[str, Json]], history: int, after: int
) -> None:
    whole, short = Cache(), Cache(history=history)
    fill(whole, events)
    fill(short, events)
    try:
        found = short.changes(KINDS, after)
    except Expired:
        assert whole.sequence - after > history
    else:
        assert found == whole.changes(KINDS, after)


def test_an_older_version_is_no_news() -> None:
    cache = Cache()
    assert cache.put(stored(component("a", owner="new"), 10))
    assert not cache.put(stored(component("a", owner="old"), 9))
    assert not cache.put(stored(component("a", owner="same"), 10))
    held = cache.get(at("a"))
    assert held is not None
    assert held["spec"]["owner"] == "new"
    assert told(cache) == [(ChangeType.ADDED, "a")]


def test_versions_are_numbers() -> None:
    cache = Cache()
    cache.put(stored(component("a"), 9))
    assert cache.put(stored(component("a"), 10)), '"10" < "9" as text'


def test_what_is_gone_does_not_come_back_by_a_late_event() -> None:
    cache = Cache()
    made = stored(component("a"), 5)
    cache.put(made)
    cache.remove(made)  # our own delete was answered; the watch is behind
    assert not cache.put(stored(component("a", owner="late"), 6))
    assert cache.get(at("a")) is None
    assert cache.put(stored(component("a"), 8, "another"))
    assert told(cache) == [(ChangeType.ADDED, "a"), (ChangeType.DELETED, "a"), (ChangeType.ADDED, "a")]


def test_another_object_under_the_name_is_told_as_two_changes() -> None:
    cache = Cache()
    cache.put(stored(component("a"), 5, "one"))
    cache.put(stored(component("a"), 9, "two"))  # the deletion was missed
    assert told(cache) == [(ChangeType.ADDED, "a"), (ChangeType.DELETED, "a"), (ChangeType.ADDED, "a")]
    assert not cache.has("one")
    assert cache.has("two")
    assert cache.uid(at("a")) == "two"


def test_the_end_of_an_earlier_object_does_not_touch_the_present_one() -> None:
    cache = Cache()
    cache.put(stored(component("a"), 9, "two"))
    assert not cache.remove(stored(component("a"), 8, "one"))
    assert cache.uid(at("a")) == "two"


def test_a_decision_is_found_by_its_target_with_or_without_an_owner() -> None:
    rollout: Json = {
        "kind": "WorkflowRollout",
        "metadata": {"name": "echo-1", "namespace": "default", "uid": "r"},
        "spec": {"candidate": {"digest": "sha256:0"}},
        "status": {"stage": "Canary", "attempt": 1},
    }
    cache = Cache()
    with_owner = decision("one", "Promote", rollout)
    without = decision("two", "Promote", rollout)
    del without["metadata"]["ownerReferences"]
    other = decision("three", "Promote", {**rollout, "metadata": {**rollout["metadata"], "uid": "other"}})
    for version, item in enumerate((with_owner, without, other), 1):
        cache.put(stored(item, version))
    assert [item["metadata"]["name"] for item in cache.owned("Decision", "r")] == ["one", "two"]
    cache.remove(stored(with_owner, 9))
    assert [item["metadata"]["name"] for item in cache.owned("Decision", "r")] == ["two"]


def test_an_owner_that_changes_is_an_owner_no_more() -> None:
    cache = Cache()
    owner = stored(component("owner"), 1)
    cache.put(stored(owned("child", owner), 2))
    cache.put(stored(component("child"), 3))
    assert cache.owned(KIND, "uid-owner") == ()


def test_only_noise_is_left_out() -> None:
    cache = Cache()
    item = stored(workflow(), 1)
    item["metadata"] |= {
        "annotations": {"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "x" * 1_000},
        "generateName": "kept",
        "labels": {"umlaut": "ü"},
    }
    cache.put({**item, "metadata": {**item["metadata"], "managedFields": [{"manager": "x"}]}})
    item["metadata"]["annotations"] = {"a": "b"}
    assert cache.get(Ref("AgentWorkflow", "default", "echo")) == item


def test_whoever_changes_a_copy_changes_nothing() -> None:
    cache = Cache()
    item = stored(component("a"), 1)
    cache.put(item)
    item["spec"]["owner"] = "thief"
    held = cache.get(at("a"))
    assert held is not None
    held["spec"]["owner"] = "thief"
    assert cache.listing(KIND).items[0]["spec"]["owner"] == "team-a"


async def test_who_waits_is_woken_by_the_next_change() -> None:
    cache = Cache()
    cache.put(stored(component("a"), 1))
    assert await cache.wait(0) == 1
    waiting = asyncio.ensure_future(cache.wait(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    cache.put(stored(component("b"), 2))
    async with asyncio.timeout(90):
        assert await waiting == 2


def test_a_list_of_one_namespace_says_nothing_of_the_others() -> None:
    cache = Cache()
    for version, namespace in enumerate(("shop", "bank"), 1):
        item = component("a")
        item["metadata"]["namespace"] = namespace
        cache.put(stored(item, version, namespace))
    cache.sync(KIND, [], "9", "shop")
    assert cache.get(Ref(KIND, "shop", "a")) is None
    assert cache.get(Ref(KIND, "bank", "a")) is not None


@settings(max_examples=20)
@given(st.integers(0, 300))
def test_memory_of_gone_objects_is_bounded(count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sluicegate.operator.cluster.cache.GONE", 100)
        cache = Cache(history=10)
        for number in range(count):
            item = stored(component("a"), number + 1, f"uid-{number}")
            cache.put(item)
            cache.remove(item)
        assert len(cache._gone) <= 100
        assert len(cache._changes) <= 10
        assert (cache._owned, cache._uids, cache.counts(), cache.size()) == ({}, {}, {}, 0)


def test_changes_are_of_the_wanted_kinds() -> None:
    cache = Cache()
    cache.put(stored(component("a"), 1))
    cache.put(stored(workflow("w"), 2))
    found = cache.changes(frozenset({"AgentWorkflow"}), 0)
    assert found == [Change(version=2, type=ChangeType.ADDED, item=stored(workflow("w"), 2))]
