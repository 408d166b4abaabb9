"""People with kubectl, at the same time, too late, and from every state."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.client import Client, Json
from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import Place, Product
from tests.cluster.test_rollouts import NEW, OLD, STAGES, stable
from tests.e2e import drilled, life
from tests.operator.samples import staged
from tests.operator.up import until

pytestmark = pytest.mark.cluster


def results(place: Place) -> list[str]:
    return [one["result"] for one in place.status(NEW).get("decisions", [])]


def test_two_promotes_in_one_second_advance_one_stage(product: Product, url: str) -> None:
    place = stable(product, url, "race")
    place.apply(staged(NEW, url, needs=life.LONG))
    place.in_state("Canary", NEW)
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(place.decide, "Promote", NEW, user=user, name=f"race-{user}")
            for user in ("alice", "bob")
        ]
        codes = [one.result()[0] for one in both]
    assert 201 in codes
    until("all are read", lambda: len(results(place)) == codes.count(201))
    assert results(place).count("Applied") == 1
    assert place.status(NEW)["state"] == "Shadow"


def test_a_promote_for_an_older_candidate_is_refused(product: Product, url: str) -> None:
    place = stable(product, url, "older")
    place.apply(staged(NEW, url, needs=life.LONG))
    place.in_state("Canary", NEW)
    code, said = place.decide(
        "Promote",
        NEW,
        name="older",
        expected={"candidate": f"sha256:{'0' * 64}", "stage": "Canary", "attempt": 1},
    )
    assert code in {403, 422}, said
    assert "made for candidate" in said["message"]
    assert place.status(NEW)["state"] == "Canary"


@pytest.mark.parametrize("stage", STAGES)
def test_abort_from_a_stage(product: Product, url: str, stage: str) -> None:
    place = stable(product, url, f"out-{stage.lower()}")
    place.apply(staged(NEW, url, needs={stage: life.NEVER}))
    place.reach(stage, NEW)
    aborted(place)


def test_abort_while_paused(product: Product, url: str) -> None:
    place = stable(product, url, "paused")
    place.apply(staged(NEW, url, needs={"Controlled": life.NEVER}))
    place.reach("Controlled", NEW)
    assert place.decide("Pause", NEW, name="pause")[0] == 201
    until("paused", lambda: place.status(NEW).get("paused"))
    aborted(place)


def test_abort_while_awaiting_approval(product: Product, url: str) -> None:
    place = stable(product, url, "asking")
    candidate = staged(NEW, url)
    next(one for one in candidate["spec"]["rollout"]["stages"] if one["name"] == "Controlled")[
        "approvals"
    ] = {"required": 1}
    place.apply(candidate)

    def is_asking() -> bool:
        found = {one["type"]: one["status"] for one in place.status(NEW).get("conditions", ())}
        return bool(place.crowd(8)) and found.get("AwaitingApproval") == "True"

    until("it waits for approval", is_asking)
    aborted(place)


def aborted(place: Place) -> None:
    """Everybody gets stable soon, and it stays so."""
    code, said = place.decide("Abort", NEW, name=f"abort-{place.name}")
    assert code == 201, said
    until("everybody gets stable", lambda: place.crowd() == {OLD: 24})
    done = place.in_state("Done", NEW)
    assert done["status"]["outcome"] == "Aborted"
    assert place.crowd(60) == {OLD: 60}


def test_two_people_by_kubectl_approve(product: Product, url: str) -> None:
    """The team changes, two of the board agree; one person twice is one person."""
    place = stable(product, url, "board")
    candidate = staged(NEW, url, needs={"Full": life.NEVER})
    next(one for one in candidate["spec"]["rollout"]["stages"] if one["name"] == "Controlled")[
        "approvals"
    ] = {"required": 2}
    place.apply(candidate)
    place.reach("Controlled", NEW)
    for name in ("once", "twice"):
        assert place.decide("Approve", NEW, user="alice", name=name)[0] == 201
    until("both are read", lambda: len(results(place)) == 2)
    assert place.crowd(40)[NEW]
    assert place.status(NEW)["state"] == "Controlled"
    assert place.decide("Approve", NEW, user="bob", name="second")[0] == 201
    place.reach("Full", NEW)


def test_a_drill_that_fails_holds_the_rollout(product: Product, url: str) -> None:
    """The answer that users get stays the workflow's; the rules have none for a run without a topic."""
    place = Place(product, NAMESPACE, "rehearsed")
    rules = drilled.RULES | {"metadata": {"name": "refunds", "namespace": NAMESPACE}}
    Client(product.plane, "carol").apply("fallbackrulesets", rules)
    place.apply(drilled.workflow(OLD, url, place.name))
    place.serving()
    until(
        "in the plan",
        lambda: drilled.condition(place.workflow(), "FallbackReady") == ("True", "RuleSetReady"),
    )
    place.apply(drilled.workflow(NEW, url, place.name))
    place.in_state("Canary", NEW)
    assert place.ask("somebody") == OLD
    failed = ("False", "DrillFailed")
    until("told", lambda: drilled.condition(place.workflow(), "DrillsPassing") == failed, drilled.SECONDS)
    report = place.workflow()["status"]["lastDrill"]
    assert (report["runs"], report["answered"], report["passed"]) == (1, 0, False)
    assert place.decide("Promote", NEW, name="too-soon")[0] == 201
    until("refused", lambda: results(place) == ["Refused"])
    assert "DrillFailed" in place.status(NEW)["decisions"][0]["message"]
    place.apply(drilled.workflow(NEW, url, place.name, blocksPromotion=False))
    until("looked at", lambda: is_looked_at(place.workflow()))
    assert place.decide("Promote", NEW, name="freed")[0] == 201
    place.in_state("Shadow", NEW)


def is_looked_at(item: Json) -> bool:
    return bool(item["status"]["observedGeneration"] == item["metadata"]["generation"])


def test_a_stage_paused_for_two_days_neither_flaps_nor_expires(product: Product, url: str) -> None:
    """The pause is set back by 48 hours, as the operator would have written it then."""
    place = stable(product, url, "days")
    candidate = staged(NEW, url, needs={"Canary": life.NEVER})
    candidate["spec"]["rollout"]["stages"][0]["maxDurationSeconds"] = 3600
    place.apply(candidate)
    place.reach("Canary", NEW)
    assert place.decide("Pause", NEW, name="for-days")[0] == 201
    until("paused", lambda: place.status(NEW).get("paused"))
    held = place.rollout(NEW)
    assert held is not None
    back = {
        field: days_before(held["status"][field]) for field in ("stageStartedAt", "pausedSince", "startedAt")
    }
    product.operator_account.merge_status("workflowrollouts", NAMESPACE, held["metadata"]["name"], back)
    before = product.plane.audit_position()
    place.crowd(40)
    product.operators[0].stop()
    product.operators[0].start()
    status = place.status(NEW)
    assert (status["state"], status["paused"], status.get("held", False)) == ("Canary", True, False)
    assert place.decide("Resume", NEW, name="go-on")[0] == 201
    until("resumed", lambda: not place.status(NEW).get("paused"))
    status = place.status(NEW)
    assert (status["state"], status.get("held", False)) == ("Canary", False)
    assert status["pausedSeconds"] >= 48 * 3600
    flaps = [
        one
        for one in product.plane.audit(before)
        if one.resource == "workflowrollouts"
        and one.subresource == "status"
        and one.name == held["metadata"]["name"]
    ]
    assert len(flaps) <= 6, "the pause, the decision, the resume; not one per look"


def days_before(stamp: str) -> str:
    """48 hours earlier."""
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(stamp) - timedelta(hours=48)).isoformat().replace("+00:00", "Z")
