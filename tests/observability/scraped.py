"""What the exporter shows, as a scrape sees it, and lines of a spool for it."""

from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

RUN_ID = "0198c0de-0000-7000-8000-000000000001"


class Scraped:
    """A registry as a scrape sees it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def text(self) -> str:
        return bytes(generate_latest(self.registry)).decode()  # type: ignore[no-untyped-call]

    def samples(self, name: str) -> list[Sample]:
        families = text_string_to_metric_families(self.text())  # type: ignore[no-untyped-call]
        return [sample for family in families for sample in family.samples if sample.name == name]

    def value(self, name: str, **labels: str) -> float | None:
        """Sum over the series that have these labels; None when there is none."""
        found = [s.value for s in self.samples(name) if labels.items() <= s.labels.items()]
        return sum(found) if found else None


def run(**changes: Any) -> dict[str, Any]:
    return {
        "t": "run",
        "run_id": RUN_ID,
        "arm": "stable",
        "serving": True,
        "namespace": "shop",
        "workflow": "support-bot",
        "revision": "support-bot-1",
        "version": "1.0.0",
        "latency_ms": 250.0,
        "outcome": "Succeeded",
        "rollout": "uid-1",
        "steps": [],
        "violations": [],
        "reward": None,
        **changes,
    }


def step(**changes: Any) -> dict[str, Any]:
    return {
        "name": "plan",
        "component": "planner",
        "version": "v1",
        "outcome": "Ok",
        "latency_ms": 40.0,
        "fallback": None,
        "violations": [],
        **changes,
    }
