"""Every metric: name, labels, meaning. The only place where metric names are made.

No label holds a run, session, user or error text; those are reached by exemplars and the run's document.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
"""Agents answer in milliseconds or minutes; a quantile above the last border would be clamped to it."""

FAST_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
REWARDS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

_REVISION: Final = ("namespace", "workflow", "revision")
_ARM: Final = (*_REVISION, "arm")
_COMPONENT: Final = (*_ARM, "component", "version")


class Kind(StrEnum):
    """Prometheus metric types used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric. exemplar: its samples carry the run id (OpenMetrics exposition)."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()
    exemplar: bool = False


RUNS: Final = Definition(
    "sluicegate_runs_total",
    Kind.COUNTER,
    (*_ARM, "serving", "outcome"),
    "Runs by arm and outcome; serving is true when the answer went to the user.",
    exemplar=True,
)
RUN_DURATION: Final = Definition(
    "sluicegate_run_duration_seconds",
    Kind.HISTOGRAM,
    _ARM,
    "End-to-end latency of a run in its arm; rejected and diverted runs are not counted.",
    SECONDS,
    exemplar=True,
)
COMPONENT_CALLS: Final = Definition(
    "sluicegate_component_calls_total",
    Kind.COUNTER,
    (*_COMPONENT, "outcome"),
    "Steps that called a component, by how the step ended; steps that were skipped, stubbed or forced onto the fallback are not counted.",
)
COMPONENT_DURATION: Final = Definition(
    "sluicegate_component_duration_seconds",
    Kind.HISTOGRAM,
    _COMPONENT,
    "Latency of a component's steps, retries included.",
    SECONDS,
    exemplar=True,
)
FALLBACKS: Final = Definition(
    "sluicegate_component_fallbacks_total",
    Kind.COUNTER,
    (*_ARM, "component", "strategy", "reason"),
    "Degradations that were used; forced ablations are not counted.",
    exemplar=True,
)
VIOLATIONS: Final = Definition(
    "sluicegate_contract_violations_total",
    Kind.COUNTER,
    (*_ARM, "component", "code", "policy"),
    "Contract violations, by the broken keyword or UnknownValue, and by what was done: Fail, Map, Redact or Warn. component is empty "
    "for the workflow's own contract.",
    exemplar=True,
)
BUSINESS_FALLBACKS: Final = Definition(
    "sluicegate_business_fallback_triggered_total",
    Kind.COUNTER,
    ("namespace", "workflow", "rule_set", "reason"),
    "Runs for which the rules of business were asked, by why: session, workflow. Rehearsals are sluicegate_business_fallback_drill_runs_total.",
    exemplar=True,
)
BUSINESS_ANSWERS: Final = Definition(
    "sluicegate_business_fallback_answers_total",
    Kind.COUNTER,
    ("namespace", "workflow", "rule_set", "answer"),
    "The same runs, by who answered: Rules, Static, or None (the user got the run's error).",
    exemplar=True,
)
DRILL_RUNS: Final = Definition(
    "sluicegate_business_fallback_drill_runs_total",
    Kind.COUNTER,
    ("namespace", "workflow", "rule_set", "outcome"),
    "Runs on which the rules of business were rehearsed, by what they said: Answered, Invalid (the answer breaks a contract), Unanswered.",
    exemplar=True,
)
REWARD: Final = Definition(
    "sluicegate_run_reward",
    Kind.HISTOGRAM,
    _ARM,
    "Reward of a run, in [0, 1]; runs without one are not counted.",
    REWARDS,
    exemplar=True,
)
SIMILARITY: Final = Definition(
    "sluicegate_response_similarity_score",
    Kind.HISTOGRAM,
    _ARM,
    "Similarity of a mirrored answer to the one the user got, in [0, 1].",
    REWARDS,
    exemplar=True,
)
RUN_CORRECTIONS: Final = Definition(
    "sluicegate_run_corrections_total",
    Kind.COUNTER,
    (*_ARM, "correction"),
    "Answers of sluicegate_runs_total that were good until an outcome call said Failed, and those that a later call put "
    "right again (Restored).",
    exemplar=True,
)
FAILED_LATER: Final = "Failed"
RESTORED: Final = "Restored"
CORRECTIONS: Final = (FAILED_LATER, RESTORED)
FALLBACK_RUNS: Final = Definition(
    "sluicegate_component_fallback_runs_total",
    Kind.COUNTER,
    (*_ARM, "component"),
    "Runs in which the component fell back, however often; 0 for each other component of the workflow. Forced "
    "ablations are not counted.",
    exemplar=True,
)
RUN_LATENCY_SLA: Final = Definition(
    "sluicegate_run_latency_sla_ratio",
    Kind.HISTOGRAM,
    _ARM,
    "Latency of a run over the workflow's sla.maxLatencyMs, where it has one: 1 is the promise, and a border.",
    (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0),
    exemplar=True,
)
P95_LATENCY: Final = Definition(
    "sluicegate_workflow_p95_latency_seconds",
    Kind.GAUGE,
    _ARM,
    "95th percentile of the latency of runs of the latest half hour to hour in which there were any, within 1 %.",
)
COMPONENT_P95: Final = Definition(
    "sluicegate_component_p95_latency_seconds",
    Kind.GAUGE,
    _COMPONENT,
    "The same of a component's steps, retries included.",
)
SLA: Final = Definition(
    "sluicegate_workflow_sla",
    Kind.GAUGE,
    (*_REVISION, "bound"),
    "What the revision's contract promises, by the name and in the unit of `contract.sla`.",
)
COMPONENT_SLA: Final = Definition(
    "sluicegate_component_sla",
    Kind.GAUGE,
    (*_REVISION, "component", "bound"),
    "What a component promises, by the name and in the unit of its `sla`.",
)
SLA_BOUNDS: Final = ("maxLatencyMs", "latencyQuantile", "minSuccessRate", "maxFallbackRate")
MIRRORS_DROPPED: Final = Definition(
    "sluicegate_mirrors_dropped_total",
    Kind.COUNTER,
    ("namespace", "workflow"),
    "Mirrored runs dropped for want of budget; they are missing evidence.",
)
STAGE: Final = Definition(
    "sluicegate_rollout_stage",
    Kind.GAUGE,
    ("namespace", "workflow", "stage"),
    "1 for the state that the workflow's rollout is in, 0 for the others.",
)
HELD: Final = Definition(
    "sluicegate_rollout_held",
    Kind.GAUGE,
    ("namespace", "workflow"),
    "1 while the workflow's rollout is held: it waits for a person.",
)
SHARE: Final = Definition(
    "sluicegate_traffic_share",
    Kind.GAUGE,
    ("namespace", "workflow", "target"),
    "Share of users whom the plan gives to target (stable, candidate); who really answered: sluicegate_runs_total, serving.",
)
OUTCOMES: Final = Definition(
    "sluicegate_rollout_outcomes_total",
    Kind.COUNTER,
    ("namespace", "workflow", "outcome"),
    "Rollouts that ended, by outcome.",
)
CONTRIBUTION: Final = Definition(
    "sluicegate_component_reward_contribution",
    Kind.GAUGE,
    (*_ARM, "component", "bound"),
    "What a component adds to the reward (Shapley value), by bound: estimate, and low and high of its 95 % interval. Arms: ablated "
    "and stable-ablated against declared fallbacks, mixed against stable's versions.",
)
SPREAD: Final = Definition(
    "sluicegate_reward_shapley_variance",
    Kind.GAUGE,
    _ARM,
    "Population variance of the components' contributions to the reward, without what noise adds to it.",
)
GATE_LOG_E: Final = Definition(
    "sluicegate_gate_log_e",
    Kind.GAUGE,
    ("namespace", "workflow", "gate", "component", "question"),
    "Log e-value of a gate's question: harm (is it worse?) and safe (is it no worse than the margin?). Of ComponentDrift "
    "there is one for each output, named component.output.",
)
DRIFT_SCORE: Final = Definition(
    "sluicegate_component_drift_score",
    Kind.GAUGE,
    (*_ARM, "component", "output"),
    "KL divergence, in nats, of what the candidate's component gives in an observed output from what stable's gives in the "
    "same stage, less its bias. For dashboards: what is much depends on the units, so alarm on sluicegate_gate_log_e.",
)
DECAY_LOG_E: Final = Definition(
    "sluicegate_decay_log_e",
    Kind.GAUGE,
    ("namespace", "workflow", "signal", "component"),
    "Natural log of the decay detector of the stable version: WorkflowReward, and ComponentFallbackRateMax of each component; "
    "absent while the baseline is counted.",
)
DECAY_THRESHOLD: Final = Definition(
    "sluicegate_decay_threshold",
    Kind.GAUGE,
    ("namespace", "workflow", "signal", "component"),
    "Natural log at which that detector alarms.",
)
FALLBACK_READY: Final = Definition(
    "sluicegate_business_fallback_ready",
    Kind.GAUGE,
    ("namespace", "workflow"),
    "Condition FallbackReady: 1 True, 0 False (the rule set is missing, or its newest version is not proved); absent while it is "
    "Unknown, or there is no business fallback.",
)
DRILLS_PASSING: Final = Definition(
    "sluicegate_business_fallback_drills_passing",
    Kind.GAUGE,
    ("namespace", "workflow"),
    "Condition DrillsPassing: 1 True, 0 False (a drill failed or is overdue); absent while it is Unknown, or there are no drills.",
)
DRILL_PASSED: Final = Definition(
    "sluicegate_business_fallback_drill_last_passed_timestamp_seconds",
    Kind.GAUGE,
    ("namespace", "workflow"),
    "When a drill of the business fallback passed last, in seconds since the epoch of Unix.",
)
RECONCILE: Final = Definition(
    "sluicegate_reconcile_seconds",
    Kind.HISTOGRAM,
    ("kind", "outcome"),
    "Duration of a reconcile, by kind of resource and how it ended.",
    FAST_SECONDS,
)
QUEUE_DEPTH: Final = Definition(
    "sluicegate_queue_depth", Kind.GAUGE, (), "Keys that are ready and not yet taken by a worker."
)
QUEUE_WAIT: Final = Definition(
    "sluicegate_queue_wait_seconds",
    Kind.HISTOGRAM,
    (),
    "How long a key was ready before a worker took it.",
    FAST_SECONDS,
)
QUEUE_RETRIES: Final = Definition(
    "sluicegate_queue_retries_total", Kind.COUNTER, (), "Keys that failed and were put back with a delay."
)
WORKERS: Final = Definition("sluicegate_gateway_workers", Kind.GAUGE, (), "Gateway workers that listen.")
WORKER_RESTARTS: Final = Definition(
    "sluicegate_gateway_worker_restarts_total",
    Kind.COUNTER,
    (),
    "Gateway workers that died and were started again.",
)
INGEST_LAG: Final = Definition(
    "sluicegate_ingest_lag_bytes", Kind.GAUGE, (), "Spooled bytes that are not in the lineage store yet."
)
INGEST_FAILURES: Final = Definition(
    "sluicegate_ingest_failures_total",
    Kind.COUNTER,
    (),
    "Steps of the ingester that failed and were repeated.",
)

LEADER: Final = Definition(
    "sluicegate_operator_leader",
    Kind.GAUGE,
    (),
    "1 when this replica leads: only then does it look and write.",
)
EPOCH: Final = Definition(
    "sluicegate_operator_epoch",
    Kind.GAUGE,
    (),
    "Of the present leadership of this replica; 0 when it does not lead.",
)
API_CALLS: Final = Definition(
    "sluicegate_operator_api_seconds",
    Kind.HISTOGRAM,
    ("verb", "resource", "code"),
    "Calls of the Kubernetes API, each attempt; code is 0 when nobody answered. Watches of the informer are not in it.",
    FAST_SECONDS,
)
ADMISSIONS: Final = Definition(
    "sluicegate_operator_admission_seconds",
    Kind.HISTOGRAM,
    ("path", "code"),
    "Admission requests; code is 200 when allowed, 403 or 422 when denied, 4xx or 5xx when there was no decision.",
    FAST_SECONDS,
)
EVENTS: Final = Definition(
    "sluicegate_operator_events_total",
    Kind.COUNTER,
    ("outcome",),
    "Events for people: Written, Dropped (too many), Failed.",
)
ROUTE_REPAIRS: Final = Definition(
    "sluicegate_operator_route_repairs_total",
    Kind.COUNTER,
    ("namespace", "workflow", "field"),
    "Changes of others to the rule of an HTTPRoute that were put right.",
)
CACHED: Final = Definition(
    "sluicegate_operator_cached_objects", Kind.GAUGE, ("kind",), "Objects that this replica holds."
)
CERTIFICATE: Final = Definition(
    "sluicegate_operator_certificate_expiry_timestamp_seconds",
    Kind.GAUGE,
    (),
    "When the certificate that the webhook answers with stops being valid.",
)

GATEWAY: Final = (
    RUNS,
    RUN_DURATION,
    COMPONENT_CALLS,
    COMPONENT_DURATION,
    FALLBACKS,
    VIOLATIONS,
    BUSINESS_FALLBACKS,
    BUSINESS_ANSWERS,
    DRILL_RUNS,
    REWARD,
    SIMILARITY,
    MIRRORS_DROPPED,
)
GOLDEN: Final = (
    RUN_CORRECTIONS,
    FALLBACK_RUNS,
    RUN_LATENCY_SLA,
    P95_LATENCY,
    COMPONENT_P95,
    SLA,
    COMPONENT_SLA,
)
CONTROL: Final = (
    STAGE,
    HELD,
    SHARE,
    OUTCOMES,
    GATE_LOG_E,
    DRIFT_SCORE,
    CONTRIBUTION,
    SPREAD,
    DECAY_LOG_E,
    DECAY_THRESHOLD,
    FALLBACK_READY,
    DRILLS_PASSING,
    DRILL_PASSED,
    RECONCILE,
    QUEUE_DEPTH,
    QUEUE_WAIT,
    QUEUE_RETRIES,
)
PROCESSES: Final = (WORKERS, WORKER_RESTARTS, INGEST_LAG, INGEST_FAILURES)
CLUSTER: Final = (LEADER, EPOCH, API_CALLS, ADMISSIONS, EVENTS, ROUTE_REPAIRS, CACHED, CERTIFICATE)
EVERY: Final = (*GATEWAY, *GOLDEN, *CONTROL, *PROCESSES, *CLUSTER)


def reference() -> str:
    """The metrics as a Markdown table, for docs/reference."""
    rows = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for item in EVERY:
        labels = ", ".join(f"`{label}`" for label in item.labels) or "–"
        meaning = item.help
        if item.buckets:
            meaning += f" Buckets: {', '.join(f'{border:g}' for border in item.buckets)}."
        if item.exemplar:
            meaning += " Exemplar: `run_id`."
        rows.append(f"| `{item.name}` | {item.kind} | {labels} | {meaning} |")
    return "\n".join(rows) + "\n"
