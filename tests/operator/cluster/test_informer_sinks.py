"""Where the informer's objects go."""

from typing import Any

from sluicegate.operator.cluster import gateways, names
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.informer_sinks import CacheSink, Highest, TellingSink
from sluicegate.rollout.model import Ref
from tests.operator import samples


def item(name: str, version: int, *, namespace: str = "a", epoch: int | None = None) -> dict[str, Any]:
    made = samples.workflow(name, namespace=namespace)
    made["metadata"] |= {"uid": f"{namespace}-{name}", "resourceVersion": str(version)}
    return made if epoch is None else {**made, "status": {"epoch": epoch}}


def telling() -> tuple[TellingSink, list[tuple[str, bool]]]:
    told: list[tuple[str, bool]] = []
    return TellingSink(lambda one, deleted: told.append((one["metadata"]["name"], deleted))), told


def test_a_list_tells_of_what_it_lacks() -> None:
    sink, told = telling()
    sink.listed((item("stays", 1), item("goes", 2)), "5", None)
    told.clear()
    sink.listed((item("stays", 1),), "9", None)
    assert told == [("goes", True), ("stays", False)]


def test_what_came_after_the_list_was_made_stays() -> None:
    sink, told = telling()
    sink.seen(item("new", 12), deleted=False)
    told.clear()
    sink.listed((), "9", None)
    assert told == []


def test_an_object_that_nobody_can_read_does_not_hide_the_others() -> None:
    told: list[str] = []

    def tell(one: dict[str, Any], _deleted: bool) -> None:
        if one["metadata"]["name"] == "odd":
            raise KeyError("data")
        told.append(one["metadata"]["name"])

    TellingSink(tell).listed((item("odd", 1), item("plain", 2)), "5", None)
    assert told == ["plain"]


def test_a_gateway_that_says_an_endless_number_says_nothing() -> None:
    lease = {"metadata": {"annotations": {names.SERVES: "*", names.APPLIED: "9" * 5_000}}}
    assert gateways.decode(lease).applied == {}


def test_a_list_of_one_namespace_says_nothing_of_another() -> None:
    sink, told = telling()
    sink.listed((item("one", 1),), "5", "a")
    sink.listed((item("one", 2, namespace="b"),), "6", "b")
    told.clear()
    sink.listed((), "9", "b")
    assert told == [("one", True)]


def test_an_object_that_was_made_again_is_told_as_gone_and_as_new() -> None:
    sink, told = telling()
    sink.listed((item("one", 1),), "5", None)
    told.clear()
    again = item("one", 8)
    again["metadata"]["uid"] = "another"
    sink.listed((again,), "9", None)
    assert told == [("one", True), ("one", False)]


async def test_the_highest_epoch_of_any_status_is_known_before_somebody_leads() -> None:
    epochs, cache = Highest(), Cache()
    sink = CacheSink("AgentWorkflow", cache, epochs)
    sink.listed((item("one", 1, epoch=4), item("two", 2)), "5", None)
    sink.seen(item("two", 6, epoch=9), deleted=False)
    sink.seen(item("one", 7, epoch=3), deleted=True)
    assert epochs.highest == 9
    assert cache.get(Ref("AgentWorkflow", "a", "one")) is None
    assert cache.counts() == {"AgentWorkflow": 1}
