"""Which rule sets a plan carries: proved before they are used, and the last good one as long as there is no better one."""

from collections.abc import Iterable, Iterator
from typing import Final

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources import FallbackRuleSet, WorkflowRevision
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import RevisionBody, RoutePlan, RuleSetBody
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import compile_table
from sluicegate.rollout.conditions import Wanted, is_false, is_true
from sluicegate.rollout.found import FoundRuleSet

READY: Final = "FallbackReady"
_MOST_PROBLEMS: Final = 3


def names(workflow: WorkflowSpec | None, revisions: Iterable[WorkflowRevision | None]) -> tuple[str, ...]:
    """The rule sets that a plan of these may need."""
    specs = (workflow, *(None if revision is None else revision.spec.body for revision in revisions))
    fallbacks = (None if spec is None else spec.business_fallback for spec in specs)
    return tuple(dict.fromkeys(one.rule_set for one in fallbacks if one is not None))


def missing(name: str, why: str, *, reason: str = "RuleSetMissing") -> FoundRuleSet:
    """There is none, or it cannot be read."""
    return FoundRuleSet(name=name, reason=reason, message=why)


def proved(item: FallbackRuleSet) -> FoundRuleSet:
    """The rule set, compiled and proved; seconds for a large one."""
    name = item.metadata.name
    try:
        table = compile_table(item.spec)
    except Refused as refused:
        return missing(name, f"{name}: {refused}", reason="RuleSetInvalid")
    proof = prove(table, subject=f"FallbackRuleSet/{name}")
    if not proof.holds:
        said = "; ".join(
            f"{one.code} {one.path}: {one.message}" for one in proof.diagnostics[:_MOST_PROBLEMS]
        )
        return missing(name, f"{name}: {said}", reason="RuleSetInvalid")
    body = RuleSetBody(name=name, version=item.spec.version, digest=table.digest, spec=item.spec.to_json())
    return FoundRuleSet(
        name=name, body=body, message=f"{name} {item.spec.version} answers when the workflow does not"
    )


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
    more = f"; {last.version} goes on answering" if last is not None else ""
    yield is_false(READY, mine.reason, f"{mine.message}{more}")


def without(conditions: tuple[Condition, ...], workflow: WorkflowSpec) -> tuple[Condition, ...]:
    """What was said of a `businessFallback` that is no more wished goes."""
    if workflow.business_fallback is not None:
        return conditions
    return tuple(one for one in conditions if one.type != READY)
