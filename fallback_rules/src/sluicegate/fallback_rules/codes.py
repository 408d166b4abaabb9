"""Every code that a check of rule sets may give: a closed set, and the text of docs/reference/rule-findings.md."""

from collections.abc import Mapping
from typing import Final

from sluicegate.contracts.diagnostics import Code, Severity

_ERRORS: Final[Mapping[str, Code]] = {
    "RuleGap": Code(
        title="inputs without an answer",
        meaning="For the inputs that are told no rule holds and there is no default. A rule with a guard does not count as covering, since "
        "nobody knows when its guard holds.",
        remedy="Add a rule for these inputs, or a default.",
    ),
    "RuleOverlap": Code(
        title="two rules where one may hold",
        meaning="With Unique two rules hold for the same input; with Priority they have the same priority and different answers. Guards count as "
        "holding: whether two of them exclude one another is not proved.",
        remedy="Narrow one of the two, give them different priorities, or take the hit policy First.",
    ),
    "RuleConflict": Code(
        title="two answers where all must agree",
        meaning="With Any two rules hold for the same input and answer differently, or compute their answers in different ways.",
        remedy="Let both answer the same, or narrow one of the two.",
    ),
    "RuleShadowed": Code(
        title="a rule that never answers",
        meaning="Wherever the rule holds, one that goes before it (earlier with First, of higher priority with Priority) holds as well, without a guard.",
        remedy="Move the rule before those that hide it, or remove it.",
    ),
    "RuleUnreachable": Code(
        title="a guard that never holds",
        meaning="The guard is false whatever the input, so the rule never answers.",
        remedy="Correct the guard, or remove the rule.",
    ),
    "RuleExampleFailed": Code(
        title="an example that fails",
        meaning="The table does not answer the example's input by the rule, or with the answer, that the example names. An example without a rule is about the default.",
        remedy="Correct the table or the example.",
    ),
    "AnswerBreaksContract": Code(
        title="an answer that the contract refuses",
        meaning="For the input that is told, the answer breaks `spec.contract` of the rule set or the contract of who receives it. A table never gives such an answer: at run time it is a failure.",
        remedy="Correct the rule's answer, or the contract.",
    ),
    "AnswerFails": Code(
        title="an answer or a guard that cannot be evaluated",
        meaning="For the input that is told, the CEL of a guard or of `answerFrom` fails: a division by zero, a null that is compared.",
        remedy="Test for null first, or narrow the rule's cells.",
    ),
    "RuleProofTooLarge": Code(
        title="a table that is too large to be proved",
        meaning="The search for gaps, overlaps or shadowed rules was given up after a million steps, so that nothing is known.",
        remedy="Use fewer columns, or fewer different bounds in them; split the table.",
    ),
}  # fmt: skip

_WARNINGS: Final[Mapping[str, Code]] = {
    "RuleRedundant": Code(
        title="a rule that changes nothing",
        meaning="Without the rule every input would get the same answer, from the next rule that holds or from the default. Told for each rule by itself.",
        remedy="Remove the rule, unless its id matters in the audit.",
    ),
    "RuleRepeatsNeighbour": Code(
        title="two rules that could be one",
        meaning="Two rules that follow one another answer the same and differ in one column only.",
        remedy="Join their cells.",
    ),
    "ColumnNeverMatters": Code(
        title="a column that never matters",
        meaning="No answer depends on the column: its value may change and nothing else does. An input without it is refused all the same.",
        remedy="Remove the column, or use it.",
    ),
    "DefaultAnswersMost": Code(
        title="a default that answers most",
        meaning="The default answers more than half of the cells of the table: what was meant as an exception is the rule.",
        remedy="Write rules for the usual inputs, so that the answer has a name in the audit.",
    ),
    "GuardAlwaysHolds": Code(
        title="a guard that always holds",
        meaning="The guard is true whatever the input, and keeps the rule from counting as covering.",
        remedy="Remove the guard.",
    ),
}  # fmt: skip

_REMARKS: Final[Mapping[str, Code]] = {
    "AnswerNotProved": Code(
        title="an answer that is computed",
        meaning="The rule computes its answer, so its contract is not proved: the answer was checked at the corners of the rule's inputs, and is checked whenever it is given.",
        remedy="Nothing, or write the answers out.",
    ),
    "DefaultNeverAnswers": Code(
        title="a default that is not needed",
        meaning="The rules are complete, so the default never answers.",
        remedy="Remove it: then a gap in a later version is refused instead of answered.",
    ),
}  # fmt: skip

CODES: Final[Mapping[str, Code]] = {**_ERRORS, **_WARNINGS, **_REMARKS}

SEVERITIES: Final[Mapping[str, Severity]] = {
    **dict.fromkeys(_ERRORS, Severity.ERROR),
    **dict.fromkeys(_WARNINGS, Severity.WARNING),
    **dict.fromkeys(_REMARKS, Severity.INFO),
}
