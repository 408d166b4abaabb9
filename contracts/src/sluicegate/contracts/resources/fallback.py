"""FallbackRuleSet: a decision table that answers when the workflow does not."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from sluicegate.contracts.resources.base import (
    Condition,
    Decimals,
    Digest,
    Expression,
    Flag,
    Fraction,
    Free,
    Int,
    Model,
    Name,
    ObjectName,
    Person,
    Resource,
    Schema,
    Status,
    Text,
    VersionText,
)
from sluicegate.contracts.schedules import Schedule

_Field = Annotated[str, Field(strict=True, min_length=1, max_length=63, pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]


class ColumnType(StrEnum):
    """What the values of a column are."""

    ENUM = "Enum"
    INTEGER = "Integer"
    NUMBER = "Number"
    BOOLEAN = "Boolean"
    DATE = "Date"


class RuleColumn(Model):
    """An input of the table, with all values it may have: completeness is proved over them."""

    name: _Field
    """Unique in the table; cells name it."""
    value: Expression
    """CEL over input, steps and run, as in a workflow."""
    type: ColumnType
    """What its values are."""
    values: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    """Of Enum: all there are."""
    minimum: Decimals | None = None
    """Of Integer and Number: the smallest there is. Absent: no bound."""
    maximum: Decimals | None = None
    """Of Integer and Number: the largest there is. Absent: no bound."""
    may_be_absent: Flag = False
    """Whether the input may lack it; a cell can then ask for `absent`."""
    description: Text | None = None
    """For people."""


class RuleCell(Model):
    """What a rule asks of a column: one of some values, a range that begins with `atLeast` and ends before `below`, or absence."""

    one_of: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    """Values of Enum, Boolean (`true`, `false`), or of any other type, as text."""
    at_least: Annotated[str, Field(strict=True, min_length=1, max_length=64)] | None = None
    """A number or an ISO 8601 date, as text; in the range."""
    below: Annotated[str, Field(strict=True, min_length=1, max_length=64)] | None = None
    """A number or an ISO 8601 date, as text; no more in the range."""
    absent: Flag = False
    """Holds when the input lacks it."""


class TableRule(Model):
    """A row."""

    id: Name
    """Unique in the table; runs and explanations name it."""
    when: Annotated[dict[str, RuleCell], Field(max_length=32)] = Field(default_factory=dict)
    """Column → cell. A column that is not named may have any value."""
    guard: Expression | None = None
    """CEL that must hold as well; not part of the proof of completeness."""
    priority: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    """Of Priority: the largest wins."""
    answer: JsonValue = None
    """The output; a text that is CEL belongs in `answerFrom`."""
    answer_from: Annotated[dict[str, Expression], Field(max_length=64)] = Field(default_factory=dict)
    """Output field → CEL over the columns, instead of `answer`."""
    reason: Text | None = None
    """For people and for the audit."""


class HitPolicy(StrEnum):
    """Which rule answers when several hold (as in DMN)."""

    UNIQUE = "Unique"  # never several: proved
    FIRST = "First"
    PRIORITY = "Priority"
    ANY = "Any"  # several with the same answer: proved
    COLLECT = "Collect"  # all answers, as a list


class RuleExample(Model):
    """A test that is part of the table."""

    name: Name
    """Unique in the table."""
    input: Free
    """Column → value."""
    rule: Name | None = None
    """The rule that must answer. Absent: the default."""
    answer: JsonValue = None
    """What must come out. Absent: not looked at."""


class RuleDrill(Model):
    """Rehearsals, so that the table works on the day it is needed."""

    schedule: Annotated[str, Field(strict=True, min_length=9, max_length=256)]
    """Cron, five fields: when one begins. It ends after `durationSeconds`, or when the next one begins."""
    time_zone: Annotated[str, Field(strict=True, max_length=64)] = "Etc/UTC"
    """Of the schedule, by its name in the tz database."""
    share: Fraction = Fraction(numerator=1, denominator=100)
    """Of the runs."""
    duration_seconds: Annotated[int, Field(strict=True, ge=60, le=604_800)] = 3600
    """How long one takes."""
    mirrored: Flag = True
    """Whether users still get the workflow's answer. Runs that are evidence of a rollout always do."""
    overdue_after_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] = 3_024_000
    """Since the last one that passed."""

    def to_schedule(self) -> Schedule:
        """When it takes place."""
        return Schedule(cron=self.schedule, time_zone=self.time_zone, seconds=self.duration_seconds)


class RuleSetSpec(Model):
    """The table, its tests and its rehearsals."""

    version: VersionText
    """One version names one table."""
    owner: Person
    """Team or person that answers for it."""
    description: Text | None = None
    """For people."""
    hit_policy: HitPolicy = HitPolicy.UNIQUE
    """Which rule answers when several hold."""
    columns: Annotated[tuple[RuleColumn, ...], Field(min_length=1, max_length=32)]
    """What the table looks at."""
    rules: Annotated[tuple[TableRule, ...], Field(max_length=1024)] = ()
    """Its rows, in order."""
    default: JsonValue = None
    """The answer when no rule holds. Absent: the rules must be complete, which is proved."""
    contract: Schema = True
    """JSON Schema that every answer must meet."""
    examples: Annotated[tuple[RuleExample, ...], Field(max_length=1024)] = ()
    """Tests that must pass before the table is used."""
    drill: RuleDrill | None = None
    """When it is rehearsed, by the workflows whose `businessFallback` names no drill of its own."""
    change_reason: Text | None = None
    """Why this version."""


class TableProof(Model):
    """What is known of the table."""

    complete: bool = False
    """Every input has an answer."""
    gaps: Int = 0
    """Parts of the input without one."""
    overlaps: Int = 0
    """Pairs of rules that hold for the same input, where the hit policy forbids it."""
    shadowed: tuple[Name, ...] = ()
    """Rules that never answer."""
    witness: Free = Field(default_factory=dict)
    """An input that shows the first problem."""
    failed_examples: tuple[Name, ...] = ()
    """By name."""


class DrillReport(Model):
    """How a rehearsal went."""

    started_at: datetime
    """When."""
    ended_at: datetime | None = None
    """When; absent while it goes on."""
    runs: Int = 0
    """Rehearsed."""
    answered: Int = 0
    """Of them, by the table, with an answer that keeps its contract and the workflow's."""
    invalid: Int = 0
    """Of them, by the table, with an answer that breaks one of the two."""
    passed: bool = False
    """It has ended, and all were answered."""
    failed_run: str | None = None
    """The first that was not answered, for `sluicegate run show`."""


class NamedTable(Model):
    """Which table a version named."""

    version: VersionText
    """Its name."""
    digest: Digest
    """Of its table."""
    proved_at: datetime
    """When its proof held for the first time."""


class RuleSetStatus(Status):
    """What serves, and whether it would work."""

    digest: Digest | None = None
    """Of the table of this spec."""
    serving_version: str | None = None
    """The version in the plans that all gateways have; the earlier one until then. Absent: no plan has this rule set."""
    serving_digest: Digest | None = None
    """Of the table of that version."""
    versions: Annotated[tuple[NamedTable, ...], Field(max_length=10)] = ()
    """The last ten that were proved, the newest last: none of these names may come back with another table."""
    users: Int = 0
    """Workflows that name this rule set, or whose stable revision does."""
    used_by: Annotated[tuple[ObjectName, ...], Field(max_length=50)] = ()
    """The first fifty of them."""
    proof: TableProof | None = None
    """Of the table of this spec."""
    last_drill: DrillReport | None = None
    """The newest."""
    last_passed_drill_at: datetime | None = None
    """When one passed last."""
    next_drill_at: datetime | None = None
    """When the next begins."""
    message: str = ""
    """Why, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""


class FallbackRuleSet(Resource):
    """Rules of business that answer when the workflow fails again and again."""

    kind: Literal["FallbackRuleSet"] = "FallbackRuleSet"
    """Always this."""
    spec: RuleSetSpec
    """The table."""
    status: RuleSetStatus | None = None
    """Written by the control loop only."""
