"""Runs as the gates count them, read back through Prometheus' own parser."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.adapters import system
from sluicegate.observability import golden, revisions
from sluicegate.observability.metrics import GatewayMetrics
from sluicegate.observability.recent import SPAN, Recent
from sluicegate.observability.revisions import RETIRED_SECONDS, Revisions
from tests.observability.scraped import RUN_ID, Scraped, run, step

NOON = "2026-03-01T12:00:00+00:00"
FELL = {"strategy": "Skip", "reason": "Timeout", "forced": False}
FORCED = FELL | {"forced": True}


def outcome(said: str | None, second: int = 0, run_id: str = RUN_ID) -> dict[str, Any]:
    return {"t": "outcome", "run_id": run_id, "outcome": said, "at": f"2026-03-01T12:00:{second:02d}+00:00"}


def corrections(scraped: Scraped) -> tuple[float | None, float | None]:
    name = "sluicegate_run_corrections_total"
    return scraped.value(name, correction="Failed"), scraped.value(name, correction="Restored")


@pytest.mark.parametrize(
    ("sentence", "entries", "expected"),
    [
        ("nothing is said", [run()], (0, 0)),
        ("a good answer failed the business", [run(), outcome("Failed")], (1, 0)),
        ("said twice", [run(), outcome("Failed"), outcome("Failed", 1)], (1, 0)),
        ("taken back", [run(), outcome("Failed"), outcome("Succeeded", 1)], (1, 1)),
        ("the latest word counts, not the last to come", [run(), outcome("Succeeded", 5), outcome("Failed", 1)], (0, 0)),
        ("praise mends no bad answer", [run(outcome="Failed"), outcome("Succeeded")], (0, 0)),
        ("blame adds nothing to a bad answer", [run(outcome="Failed"), outcome("Failed")], (0, 0)),
        ("a reward alone says nothing", [run(), outcome(None)], (0, 0)),
        ("the outcome was stored first", [outcome("Failed"), run()], (1, 0)),
        ("both words were", [outcome("Succeeded"), outcome("Failed", 1), run()], (1, 0)),
        ("both were, the latest first", [outcome("Succeeded", 1), outcome("Failed"), run()], (0, 0)),
        ("only the users' run has an outcome", [run(arm="candidate", serving=False), outcome("Failed")], (0, 0)),
        ("another run's", [run(), outcome("Failed", run_id="another")], (0, 0)),
    ],
)  # fmt: skip
def test_an_outcome_corrects_what_was_counted(
    scraped: Scraped, gateway: GatewayMetrics, sentence: str, entries: list[dict[str, Any]], expected: Any
) -> None:
    for entry in entries:
        gateway.entry(entry)
    assert corrections(scraped) == expected, sentence


def test_a_rejected_run_says_nothing_of_the_arm(scraped: Scraped, gateway: GatewayMetrics) -> None:
    gateway.entry(run(outcome="Rejected", sla={"maxLatencyMs": 1}))
    gateway.entry(outcome("Failed"))
    assert corrections(scraped) == (None, None)
    assert scraped.value("sluicegate_run_duration_seconds_count") is None
    assert scraped.value("sluicegate_run_latency_sla_ratio_count") is None
    assert scraped.value("sluicegate_workflow_p95_latency_seconds") is None


def test_a_component_that_falls_back_twice_in_a_run_is_one_run(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    fell = step(outcome="Fallback", fallback=FELL)
    components = {"planner": "v1", "judge": "v1", "memory": "v1"}
    gateway.entry(run(components=components, steps=[fell, fell, step(component="memory")]))
    late = [step(component="judge", outcome="Fallback", fallback=FELL), fell]
    gateway.entry({"t": "after", "run_id": RUN_ID, "arm": "stable", "steps": late})
    name = "sluicegate_component_fallback_runs_total"
    found = {one.labels["component"]: one.value for one in scraped.samples(name)}
    assert found == {"planner": 1, "judge": 1, "memory": 0}
    assert scraped.value("sluicegate_component_fallbacks_total", component="planner") == 3


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("an ablation forced it", {"outcome": "Fallback", "fallback": FORCED}),
        ("it was skipped", {"outcome": "Skipped"}),
        ("a stub stood in", {"stubbed": True}),
    ],
)
def test_a_step_that_called_nobody_is_no_call(
    scraped: Scraped, gateway: GatewayMetrics, sentence: str, said: dict[str, Any]
) -> None:
    gateway.entry(run(components={"planner": "v1"}, steps=[step(**said)]))
    assert scraped.value("sluicegate_component_fallback_runs_total", component="planner") == 0, sentence
    assert scraped.value("sluicegate_component_calls_total") is None, sentence
    assert scraped.value("sluicegate_component_p95_latency_seconds") is None, sentence


def test_series_of_rates_begin_at_zero(scraped: Scraped, gateway: GatewayMetrics) -> None:
    gateway.entry(run(outcome="Failed", steps=[step(outcome="Failed")]))
    assert scraped.value("sluicegate_runs_total", outcome="Succeeded") == 0
    assert scraped.value("sluicegate_component_calls_total", outcome="Ok") == 0


def test_the_promise_is_shown_and_is_a_border(scraped: Scraped, gateway: GatewayMetrics) -> None:
    sla = {"maxLatencyMs": 250.0, "minSuccessRate": 0.97, "else": 1.0, "maxFallbackRate": "much"}
    for latency in (250.0, math.nextafter(250.0, 251.0), 100.0, 2600.0):
        gateway.entry(run(latency_ms=latency, sla=sla))
    shown = {one.labels["bound"]: one.value for one in scraped.samples("sluicegate_workflow_sla")}
    assert shown == {"maxLatencyMs": 250.0, "minSuccessRate": 0.97}
    assert scraped.value("sluicegate_run_latency_sla_ratio_bucket", le="1.0") == 2
    assert scraped.value("sluicegate_run_latency_sla_ratio_count") == 4


@given(st.integers(1, 86_400_000))
def test_a_ratio_is_above_one_exactly_when_the_promise_is_broken(promised: int) -> None:
    scraped = Scraped()
    gateway = GatewayMetrics(scraped.registry)
    for latency in (float(promised), math.nextafter(promised, math.inf)):
        gateway.entry(run(latency_ms=latency, sla={"maxLatencyMs": float(promised)}))
    assert scraped.value("sluicegate_run_latency_sla_ratio_bucket", le="1.0") == 1
    assert scraped.value("sluicegate_run_latency_sla_ratio_bucket", le="1.1") == 2


def test_the_gauge_is_the_95th_percentile(scraped: Scraped, gateway: GatewayMetrics) -> None:
    """Rank ceil(0.95 n) of the sorted values, within the sketch's 1 %."""
    draw = system.seeded(5)
    latencies = [draw.lognormvariate(5.0, 1.0) for _ in range(200)]
    for latency in latencies:
        gateway.entry(run(latency_ms=latency, started_at=NOON, steps=[step(latency_ms=latency / 2)]))
    exact = sorted(latencies)[math.ceil(0.95 * 200) - 1] / 1000.0
    assert scraped.value("sluicegate_workflow_p95_latency_seconds") == pytest.approx(exact, rel=0.01)
    assert scraped.value("sluicegate_component_p95_latency_seconds") == pytest.approx(exact / 2, rel=0.01)


def test_only_the_latest_two_spans_count_in_whatever_order() -> None:
    values = [(90.0, 0.0), (20.0, 2 * SPAN + 1.0), (30.0, SPAN + 1.0), (25.0, SPAN + 2.0)]
    for order in (values, values[1:] + values[:1], [values[0], *values[2:], values[1]]):
        recent = Recent()
        for value, at in order:
            recent.add(value, at)
        assert recent.p95() == pytest.approx(30.0, rel=0.01)
    recent.add(5.0, 9 * SPAN)
    assert recent.p95() == pytest.approx(5.0, rel=0.01)
    assert math.isnan(Recent().p95())


def test_a_revision_without_runs_is_retired_by_the_runs_of_another(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    def shown() -> set[str]:
        return {one.labels["revision"] for one in scraped.samples("sluicegate_workflow_p95_latency_seconds")}

    gateway.entry(run(revision="bot-1", started_at="2026-03-01T12:00:00+00:00", steps=[step()]))
    gateway.entry(run(revision="bot-2", started_at="2026-03-01T13:00:00+00:00"))
    assert shown() == {"bot-1", "bot-2"}
    gateway.entry(run(revision="other-1", workflow="other", started_at="2026-03-01T19:00:00+00:00"))
    assert shown() == {"bot-1", "bot-2", "other-1"}
    gateway.entry(run(revision="bot-2", started_at="2026-03-01T13:00:01+00:00"))
    assert shown() == {"bot-2", "other-1"}
    assert 'revision="bot-1"' not in scraped.text()


def test_of_workflows_only_those_that_are_there_are_kept(scraped: Scraped, gateway: GatewayMetrics) -> None:
    gateway.entry(run())
    gateway.entry(run(workflow="gone", revision="gone-1"))
    gateway.keep_workflows({("shop", "support-bot"), ("shop", "without-runs")})
    assert 'workflow="gone"' not in scraped.text()
    assert 'workflow="support-bot"' in scraped.text()


def test_the_least_recent_revision_goes_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "MOST", 2)
    seen = Revisions()
    keys = [("shop", "bot", str(number)) for number in range(3)]
    assert [seen.ran(key, 0.0) for key in keys] == [[], [], [keys[0]]]
    assert seen.of("shop", "bot") == keys[1:]
    assert seen.ran(keys[1], RETIRED_SECONDS) == []
    assert seen.ran(keys[1], RETIRED_SECONDS + 1.0) == [keys[2]]


def test_what_is_remembered_is_bounded(
    scraped: Scraped, gateway: GatewayMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden, "MOST_RUNS", 2)
    monkeypatch.setattr(golden, "MOST_EARLY", 1)
    for number in range(3):
        gateway.entry(run(run_id=f"r{number}"))
    for number in range(3):
        gateway.entry(outcome("Failed", run_id=f"r{number}"))
    assert corrections(scraped) == (2, 0)
    gateway.entry(outcome("Failed", run_id="early-1"))
    gateway.entry(outcome("Failed", run_id="early-2"))
    gateway.entry(run(run_id="r0"))  # its outcome had to make place
    gateway.entry(run(run_id="early-2"))
    assert corrections(scraped) == (3, 0)
    for _ in range(3):
        gateway.entry(outcome("Failed", run_id="never"))
    assert len(gateway._golden._early) == 1
    assert isinstance(gateway._golden._early["never"], dict), "one word, however often it is said"
