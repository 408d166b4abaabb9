"""One look at a rule set: pure, from what was observed and what the proof said."""

from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.resources import FallbackRuleSet
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.fallback import RuleSetStatus
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.rollout import rule_sets
from sluicegate.rollout.found import CarriedTable
from sluicegate.rollout.model import Emit, Plan, RuleSetObserved
from sluicegate.rollout.rule_sets import Judged, judge, needs_proof, reconcile_rule_set
from tests.gateway.rules import TABLE
from tests.rollout.samples import T0

GOOD: dict[str, Any] = TABLE | {"rules": TABLE["rules"][:1]}
ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def rule_set(status: RuleSetStatus | None = None, generation: int = 1, **spec: Any) -> FallbackRuleSet:
    found = FallbackRuleSet.model_validate({"metadata": {"name": "care"}, "spec": GOOD | spec})
    metadata = Metadata(name="care", namespace="shop", uid="u", generation=generation)
    return found.model_copy(update={"metadata": metadata, "status": status})


def looked(
    item: FallbackRuleSet, judged: Judged | None = None, *carried: CarriedTable, users: tuple[str, ...] = ()
) -> Plan[RuleSetStatus]:
    names = users or tuple(one.workflow for one in carried)
    observed = RuleSetObserved(rule_set=item, users=names, carried=carried)
    return reconcile_rule_set(observed, judged, T0)


def carried(
    workflow: str = "bot", version: str = "1.2.0", digest: str = ONE, *, followed: bool = True
) -> CarriedTable:
    return CarriedTable(workflow=workflow, version=version, digest=digest, is_followed=followed)


def told(plan: Plan[RuleSetStatus], type: str) -> tuple[str, str] | None:
    return next(((one.status, one.reason) for one in plan.status.conditions if one.type == type), None)


def events(plan: Plan[RuleSetStatus]) -> list[str]:
    return [act.event.reason for act in plan.actions if isinstance(act, Emit)]


def proved(version: str = "1.2.0", digest: str = ONE) -> RuleSetStatus:
    """The status after the first look at a version, of a table that is proved and that nobody uses."""
    return looked(rule_set(version=version), Judged(digest=digest)).status


def test_a_table_that_is_proved_says_so_from_the_first_write() -> None:
    item = rule_set()
    plan = looked(item, judge(item))
    status = plan.status
    assert (status.observed_generation, status.phase) == (1, "Healthy")
    assert [(one.version, one.digest) for one in status.versions] == [("1.2.0", status.digest)]
    assert status.proof is not None
    assert status.proof.complete
    assert [told(plan, one) for one in ("Proven", "Ready", "Stalled")] == [
        ("True", "Proved"), ("True", "Unused"), None,
    ]  # fmt: skip
    assert (events(plan), plan.requeue_after) == ([], None)


def test_nothing_is_said_anew_when_nothing_changed() -> None:
    first = looked(rule_set(), Judged(digest=ONE), carried())
    again = looked(rule_set(first.status), None, carried())
    assert (again.status, again.actions) == (first.status, ())


def test_a_generation_is_proved_once_whoever_reads_it_later() -> None:
    assert needs_proof(rule_set())
    assert not needs_proof(rule_set(proved()))
    assert needs_proof(rule_set(proved(), generation=2))


def test_a_gap_is_told_with_an_input_that_falls_through_and_the_last_good_table_goes_on() -> None:
    before = looked(rule_set(), Judged(digest=ONE), carried()).status
    worse = rule_set(before, 2, version="2.0.0", default=None)
    plan = looked(worse, judge(worse), carried())
    assert told(plan, "Proven") == ("False", "RuleSetInvalid")
    assert told(plan, "Ready") == told(plan, "Proven")
    assert told(plan, "Stalled") == ("True", "RuleSetInvalid")
    assert "witness" in plan.status.message
    assert "1.2.0 goes on answering" in plan.status.message
    assert (plan.status.serving_version, plan.status.serving_digest) == ("1.2.0", ONE)
    assert [one.version for one in plan.status.versions] == ["1.2.0"], "what is not proved names nothing"
    assert events(plan) == ["RuleSetRefused"]
    assert events(looked(worse.model_copy(update={"status": plan.status}), None, carried())) == []


def test_a_table_that_does_not_compile_has_no_digest_and_says_every_mistake() -> None:
    item = rule_set(
        rules=[{"id": "r", "when": {"tpic": {"oneOf": ["a"]}, "ag": {"below": "1"}}, "answer": {}}]
    )
    plan = looked(item, judge(item))
    assert (plan.status.digest, told(plan, "Proven")) == (None, ("False", "RuleSetInvalid"))
    assert "tpic" in plan.status.message
    assert "ag" in plan.status.message


def test_a_proof_that_fails_by_itself_is_tried_again() -> None:
    plan = looked(rule_set(), Judged(problems="MemoryError()", is_broken=True))
    assert told(plan, "Proven") == ("Unknown", "ProofFailed")
    assert plan.requeue_after == rule_sets.PROVE_AGAIN_SECONDS
    assert needs_proof(rule_set(plan.status))
    assert told(looked(rule_set(plan.status)), "Proven") == ("Unknown", "ProofFailed"), (
        "it is refused by nobody"
    )


NEXT = (("bot", "2.0.0", TWO), ("web", "2.0.0", TWO))


@pytest.mark.parametrize(
    ("plans", "serving", "ready"),
    [
        pytest.param((carried("bot"), carried("web")), "1.2.0", "Programming", id="no plan has it yet"),
        pytest.param((carried(*NEXT[0]), carried("web")), "1.2.0", "Programming", id="one plan has it"),
        pytest.param(
            (carried(*NEXT[0]), carried(*NEXT[1], followed=False)), "1.2.0", "Programming", id="gateways lag"
        ),
        pytest.param((carried(*NEXT[0]), carried(*NEXT[1])), "2.0.0", "Serving", id="all follow"),
        pytest.param((), None, "Unused", id="no plan has any"),
    ],
)  # fmt: skip
def test_the_version_that_serves_is_the_one_before_until_every_gateway_has_the_next(
    plans: tuple[CarriedTable, ...], serving: str | None, ready: str
) -> None:
    before = looked(rule_set(), Judged(digest=ONE), carried("bot"), carried("web")).status
    assert before.serving_version == "1.2.0"
    plan = looked(rule_set(before, 2, version="2.0.0"), Judged(digest=TWO), *plans, users=("bot", "web"))
    assert plan.status.serving_version == serving
    found = told(plan, "Ready")
    assert found is not None
    assert found[1] == ready
    assert (plan.requeue_after is None) == (ready != "Programming")
    assert (told(plan, "Reconciling") is None) == (ready != "Programming")
    assert events(plan) == (["RuleSetServing"] if ready == "Serving" else [])


def test_a_name_that_comes_back_with_another_table_is_not_used_and_with_its_own_is_the_way_back() -> None:
    status = looked(rule_set(proved(), 2, version="2.0.0"), Judged(digest=TWO)).status
    back = looked(rule_set(status, 3), Judged(digest=ONE))
    assert told(back, "Proven") == ("True", "Proved")
    assert [one.version for one in back.status.versions] == ["2.0.0", "1.2.0"]
    other = looked(rule_set(status, 3), Judged(digest=TWO))
    assert told(other, "Proven") == ("False", "VersionReused")
    assert other.status.versions == status.versions


def test_the_last_ten_names_are_remembered() -> None:
    status = None
    for number in range(13):
        status = looked(rule_set(status, number + 1, version=f"{number}"), Judged(digest=ONE)).status
    assert status is not None
    assert [one.version for one in status.versions] == [f"{number}" for number in range(3, 13)]


def test_users_are_counted_and_the_first_fifty_named() -> None:
    names = tuple(f"bot-{number:03}" for number in range(60))
    status = looked(rule_set(proved()), None, carried(names[0]), users=names).status
    assert (status.users, status.used_by) == (60, names[:50])


def test_the_status_says_when_a_user_passed_a_drill_last_and_when_the_next_begins() -> None:
    day = timedelta(days=1)
    users = tuple(
        WorkflowStatus(last_passed_drill_at=T0 - ago * day, next_drill_at=T0 + ahead * day)
        for ago, ahead in ((1, 9), (2, 8))
    )
    observed = RuleSetObserved(
        rule_set=rule_set(), users=("bot", "web"), carried=(carried(), carried("web")), statuses=users
    )
    status = reconcile_rule_set(observed, Judged(digest=ONE), T0).status
    assert (status.last_passed_drill_at, status.next_drill_at) == (T0 - day, T0 + 8 * day)


def test_a_table_that_nobody_carries_any_more_serves_nobody() -> None:
    before = looked(rule_set(), Judged(digest=ONE), carried()).status
    after = looked(rule_set(before), None).status
    assert (before.serving_version, after.serving_version, after.users) == ("1.2.0", None, 0)


def test_a_table_that_only_a_wish_names_waits_for_nobody() -> None:
    plan = looked(rule_set(), Judged(digest=ONE), users=("bot",))
    assert (plan.status.phase, plan.requeue_after) == ("Healthy", None)
    assert plan.status.message == "1.2.0 is proved; no plan has it yet"
    come = looked(rule_set(plan.status), None, carried(followed=False))
    assert (told(come, "Ready"), come.requeue_after) == (
        ("Unknown", "Programming"),
        rule_sets.UNSETTLED_SECONDS,
    )


def unread(status: RuleSetStatus, generation: int = 1, *plans: CarriedTable) -> Plan[RuleSetStatus]:
    """A look in which the plan of "bot" could not be read."""
    item = rule_set(status, generation)
    users = ("bot", *(one.workflow for one in plans))
    judged = Judged(digest=ONE) if needs_proof(item) else None
    return reconcile_rule_set(
        RuleSetObserved(rule_set=item, users=users, carried=plans, unknown=("bot",)), judged, T0
    )


@pytest.mark.parametrize(
    ("before", "generation", "plans", "ready"),
    [
        pytest.param((carried(),), 1, (), ("True", "Serving"), id="it served"),
        pytest.param((carried(), carried("web")), 1, (carried("web"),), ("True", "Serving"), id="another has it"),
        pytest.param((), 1, (), ("True", "Unused"), id="no plan had it"),
        pytest.param((carried(followed=False),), 1, (), ("Unknown", "Programming"), id="it was on its way"),
        pytest.param(
            (carried(),), 1, (carried("web", followed=False),), ("Unknown", "Programming"), id="another lags"
        ),
        pytest.param((carried(),), 2, (), ("Unknown", "Programming"), id="the spec is new"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_read_takes_nothing_back_and_is_looked_at_again(
    before: tuple[CarriedTable, ...], generation: int, plans: tuple[CarriedTable, ...], ready: tuple[str, str]
) -> None:
    old = looked(rule_set(), Judged(digest=ONE), *before).status
    plan = unread(old, generation, *plans)
    assert (told(plan, "Ready"), told(plan, "Proven")) == (ready, ("True", "Proved"))
    assert plan.requeue_after == rule_sets.UNSETTLED_SECONDS
    assert plan.status.serving_digest == old.serving_digest
    assert events(plan) == []
