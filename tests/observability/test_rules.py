"""The shipped rules, judged by Prometheus' own promtool: they are well-formed, and each alert fires when it should."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sluicegate.observability import rules
from sluicegate.observability.alerts import ALERTS, GUIDE
from sluicegate.observability.signals import SIGNALS
from tests.prometheus import binaries
from tests.support.golden import ROOT, check

FILE = ROOT / "charts/sluicegate/files/prometheus-rules.yaml"
READY = "sluicegate_business_fallback_ready"
DRILLS = "sluicegate_business_fallback_drills_passing"
_BOT = {"namespace": "shop", "workflow": "bot"}
_ARM = _BOT | {"revision": "bot-1", "arm": "stable"}
_STORE = {"instance": "lineage:9464"}


def series(name: str, labels: dict[str, str], values: str) -> dict[str, str]:
    """values: promtool's notation; a sample each minute."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{inside}}}", "values": values}


def grows(name: str, by: float, **labels: str) -> dict[str, str]:
    return series(name, _ARM | labels, f"0+{by}x90")


def stays(name: str, value: float, **labels: str) -> dict[str, str]:
    return series(name, labels, f"{value}x90")


def sla(**bounds: float) -> list[dict[str, str]]:
    labels = _BOT | {"revision": "bot-1"}
    return [stays("sluicegate_workflow_sla", value, **labels, bound=bound) for bound, value in bounds.items()]


def traffic(good: float, bad: float, later: float = 0.0) -> list[dict[str, str]]:
    """Per minute: answers that conform, that do not, and of the first those that failed the business."""
    return [
        grows("sluicegate_runs_total", good, serving="true", outcome="Succeeded"),
        grows("sluicegate_runs_total", bad, serving="true", outcome="Failed"),
        grows("sluicegate_runs_total", 50, serving="true", outcome="Rejected"),
        grows("sluicegate_run_corrections_total", later, correction="Failed"),
        grows("sluicegate_run_corrections_total", 0, correction="Restored"),
    ]


def slow(share: float) -> list[dict[str, str]]:
    return [
        grows("sluicegate_run_latency_sla_ratio_bucket", 10 * (1 - share), le="1.0"),
        grows("sluicegate_run_latency_sla_ratio_count", 10),
    ]


def mirrors(dropped: float, ran: float | None) -> list[dict[str, str]]:
    found = [series("sluicegate_mirrors_dropped_total", _BOT, f"0+{dropped}x90")]
    if ran is not None:
        labels = {"serving": "false", "outcome": "Succeeded", "arm": "candidate"}
        found.append(series("sluicegate_runs_total", _ARM | labels, f"0+{ran}x90"))
    return found


def promises(**bounds: float) -> list[dict[str, str]]:
    labels = _BOT | {"revision": "bot-1", "component": "planner"}
    return [
        stays("sluicegate_component_sla", value, **labels, bound=bound) for bound, value in bounds.items()
    ]


def p95(seconds: float) -> dict[str, str]:
    labels = _ARM | {"component": "planner", "version": "1"}
    return stays("sluicegate_component_p95_latency_seconds", seconds, **labels)


def calls(good: float, bad: float) -> list[dict[str, str]]:
    labels = {"component": "planner", "version": "1"}
    return [
        grows("sluicegate_component_calls_total", good, **labels, outcome="Ok"),
        grows("sluicegate_component_calls_total", bad, **labels, outcome="Failed"),
    ]


def business(metric: str, by: float, **label: str) -> dict[str, str]:
    labels = _BOT | {"rule_set": "care"} | label
    return series(f"sluicegate_business_fallback_{metric}_total", labels, f"0+{by}x90")


def decided(outcome: str) -> dict[str, str]:
    labels = {"namespace": "shop", "rule_set": "care", "outcome": outcome}
    return series("sluicegate_rules_answers_total", labels, "0+1x90")


FELL = "sluicegate_component_fallback_runs_total"
CASES: list[tuple[str, str, bool, list[dict[str, str]]]] = [
    ("SluicegateSuccessLow", "answers break the contract", True, [*traffic(8, 2), *sla(minSuccessRate=0.9)]),
    ("SluicegateSuccessLow", "the business says so", True, [*traffic(10, 0, 2), *sla(minSuccessRate=0.9)]),
    ("SluicegateSuccessLow", "within the promise", False, [*traffic(9.5, 0.5), *sla(minSuccessRate=0.9)]),
    ("SluicegateSuccessLow", "nothing is promised", False, [*traffic(1, 9), *sla(maxFallbackRate=0.1)]),
    ("SluicegateSuccessLow", "58 runs say little", False, [*traffic(1, 0.9), *sla(minSuccessRate=0.9)]),
    ("SluicegateLatencyHigh", "a tenth", True, [*traffic(10, 0), *slow(0.1), *sla(latencyQuantile=0.95)]),
    ("SluicegateLatencyHigh", "4 of 100", False, [*traffic(10, 0), *slow(0.04), *sla(latencyQuantile=0.95)]),
    (
        "SluicegateFallbacksHigh",
        "one component of two",
        True,
        [
            *traffic(10, 0),
            grows(FELL, 2, component="planner"),
            grows(FELL, 0, component="memory"),
            *sla(maxFallbackRate=0.1),
        ],
    ),
    (
        "SluicegateFallbacksHigh",
        "as promised",
        False,
        [*traffic(10, 0), grows(FELL, 0.9, component="planner"), *sla(maxFallbackRate=0.1)],
    ),
    (
        "SluicegateComponentSlow",
        "a third above its promise",
        True,
        [*traffic(10, 0), *promises(maxLatencyMs=300), p95(0.4)],
    ),
    (
        "SluicegateComponentSlow",
        "within it",
        False,
        [*traffic(10, 0), *promises(maxLatencyMs=300), p95(0.29)],
    ),
    (
        "SluicegateComponentFails",
        "4 of 5",
        True,
        [*traffic(10, 0), *calls(8, 2), *promises(minSuccessRate=0.9)],
    ),
    (
        "SluicegateComponentFails",
        "as promised",
        False,
        [*traffic(10, 0), *calls(9.5, 0.5), *promises(minSuccessRate=0.9)],
    ),
    (
        "SluicegateComponentFallsBack",
        "a fifth",
        True,
        [*traffic(10, 0), grows(FELL, 2, component="planner"), *promises(maxFallbackRate=0.1)],
    ),
    (
        "SluicegateComponentFallsBack",
        "another one",
        False,
        [*traffic(10, 0), grows(FELL, 2, component="memory"), *promises(maxFallbackRate=0.1)],
    ),
    ("SluicegateBusinessFallback", "sessions fail", True, [business("triggered", 1, reason="session")]),
    ("SluicegateBusinessFallback", "a drill", False, [business("drill_runs", 1, outcome="Answered")]),
    ("SluicegateBusinessFallbackSilent", "no rule held", True, [business("answers", 1, answer="None")]),
    ("SluicegateBusinessFallbackSilent", "a rule held", False, [business("answers", 1, answer="Rules")]),
    ("SluicegateFallbackNotReady", "refused", True, [stays(READY, 0, **_BOT)]),
    ("SluicegateFallbackNotReady", "proved", False, [stays(READY, 1, **_BOT)]),
    ("SluicegateDrillsNotPassing", "failed or overdue", True, [stays(DRILLS, 0, **_BOT)]),
    ("SluicegateDrillsNotPassing", "passed", False, [stays(DRILLS, 1, **_BOT)]),
    ("SluicegateRolloutHeld", "for more than an hour", True, [stays("sluicegate_rollout_held", 1, **_BOT)]),
    ("SluicegateRolloutHeld", "not held", False, [stays("sluicegate_rollout_held", 0, **_BOT)]),
    ("SluicegateMirrorsDropped", "a fifth", True, mirrors(2, 8)),
    ("SluicegateMirrorsDropped", "every one", True, mirrors(2, None)),
    ("SluicegateMirrorsDropped", "one of 100", False, mirrors(0.1, 9.9)),
    ("SluicegateIngestLags", "100 MB", True, [stays("sluicegate_ingest_lag_bytes", 1e8, **_STORE)]),
    (
        "SluicegateIngestLags",
        "it fails again and again",
        True,
        [series("sluicegate_ingest_failures_total", _STORE, "0+2x90")],
    ),
    (
        "SluicegateIngestLags",
        "a moment's work",
        False,
        [stays("sluicegate_ingest_lag_bytes", 5000, **_STORE)],
    ),
    (
        "SluicegateNoLeader",
        "two replicas, none leads",
        True,
        [stays("sluicegate_operator_leader", 0, instance=one, job="operator") for one in ("a", "b")],
    ),
    (
        "SluicegateNoLeader",
        "one of two leads",
        False,
        [
            stays("sluicegate_operator_leader", lead, instance=one, job="operator")
            for one, lead in (("a", 0), ("b", 1))
        ],
    ),
    ("SluicegateNoLeader", "local mode has no leader", False, traffic(10, 0)),
    (
        "SluicegateGatewayWorkersDie",
        "one a minute",
        True,
        [series("sluicegate_gateway_worker_restarts_total", _STORE, "0+1x90")],
    ),
    (
        "SluicegateGatewayWorkersDie",
        "once",
        False,
        [series("sluicegate_gateway_worker_restarts_total", _STORE, "0x80 1x9")],
    ),
    ("SluicegateRuleSetRefused", "a file", True, [stays("sluicegate_rules_refused_files", 1, **_STORE)]),
    (
        "SluicegateRuleSetRefused",
        "the folder",
        True,
        [stays("sluicegate_rules_folder_unreadable", 1, **_STORE)],
    ),
    (
        "SluicegateRuleSetRefused",
        "all is used",
        False,
        [stays("sluicegate_rules_refused_files", 0, **_STORE)],
    ),
    ("SluicegateRulesWithoutAnswer", "inputs that are not understood", True, [decided("Input")]),
    ("SluicegateRulesWithoutAnswer", "the default answers", False, [decided("Default")]),
]


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [binaries.find().promtool, *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_file_in_the_chart_is_fresh() -> None:
    check(FILE, rules.text())


def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", FILE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(SIGNALS) + len(ALERTS)} rules found" in done.stdout


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    assert {(alert.name, fires) for alert in ALERTS for fires in (True, False)} == {
        (name, fires) for name, _, fires, _ in CASES
    }


def test_alerts_fire_as_promtool_sees_it(tmp_path: Path) -> None:
    tests = [
        {
            "name": f"{name}: {sentence}",
            "interval": "1m",
            "input_series": given,
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": "85m",
                    "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
                }
            ],
        }
        for name, sentence, fires, given in CASES
    ]
    asked: dict[str, Any] = {"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": tests}
    path = tmp_path / "tests.yaml"
    path.write_text(json.dumps(asked))
    done = promtool("test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_each_alert_says_who_and_what_to_do(alert: Any) -> None:
    guide = (ROOT / GUIDE).read_text()
    (section,) = re.findall(rf"^### {alert.name}\n\n(.+?)(?=^#|\Z)", guide, re.MULTILINE | re.DOTALL)
    assert len(section.strip()) > 80
