"""Where runs left what was agreed: violations of contracts, and answers of rules of business. Every label set is closed."""

from collections.abc import Mapping
from typing import Any, Final

from sluicegate.contracts.domains import UNKNOWN
from sluicegate.contracts.runs import Link, LinkOutcome, Policy, Trigger
from sluicegate.contracts.schemas import CODES
from sluicegate.observability import catalog
from sluicegate.observability.families import Family
from sluicegate.observability.labels import OTHER, known, mappings, text

NOBODY: Final = "None"
"""Neither a rule nor a static answer: the user got the run's error."""
OF_RULES: Final = (catalog.BUSINESS_FALLBACKS, catalog.BUSINESS_ANSWERS, catalog.DRILL_RUNS)
_CODES: Final = frozenset({*CODES, UNKNOWN})


def count_violations(family: Family, labels: tuple[str, ...], entry: Mapping[str, Any], run: str) -> None:
    """Each violation of a run or step by its code and by what was done. labels: of the run, and the component."""
    for violation in mappings(entry.get("violations")):
        code = text(violation, "code")
        policy = known(Policy, violation.get("policy", Policy.FAIL))
        family.count(*labels, code if code in _CODES else OTHER, policy, run=run)


def count_business(
    families: Mapping[str, Family], labels: tuple[str, ...], entry: Mapping[str, Any], run: str
) -> None:
    """Why the rules were asked, and who answered; or how a rehearsal went, which is none of these. labels: namespace and workflow."""
    business = entry.get("business")
    if not isinstance(business, Mapping):
        return
    link, rule_set = business.get("answered_by"), text(business, "rule_set")
    if business.get("trigger") == Trigger.DRILL:
        families[catalog.DRILL_RUNS.name].count(*labels, rule_set, _rehearsed(business), run=run)
        return
    reason, answer = known(Trigger, business.get("trigger")), NOBODY if link is None else known(Link, link)
    families[catalog.BUSINESS_FALLBACKS.name].count(*labels, rule_set, reason, run=run)
    families[catalog.BUSINESS_ANSWERS.name].count(*labels, rule_set, answer, run=run)


def _rehearsed(business: Mapping[str, Any]) -> str:
    if business.get("answered_by") == Link.RULES:
        return "Answered"
    links = (link for link in mappings(business.get("chain")) if link.get("link") == Link.RULES)
    is_invalid = any(link.get("outcome") == LinkOutcome.INVALID for link in links)
    return "Invalid" if is_invalid else "Unanswered"
