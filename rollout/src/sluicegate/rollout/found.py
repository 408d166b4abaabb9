"""A rule set as the gather step found it."""

from dataclasses import dataclass

from sluicegate.contracts.routes import RuleSetBody


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRuleSet:
    """A rule set as it was read. body None: `reason`, of the condition FallbackReady, and `message` say why there is none."""

    name: str
    body: RuleSetBody | None = None
    reason: str = "RuleSetReady"
    message: str = ""
