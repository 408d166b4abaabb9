"""What answers the user when the workflow fails again and again: rules of business, then a static answer."""

from typing import Annotated

from pydantic import Field, JsonValue

from sluicegate.contracts.resources.base import Flag, Model, Name, Rate, Text
from sluicegate.contracts.resources.fallback import RuleDrill


class FailureWindow(Model):
    """When the rules answer everybody: too many runs of one version failed within a while."""

    seconds: Annotated[int, Field(strict=True, ge=1, le=86_400)] = 60
    """How far back failures count."""
    failures: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 20
    """At least so many runs failed."""
    failure_rate: Rate = "0.5"
    """And at least this share of the runs that ended."""


class Probe(Model):
    """How the way back is found: while rules answer, a run goes through the workflow now and then."""

    every_seconds: Annotated[int, Field(strict=True, ge=1, le=86_400)] = 5
    """At most one run in this time."""
    every_runs: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 1
    """And, of the version as a whole, at most one run in so many."""
    successes_to_recover: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    """So many in a row must succeed before the workflow answers again."""


class StaticAnswer(Model):
    """What the user gets when no rule answers, and what is said to whoever takes over."""

    value: JsonValue = None
    """The answer; must meet the workflow's output contract."""
    hand_off: Annotated[str, Field(strict=True, max_length=1024)] | None = None
    """What happens now, for people: in the header `sluicegate-hand-off` (percent-encoded UTF-8) and in the run's document."""


class Drill(RuleDrill):
    """Rehearsals of the fallback, as this workflow wants them."""

    schedule: Text
    """Cron, five fields: when one begins. It ends after `durationSeconds`, or when the next one begins."""
    blocks_promotion: Flag = False
    """Whether no rollout of the workflow advances while a drill has failed or is overdue."""


class BusinessFallback(Model):
    """The rule set that answers when the workflow fails again and again."""

    rule_set: Name
    """Name of a FallbackRuleSet in the workflow's namespace."""
    after_consecutive_failures: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3
    """Failures of one session in a row; the last of them is answered by the rules already. Runs without a session (`routing.key`) count together."""
    window: FailureWindow = FailureWindow()
    """When the rules answer all sessions."""
    probe: Probe = Probe()
    """How the workflow comes back."""
    static_answer: StaticAnswer | None = None
    """When no rule answers either. Absent: the run's error, as without rules."""
    drill: Drill | None = None
    """When it is rehearsed; a change takes effect at once, without a rollout. Absent: as the rule set's own `drill` says."""
