"""What is said about a rule set: findings, answers, explanations, differences; as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.console import output
from sluicegate.contracts.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from sluicegate.contracts.resources.fallback import TableProof
    from sluicegate.fallback_rules.diff import Difference
    from sluicegate.fallback_rules.explain import Explanation
    from sluicegate.fallback_rules.table import Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A rule set and what was found. proof: None when it could not be compiled."""

    source: str
    name: str
    findings: tuple[Diagnostic, ...]
    proof: "TableProof | None" = None
    digest: str | None = None
    cells: int = 0
    rules: int = 0

    @property
    def is_refused(self) -> bool:
        """Something is an error."""
        return any(one.severity is Severity.ERROR for one in self.findings)


def as_data(checked: Sequence[Checked]) -> dict[str, Any]:
    """For -o json and -o yaml."""
    return output.as_list([_one(one) for one in checked])


def _one(checked: Checked) -> dict[str, Any]:
    return {
        "source": checked.source,
        "name": checked.name,
        "ok": not checked.is_refused,
        "digest": checked.digest,
        "cells": checked.cells,
        "proof": checked.proof.to_json() if checked.proof else None,
        "findings": [
            output.camel(asdict(one) | {"fingerprint": one.fingerprint}) for one in checked.findings
        ],
    }


def lines_of(checked: Checked) -> Iterator[str]:
    """For people: a head, then each finding."""
    from sluicegate.console.contracting.formats.text import finding_lines
    from sluicegate.console.contracting.report import Finding

    said = "refused" if checked.is_refused else "ok"
    count = f", {output.plural(len(checked.findings), 'finding')}" if checked.findings else ""
    yield f"{checked.source}: {checked.name} {said}{count}"
    if checked.proof is not None:
        state = "complete" if checked.proof.complete else "not complete"
        yield f"  {output.plural(checked.rules, 'rule')}, {output.plural(checked.cells, 'cell')}: {state}; {checked.digest}"
    for one in checked.findings:
        yield from finding_lines(Finding(diagnostic=one, check="rules"))


def answer_data(told: "Answered", digest: str) -> dict[str, Any]:
    """An answer as JSON."""
    return {
        "answer": told.answer, "rule": told.rule, "rules": list(told.rules), "default": told.is_default, "reason": told.reason,
        "values": dict(told.values), "problem": told.problem, "cause": told.cause and told.cause.value, "digest": digest,
    }  # fmt: skip


def answer_lines(told: "Answered") -> Iterator[str]:
    """An answer for people."""
    if told.problem is not None:
        yield f"no answer: {told.problem}"
        return
    by = (
        "the default"
        if told.is_default
        else output.plural(len(told.rules), "rule")
        if len(told.rules) > 1
        else f"rule {told.rule}"
    )
    yield output.as_json(told.answer)
    yield f"from {by}" + (f": {told.reason}" if told.reason else "")


def explanation_data(told: "Explanation") -> dict[str, Any]:
    """An explanation as JSON."""
    rows = [dict(output.camel(asdict(row))) for row in told.rows]
    return answer_data(told.answered, told.digest) | {"hitPolicy": str(told.hit_policy), "rows": rows}


def explanation_lines(told: "Explanation") -> Iterator[str]:
    """An explanation for people: the answer, then a table of the rows."""
    yield from answer_lines(told.answered)
    rows = [
        (row.rule, "yes" if row.answers else "no", ", ".join(f"{cell.column} {cell.asked}" for cell in row.cells), row.guard or "", row.why)
        for row in told.rows
    ]  # fmt: skip
    if rows:
        yield ""
        yield output.table(("rule", "answers", "asks", "guard", "why not"), rows)


def difference_data(told: "Difference") -> dict[str, Any]:
    """A difference as JSON."""
    changes = [
        {
            "where": one.where, "cells": one.cells, "witness": one.witness, "before": _short(one.before), "after": _short(one.after),
        }
        for one in told.changes
    ]  # fmt: skip
    return {"cells": told.cells, "changed": told.changed, "notes": list(told.notes), "changes": changes}


def _short(told: "Answered") -> dict[str, Any]:
    return {"answer": told.answer, "rule": told.rule, "problem": told.problem}


def difference_lines(told: "Difference") -> Iterator[str]:
    """A difference for people."""
    yield from told.notes
    if told.changed is None:
        return
    yield (
        f"{told.changed} of {output.plural(told.cells, 'cell')} change"
        if told.changed
        else "no answer changes"
    )
    for one in told.changes:
        yield f"  {one.where} ({output.plural(one.cells, 'cell')}), for instance {_compact(one.witness)}"
        yield output.diff_line(f"-   {_brief(one.before)}")
        yield output.diff_line(f"+   {_brief(one.after)}")


def _brief(told: "Answered") -> str:
    if told.problem is not None:
        return f"no answer: {told.problem}"
    return f"{'default' if told.is_default else told.rule}: {_compact(told.answer)}"


def _compact(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
