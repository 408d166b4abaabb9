"""Metrics, from the catalogue that makes them."""

from collections.abc import Iterator

from sluicegate.console.reference.markdown import page, table
from sluicegate.fallback_rules.server.telling import Telling
from sluicegate.observability import catalog, signals


def metrics_page() -> str:
    """Every metric."""
    return page(
        "Metrics",
        "`sluicegate up` serves them on `http://127.0.0.1:9464/metrics` (`--metrics-port`), in the Prometheus text format; with "
        "`Accept: application/openmetrics-text` in OpenMetrics, where exemplars carry the run id. Label values come from "
        "closed sets or from names of resources; a run, session or user is never a label. Series of a workflow or "
        "revision that is gone are removed (a revision: one without runs for an hour while another one of its workflow has some). Runs are counted when they are stored, well under a second after the answer. "
        "In a cluster each process serves its part on its metrics port: the operator `sluicegate_operator_*`, the queue and the "
        "rollouts (the leader's are true), the lineage process runs and what it took in.",
        catalog.reference().rstrip("\n"),
        "## Golden signals",
        "Of each namespace, workflow, revision and arm (stable, candidate, control), counted as the gates count. How they differ from the store's "
        "own numbers, and the alerts: [metrics and alerts](../guides/metrics-and-alerts.md).",
        signals.reference().rstrip("\n"),
        "## Rules server",
        "On the port on which it answers, in every process of its own.",
        table(("metric", "meaning"), _rules()),
    )


def _rules() -> Iterator[tuple[str, str]]:
    for family in Telling().registry.collect():
        suffix = "_total" if family.type == "counter" else ""
        yield f"`{family.name}{suffix}`", family.documentation
