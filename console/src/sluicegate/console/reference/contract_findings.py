"""Findings of the static checks, from the table of their codes."""

from sluicegate.console.contracting.codes import CODES
from sluicegate.console.reference.markdown import one_line, page
from sluicegate.contracts.diagnostics import Code, Severity

_SEVERITIES = {
    Severity.ERROR: "certain: it happens in every such run, or breaks a limit that the workflow sets itself. Refused by `lint` and at admission, where what is stored "
    "already stays changeable in other places.",
    Severity.WARNING: "may happen, or is likely not meant. Told, never refused.",
    Severity.INFO: "good to know.",
}


def contract_findings_page() -> str:
    """One section for each code, so that a finding can be linked."""
    return page(
        "Contract findings",
        "What the checks of contracts say before anything runs, each with a code, a severity, a path, a witness that shows it, and what to change. `sluicegate lint` and admission "
        "tell the findings about one workflow. What they compute and what they leave out: [checks before anything runs](../explanation/static-checks.md).",
        "\n".join(f"- **{severity}**: {meaning}" for severity, meaning in _SEVERITIES.items()),
        *(_section(name, code) for name, code in CODES.items()),
    )


def _section(name: str, code: Code) -> str:
    return f"## {name}\n\n*{code.title}*. {one_line(code.meaning)}\n\nWhat to do: {one_line(code.remedy)}"
