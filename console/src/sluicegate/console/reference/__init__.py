"""The reference pages, made from what they describe: commands, models, tables of the parts.

`python -m sluicegate.console.reference docs/reference` writes them; a test fails when one is stale, and making one
fails when something has no description.
"""

from collections.abc import Callable
from typing import Final

from sluicegate.console.reference import (
    command_line,
    contract_findings,
    contracts,
    errors,
    gates,
    http,
    metrics,
    resources,
    rule_findings,
    status,
)

PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": command_line.cli,
    "contract-report.schema.json": contracts.report_schema,
    "conditions.md": status.conditions_page,
    "contract-findings.md": contract_findings.contract_findings_page,
    "errors.md": errors.errors_page,
    "exit-codes.md": command_line.exit_codes,
    "gates.md": gates.gates_page,
    "http-api.md": http.http_page,
    "metrics.md": metrics.metrics_page,
    "resources.md": resources.resources_page,
    "rule-findings.md": rule_findings.rule_findings_page,
}


def pages() -> dict[str, str]:
    """File name -> text."""
    return {name: made() for name, made in PAGES.items()}
