"""Findings of rule sets, from the table of their codes."""

from sluicegate.console.reference.markdown import one_line, page
from sluicegate.contracts.diagnostics import Severity
from sluicegate.fallback_rules.codes import CODES, SEVERITIES

_SEVERITIES = {
    Severity.ERROR: "the table must not answer anybody; refused.",
    Severity.WARNING: "right, and likely not meant. Told, never refused.",
    Severity.INFO: "good to know.",
}


def rule_findings_page() -> str:
    """One section for each code, so that a finding can be linked."""
    return page(
        "Rule findings",
        "What `sluicegate rules check` says of decision tables, each with a code, a severity, a path, an input that shows it, and what to change: "
        "[fallback rules](../guides/fallback-rules.md).",
        "\n".join(f"- **{severity}**: {meaning}" for severity, meaning in _SEVERITIES.items()),
        *(_section(name) for name in CODES),
    )


def _section(name: str) -> str:
    code = CODES[name]
    return f"## {name}\n\n{SEVERITIES[name]}: *{code.title}*. {one_line(code.meaning)}\n\nWhat to do: {one_line(code.remedy)}"
