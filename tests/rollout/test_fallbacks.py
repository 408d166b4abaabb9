"""Which rule sets a plan carries, and what the workflow says of them."""

from dataclasses import replace
from typing import Any

from sluicegate.contracts.resources import FallbackRuleSet
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import RevisionBody, RoutePlan, RuleSetBody
from sluicegate.rollout import fallbacks, rule_sets
from sluicegate.rollout.found import FoundRuleSet
from sluicegate.rollout.model import RuleSetObserved
from tests.contracts.files import minimal
from tests.gateway.rules import TABLE
from tests.rollout.samples import T0

GOOD: dict[str, Any] = TABLE | {"rules": TABLE["rules"][:1]}


def rule_set(**spec: Any) -> FallbackRuleSet:
    return FallbackRuleSet.model_validate({"metadata": {"name": "care"}, "spec": GOOD | spec})


def proved(item: FallbackRuleSet) -> FoundRuleSet:
    """As the workflow finds it, after the first look at the rule set."""
    status = rule_sets.reconcile_rule_set(RuleSetObserved(rule_set=item), rule_sets.judge(item), T0).status
    return fallbacks.found(item.model_copy(update={"status": status}))


def workflow(**more: Any) -> WorkflowSpec:
    return WorkflowSpec.model_validate(minimal(businessFallback={"ruleSet": "care"}, **more)["spec"])


def body(spec: WorkflowSpec) -> RevisionBody:
    return RevisionBody(name="agent-1", digest="d", version="1", spec=spec.to_json())


def plan(*rule_sets: RuleSetBody) -> RoutePlan:
    return RoutePlan(
        namespace="shop", workflow="agent", version=1, stable=body(workflow()), rule_sets=rule_sets
    )


def told(spec: WorkflowSpec, *found: Any, of: RoutePlan | None = None) -> list[tuple[bool | None, str]]:
    return [(one.truth, one.reason) for one in fallbacks.wanted(spec, found, of)]


def test_a_rule_set_that_is_proved_is_carried_with_its_version_and_the_digest_of_its_table() -> None:
    found = proved(rule_set())
    assert found.body is not None
    (carried,) = fallbacks.carried([found], [body(workflow())], None)
    assert (carried.name, carried.version) == ("care", "1.2.0")
    renamed = proved(rule_set(version="9", owner="others")).body
    assert renamed is not None
    assert carried.digest == renamed.digest  # what an answer depends on is the same
    assert told(workflow(), found) == [(True, "RuleSetReady")]


def test_one_that_does_not_compile_or_is_not_complete_is_not_used_and_says_why() -> None:
    for spec, words in (
        ({"columns": []}, None),
        ({"default": None}, "Gap"),
        ({"rules": [GOOD["rules"][0]] * 2}, "r-order"),
    ):
        if words is None:
            continue
        found = proved(rule_set(**spec))
        assert (found.body, found.reason) == (None, "RuleSetInvalid")
        assert words in found.message


def test_what_answered_before_goes_on_until_there_is_a_better_one() -> None:
    good = proved(rule_set()).body
    assert good is not None
    before, missing = plan(good), fallbacks.missing("care", "there is none")
    assert fallbacks.carried([missing], [body(workflow())], before) == (good,)
    assert told(workflow(), missing, of=before) == [(False, "RuleSetMissing")]
    (said,) = fallbacks.wanted(workflow(), [missing], before)
    assert "1.2.0 goes on answering" in said.message
    newer = replace(good, version="2")
    assert fallbacks.carried([replace(missing, body=newer)], [body(workflow())], before) == (newer,)


def test_a_table_that_is_being_proved_changes_nothing_where_another_answers() -> None:
    good, fresh = proved(rule_set()).body, fallbacks.found(rule_set(version="2"))
    assert good is not None
    assert fallbacks.carried([fresh], [body(workflow())], plan(good)) == (good,)
    assert told(workflow(), fresh, of=plan(good)) == [(True, "RuleSetReady")]
    assert told(workflow(), fresh) == [(None, "RuleSetProving")]


def test_nothing_is_carried_that_no_revision_of_the_plan_names() -> None:
    good = proved(rule_set()).body
    assert good is not None
    plain = WorkflowSpec.model_validate(minimal()["spec"])
    assert fallbacks.carried([], [body(plain), None], plan(good)) == ()
    assert fallbacks.carried([], [body(plain), body(workflow())], plan(good)) == (good,)
    assert told(plain) == []
    assert fallbacks.names(plain, []) == ()
    assert fallbacks.names(None, [None]) == ()
