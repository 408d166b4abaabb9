"""The proof against every input of small random tables, read a second time from the spec; and that each finding shows itself."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings

from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.resources.fallback import HitPolicy, RuleSetSpec, TableRule
from sluicegate.fallback_rules.codes import CODES, SEVERITIES
from sluicegate.fallback_rules.proof import MAX_TOLD, Proof, prove
from sluicegate.fallback_rules.space import MAX_STATES
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import AMOUNT, INTENT, cell_holds, every_input, rule, specs, table


def possible(spec: RuleSetSpec, values: dict[str, Any]) -> list[TableRule]:
    """Rows whose cells hold, whatever their guards, in the order of answering."""
    columns = {column.name: column for column in spec.columns}
    rows = [
        row
        for row in spec.rules
        if all(cell_holds(cell, columns[name], values.get(name)) for name, cell in row.when.items())
    ]
    return sorted(rows, key=lambda row: -row.priority)


def clash(spec: RuleSetSpec, rows: list[TableRule]) -> set[frozenset[str]]:
    """Pairs that the hit policy forbids at one input, where these rows may hold."""
    sure = [row.priority for row in rows if row.guard is None]
    if spec.hit_policy is HitPolicy.PRIORITY:
        rows = [row for row in rows if not sure or row.priority >= max(sure)]
    return {
        frozenset({one.id, other.id})
        for one, other in combinations(rows, 2)
        if spec.hit_policy is HitPolicy.UNIQUE
        or (spec.hit_policy is HitPolicy.ANY and one.answer != other.answer)
        or (
            spec.hit_policy is HitPolicy.PRIORITY
            and one.priority == other.priority
            and one.answer != other.answer
        )
    }


def may_answer(rows: list[TableRule]) -> list[str]:
    ids: list[str] = []
    for row in rows:
        ids.append(row.id)
        if row.guard is None:
            break
    return ids


def check(spec: RuleSetSpec, limit: int) -> Proof:
    compiled = compile_table(spec)
    proof = prove(compiled, limit=limit)
    held = [(values, possible(spec, values)) for values in every_input(spec)]
    gaps = [values for values, rows in held if all(row.guard is not None for row in rows)]
    assert proof.summary.complete == (spec.default is not None or not gaps)
    assert (proof.summary.gaps > 0) == (spec.default is None and bool(gaps))
    pairs = set().union(*(clash(spec, rows) for _, rows in held))
    assert proof.summary.overlaps == len(pairs)
    answering = {one for _, rows in held for one in may_answer(rows)}
    shadowed = (
        {row.id for row in spec.rules} - answering
        if spec.hit_policy in {HitPolicy.FIRST, HitPolicy.PRIORITY}
        else set()
    )
    assert set(proof.summary.shadowed) == shadowed | {row.id for row in spec.rules if row.guard == "false"}
    _check_witnesses(spec, proof, shadowed)
    return proof


def _check_witnesses(spec: RuleSetSpec, proof: Proof, shadowed: set[str]) -> None:
    for one in proof.diagnostics:
        if one.witness is None:
            continue
        rows = possible(spec, json.loads(one.witness))
        if one.code == "RuleGap":
            assert all(row.guard is not None for row in rows)
        elif one.code in {"RuleOverlap", "RuleConflict"}:
            assert any(all(f" {row} " in one.message for row in pair) for pair in clash(spec, rows))
        elif one.code == "RuleShadowed":
            assert shadowed & {row.id for row in rows} - set(may_answer(rows))


@settings(max_examples=80, deadline=None)
@given(specs())
def test_regions_say_what_every_input_says(spec: RuleSetSpec) -> None:
    check(spec, MAX_STATES)


@settings(max_examples=50, deadline=None)
@given(specs())
def test_boxes_say_what_every_input_says(spec: RuleSetSpec) -> None:
    check(spec, 0)


@settings(max_examples=50, deadline=None)
@given(specs(guards=False, max_rules=5))
def test_a_redundant_rule_can_be_taken_away(spec: RuleSetSpec) -> None:
    proof = prove(compile_table(spec))
    told = {one.path for one in proof.diagnostics if one.code == "RuleRedundant"}
    if proof.summary.overlaps:
        return
    whole = compile_table(spec)
    for number, row in enumerate(spec.rules):
        rest = spec.model_copy(update={"rules": tuple(other for other in spec.rules if other is not row)})
        if not rest.rules and rest.default is None:
            continue
        less = compile_table(rest)
        is_same = all(
            (one := whole.decide(values)).answer == (other := less.decide(values)).answer and (one.problem is None) == (other.problem is None)
            for values in every_input(spec)
        )  # fmt: skip
        if row.id not in proof.summary.shadowed:
            assert is_same == (f"spec.rules[{number}]" in told)


# One planted fault each: rules, more of the spec -> code, path, input that shows it, part of the message.
REFUND, TRACK, OTHER = ({"oneOf": [value]} for value in INTENT["values"])
LOW, HIGH = {"below": "50"}, {"atLeast": "50"}
Fault = tuple[RuleSetSpec, str, str, dict[str, Any] | None, str]
FAULTS: dict[str, Fault] = {
    "a gap": (
        table(rule("a", when={"intent": REFUND, "amount": LOW}), rule("b", when={"intent": {"oneOf": ["track", "other"]}})),
        "RuleGap", "spec.rules", {"intent": "refund", "amount": 50}, "intent is refund, amount from 50 to 1000",
    ),
    "a gap behind a guard": (
        table(rule("a", guard="amount < 900.0")), "RuleGap", "spec.rules", {"intent": "refund", "amount": 0}, "every input",
    ),
    "a gap without a value": (
        table(rule("a", when={"amount": LOW}), rule("b", when={"amount": HIGH}), columns=[INTENT, AMOUNT | {"mayBeAbsent": True}]),
        "RuleGap", "spec.rules", {"intent": "refund", "amount": None}, "amount is absent",
    ),
    "an overlap": (
        table(rule("a", when={"amount": {"below": "60"}}), rule("b", when={"amount": HIGH})),
        "RuleOverlap", "spec.rules[1]", {"intent": "refund", "amount": 50}, "rules a and b hold for the same input",
    ),
    "a tie": (
        table(rule("a", when={"amount": LOW}, priority=3), rule("b", priority=3), hitPolicy="Priority"),
        "RuleOverlap", "spec.rules[1]", {"intent": "refund", "amount": 0}, "with the same priority and answer differently",
    ),
    "two answers": (
        table(rule("a"), rule("b", when={"intent": TRACK}), hitPolicy="Any"),
        "RuleConflict", "spec.rules[1]", {"intent": "track", "amount": 0}, "answer differently",
    ),
    "a shadow": (
        table(rule("a", when={"intent": REFUND}), rule("b", when={"amount": LOW}), rule("c", when={"intent": REFUND, "amount": {"below": "9"}}), rule("d"), hitPolicy="First"),
        "RuleShadowed", "spec.rules[2]", {"intent": "refund", "amount": 0}, "rule c never answers: rule a answers",
    ),
    "a shadow of two": (
        table(rule("a", when={"amount": LOW}), rule("b", when={"amount": HIGH}), rule("c", when={"intent": TRACK}), hitPolicy="First"),
        "RuleShadowed", "spec.rules[2]", {"intent": "track", "amount": 0}, "rules a, b answer",
    ),
    "a guard that never holds": (
        table(rule("a", guard="1 > 2"), default={"text": "d"}), "RuleUnreachable", "spec.rules[0].guard", None, "always false",
    ),
    "an example that another rule answers": (
        table(rule("a", when={"amount": LOW}), rule("b", when={"amount": HIGH}), examples=[{"name": "e", "input": {"intent": "track", "amount": 50}, "rule": "a"}]),
        "RuleExampleFailed", "spec.examples[0]", {"intent": "track", "amount": 50}, "rule b answers, not a",
    ),
    "an example with another answer": (
        table(rule("a"), examples=[{"name": "e", "input": {"intent": "track", "amount": 5}, "rule": "a", "answer": {"text": "b"}}]),
        "RuleExampleFailed", "spec.examples[0]", {"intent": "track", "amount": 5}, "the answer is an object with text",
    ),
    "an example that the default does not answer": (
        table(rule("a"), examples=[{"name": "e", "input": {"intent": "track", "amount": 5}}]),
        "RuleExampleFailed", "spec.examples[0]", {"intent": "track", "amount": 5}, "rule a answers, not the default",
    ),
    "a formula that breaks the contract at its end": (
        table({"id": "a", "answerFrom": {"fee": "amount * 2.0"}}, contract={"properties": {"fee": {"maximum": 1999}}}),
        "AnswerBreaksContract", "spec.rules[0].answerFrom", {"intent": "refund", "amount": 1000}, "breaks the contract: answer/fee",
    ),
    "a formula that fails at its end": (
        table({"id": "a", "answerFrom": {"fee": "[1, 2][int(amount)]"}}), "AnswerFails", "spec.rules[0].answerFrom", {"intent": "refund", "amount": 1000}, "fails",
    ),
    "a guard over what may be absent": (
        table(rule("a", guard="amount > 1.0"), columns=[INTENT, AMOUNT | {"mayBeAbsent": True}], default={"text": "d"}),
        "AnswerFails", "spec.rules[0].guard", {"intent": "refund", "amount": None}, "the guard of rule a fails",
    ),
    "collected answers that break the contract": (
        table(rule("a"), rule("b", when={"intent": TRACK}), hitPolicy="Collect", contract={"type": "array", "maxItems": 1}),
        "AnswerBreaksContract", "spec.contract", {"intent": "track", "amount": 0}, "a, b break the contract",
    ),
    "a rule that changes nothing": (
        table(rule("a", "x", when={"amount": LOW}), rule("b", "x"), hitPolicy="First"), "RuleRedundant", "spec.rules[0]", None, "without rule a",
    ),
    "a computed answer": (
        table({"id": "a", "answerFrom": {"fee": "amount * 2.0"}}, contract={"required": ["fee"]}), "AnswerNotProved", "spec.rules[0].answerFrom", None, "6 inputs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(fault: str) -> None:
    spec, code, path, witness, message = FAULTS[fault]
    proof = prove(compile_table(spec), subject="FallbackRuleSet/t")
    (found,) = proof.diagnostics
    assert (found.code, found.path, found.severity) == (code, path, SEVERITIES[code])
    assert (None if found.witness is None else json.loads(found.witness)) == witness
    assert message in found.message
    assert found.hint == CODES[code].remedy
    assert proof.holds == (found.severity is not Severity.ERROR)


def test_a_clean_table_has_no_finding() -> None:
    examples = [
        {"name": "e", "input": {"intent": "refund", "amount": 50}, "rule": "b", "answer": {"text": "b"}}
    ]
    clean = table(
        rule("a", when={"amount": LOW}), rule("b", when={"intent": REFUND, "amount": HIGH}),
        rule("c", when={"intent": {"oneOf": ["track", "other"]}, "amount": HIGH}), examples=examples,
    )  # fmt: skip
    proof = prove(compile_table(clean))
    assert (proof.diagnostics, proof.holds, proof.summary.complete) == ((), True, True)


def test_many_findings_of_a_kind_are_told_by_their_number() -> None:
    proof = prove(compile_table(table(*(rule(f"r{n}") for n in range(8)))))
    assert proof.summary.overlaps == 8 * 7 / 2
    assert len(proof.diagnostics) == MAX_TOLD
    assert proof.diagnostics[-1].message == f"and {28 - MAX_TOLD + 1} more of these"


def test_a_table_of_twenty_columns_is_proved_by_boxes() -> None:
    """3^20 cells: three billion. Rule n asks for column n, so that only inputs with `a` nowhere are left, and the last two rules take them."""
    columns = [
        {"name": f"c{n}", "value": f"input.c{n}", "type": "Enum", "values": ["a", "b", "c"]}
        for n in range(20)
    ]
    rows = [rule(f"r{n}", when={f"c{n}": {"oneOf": ["a"]}}) for n in range(20)]
    last = [rule("b", when={"c0": {"oneOf": ["b"]}}), rule("c", when={"c0": {"oneOf": ["c"]}})]
    proof = prove(compile_table(table(*rows, *last, columns=columns, hitPolicy="First")), limit=1000)
    assert proof.summary.complete
    gap = prove(compile_table(table(*rows, last[0], columns=columns, hitPolicy="First")), limit=1000)
    assert not gap.summary.complete
    assert gap.summary.witness["c0"] == "c"
    assert "a" not in gap.summary.witness.values()
