"""The drift of each output in Prometheus, as long as its gate is looked at."""

import pytest
from prometheus_client import CollectorRegistry

from sluicegate.observability.metrics import ControlMetrics
from tests.observability.drift.outputs import folded, pairs


def test_the_score_of_an_output_is_shown_and_ends_with_its_gates() -> None:
    registry = CollectorRegistry()
    metrics = ControlMetrics(registry)
    found = folded(pairs(["a", "b"] * 50, ["a"] * 100))
    metrics.gate("default", "bot", "drift", found)
    metrics.drift("default", "bot", "bot-2", found)
    labels = {"namespace": "default", "workflow": "bot", "revision": "bot-2", "arm": "candidate"}
    labels |= {"component": "planner", "output": "intent"}
    # KL of (1/2, 1/2 unseen) from (100.5, 0.5) / 101, less (2 - 1) / 2 * 2 / 100: 0.5 ln(50.5/100.5) + 0.5 ln(50.5/0.5) - 0.01
    assert registry.get_sample_value("sluicegate_component_drift_score", labels) == pytest.approx(
        1.9534681, abs=1e-6
    )
    gate = {"namespace": "default", "workflow": "bot", "gate": "drift", "component": "planner.intent"}
    assert (registry.get_sample_value("sluicegate_gate_log_e", gate | {"question": "harm"}) or 0.0) > 3.0
    metrics.forget_gates("default", "bot")
    assert registry.get_sample_value("sluicegate_component_drift_score", labels) is None
