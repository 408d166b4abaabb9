"""The golden signals as PromQL over what the exporter counts; the reference page, the rules and the tests use this table.

A series is of one namespace, workflow, revision and arm. Arms whose components were forced onto fallbacks are of the
contributions alone. Shares are over what was counted since the exporting process began, or over a `window`; contributions
and drift are of the present stage.
"""

from dataclasses import dataclass
from typing import Final

_ARMS: Final = 'arm=~"stable|candidate|control"'
_ENDED: Final = 'outcome=~"Succeeded|Failed"'
_GOOD: Final = 'outcome="Succeeded"'
_OK: Final = 'outcome="Ok"'
_BY: Final = "namespace, workflow, revision, arm"
_ABLATED: Final = 'arm=~"ablated|stable-ablated"'
MOST_RELATIVE_ERROR: Final = 0.01
"""Of the percentiles (`sketch`)."""


@dataclass(frozen=True, slots=True)
class GoldenSignal:
    """A recording rule. meaning: what the number is; per: its labels beside the arm's."""

    name: str
    promql: str
    meaning: str
    per: str = ""


def runs(window: str = "", serving: str = "") -> str:
    """Runs that count: those that the caller's own input ended say nothing of the arm. serving: one more matcher."""
    return _sum("sluicegate_runs_total", _ENDED + serving, window)


def successes(window: str = "", serving: str = "") -> str:
    """Of them, those with an answer that conforms, and whose outcome was not said to be Failed."""
    good = _sum("sluicegate_runs_total", _GOOD + serving, window)
    failed = _sum("sluicegate_run_corrections_total", 'correction="Failed"', window)
    restored = _sum("sluicegate_run_corrections_total", 'correction="Restored"', window)
    return f"({good} - {failed} + {restored})"


def fallback_rate(window: str = "") -> str:
    """Share of runs in which a component fell back."""
    fell = _sum("sluicegate_component_fallback_runs_total", "", window, f"{_BY}, component")
    return f"{fell} / on ({_BY}) group_left () {runs(window)}"


def exceedance(window: str = "") -> str:
    """Share of runs that were slower than promised; exact, since the promise is a border of the buckets."""
    kept = _sum("sluicegate_run_latency_sla_ratio_bucket", 'le="1.0"', window)
    return f"1 - {kept} / {_sum('sluicegate_run_latency_sla_ratio_count', '', window)}"


def component_success(window: str = "", per: str = "component, version") -> str:
    """Share of a component's calls with an answer that conforms."""
    calls, by = "sluicegate_component_calls_total", f"{_BY}, {per}"
    return f"{_sum(calls, _OK, window, by)} / {_sum(calls, '', window, by)}"


def component_p95_ms() -> str:
    """95th percentile of a component's latency, of the slowest version."""
    return f"1000 * max by ({_BY}, component) (sluicegate_component_p95_latency_seconds{{{_ARMS}}})"


def _sum(name: str, matchers: str = "", window: str = "", by: str = _BY) -> str:
    series = f"{name}{{{', '.join(filter(None, (_ARMS, matchers)))}}}"
    return f"sum by ({by}) ({f'increase({series}[{window}])' if window else series})"


SIGNALS: Final = (
    GoldenSignal(
        "workflow_success_rate",
        f"{successes()} / {runs()}",
        "Share of runs with an answer that conforms to the contract, and whose outcome was not reported as Failed. Rejected "
        "runs are none.",
    ),
    GoldenSignal(
        "workflow_p95_latency",
        f"max by ({_BY}) (sluicegate_workflow_p95_latency_seconds{{{_ARMS}}})",
        "95th percentile of the latency of whole runs in seconds, of the latest half hour to hour with runs; within 1 %.",
    ),
    GoldenSignal(
        "workflow_sla_exceedance_rate",
        exceedance(),
        "Share of runs slower than the revision's `sla.maxLatencyMs`: what the latency gate compares. Only where there is one.",
    ),
    GoldenSignal(
        "component_fallback_rate_max",
        f"max by ({_BY}) ({fallback_rate()})",
        "The largest share of runs in which one component fell back; forced ablations are not counted.",
    ),
    GoldenSignal(
        "component_success_rate",
        component_success(),
        "Share of a component's calls, after retries, with an answer that conforms to its contract.",
        "component, version",
    ),
    GoldenSignal(
        "component_p95_latency",
        f"max by ({_BY}, component, version) (sluicegate_component_p95_latency_seconds{{{_ARMS}}})",
        "95th percentile of the latency of a component's calls in seconds, retries included; otherwise as for the workflow.",
        "component, version",
    ),
    GoldenSignal(
        "component_fallback_rate",
        fallback_rate(),
        "Share of runs in which the component fell back.",
        "component",
    ),
    GoldenSignal(
        "reward_shapley_variance",
        f"max by ({_BY}) (sluicegate_reward_shapley_variance{{{_ABLATED}}})",
        "How unevenly the components add to the reward: population variance of their contributions under ablation, without what "
        "noise adds. Arms: ablated is the candidate, stable-ablated is stable. From 50 ablated units on.",
    ),
    GoldenSignal(
        "component_reward_contribution",
        f"max by ({_BY}, component, bound) (sluicegate_component_reward_contribution{{{_ABLATED}}})",
        "What the component adds to the reward under ablation: its Shapley value, with the ends of its 95 % interval. Arms as above.",
        "component, bound",
    ),
    GoldenSignal(
        "component_drift_score",
        f"max by ({_BY}, component, output) (sluicegate_component_drift_score)",
        "How far what the candidate's component gives in an observed output is from what stable's gives: KL divergence in nats, "
        "less its bias. For the eye: the gate decides by the log e-value.",
        "component, output",
    ),
)


def reference() -> str:
    """The signals as a Markdown table, for docs/reference."""
    rows = ["| signal | labels beside the arm's | meaning |", "|---|---|---|"]
    for signal in SIGNALS:
        labels = ", ".join(f"`{label}`" for label in signal.per.split(", ") if label) or "–"
        rows.append(f"| `{signal.name}` | {labels} | {signal.meaning} |")
    queries = (f"`{signal.name}`:\n\n```promql\n{signal.promql}\n```" for signal in SIGNALS)
    return "\n".join(rows) + "\n\n" + "\n\n".join(queries) + "\n"
