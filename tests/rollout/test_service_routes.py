"""The patch of an HTTPRoute. Applied by jsonpatch (RFC 6902); the split is read off the rule as Gateway API defines it."""

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.resources.service import ServiceBackend
from sluicegate.contracts.routes import RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.rollout import service_routes, service_wishes
from sluicegate.rollout.model import Trouble
from sluicegate.rollout.service_claims import CLAIMS, claims_of
from sluicegate.rollout.service_parents import acknowledged
from sluicegate.rollout.service_wishes import Wanted, weights_of

Json = dict[str, Any]
NONE = Share(0)
V1, V2 = ServiceBackend(name="agent-v1", port=8080), ServiceBackend(name="agent-v2", port=8080)


def body(backend: ServiceBackend, rule: str | None = "agent") -> RevisionBody:
    route = {"name": "shop"} | ({} if rule is None else {"rule": rule})
    service = {"route": route, "backend": backend.to_json()}
    spec = {"version": backend.name, "runtime": "Service", "service": service}
    return RevisionBody(name=backend.name, digest="sha256:0", version=backend.name, spec=spec)


def plan(
    mode: TrafficMode = TrafficMode.STABLE_ONLY, share: Share = NONE, rule: str | None = "agent"
) -> RoutePlan:
    candidate = None if mode is TrafficMode.STABLE_ONLY else body(V2, rule)
    return RoutePlan(
        namespace="shop",
        workflow="bot",
        version=1,
        stable=body(V1, rule),
        candidate=candidate,
        mode=mode,
        share=share,
    )


def target(*args: Any, **fields: Any) -> Wanted:
    found = service_wishes.wanted(plan(*args, **fields))
    assert found is not None
    return found


def ref(name: str, weight: int | None = None, **more: Any) -> Json:
    return {"name": name, "port": 8080} | ({} if weight is None else {"weight": weight}) | more


def rule(*refs: Json, name: str | None = "agent", **more: Any) -> Json:
    return {"backendRefs": list(refs)} | ({} if name is None else {"name": name}) | more


def route(*rules: Json, **annotations: str) -> Json:
    metadata: Json = {"name": "shop", "namespace": "shop", "resourceVersion": "7", "generation": 3}
    if annotations:
        metadata["annotations"] = {key.replace("__", "/"): text for key, text in annotations.items()}
    return {
        "metadata": metadata,
        "spec": {"parentRefs": [{"name": "edge"}], "rules": list(rules)},
    }


def patched(item: Json, wish: Wanted) -> Json:
    operations = service_routes.patch(item, wish)
    assert not isinstance(operations, Trouble), operations
    made: Json = jsonpatch.apply_patch(item, list(operations))
    return made


def shares(found: Json) -> dict[str, Fraction]:
    """Which part of the answered requests goes where: weight over the sum of weights, 1 when absent (Gateway API)."""
    weights = {item["name"]: item.get("weight", 1) for item in found["backendRefs"]}
    whole = sum(weights.values())
    return {name: Fraction(weight, whole) for name, weight in weights.items() if weight}


def copies(found: Json) -> dict[str, Fraction]:
    """Which part is mirrored where: fraction, else percent, else all (Gateway API)."""
    made = {}
    for item in found.get("filters", []):
        if item["type"] == "RequestMirror":
            mirror = item["requestMirror"]
            part = mirror.get("fraction") or {"numerator": mirror.get("percent", 100)}
            made[mirror["backendRef"]["name"]] = Fraction(part["numerator"], part.get("denominator", 100))
    return made


MIRROR, SPLIT = TrafficMode.MIRROR, TrafficMode.SPLIT


def test_a_split_has_the_share_as_weights() -> None:
    found = patched(route(rule(ref("agent-v1"))), target(SPLIT, Share(20, 100)))["spec"]["rules"][0]
    assert [(item["name"], item["weight"]) for item in found["backendRefs"]] == [
        ("agent-v1", 80),
        ("agent-v2", 20),
    ]


def test_a_mirror_is_a_filter_and_leaves_the_answers_to_stable() -> None:
    found = patched(route(rule(ref("agent-v1"))), target(MIRROR, Share(1, 100)))["spec"]["rules"][0]
    assert shares(found) == {"agent-v1": 1}
    assert copies(found) == {"agent-v2": Fraction(1, 100)}


def test_full_keeps_stable_at_weight_zero() -> None:
    found = patched(route(rule(ref("agent-v1"))), target(SPLIT, Share(1)))["spec"]["rules"][0]
    assert [(item["name"], item["weight"]) for item in found["backendRefs"]] == [
        ("agent-v1", 0),
        ("agent-v2", 1),
    ]


def test_at_rest_the_manifest_of_the_user_is_as_it_was() -> None:
    written = route(rule(ref("agent-v1"), filters=[{"type": "RequestHeaderModifier"}]), rule(name="other"))
    item = patched(written, target())
    assert item["spec"] == written["spec"]
    for wish in (
        target(MIRROR, Share(1, 100)),
        target(SPLIT, Share(20, 100)),
        target(SPLIT, Share(1)),
        target(),
    ):
        item = patched(item, wish)
    assert shares(item["spec"]["rules"][0]) == {"agent-v1": 1}
    item["spec"]["rules"][0]["backendRefs"][0].pop("weight")
    assert item["spec"] == written["spec"]


def test_the_mirror_of_a_candidate_that_is_gone_is_found_again() -> None:
    item = patched(route(rule(ref("agent-v1"))), target(MIRROR, Share(1, 100)))
    assert "filters" not in patched(item, target())["spec"]["rules"][0]


def test_the_mirror_of_somebody_else_stays() -> None:
    other = {"type": "RequestMirror", "requestMirror": {"backendRef": ref("audit"), "percent": 5}}
    item = patched(route(rule(ref("agent-v1"), filters=[other])), target(MIRROR, Share(1, 100)))
    assert copies(item["spec"]["rules"][0]) == {"audit": Fraction(1, 20), "agent-v2": Fraction(1, 100)}
    assert patched(item, target())["spec"]["rules"][0]["filters"] == [other]


def test_a_mirror_in_percent_that_says_the_same_is_left_alone() -> None:
    item = patched(route(rule(ref("agent-v1"))), target(MIRROR, Share(5, 100)))
    mirror = item["spec"]["rules"][0]["filters"][0]["requestMirror"]
    mirror.pop("fraction")
    mirror["percent"] = 5
    assert service_routes.patch(item, target(MIRROR, Share(5, 100))) == ()
    mirror["percent"] = 50
    assert copies(patched(item, target(MIRROR, Share(5, 100)))["spec"]["rules"][0])["agent-v2"] == Fraction(
        1, 20
    )


def test_filters_of_a_backend_stay() -> None:
    own = [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x"]}}]
    found = patched(route(rule(ref("agent-v1", filters=own))), target(SPLIT, Share(1, 2)))
    assert found["spec"]["rules"][0]["backendRefs"][0]["filters"] == own


def test_after_the_promotion_the_earlier_backend_goes() -> None:
    item = patched(route(rule(ref("agent-v1"))), target(SPLIT, Share(1)))
    promoted = service_wishes.wanted(replace(plan(), stable=body(V2)))
    assert promoted is not None
    assert [one["name"] for one in patched(item, promoted)["spec"]["rules"][0]["backendRefs"]] == ["agent-v2"]


def test_a_backend_that_others_put_into_our_rule_goes() -> None:
    item = patched(route(rule(ref("agent-v1"))), target())
    item["spec"]["rules"][0]["backendRefs"].append(ref("mallory", 50))
    assert shares(patched(item, target())["spec"]["rules"][0]) == {"agent-v1": 1}


def test_another_version_of_the_route_does_not_take_the_patch() -> None:
    item = route(rule(ref("agent-v1")))
    operations = service_routes.patch(item, target(SPLIT, Share(1, 2)))
    assert not isinstance(operations, Trouble)
    item["metadata"]["resourceVersion"] = "8"
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(item, list(operations))


TWO = (rule(ref("agent-v1"), name="a"), rule(ref("agent-v1"), name="b"))
REFUSED: dict[str, tuple[Json, Wanted, str, str]] = {
    "no such rule": (route(rule(name="other")), target(), "RouteMissing", "its rules: other"),
    "two rules lead to the backend": (
        route(*TWO),
        target(rule=None),
        "RouteAmbiguous",
        "rules 0, 1 lead to agent-v1",
    ),
    "no rule leads to it": (
        route(rule(ref("x"), name=None), rule(ref("y"), name=None)),
        target(rule=None),
        "RouteAmbiguous",
        "no rule leads to agent-v1",
    ),
    "no rules": (route(), target(rule=None), "RouteAmbiguous", "no rule leads"),
    "the rule leads elsewhere as well": (
        route(rule(ref("agent-v1", 9), ref("legacy", 1))),
        target(),
        "RouteAmbiguous",
        "leads to legacy as well",
    ),
    "the rule is another workflow's": (
        route(rule(ref("agent-v1")), **{"sluicegate.io__routes": '{"other": {"rule": "agent"}}'}),
        target(),
        "RouteTaken",
        "workflow other",
    ),
    "another workflow has the same rule without a name": (
        route(rule(ref("agent-v9"), name=None), **{"sluicegate.io__routes": '{"other": {}}'}),
        target(rule=None),
        "RouteAmbiguous",
        "leads to agent-v9",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_nothing_is_changed_where_the_rule_is_not_certainly_ours(sentence: str) -> None:
    item, wish, reason, words = REFUSED[sentence]
    found = service_routes.patch(item, wish)
    assert isinstance(found, Trouble)
    assert (found.reason, found.stalls) == (reason, True)
    assert words in found.message


def test_without_a_name_the_only_rule_that_leads_to_the_backend_is_meant() -> None:
    item = route(rule(ref("x"), name=None), rule(ref("agent-v1"), name=None))
    found = patched(item, target(SPLIT, Share(1, 4), rule=None))["spec"]["rules"]
    assert found[0] == item["spec"]["rules"][0]
    assert shares(found[1]) == {"agent-v1": Fraction(3, 4), "agent-v2": Fraction(1, 4)}


def test_a_claim_is_released_and_those_of_others_stay() -> None:
    item = patched(
        route(rule(ref("agent-v1")), **{"sluicegate.io__routes": '{"other":{"rule":"b"}}'}), target()
    )
    assert set(claims_of(item)) == {"bot", "other"}
    left = jsonpatch.apply_patch(item, list(service_routes.release(item, "bot")))
    assert claims_of(left) == {"other": {"rule": "b"}}
    assert service_routes.release(left, "bot") == ()


def test_an_annotation_that_is_not_ours_counts_as_none() -> None:
    for text in ("[", "[]", '"x"', '{"bot": 1}'):
        assert claims_of(route(**{"sluicegate.io__routes": text})) == {}


def fractions(least: int, most: int = 1_000_000_000) -> st.SearchStrategy[Share]:
    return st.integers(1, most).flatmap(
        lambda whole: st.integers(least, whole).map(lambda part: Share(part, whole))
    )


@given(fractions(0))
def test_weights_sum_right_and_are_the_share_or_a_millionth_less(share: Share) -> None:
    stable, candidate = weights_of(share)
    exact = Fraction(share.numerator, share.denominator)
    assert min(stable, candidate) >= 0
    assert 0 < stable + candidate <= 1_000_000
    found = Fraction(candidate, stable + candidate)
    assert exact - Fraction(1, 1_000_000) < found <= exact
    if share.denominator <= 1_000_000:
        assert found == exact


MODES = st.one_of(
    st.just((TrafficMode.STABLE_ONLY, Share(0))),
    st.tuples(st.just(MIRROR), fractions(1, 1_000_000)),
    st.tuples(st.just(SPLIT), fractions(1, 1_000_000)),
)
OTHER_FILTERS = st.lists(
    st.sampled_from(
        [
            {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x"]}},
            {"type": "RequestMirror", "requestMirror": {"backendRef": ref("audit"), "percent": 5}},
            {"type": "ExtensionRef", "extensionRef": {"group": "x.io", "kind": "X", "name": "x"}},
        ]
    ),
    max_size=3,
)
WEIGHTS = st.one_of(st.none(), st.integers(0, 1_000_000))


@st.composite
def routes(draw: st.DrawFn) -> Json:
    """Our rule among others, in any state that it can have come to, with any filters of others."""
    refs = [ref("agent-v1", draw(WEIGHTS))]
    refs += [ref("agent-v2", draw(WEIGHTS))] if draw(st.booleans()) else []
    refs += [ref("stranger", draw(WEIGHTS))] if draw(st.booleans()) else []
    filters: list[Json] = list(draw(OTHER_FILTERS))
    if draw(st.booleans()):
        mirror = {"backendRef": ref("agent-v2"), "percent": draw(st.integers(0, 100))}
        filters.insert(draw(st.integers(0, len(filters))), {"type": "RequestMirror", "requestMirror": mirror})
    ours = rule(*draw(st.permutations(refs)), matches=[{"path": {"value": "/"}}], timeouts={"request": "5s"})
    has_filters: bool = draw(st.booleans())
    if filters or has_filters:
        ours["filters"] = filters
    others = [rule(ref("x", 3), ref("agent-v1"), name=name) for name in draw(st.sets(st.sampled_from("abc")))]
    place = draw(st.integers(0, len(others)))
    item = route(*others[:place], ours, *others[place:], other="kept")
    item["metadata"]["annotations"][CLAIMS] = '{"bot":{"mirror":"agent-v2:8080","rule":"agent"}}'
    return item


@given(routes(), MODES)
def test_the_patch_gives_the_wanted_split_once_and_touches_nothing_else(
    item: Json, wish: tuple[TrafficMode, Share]
) -> None:
    before, (mode, share) = copy.deepcopy(item), wish
    made = target(mode, share)
    after = patched(item, made)
    assert item == before
    index = next(number for number, one in enumerate(after["spec"]["rules"]) if one["name"] == "agent")
    ours, part = after["spec"]["rules"][index], Fraction(share.numerator, share.denominator)
    answered = part if mode is SPLIT else Fraction(0)
    expected = {"agent-v1": 1 - answered, "agent-v2": answered}
    assert shares(ours) == {name: value for name, value in expected.items() if value}
    assert copies(ours).get("agent-v2") == (part if mode is MIRROR else None)
    assert service_routes.patch(after, made) == ()
    assert untouched(after, index) == untouched(before, index)


def untouched(item: Json, index: int) -> Json:
    """All but the two things that are ours."""
    rest = copy.deepcopy(item)
    rest["metadata"]["annotations"].pop(CLAIMS)
    ours = rest["spec"]["rules"][index]
    ours.pop("backendRefs")
    kept = [
        one
        for one in ours.pop("filters", [])
        if one["type"] != "RequestMirror" or one["requestMirror"]["backendRef"]["name"] != "agent-v2"
    ]
    return rest | {"filters": kept}


@given(routes(), st.lists(MODES, max_size=4))
def test_whatever_came_before_stable_only_is_stable_only(
    item: Json, wishes: list[tuple[TrafficMode, Share]]
) -> None:
    for mode, share in wishes:
        item = patched(item, target(mode, share))
    found = patched(item, target())["spec"]["rules"]
    ours = next(one for one in found if one["name"] == "agent")
    assert shares(ours) == {"agent-v1": 1}
    assert "agent-v2" not in copies(ours)


def answer(generation: int = 3, parent: str = "edge", **statuses: str) -> Json:
    conditions = [
        {"type": name, "status": status, "reason": "R", "message": "why", "observedGeneration": generation}
        for name, status in ({"Accepted": "True", "ResolvedRefs": "True"} | statuses).items()
    ]
    return {"parentRef": {"name": parent}, "controllerName": "x.io/x", "conditions": conditions}


PARENTS: dict[str, tuple[list[Json], bool | str]] = {
    "all is well": ([answer()], True),
    "a parent of an earlier time does not count": ([answer(), answer(parent="old", Accepted="False")], True),
    "nobody has looked": ([], "NoParents"),
    "only another parent has looked": ([answer(parent="old")], "NoParents"),
    "it is of an earlier generation": ([answer(2)], False),
    "a refusal of an earlier generation": ([answer(2, Accepted="False")], False),
    "it is not accepted": ([answer(Accepted="False")], "NotAccepted"),
    "a backend is not resolved": ([answer(ResolvedRefs="False")], "NotAccepted"),
    "a rule was dropped": ([answer(PartiallyInvalid="True")], "NotAccepted"),
    "no rule was dropped": ([answer(PartiallyInvalid="False")], True),
    "it is not known yet": ([answer(Accepted="Unknown")], "NotAccepted"),
}


@pytest.mark.parametrize("sentence", PARENTS)
def test_gateways_follow_when_each_says_so_of_this_generation(sentence: str) -> None:
    answers, expected = PARENTS[sentence]
    found = acknowledged(route() | {"status": {"parents": answers}})
    assert (found.reason if isinstance(found, Trouble) else found) == expected


def test_a_route_without_parents_is_served_by_nobody() -> None:
    item = route()
    item["spec"]["parentRefs"] = []
    found = acknowledged(item)
    assert isinstance(found, Trouble)
    assert found.reason == "NoParents"


def test_a_plan_that_a_gateway_runs_wants_no_route() -> None:
    managed = RevisionBody(name="a", digest="d", version="1", spec={"version": "1", "components": []})
    assert service_wishes.wanted(replace(plan(), stable=managed)) is None
