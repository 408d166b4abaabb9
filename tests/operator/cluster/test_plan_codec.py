"""Plans as ConfigMaps and what gateways say in their Leases: pure, and read back as they were."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.errors import Conflict, Refused, Unavailable
from sluicegate.contracts.limits import MAX_PLAN
from sluicegate.contracts.routes import RevisionBody, RoutePlan, RuleSetBody, Share, TrafficMode
from sluicegate.contracts.stages import Stage
from sluicegate.gateway.plan_table import Broken, WorkflowKey
from sluicegate.operator.cluster import gateways, names, plan_codec
from sluicegate.operator.cluster.gateways import Acknowledged, Liveness, Pod
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.loop.clock import HostClock

NOW = datetime(2026, 5, 4, 12, 0, 0, 250_000, tzinfo=UTC)


def body(version: str, text: str = "x") -> RevisionBody:
    return RevisionBody(name=f"bot-{version}", digest="sha256:0", version=version, spec={"prompt": text})


def plan(version: int = 7, text: str = "x", **more: Any) -> RoutePlan:
    return RoutePlan(
        namespace="shop",
        workflow="bot",
        version=version,
        stable=body("1.0.0", text),
        candidate=body("1.1.0"),
        stage=Stage.CONTROLLED,
        attempt=1,
        mode=TrafficMode.SPLIT,
        share=Share(1, 5),
        lease_until=NOW,
        **more,
    )


def as_stored(item: dict[str, Any], revision: int = 41) -> dict[str, Any]:
    return item | {"metadata": item["metadata"] | {"uid": "u", "resourceVersion": str(revision)}}


@pytest.mark.parametrize("text", ["short", "x" * 300_000, "ü" * 200_000], ids=["plain", "packed", "wide"])
def test_a_plan_comes_back_as_it_was(text: str) -> None:
    made = plan(text=text)
    item = plan_codec.encode(made, owner="owner-uid")
    found = plan_codec.stored(as_stored(item))
    assert found is not None
    assert plan_codec.decode(found) == made
    assert (found.key, found.version, found.revision) == (("shop", "bot"), 7, 41)
    assert ("plan.json" in item["data"]) == (text == "short"), "people can read small ones"
    assert item["metadata"]["labels"][names.PLAN_LABEL] == "bot"
    assert item["metadata"]["labels"].items() >= plan_codec.LABELS.items()
    assert item["metadata"]["ownerReferences"][0]["uid"] == "owner-uid"


def test_a_plan_that_does_not_fit_is_refused_with_sizes() -> None:
    noise = "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(700_000))
    with pytest.raises(Refused) as told:
        plan_codec.encode(plan(text=noise), owner=None)
    (problem,) = told.value.problems
    assert "shop/bot does not fit" in problem.message
    assert "bot-1.0.0 2100" in problem.message, "700,000 characters of three bytes"
    assert str(MAX_PLAN) in (problem.allowed or "")


@pytest.mark.parametrize(
    ("known", "version", "later", "news"),
    [(False, 1, 0, True), (True, 8, 0, True), (True, 7, 20, True), (True, 7, 0, False), (True, 6, 20, False)],
    ids=["first", "newer", "renewed", "same", "older"],
)
def test_what_is_worth_a_write(known: bool, version: int, later: int, news: bool) -> None:
    held = plan_codec.stored(as_stored(plan_codec.encode(plan(7), owner=None)))
    other = replace(plan(version), lease_until=NOW + timedelta(seconds=later))
    assert plan_codec.is_news(held if known else None, other) is news


SPOILT: dict[str, dict[str, Any]] = {
    "no label": {"labels": {}},
    "another's label": {"labels": {names.PLAN_LABEL: "other"}},
}


@pytest.mark.parametrize("change", SPOILT)
def test_another_config_map_is_no_plan(change: str) -> None:
    item = as_stored(plan_codec.encode(plan(), owner=None))
    item["metadata"] |= SPOILT[change]
    assert plan_codec.stored(item) is None


@pytest.mark.parametrize("key", ["plan.json", "version"])
def test_a_spoilt_plan_is_no_plan(key: str) -> None:
    item = as_stored(plan_codec.encode(plan(), owner=None))
    item["data"] = {name: text for name, text in item["data"].items() if name != key}
    assert plan_codec.stored(item) is None
    item["data"][key] = "{}"
    found = plan_codec.stored(item)
    if found is not None:
        with pytest.raises(Unavailable, match="cannot be read"):
            plan_codec.decode(found)


def test_what_a_later_version_added_to_a_plan_is_left_out() -> None:
    made = plan(rule_sets=(RuleSetBody(name="care", version="1", digest="sha256:1", spec={}),))
    item = plan_codec.encode(made, owner=None)
    inside = json.loads(item["data"]["plan.json"])
    parts = [inside[name] for name in ("stable", "candidate", "share", "control", "mirror_budget")]
    for one in (inside, *parts, *inside["rule_sets"]):
        one["added"] = {"later": 1}
    item["data"]["plan.json"] = json.dumps(inside)
    found = plan_codec.stored(as_stored(item))
    assert found is not None
    assert plan_codec.decode(found) == made


def test_one_line_for_people() -> None:
    said = plan_codec.summary(plan())
    assert said == "plan 7: 1/5 to 1.1.0, the rest to 1.0.0 (Controlled, attempt 1)"
    mirrored = replace(plan(), mode=TrafficMode.MIRROR, stage=Stage.SHADOW)
    assert plan_codec.summary(mirrored) == (
        "plan 7: everybody to 1.0.0, a copy of 1/5 to 1.1.0 (Shadow, attempt 1)"
    )
    assert plan_codec.summary(replace(plan(), mode=TrafficMode.STABLE_ONLY)) == "plan 7: everybody to 1.0.0"


KEYS = st.builds(WorkflowKey, st.sampled_from(["shop", "team"]), st.sampled_from(["a", "b"]))


@given(
    st.sampled_from([("*",), ("shop",), ("shop", "team")]),
    st.integers(0, 10**9),
    st.dictionaries(KEYS, st.tuples(st.integers(1, 99), st.text(max_size=20))),
)
def test_a_gateways_word_comes_back(
    serves: tuple[str, ...], applied: int, broken: dict[WorkflowKey, tuple[int, str]]
) -> None:
    said = Acknowledged(serves=serves, applied={name: applied + len(name) for name in serves}, broken=broken)
    item = gateways.encode("g1", "system", said, NOW, Pod(name="p", uid="u"))
    assert gateways.decode(item) == said
    assert item["spec"]["renewTime"] == "2026-05-04T12:00:00.250000Z"  # MicroTime of the Lease API
    assert item["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    ]


def test_what_cannot_be_read_is_nothing_said() -> None:
    item = {"metadata": {"annotations": {names.SERVES: "*", names.APPLIED: "x", gateways.BROKEN: "[1]"}}}
    assert gateways.decode(item) == Acknowledged(serves=("*",))
    assert gateways.decode({"metadata": {}}) == Acknowledged(serves=())


def test_more_broken_plans_than_can_be_said() -> None:
    every = [Broken(WorkflowKey("shop", f"w{number}"), 1, "x") for number in range(gateways.MOST_BROKEN + 1)]
    assert gateways.listed(every) is None
    assert len(gateways.listed(every[:-1]) or {}) == gateways.MOST_BROKEN


def lease(name: str, revision: int, *, applied: int = 1, serves: tuple[str, ...] = ("*",)) -> dict[str, Any]:
    said = Acknowledged(serves=serves, applied=dict.fromkeys(serves, applied))
    return as_stored(gateways.encode(name, "system", said, NOW), revision)


def test_a_gateway_lives_while_its_lease_moves() -> None:
    known = Liveness()
    assert known.seen(lease("a", 1), 0.0, deleted=False), "it came"
    assert not known.seen(lease("a", 2), 5.0, deleted=False), "a heartbeat is no news"
    assert not known.seen(lease("a", 2), 19.0, deleted=False), "the same again is no sign of life"
    assert [name for name, _ in known.alive("shop", 19.9)] == ["sluicegate-gateway-a"]
    assert known.alive("shop", 20.0) == ()
    assert known.seen(lease("a", 3), 21.0, deleted=False), "it came back"
    assert known.alive("shop", 22.0)
    assert known.seen(lease("a", 4, applied=9), 23.0, deleted=False)


def test_a_deleted_lease_says_nothing_of_its_gateway() -> None:
    """Somebody deleted it by hand: the gateway serves, and writes its Lease again within a heartbeat."""
    known = Liveness()
    known.seen(lease("a", 1), 0.0, deleted=False)
    known.seen(lease("b", 2), 0.0, deleted=False)
    known.seen(lease("a", 3), 4.0, deleted=True)
    bare = {"metadata": lease("b", 2)["metadata"] | {"annotations": {}}}
    known.seen(bare, 4.0, deleted=True)  # a list lacked it
    assert [(name[-1], said.has_applied("shop")) for name, said in known.alive("shop", 4.0)] == [
        ("a", 1),
        ("b", 1),
    ]
    assert not known.seen(lease("a", 5), 5.0, deleted=False), "it is there again, as it was"
    assert [name[-1] for name, _ in known.alive("shop", 15.0)] == ["a"], "b lived no more"
    known.seen(lease("a", 5), 30.0, deleted=True)
    assert known._known == {}, "those that are deleted and silent are forgotten"


def test_a_gateway_that_leaves_is_not_waited_for() -> None:
    known = Liveness()
    known.seen(lease("a", 1), 0.0, deleted=False)
    left = lease("a", 2)
    left["spec"]["holderIdentity"] = ""
    assert known.seen(left, 1.0, deleted=False), "news"
    assert known.alive("shop", 1.0) == ()
    assert not known.seen(left, 1.0, deleted=True), "no more news"
    assert known.seen(lease("a", 4), 2.0, deleted=False), "it came back"
    assert known.seen(left, 3.0, deleted=True), "the deletion is all that is told of it"
    assert known.alive("shop", 3.0) == ()


def test_a_gateway_of_other_namespaces_is_not_waited_for() -> None:
    known = Liveness()
    known.seen(lease("a", 1, serves=("team",)), 0.0, deleted=False)
    assert known.alive("shop", 1.0) == ()
    ((_, said),) = known.alive("team", 1.0)
    assert (said.has_applied("team"), said.has_applied("shop")) == (1, 0)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"plan.json": {"stable": {"spec": 5}}},
        {"plan.json": {"stable": {"spec": {"runtime": "Service", "service": []}}}},
        {"plan.json": {"version": 2**70}, "version": str(2**70)},
        {"leaseUntil": "2026-05-04T12:00:00"},
    ],
    ids=["no-object", "no-service", "endless-version", "no-time-zone"],
)
def test_a_plan_that_nobody_could_work_with_is_no_plan(spoilt: dict[str, Any]) -> None:
    item = plan_codec.encode(plan(), owner=None)
    inside = json.loads(item["data"]["plan.json"])
    texts = {name: value for name, value in spoilt.items() if name != "plan.json"}
    for name, value in spoilt.get("plan.json", {}).items():
        inside[name] = inside[name] | value if isinstance(value, dict) else value
    item["data"] |= {"plan.json": json.dumps(inside), **texts}
    assert plan_codec.readable(as_stored(item)) is None


async def test_a_plan_that_lost_its_label_is_written_anew() -> None:
    """Otherwise every write would meet the version that was read long ago."""

    class Api:
        made: dict[str, Any] = as_stored(plan_codec.encode(plan(), owner=None))

        async def get(self, *_: Any) -> dict[str, Any]:
            return self.made

        async def create(self, *_: Any, **__: Any) -> None:
            raise Conflict("it is there")

        async def apply(self, _api: Any, item: dict[str, Any], *, manager: str) -> dict[str, Any]:
            if item["metadata"]["resourceVersion"] != self.made["metadata"]["resourceVersion"]:
                raise Conflict("another version")
            self.made = as_stored(item, 51)
            return self.made

    api = Api()
    plans = ConfigMapPlans(api, Fence(), HostClock(), lambda *_: None)  # type: ignore[arg-type]
    plans.seen_plan(api.made, deleted=False)
    labels = api.made["metadata"]["labels"] | {names.PLAN_LABEL: "other"}
    moved = as_stored(api.made | {"metadata": api.made["metadata"] | {"labels": labels}}, 50)
    api.made = moved
    plans.seen_plan(moved, deleted=False)
    with pytest.raises(Conflict):
        await plans.write(plan(8))
    await plans.write(plan(8))
    assert await plans.plan("shop", "bot") == plan(8)


class Fence:
    def epoch(self) -> int:
        return 1
