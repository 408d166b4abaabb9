"""The main job on a real API server: canary to full, and back; seen by users, by kubectl and in the objects."""

import pytest

from tests.cluster.conftest import NAMESPACE
from tests.cluster.product import Place, Product
from tests.e2e import life
from tests.operator.samples import staged
from tests.operator.up import until

pytestmark = pytest.mark.cluster
OLD, NEW = "1.0.0", "2.0.0"
STAGES = ["Canary", "Shadow", "Controlled", "Full"]


def stable(product: Product, url: str, name: str) -> Place:
    """A workflow whose first version is served."""
    place = Place(product, NAMESPACE, name)
    place.apply(staged(OLD, url))
    place.serving()
    return place


def test_a_good_candidate_is_promoted(product: Product, url: str) -> None:
    place = stable(product, url, "good")
    place.apply(staged(NEW, url))
    done = place.reach("Done", NEW)
    assert done["status"]["outcome"] == "Promoted"
    assert [one["stage"] for one in done["status"]["history"]] == STAGES
    assert place.crowd() == {NEW: 24}
    until("the workflow says so", lambda: place.workflow()["status"].get("stage") == "Stable")
    assert place.workflow()["status"]["stableRevision"] == done["spec"]["candidate"]["name"]


def test_a_bad_candidate_is_aborted_and_no_user_meets_it(product: Product, url: str) -> None:
    place = stable(product, url, "bad")
    broken = staged(NEW, "http://127.0.0.1:9", needs={"Canary": 40})
    place.apply(broken)
    done = place.reach("Done", NEW)
    assert done["status"]["outcome"] == "Aborted"
    assert [one["stage"] for one in done["status"]["history"]] == ["Canary"]
    assert place.crowd() == {OLD: 24}


@pytest.mark.parametrize("stage", STAGES)
def test_a_new_wish_supersedes_in_every_stage(product: Product, url: str, stage: str) -> None:
    """Old evidence is not used, approvals are void."""
    place = stable(product, url, f"new-{stage.lower()}")
    asking = staged(NEW, url, needs={stage: life.NEVER})
    for one in asking["spec"]["rollout"]["stages"]:
        if one["name"] == stage:
            one["approvals"] = {"required": 1}
    place.apply(asking)
    place.reach(stage, NEW)
    code, made = place.decide("Approve", NEW, name=f"yes-{stage.lower()}")
    assert code == 201, made
    until("counted", lambda: [one["result"] for one in place.status(NEW).get("decisions", [])] == ["Counted"])
    needs = dict.fromkeys(STAGES, life.NEVER)
    newer = staged("3.0.0", url, needs=needs)
    for one in newer["spec"]["rollout"]["stages"]:
        one["approvals"] = {"required": 1}
    place.apply(newer)
    after = place.in_state("Canary", "3.0.0")
    before = place.status(NEW)
    assert (before["state"], before["outcome"]) == ("Done", "Superseded")
    assert after["spec"]["stable"]["version"] == OLD
    assert after["status"].get("decisions", []) == []
    assert after["status"].get("samples", 0) == 0
    assert place.crowd() == {OLD: 24}


@pytest.mark.parametrize("stage", STAGES)
def test_deletion_returns_traffic_first_and_leaves_nothing(product: Product, url: str, stage: str) -> None:
    place = stable(product, url, f"gone-{stage.lower()}")
    place.apply(staged(NEW, url, needs={stage: life.NEVER}))
    place.reach(stage, NEW)
    seen: list[tuple[str | None, ...]] = []  # the state before an answer, it, the state after
    assert product.admin.delete("agentworkflows", NAMESPACE, place.name) in {200, 202}

    def is_gone() -> bool:
        state = place.status(NEW)["state"]
        seen.append((state, place.ask("somebody"), place.status(NEW)["state"]))
        return product.admin.find("agentworkflows", NAMESPACE, place.name) is None

    until("the workflow is gone", is_gone)
    over = [answer for state, answer, _ in seen if state in {"Done", None}]
    assert NEW not in over, "the rollout is over when no user meets the candidate any more"
    unanswered = [state for _, answer, state in seen if answer is None]
    assert set(unanswered) <= {"Done", None}, "users are answered until traffic is back"
    until("nothing is left", lambda: left(place) == [])


def left(place: Place) -> list[str]:
    """Names of what still belongs to the workflow."""
    admin = place.product.admin
    mine = [
        one["metadata"]["name"]
        for plural in ("workflowrollouts", "workflowrevisions")
        for one in admin.objects(plural, place.namespace)
        if one["spec"]["workflow"] == place.name
    ]
    plans = admin.got("GET", f"/api/v1/namespaces/{place.namespace}/configmaps")["items"]
    return mine + [
        one["metadata"]["name"] for one in plans if one["metadata"]["name"] == f"sluicegate-plan-{place.name}"
    ]
