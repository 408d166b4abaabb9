"""Prometheus' recording and alerting rules, from the tables of signals and alerts.

`python -m sluicegate.observability.rules FILE` writes them.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from sluicegate.observability.alerts import ALERTS, GUIDE
from sluicegate.observability.signals import SIGNALS

HEAD = "# Made by `python -m sluicegate.observability.rules`; do not edit.\n"


def rules() -> dict[str, Any]:
    """As in a file of rules, and in the spec of a PrometheusRule."""
    recorded = [{"record": signal.name, "expr": signal.promql} for signal in SIGNALS]
    alerting = [
        {
            "alert": alert.name,
            "expr": alert.expr,
            "for": alert.hold,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "runbook": f"{GUIDE}#{alert.name.lower()}"},
        }
        for alert in ALERTS
    ]
    groups = {"sluicegate-signals": recorded, "sluicegate-alerts": alerting}
    return {"groups": [{"name": name, "rules": items} for name, items in groups.items()]}


def text() -> str:
    """The file."""
    return HEAD + str(yaml.safe_dump(rules(), sort_keys=False, width=110))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
