"""What is known of a table before it answers anybody: complete, free of overlaps, no rule that never answers, answers that keep the contract.

Exact, for every input of the declared columns; each finding comes with an input that shows it. A rule with a guard never
counts as covering, and always as possibly holding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.resources.fallback import HitPolicy, RuleExample, TableProof
from sluicegate.contracts.suggestions import listed, shown
from sluicegate.fallback_rules.axes import bits
from sluicegate.fallback_rules.codes import CODES, SEVERITIES
from sluicegate.fallback_rules.probing import probes
from sluicegate.fallback_rules.rows import Row
from sluicegate.fallback_rules.searching import MAX_GAPS, Facts, Reading, search
from sluicegate.fallback_rules.space import MAX_STATES, cells_of, corner, size, values_at
from sluicegate.fallback_rules.table import Answered, Cause, Table, same
from sluicegate.fallback_rules.words import box_in_words, witness_text

MAX_TOLD = 20
"""Findings of one code; the last says how many more there are."""
_CODE_OF_CAUSE = {
    Cause.GUARD: "AnswerFails",
    Cause.FORMULA: "AnswerFails",
    Cause.CONTRACT: "AnswerBreaksContract",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """summary: as it stands in the status of a FallbackRuleSet. cells: of the grid that was looked at."""

    summary: TableProof
    diagnostics: tuple[Diagnostic, ...]
    cells: int

    @property
    def holds(self) -> bool:
        """The table may answer: nothing is an error."""
        return not any(one.severity is Severity.ERROR for one in self.diagnostics)


def prove(table: Table, *, subject: str = "", limit: int = MAX_STATES) -> Proof:
    """Everything about the table that is not about one row alone. subject: the object, for the diagnostics."""
    reading = Reading(table)
    facts = search(reading, limit=limit)
    never = _never(table)
    problems = _Problems(table, subject)
    gaps = list(problems.gaps(facts))
    pairs = list(problems.pairs(facts))
    shadows = list(problems.shadows(facts))
    answers = list(problems.answers(facts))
    failed = [(example, why) for example in table.spec.examples if (why := failure(table, example))]
    diagnostics = (
        *problems.too_large(facts), *_most(gaps), *_most(pairs), *_most(shadows), *problems.never(never), *_most(answers),
        *_most([problems.example(example, why) for example, why in failed]), *problems.redundant(facts),
    )  # fmt: skip
    summary = TableProof(
        complete=not facts.undecided and not facts.gaps,
        gaps=len(facts.gaps),
        overlaps=len(facts.pairs),
        shadowed=tuple(
            dict.fromkeys([*(table.ordered[one.row].id for one in facts.shadows), *(row.id for row in never)])
        ),
        witness=_first_witness(table, facts),
        failed_examples=tuple(example.name for example, _ in failed),
    )
    return Proof(summary=summary, diagnostics=diagnostics, cells=cells_of(table.axes))


def failed_examples(table: Table, *, subject: str = "") -> tuple[Diagnostic, ...]:
    """Only the examples."""
    problems = _Problems(table, subject)
    return tuple(problems.example(one, why) for one in table.spec.examples if (why := failure(table, one)))


def failure(table: Table, example: RuleExample) -> str | None:
    """Why an example fails, in a sentence; None when it does not."""
    told = table.decide(example.input)
    if told.problem:
        return told.problem
    if told.rule != example.rule and example.rule not in told.rules:
        return f"{_by(told)} answers, not {example.rule or 'the default'}"
    if example.answer is not None and not same(told.answer, example.answer):
        return f"the answer is {shown(told.answer)}, not {shown(example.answer)}"
    return None


def _by(told: Answered) -> str:
    return f"rule {told.rule}" if told.rule else "the default"


def _never(table: Table) -> list[Row]:
    """Rows whose guard is false whatever the input."""
    return [row for row in table.ordered if row.guard is not None and constant(table, row) is False]


def constant(table: Table, row: Row) -> bool | None:
    """What the guard gives whatever the input; None when that depends, or fails."""
    if row.guard is None or not row.guard.is_constant:
        return None
    try:
        return table.holds(row, {})
    except ExpressionError:
        return None


def _first_witness(table: Table, facts: Facts) -> dict[str, Any]:
    places = [
        *(corner(box) for box in facts.gaps[:1]),
        *(pair.place for pair in facts.pairs[:1]),
        *(shadow.place for shadow in facts.shadows[:1]),
    ]
    return values_at(table.axes, places[0]) if places else {}


def _most(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The first of many, and how many there are."""
    if len(found) <= MAX_TOLD:
        return list(found)
    last = found[MAX_TOLD - 1]
    more = Diagnostic(
        code=last.code, severity=last.severity, path="spec.rules", subject=last.subject,
        message=f"and {len(found) - MAX_TOLD + 1} more of these", hint=last.hint,
    )  # fmt: skip
    return [*found[: MAX_TOLD - 1], more]


def diagnostic(code: str, path: str, message: str, *, subject: str, witness: str | None = None) -> Diagnostic:
    """A finding of this part: severity and remedy are those of its code."""
    return Diagnostic(
        code=code, severity=SEVERITIES[code], path=path, message=message, witness=witness, hint=CODES[code].remedy, subject=subject
    )  # fmt: skip


class _Problems:
    def __init__(self, table: Table, subject: str) -> None:
        self._table = table
        self._subject = subject
        self._rows = table.ordered
        self._cells = cells_of(table.axes)

    def _say(self, code: str, path: str, message: str, witness: dict[str, Any] | None = None) -> Diagnostic:
        shown_input = None if witness is None else witness_text(witness)
        return diagnostic(code, path, message, subject=self._subject, witness=shown_input)

    def too_large(self, facts: Facts) -> Iterator[Diagnostic]:
        if facts.undecided:
            yield self._say("RuleProofTooLarge", "spec.rules", f"nothing was proved of {self._cells} cells")

    def gaps(self, facts: Facts) -> Iterator[Diagnostic]:
        more = " at least" if len(facts.gaps) == MAX_GAPS else ""
        for box in facts.gaps:
            where = box_in_words(self._table.axes, box)
            message = f"no rule holds for {where} ({size(box)} of{more} {self._cells} cells)"
            yield self._say("RuleGap", "spec.rules", message, values_at(self._table.axes, corner(box)))

    def pairs(self, facts: Facts) -> Iterator[Diagnostic]:
        said = {
            HitPolicy.ANY: ("RuleConflict", "hold for the same input and answer differently"),
            HitPolicy.PRIORITY: (
                "RuleOverlap",
                "hold for the same input with the same priority and answer differently",
            ),
        }
        code, message = said.get(self._table.spec.hit_policy, ("RuleOverlap", "hold for the same input"))
        for pair in facts.pairs:
            one, other = sorted((self._rows[pair.first], self._rows[pair.second]), key=lambda row: row.number)
            guards = "" if one.guard is other.guard is None else "; guards count as holding"
            yield self._say(
                code, other.path, f"rules {one.id} and {other.id} {message}{guards}", values_at(self._table.axes, pair.place)
            )  # fmt: skip

    def shadows(self, facts: Facts) -> Iterator[Diagnostic]:
        for shadow in facts.shadows:
            row = self._rows[shadow.row]
            by = [self._rows[bit].id for bit in bits(shadow.by)]
            plural = "rules" if len(by) > 1 else "rule"
            message = f"rule {row.id} never answers: {plural} {listed(by, 6)} answers wherever it holds"
            yield self._say("RuleShadowed", row.path, message, values_at(self._table.axes, shadow.place))

    def never(self, rows: Sequence[Row]) -> Iterator[Diagnostic]:
        for row in rows:
            yield self._say(
                "RuleUnreachable",
                f"{row.path}.guard",
                f"rule {row.id} never answers: its guard is always false",
            )

    def redundant(self, facts: Facts) -> Iterator[Diagnostic]:
        told = {bit for pair in facts.pairs for bit in (pair.first, pair.second)}
        for bit in bits(facts.redundant):
            if bit in told:
                continue
            row = self._rows[bit]
            yield self._say(
                "RuleRedundant", row.path, f"without rule {row.id} every input would get the same answer"
            )

    def answers(self, facts: Facts) -> Iterator[Diagnostic]:
        for row in self._rows:
            if row.formulas or row.guard is not None:
                yield from self._computed(row)
        if self._table.spec.hit_policy is HitPolicy.COLLECT:
            for region in facts.regions or ():
                values = values_at(self._table.axes, region.place)
                told = self._table.decide(values)
                if told.cause is Cause.CONTRACT:
                    yield self._say("AnswerBreaksContract", "spec.contract", told.problem or "", values)

    def _computed(self, row: Row) -> Iterator[Diagnostic]:
        tried = 0
        for values in probes(self._table, row):
            told = self._table.decide(values)
            tried += 1
            if told.cause in _CODE_OF_CAUSE:
                field = "guard" if told.cause is Cause.GUARD else "answerFrom"
                path = f"{row.path}.{field}"
                yield self._say(_CODE_OF_CAUSE[told.cause], path, told.problem or "", dict(values))
                return
        if row.formulas and self._table.spec.contract not in (True, {}):
            message = (
                f"rule {row.id} computes its answer: it keeps the contract at {tried} inputs that were tried"
            )
            yield self._say("AnswerNotProved", f"{row.path}.answerFrom", message)

    def example(self, example: RuleExample, why: str) -> Diagnostic:
        number = self._table.spec.examples.index(example)
        message = f"example {example.name} fails: {why}"
        return self._say("RuleExampleFailed", f"spec.examples[{number}]", message, dict(example.input))
