"""Which rule sets a plan carries: those whose proof holds, and the last good one as long as there is no better one."""

from collections.abc import Iterable, Iterator
from typing import Final

from sluicegate.contracts.resources import FallbackRuleSet, WorkflowRevision
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import RevisionBody, RoutePlan, RuleSetBody
from sluicegate.rollout import rule_sets
from sluicegate.rollout.conditions import Wanted, is_true
from sluicegate.rollout.found import FoundRuleSet

READY: Final = "FallbackReady"
PROVING: Final = "RuleSetProving"


def names(workflow: WorkflowSpec | None, revisions: Iterable[WorkflowRevision | None]) -> tuple[str, ...]:
    """The rule sets that a plan of these may need."""
    specs = (workflow, *(None if revision is None else revision.spec.body for revision in revisions))
    fallbacks = (None if spec is None else spec.business_fallback for spec in specs)
    return tuple(dict.fromkeys(one.rule_set for one in fallbacks if one is not None))


def missing(name: str, why: str, *, reason: str = "RuleSetMissing") -> FoundRuleSet:
    """There is none, or it cannot be read."""
    return FoundRuleSet(name=name, reason=reason, message=why)


def found(item: FallbackRuleSet) -> FoundRuleSet:
    """The rule set, by what its status says of the proof: nothing is proved here."""
    name, version = item.metadata.name, item.spec.version
    known = rule_sets.verdict(item)
    if known is None:
        return missing(name, f"{name} {version} is being proved", reason=PROVING)
    if known.status != "True" or item.status is None or item.status.digest is None:
        return missing(name, f"{name} {version}: {known.message}", reason="RuleSetInvalid")
    body = RuleSetBody(name=name, version=version, digest=item.status.digest, spec=item.spec.to_json())
    return FoundRuleSet(name=name, body=body, message=f"{name} {version} answers when the workflow does not")


def carried(
    found: Iterable[FoundRuleSet], bodies: Iterable[RevisionBody | None], plan: RoutePlan | None
) -> tuple[RuleSetBody, ...]:
    """Of the plan that runs `bodies`: what was found, else what the plan of before has, by name."""
    known = {one.name: one for one in (plan.rule_sets if plan is not None else ())}
    known |= {one.name: one.body for one in found if one.body is not None}
    return tuple(known[name] for name in sorted(set(_named(bodies))) if name in known)


def _named(bodies: Iterable[RevisionBody | None]) -> Iterator[str]:
    for body in bodies:
        fallback = (body.spec.get("businessFallback") or {}) if body is not None else {}
        if "ruleSet" in fallback:
            yield fallback["ruleSet"]


def wanted(workflow: WorkflowSpec, found: Iterable[FoundRuleSet], plan: RoutePlan | None) -> Iterator[Wanted]:
    """FallbackReady, of a workflow that has a `businessFallback`."""
    fallback = workflow.business_fallback
    if fallback is None:
        return
    mine = next((one for one in found if one.name == fallback.rule_set), None)
    if mine is None:
        return
    if mine.body is not None:
        yield is_true(READY, mine.reason, mine.message)
        return
    last = next((one for one in (plan.rule_sets if plan is not None else ()) if one.name == mine.name), None)
    if mine.reason == PROVING and last is not None:  # nothing is wrong, and nothing is missing
        yield is_true(READY, "RuleSetReady", f"{mine.name} {last.version} answers when the workflow does not")
        return
    more = f"; {last.version} goes on answering" if last is not None else ""
    yield Wanted(READY, None if mine.reason == PROVING else False, mine.reason, f"{mine.message}{more}")


def without(conditions: tuple[Condition, ...], workflow: WorkflowSpec) -> tuple[Condition, ...]:
    """What was said of a `businessFallback` that is no more wished goes."""
    if workflow.business_fallback is not None:
        return conditions
    return tuple(one for one in conditions if one.type != READY)
