"""Which workflows use which rule set: the index against a plain recount, and what is news to them."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.operator.loop.users import Users
from sluicegate.rollout.model import Ref

CARE = Ref("FallbackRuleSet", "shop", "care")
KEYS = [
    Ref("AgentWorkflow", "shop", "a"),
    Ref("AgentWorkflow", "shop", "b"),
    Ref("WorkflowRollout", "shop", "a-1"),
]
NAMES = ["care", "night"]


def rule_sets(names: Iterable[str]) -> frozenset[Ref]:
    return frozenset(Ref("FallbackRuleSet", "shop", name) for name in names)


def workflow(name: str, rule_set: str | None) -> dict[str, Any]:
    fallback = {"businessFallback": {"ruleSet": rule_set}} if rule_set else {}
    return {"kind": "AgentWorkflow", "metadata": {"name": name, "namespace": "shop"}, "spec": fallback}


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.frozensets(st.sampled_from(NAMES)))))
def test_the_index_is_what_a_recount_of_all_looks_gives(looks: list[tuple[Ref, frozenset[str]]]) -> None:
    users, plain = Users(), dict[Ref, frozenset[str]]()
    for key, names in looks:
        before = plain.get(key, frozenset())
        assert users.uses(key, names) == rule_sets(before ^ names)
        plain[key] = names
    for name in NAMES:
        (ref,) = rule_sets([name])
        assert users.keys(ref) == tuple(sorted(key for key, names in plain.items() if name in names))
    users.keep(KEYS[:1])
    assert set(users.keys(CARE)) <= {KEYS[0]}


def test_a_wish_is_known_before_its_first_look_and_adds_to_what_was_used() -> None:
    users = Users()
    assert users.saw(workflow("a", "care")) == rule_sets(["care"])
    assert users.saw(workflow("a", "care")) == frozenset()
    assert users.saw(workflow("a", "night")) == rule_sets(["night"])
    assert users.workflows(CARE) == ("a",), "its stable revision may still name it"
    assert users.uses(KEYS[0], ["night"]) == rule_sets(["care"])
    assert users.saw(workflow("b", None)) == frozenset()
    assert users.forget(KEYS[0]) == rule_sets(["night"])


def test_rollouts_are_woken_and_are_no_workflows() -> None:
    users = Users()
    users.uses(KEYS[0], ["care"])
    users.uses(KEYS[2], ["care"])
    assert (users.keys(CARE), users.workflows(CARE)) == ((KEYS[0], KEYS[2]), ("a",))


def told(proven: str | None, generation: int = 2, seen: int = 2, **more: Any) -> dict[str, Any]:
    conditions = [{"type": "Proven", "status": proven, "observedGeneration": seen}] if proven else []
    metadata = {"name": "care", "namespace": "shop", "uid": "u", "generation": generation} | more
    return {"kind": "FallbackRuleSet", "metadata": metadata, "spec": {}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("item", "is_news"),
    [
        pytest.param(told("True"), False, id="the same again"),
        pytest.param(told("True", generation=3), False, id="a new table that is not proved yet"),
        pytest.param(told(None, generation=3), False, id="no word of a proof"),
        pytest.param(told("True", generation=3, seen=3), True, id="a new table that is proved"),
        pytest.param(told("False", generation=3, seen=3), True, id="a new table that is refused"),
        pytest.param(told("True", uid="v"), True, id="another object of that name"),
    ],
)
def test_users_look_again_when_a_table_is_proved_or_refused(item: dict[str, Any], is_news: bool) -> None:
    users = Users()
    assert users.is_news(told("True"), gone=False)
    assert users.is_news(item, gone=False) is is_news
    assert users.is_news(item, gone=True)
