"""Rules of the other kinds."""

from typing import Final

from sluicegate.contracts.crds.rules import (
    EPOCH,
    FORBIDDEN,
    IMMUTABLE,
    REQUIRED,
    Guard,
    Rule,
    only_with,
    required_with,
)

_REVIEW: Final = "self.action == 'Review'"
_NEEDS_REASON: Final = "self.action in ['Override', 'Reject'] || (self.action == 'Promote' && self.full)"
_ABOUT_ROLLOUT: Final = "self.target.kind == 'WorkflowRollout'"
_IS_RANGE: Final = "(has(self.atLeast) || has(self.below))"
_IS_SET: Final = "(has(self.oneOf) && self.oneOf.size() > 0)"

RECORDS: Final[dict[str, Guard]] = {
    "Fraction": Guard(
        (
            Rule(
                "self.numerator <= self.denominator",
                "is above the denominator: a share is at most 1",
                at=".numerator",
            ),
        )
    ),
    "WorkflowRollout": Guard((EPOCH,)),
    "RolloutSpec": Guard((IMMUTABLE,)),
    "RevisionSpec": Guard((IMMUTABLE,)),
    "DecisionSpec": Guard(
        (
            IMMUTABLE,
            Rule(
                f"!({_NEEDS_REASON}) || (has(self.reason) && self.reason.trim() != '')",
                "is needed by Override, Reject and a full Promote",
                at=".reason",
                reason=REQUIRED,
            ),
            Rule("!self.full || self.action == 'Promote'", "only of a Promote", at=".full", reason=FORBIDDEN),
            Rule(
                f"!({_ABOUT_ROLLOUT} && {_REVIEW}) || has(self.review)",
                "a Review needs runId, component and verdict",
                at=".review",
                reason=REQUIRED,
            ),
            *(
                Rule(
                    f"!({_ABOUT_ROLLOUT} && self.action in ['Promote', 'Override', 'Approve', 'Retry']) || "
                    f"(has(self.expected) && has(self.expected.{field}))",
                    "must be said by Promote, Override, Approve and Retry: a decision counts only for what the person saw",
                    at=f".expected.{field}",
                    reason=REQUIRED,
                )
                for field in ("candidate", "attempt")
            ),
        )
    ),
    "ChangeProposal": Guard((EPOCH,)),
    "ProposalSpec": Guard(
        (
            Rule(
                "!has(self.recommended) || self.options.exists(o, o.name == self.recommended)",
                "must be one of the options",
                at=".recommended",
            ),
            Rule(
                "self.proposedBy == oldSelf.proposedBy",
                "stays who it was",
                at=".proposedBy",
                reason=FORBIDDEN,
            ),
        )
    ),
    "QuantifiedEvidence": Guard(
        (
            Rule("has(self.low) == has(self.high)", "an interval has both ends: low and high"),
            Rule(
                "!has(self.low) || !has(self.high) || double(self.low) <= double(self.high)",
                "is above high",
                at=".low",
            ),
        )
    ),
    "FallbackRuleSet": Guard((EPOCH,)),
    "RuleColumn": Guard(
        (
            Rule(
                "self.type != 'Enum' || (has(self.values) && self.values.size() > 0)",
                "are required with type Enum",
                at=".values",
                reason=REQUIRED,
            ),
            only_with(
                "values",
                "self.values.size() == 0 || self.type == 'Enum'",
                "have a meaning with type Enum only",
            ),
            *(
                only_with(
                    field,
                    "self.type in ['Integer', 'Number']",
                    "has a meaning with type Integer and Number only",
                )
                for field in ("minimum", "maximum")
            ),
            Rule(
                "!has(self.minimum) || !has(self.maximum) || double(self.minimum) <= double(self.maximum)",
                "is above maximum",
                at=".minimum",
            ),
        )
    ),
    "RuleCell": Guard(
        (
            Rule(
                f"[{_IS_SET}, {_IS_RANGE}, self.absent].filter(given, given).size() == 1",
                "needs exactly one of oneOf, a range (atLeast, below) and absent",
            ),
        )
    ),
    "TableRule": Guard(
        shape={
            "anyOf": [
                {"not": {"required": ["answer"]}},
                {"properties": {"answerFrom": {"maxProperties": 0}}},
            ]
        }
    ),
    "RetrainingRun": Guard((EPOCH,)),
    "RetrainingSpec": Guard((IMMUTABLE,)),
    "DataSelection": Guard(
        (
            Rule("self.fromTime < self.until", "must lie before until", at=".fromTime"),
            Rule("!has(self.maxRuns) || self.minRuns <= self.maxRuns", "is below minRuns", at=".maxRuns"),
        )
    ),
    "Trigger": Guard(
        (required_with("requestedBy", "self.type == 'Manual'", "is required with type Manual"),)
    ),
    "TrainedComponent": Guard(
        (Rule("self.version != self.baseVersion", "is the version that it starts from", at=".version"),)
    ),
    "GovernancePolicy": Guard((EPOCH,)),
    "GovernanceSpec": Guard(
        (
            Rule(
                "!has(self.rules) || self.rules.all(r, !has(r.quorum) || "
                "r.quorum.all(q, has(self.roles) && self.roles.exists(o, o.name == q.role)))",
                "a quorum names a role that is not declared under spec.roles",
                at=".rules",
            ),
            Rule(
                "!has(self.breakGlass) || self.breakGlass.roles.all(n, has(self.roles) && self.roles.exists(o, o.name == n))",
                "names a role that is not declared under spec.roles",
                at=".breakGlass.roles",
            ),
            Rule(
                "!has(self.exceptions) || self.exceptions.all(e, "
                "e.rules.all(n, has(self.rules) && self.rules.exists(r, r.name == n)))",
                "an exception names a rule that is not declared under spec.rules",
                at=".exceptions",
            ),
        )
    ),
    "Freeze": Guard(
        (
            Rule(
                "has(self.schedule) ? !has(self.startsAt) && !has(self.endsAt) : has(self.startsAt) && has(self.endsAt)",
                "needs startsAt and endsAt, or schedule and durationSeconds",
            ),
            Rule(
                "has(self.schedule) == has(self.durationSeconds)",
                "belongs to a schedule, and a schedule needs it",
                at=".durationSeconds",
            ),
            Rule(
                "!has(self.startsAt) || !has(self.endsAt) || self.startsAt < self.endsAt",
                "must lie after startsAt",
                at=".endsAt",
            ),
        )
    ),
}
