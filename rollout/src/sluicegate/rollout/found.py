"""Rule sets as the gather step found them."""

from dataclasses import dataclass

from sluicegate.contracts.routes import RuleSetBody


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedTable:
    """What the plan of a workflow has of a rule set. is_followed: every living gateway follows that plan."""

    workflow: str
    version: str
    digest: str
    is_followed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRuleSet:
    """A rule set as it was read. body None: `reason`, of the condition FallbackReady, and `message` say why there is none."""

    name: str
    body: RuleSetBody | None = None
    reason: str = "RuleSetReady"
    message: str = ""
