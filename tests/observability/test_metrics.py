"""The exporter, read back through Prometheus' own parser."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.evidence import AblatedUnits, Estimate, SignalEvidence
from sluicegate.contracts.runs import Arm
from sluicegate.contracts.stages import Outcome, Signal, State
from sluicegate.observability import catalog, metrics, revisions
from sluicegate.observability.metrics import ControlMetrics, GatewayMetrics
from tests.observability.scraped import RUN_ID, Scraped, run, step


@pytest.fixture
def control(scraped: Scraped) -> ControlMetrics:
    return ControlMetrics(scraped.registry)


def test_a_run_is_counted_with_its_latency_and_its_id_as_exemplar(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    gateway.entry(run())
    gateway.entry(run(arm="candidate", serving=False, outcome="Failed", revision="support-bot-2"))
    labels = {"namespace": "shop", "workflow": "support-bot"}
    served = {**labels, "arm": "stable", "serving": "true", "outcome": "Succeeded"}
    assert scraped.value("sluicegate_runs_total", **served, revision="support-bot-1") == 1
    mirrored = {**labels, "arm": "candidate", "serving": "false", "outcome": "Failed"}
    assert scraped.value("sluicegate_runs_total", **mirrored, revision="support-bot-2") == 1
    assert scraped.value("sluicegate_run_duration_seconds_sum", arm="stable") == 0.25
    exemplars = [s.exemplar for s in scraped.samples("sluicegate_run_duration_seconds_bucket") if s.exemplar]
    assert {exemplar.labels["run_id"] for exemplar in exemplars} == {RUN_ID}


def test_latencies_of_two_minutes_have_a_bucket(scraped: Scraped, gateway: GatewayMetrics) -> None:
    gateway.entry(run(latency_ms=119_000.0))
    assert scraped.value("sluicegate_run_duration_seconds_bucket", le="60.0") == 0
    assert scraped.value("sluicegate_run_duration_seconds_bucket", le="120.0") == 1


def test_steps_are_counted_by_component_and_skipped_ones_are_not(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    fallback = {"strategy": "Value", "reason": "Timeout", "forced": False}
    steps = [
        step(),
        step(component="orders", outcome="Fallback", fallback=fallback),
        step(component="writer", outcome="Fallback", fallback={**fallback, "forced": True}),
        step(component="judge", outcome="Skipped"),
    ]
    gateway.entry(run(steps=steps))
    assert scraped.value("sluicegate_component_calls_total", component="planner", outcome="Ok") == 1
    assert scraped.value("sluicegate_component_calls_total", component="judge") is None
    assert scraped.value("sluicegate_component_duration_seconds_count", component="orders", version="v1") == 1
    used = scraped.samples("sluicegate_component_fallbacks_total")
    assert [(s.labels["component"], s.labels["strategy"], s.labels["reason"], s.value) for s in used] == [
        ("orders", "Value", "Timeout", 1)
    ]


def test_violations_are_counted_for_the_workflow_and_for_components(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    violation = {"code": "Enum", "path": "steps.plan.intent", "message": "x"}
    gateway.entry(run(violations=[violation], steps=[step(violations=[violation, violation])]))
    assert scraped.value("sluicegate_contract_violations_total", component="") == 1
    assert scraped.value("sluicegate_contract_violations_total", component="planner") == 2


def test_violations_say_what_was_broken_and_what_was_done_in_closed_words(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    told = [("Pattern", "Redact"), ("UnknownValue", "Map"), ("Enum", "Warn"), ("of my own", "whatever")]
    gateway.entry(run(violations=[{"code": code, "path": "p", "policy": policy} for code, policy in told]))
    seen = {
        (item.labels["code"], item.labels["policy"])
        for item in scraped.samples("sluicegate_contract_violations_total")
    }
    assert seen == {("Pattern", "Redact"), ("UnknownValue", "Map"), ("Enum", "Warn"), ("Other", "Other")}


def test_runs_that_rules_of_business_answer_are_counted_by_why_and_by_who(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    asked = {"rule_set": "care", "trigger": "session", "answered_by": "Rules"}
    gateway.entry(run(outcome="Failed", business=asked))
    gateway.entry(run(outcome="Diverted", business=asked | {"trigger": "workflow", "answered_by": "Static"}))
    gateway.entry(run(outcome="Failed", business=asked | {"answered_by": None}))
    triggered, answered = (
        {(item.labels["workflow"], item.labels["rule_set"], item.labels[label]): item.value for item in found}
        for found, label in (
            (scraped.samples("sluicegate_business_fallback_triggered_total"), "reason"),
            (scraped.samples("sluicegate_business_fallback_answers_total"), "answer"),
        )
    )
    assert triggered == {("support-bot", "care", "session"): 2, ("support-bot", "care", "workflow"): 1}
    assert answered == {
        ("support-bot", "care", "Rules"): 1,
        ("support-bot", "care", "Static"): 1,
        ("support-bot", "care", "None"): 1,
    }
    assert (
        scraped.value("sluicegate_run_duration_seconds_count") == 2
    )  # a diverted run says nothing of the arm
    gateway.forget_workflow("shop", "support-bot")
    assert scraped.samples("sluicegate_business_fallback_triggered_total") == []


def test_a_rehearsal_is_none_of_the_runs_that_rules_answer(scraped: Scraped, gateway: GatewayMetrics) -> None:
    link = {"link": "Rules", "outcome": "NoRule"}
    asked = {"rule_set": "care", "trigger": "drill", "answered_by": "Static", "chain": [link]}
    gateway.entry(run(business=asked))
    gateway.entry(run(business=asked | {"chain": [link | {"outcome": "Invalid"}]}))
    gateway.entry(run(outcome="Diverted", business=asked | {"answered_by": "Rules"}))
    found = scraped.samples("sluicegate_business_fallback_drill_runs_total")
    assert {(one.labels["rule_set"], one.labels["outcome"]): one.value for one in found} == {
        ("care", "Unanswered"): 1,
        ("care", "Invalid"): 1,
        ("care", "Answered"): 1,
    }
    assert scraped.samples("sluicegate_business_fallback_triggered_total") == []
    assert scraped.samples("sluicegate_business_fallback_answers_total") == []


def test_dropped_mirrors_are_counted_for_the_workflow_of_the_rollout(
    scraped: Scraped, gateway: GatewayMetrics
) -> None:
    gateway.entry(run())
    gateway.entry({"t": "obs", "key": ["uid-1", "Shadow", 1], "dropped": 2})
    gateway.entry({"t": "obs", "key": ["uid-1", "Shadow", 1], "dropped": 0})
    assert scraped.value("sluicegate_mirrors_dropped_total", workflow="support-bot") == 2


@pytest.mark.parametrize(
    ("sentence", "entries", "count"),
    [
        ("at once", [run(reward=0.8)], 1),
        ("after the answer", [run(), {"t": "after", "run_id": RUN_ID, "arm": "stable", "reward": 0.8}], 1),
        ("by the outcome call", [run(), {"t": "outcome", "run_id": RUN_ID, "reward": 0.8}], 1),
        (
            "twice counts once",
            [
                run(),
                {"t": "after", "run_id": RUN_ID, "arm": "stable", "reward": 0.8},
                {"t": "outcome", "run_id": RUN_ID, "reward": 0.1},
            ],
            1,
        ),
        (
            "an outcome is the serving arm's",
            [
                run(arm="candidate", serving=False),
                {"t": "outcome", "run_id": RUN_ID, "reward": 0.8},
            ],
            None,
        ),
        ("never", [run(), {"t": "after", "run_id": RUN_ID, "arm": "stable", "reward": None}], None),
    ],
)
def test_a_reward_is_counted_when_it_comes(
    scraped: Scraped, gateway: GatewayMetrics, sentence: str, entries: list[dict[str, Any]], count: int | None
) -> None:
    for entry in entries:
        gateway.entry(entry)
    assert scraped.value("sluicegate_run_reward_count") == count, sentence


def test_steps_after_the_answer_are_counted(scraped: Scraped, gateway: GatewayMetrics) -> None:
    gateway.entry(run())
    gateway.entry({"t": "after", "run_id": RUN_ID, "arm": "stable", "steps": [step(component="judge")]})
    assert scraped.value("sluicegate_component_calls_total", component="judge") == 1


def test_a_forgotten_revision_leaves_no_series(scraped: Scraped, gateway: GatewayMetrics) -> None:
    for revision in ("old", "new"):
        gateway.entry(run(revision=revision, reward=0.5, steps=[step()], violations=[{"code": "Enum"}]))
    gateway.forget("shop", "support-bot", "old")
    text = scraped.text()
    assert 'revision="old"' not in text
    assert 'revision="new"' in text
    gateway.forget_workflow("shop", "support-bot")
    assert "support-bot" not in scraped.text()


def test_the_number_of_revisions_is_bounded(
    scraped: Scraped, gateway: GatewayMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "MOST", 3)
    for number in (1, 2, 3, 1, 4):
        gateway.entry(run(revision=f"r{number}"))
    shown = {sample.labels["revision"] for sample in scraped.samples("sluicegate_runs_total")}
    assert shown == {"r1", "r3", "r4"}  # the least recently seen went


def test_words_outside_a_closed_set_become_other(scraped: Scraped, gateway: GatewayMetrics) -> None:
    fallback = {"strategy": "Improvise", "reason": "user 42 said no", "forced": False}
    gateway.entry(run(outcome="Exploded", steps=[step(outcome="Fallback", fallback=fallback)]))
    assert scraped.value("sluicegate_runs_total", outcome="Other") == 1
    assert scraped.value("sluicegate_component_fallbacks_total", strategy="Other", reason="Other") == 1


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=200)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from(["run", "after", "obs", "outcome", "else"]), st.data())
def test_no_entry_breaks_the_exporter(kind: str, data: st.DataObject) -> None:
    scraped = Scraped()
    gateway = GatewayMetrics(scraped.registry)
    gateway.entry(run())
    names = st.sampled_from([*run(), "key", "dropped"])
    gateway.entry({**run(), **data.draw(st.dictionaries(names, json_values)), "t": kind})
    assert scraped.text().endswith("# EOF\n")


@pytest.mark.parametrize("latency", [math.nan, math.inf, -1.0, None, "fast", True])
def test_a_latency_that_is_none_is_not_observed(
    scraped: Scraped, gateway: GatewayMetrics, latency: Any
) -> None:
    gateway.entry(run(latency_ms=latency))
    assert scraped.value("sluicegate_runs_total") == 1
    assert scraped.value("sluicegate_run_duration_seconds_count") is None


def test_the_stage_is_a_state_set(scraped: Scraped, control: ControlMetrics) -> None:
    control.stage("shop", "support-bot", State.CANARY)
    control.stage("shop", "support-bot", State.SHADOW)
    on = [s.labels["stage"] for s in scraped.samples("sluicegate_rollout_stage") if s.value == 1]
    assert on == ["Shadow"]
    assert len(scraped.samples("sluicegate_rollout_stage")) == len(State)
    control.stage("shop", "support-bot", None)
    assert scraped.value("sluicegate_rollout_stage", workflow="support-bot") == 0


def test_shares_outcomes_gates_queue_and_reconciles(scraped: Scraped, control: ControlMetrics) -> None:
    control.declared_share("shop", "bot", 0.2)
    control.ended("shop", "bot", Outcome.PROMOTED)
    control.gate(
        "shop",
        "bot",
        "success",
        SignalEvidence(signal=Signal.SUCCESS_RATE, harm_log_e=-1.5, safe_log_e=2.5),
    )
    control.queued(3)
    control.waited(0.02)
    control.retried()
    control.reconciled("WorkflowRollout", "Applied", 0.003)
    share = "sluicegate_traffic_share"
    assert scraped.value(share, target="candidate") == 0.2
    assert scraped.value(share, target="stable") == 0.8
    assert scraped.value("sluicegate_rollout_outcomes_total", outcome="Promoted") == 1
    assert scraped.value("sluicegate_gate_log_e", gate="success", question="harm") == -1.5
    assert scraped.value("sluicegate_gate_log_e", gate="success", question="safe") == 2.5
    assert scraped.value("sluicegate_queue_depth") == 3
    assert scraped.value("sluicegate_queue_wait_seconds_sum") == pytest.approx(0.02)
    assert scraped.value("sluicegate_queue_retries_total") == 1
    assert scraped.value("sluicegate_reconcile_seconds_count", kind="WorkflowRollout", outcome="Applied") == 1
    control.forget_gates("shop", "bot")
    assert scraped.value("sluicegate_gate_log_e") is None
    assert scraped.value(share) is not None
    control.forget("shop", "bot")
    assert 'workflow="bot"' not in scraped.text()
    assert scraped.value("sluicegate_queue_depth") == 3


def test_contributions_have_bounds_and_go_with_their_stage(scraped: Scraped, control: ControlMetrics) -> None:
    """±: √(2(x+1)/x·ln(√(x+1)/0.05)) errors with x = 1,000 (2 ln 20 + ln(1 + 2 ln 20))/1,000: 3.19."""
    units = AblatedUnits(
        players=("planner",), units=1000, estimates=(Estimate("planner", 0.3, 0.01),), spread=0.02
    )
    name = "sluicegate_component_reward_contribution"
    control.contributions("shop", "bot", "bot-2", replace(units, units=49))
    assert scraped.value(name) is None
    control.contributions("shop", "bot", "bot-2", units)
    control.contributions("shop", "bot", "bot-1", replace(units, arm=Arm.ABLATED_STABLE))
    labels = {"revision": "bot-2", "arm": "ablated", "component": "planner"}
    x = 2 * math.log(20) + math.log(1 + 2 * math.log(20))
    reach = math.sqrt(2 * (x + 1) / x * math.log(math.sqrt(x + 1) / 0.05))
    for bound, value in (("estimate", 0.3), ("low", 0.3 - 0.01 * reach), ("high", 0.3 + 0.01 * reach)):
        assert scraped.value(name, bound=bound, **labels) == pytest.approx(value)
    assert scraped.value("sluicegate_reward_shapley_variance", arm="stable-ablated", revision="bot-1") == 0.02
    control.forget_gates("shop", "bot")
    assert scraped.value(name) is None
    assert scraped.value("sluicegate_reward_shapley_variance") is None


def test_workers_and_ingestion(scraped: Scraped) -> None:
    processes = metrics.ProcessMetrics(scraped.registry)
    processes.workers(2)
    processes.restarted()
    processes.lag(1024)
    processes.ingest_failed()
    assert scraped.value("sluicegate_gateway_workers") == 2
    assert scraped.value("sluicegate_gateway_worker_restarts_total") == 1
    assert scraped.value("sluicegate_ingest_lag_bytes") == 1024
    assert scraped.value("sluicegate_ingest_failures_total") == 1


def test_all_exporters_share_one_registry_and_the_reference_names_every_metric(scraped: Scraped) -> None:
    GatewayMetrics(scraped.registry)
    ControlMetrics(scraped.registry)
    metrics.ProcessMetrics(scraped.registry)
    metrics.ClusterMetrics(scraped.registry)
    reference = metrics.reference()
    for item in catalog.EVERY:
        assert reference.count(f"| `{item.name}` |") == 1
        assert not {"run_id", "unit", "session", "user"} & set(item.labels)
    exported = {family.name for family in scraped.registry.collect()}
    assert exported == {item.name.removesuffix("_total") for item in catalog.EVERY}


def test_a_replica_of_a_cluster_tells_whether_it_leads(scraped: Scraped) -> None:
    cluster, control = metrics.ClusterMetrics(scraped.registry), ControlMetrics(scraped.registry)
    assert scraped.registry.get_sample_value("sluicegate_operator_leader") == 0
    cluster.leads(7)
    control.stage("a", "w", State.CANARY)
    assert scraped.registry.get_sample_value("sluicegate_operator_leader") == 1
    assert scraped.registry.get_sample_value("sluicegate_operator_epoch") == 7
    cluster.called("get", "leases", 200, 0.01)
    labels = {"verb": "get", "resource": "leases", "code": "200"}
    assert scraped.registry.get_sample_value("sluicegate_operator_api_seconds_count", labels) == 1
    cluster.leads(None)
    control.forget_all()
    assert scraped.registry.get_sample_value("sluicegate_operator_epoch") == 0
    where = {"namespace": "a", "workflow": "w", "stage": str(State.CANARY)}
    assert scraped.registry.get_sample_value("sluicegate_rollout_stage", where) is None
