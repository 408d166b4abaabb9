"""What is worth waking somebody for. Each alert has a section of its name in docs/guides/metrics-and-alerts.md."""

from dataclasses import dataclass
from typing import Final

from sluicegate.observability import signals

GUIDE: Final = "docs/guides/metrics-and-alerts.md"

_WINDOW: Final = "30m"
_ENOUGH: Final = 59
"""Runs in the window, below which a share says little: 59 runs are the fewest that can show a p95."""
_USERS: Final = ', serving="true"'
_REVISION: Final = "on (namespace, workflow, revision) group_left ()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """hold: how long expr must hold. summary: one sentence, with the labels of the series."""

    name: str
    expr: str
    hold: str
    severity: str
    summary: str


def _sla(bound: str) -> str:
    return f'max by (namespace, workflow, revision) (sluicegate_workflow_sla{{bound="{bound}"}})'


_COMPONENT: Final = "on (namespace, workflow, revision, component) group_left ()"


def _component_sla(bound: str) -> str:
    return f'max by (namespace, workflow, revision, component) (sluicegate_component_sla{{bound="{bound}"}})'


def _business(metric: str, matcher: str = "") -> str:
    return f"sum by (namespace, workflow, rule_set) (increase(sluicegate_business_fallback_{metric}_total{matcher}[10m])) > 0"


def _enough(serving: str = "") -> str:
    return f"{signals.runs(_WINDOW, serving)} >= {_ENOUGH}"


_ARMS: Final = "on (namespace, workflow, revision, arm)"
_WHO: Final = (
    "{{ $labels.namespace }}/{{ $labels.workflow }}, revision {{ $labels.revision }}, arm {{ $labels.arm }}"
)

_PART: Final = f"{_WHO}: component {{{{ $labels.component }}}}"
_FLOW: Final = "{{ $labels.namespace }}/{{ $labels.workflow }}"

_DROPPED: Final = f"sum by (namespace, workflow) (increase(sluicegate_mirrors_dropped_total[{_WINDOW}]))"
_MIRRORED: Final = (
    "sum by (namespace, workflow) "
    f'(increase(sluicegate_runs_total{{arm="candidate", serving="false"}}[{_WINDOW}]))'
)

ALERTS: Final = (
    Alert(
        name="SluicegateSuccessLow",
        expr=f"({signals.successes(_WINDOW, _USERS)} / {signals.runs(_WINDOW, _USERS)}) "
        f"< {_REVISION} {_sla('minSuccessRate')} and {_ARMS} {_enough(_USERS)}",
        hold="5m",
        severity="critical",
        summary=f"{_WHO}: {{{{ $value | humanizePercentage }}}} of the users' runs succeed, less than the contract promises.",
    ),
    Alert(
        name="SluicegateLatencyHigh",
        expr=f"({signals.exceedance(_WINDOW)}) > {_REVISION} (1 - {_sla('latencyQuantile')}) and {_ARMS} {_enough()}",
        hold="5m",
        severity="warning",
        summary=f"{_WHO}: {{{{ $value | humanizePercentage }}}} of the runs are slower than the contract promises.",
    ),
    Alert(
        name="SluicegateFallbacksHigh",
        expr=f"({signals.fallback_rate(_WINDOW)}) > {_REVISION} {_sla('maxFallbackRate')} "
        f"and {_ARMS} {_enough()}",
        hold="5m",
        severity="warning",
        summary=f"{_WHO}: {{{{ $labels.component }}}} falls back in {{{{ $value | humanizePercentage }}}} of the runs.",
    ),
    Alert(
        name="SluicegateComponentSlow",
        expr=f"({signals.component_p95_ms()}) > {_COMPONENT} {_component_sla('maxLatencyMs')} and {_ARMS} {_enough()}",
        hold="5m",
        severity="warning",
        summary=f"{_PART} is slower than it promises: p95 {{{{ $value | humanize }}}} ms.",
    ),
    Alert(
        name="SluicegateComponentFails",
        expr=f"({signals.component_success(_WINDOW, 'component')}) < {_COMPONENT} {_component_sla('minSuccessRate')} "
        f"and {_ARMS} {_enough()}",
        hold="5m",
        severity="warning",
        summary=f"{_PART} answers {{{{ $value | humanizePercentage }}}} of its calls, less than it promises.",
    ),
    Alert(
        name="SluicegateComponentFallsBack",
        expr=f"({signals.fallback_rate(_WINDOW)}) > {_COMPONENT} {_component_sla('maxFallbackRate')} "
        f"and {_ARMS} {_enough()}",
        hold="5m",
        severity="warning",
        summary=f"{_PART} falls back in {{{{ $value | humanizePercentage }}}} of the runs, more than it promises.",
    ),
    Alert(
        name="SluicegateBusinessFallback",
        expr=_business("triggered"),
        hold="0s",
        severity="critical",
        summary=f"{_FLOW}: the workflow fails again and again; rules of {{{{ $labels.rule_set }}}} answer its users.",
    ),
    Alert(
        name="SluicegateBusinessFallbackSilent",
        expr=_business("answers", '{answer="None"}'),
        hold="0s",
        severity="critical",
        summary=f"{_FLOW}: the workflow fails again and again, and {{{{ $labels.rule_set }}}} has no answer for its users.",
    ),
    Alert(
        name="SluicegateFallbackNotReady",
        expr="max by (namespace, workflow) (sluicegate_business_fallback_ready) == 0",
        hold="10m",
        severity="warning",
        summary=f"{_FLOW}: its rule set is missing or refused; what was proved before answers, or the static answer. Condition FallbackReady says why.",
    ),
    Alert(
        name="SluicegateDrillsNotPassing",
        expr="max by (namespace, workflow) (sluicegate_business_fallback_drills_passing) == 0",
        hold="0s",
        severity="warning",
        summary=f"{_FLOW}: the last drill of the business fallback failed, or none passed for too long; condition DrillsPassing says which.",
    ),
    Alert(
        name="SluicegateRolloutHeld",
        expr="max by (namespace, workflow) (sluicegate_rollout_held) == 1",
        hold="1h",
        severity="warning",
        summary="{{ $labels.namespace }}/{{ $labels.workflow }}: the rollout is held and waits for a person.",
    ),
    Alert(
        name="SluicegateMirrorsDropped",
        expr=f"{_DROPPED} > 0.1 * ({_MIRRORED} or 0 * {_DROPPED})",
        hold="15m",
        severity="warning",
        summary="{{ $labels.namespace }}/{{ $labels.workflow }}: a tenth of the mirrors or more is dropped for want of budget.",
    ),
    Alert(
        name="SluicegateIngestLags",
        expr="sluicegate_ingest_lag_bytes > 67108864 or increase(sluicegate_ingest_failures_total[10m]) > 5",
        hold="10m",
        severity="warning",
        summary="{{ $labels.instance }}: runs are stored late or not at all; stages wait for evidence.",
    ),
    Alert(
        name="SluicegateNoLeader",
        expr="sum by (namespace, job) (sluicegate_operator_leader) == 0",
        hold="2m",
        severity="critical",
        summary="No replica of the operator leads: nothing is promoted, aborted or repaired. Serving goes on.",
    ),
    Alert(
        name="SluicegateGatewayWorkersDie",
        expr="increase(sluicegate_gateway_worker_restarts_total[15m]) > 3",
        hold="0s",
        severity="warning",
        summary="{{ $labels.instance }}: gateway workers ended more than three times in 15 minutes.",
    ),
    Alert(
        name="SluicegateRuleSetRefused",
        expr="max by (namespace, instance) (sluicegate_rules_refused_files) > 0 "
        "or max by (namespace, instance) (sluicegate_rules_folder_unreadable) > 0",
        hold="5m",
        severity="warning",
        summary="{{ $labels.instance }}: the rules server cannot use the newest rule sets; what it read before goes on answering.",
    ),
    Alert(
        name="SluicegateRulesWithoutAnswer",
        expr="sum by (namespace, rule_set) "
        '(increase(sluicegate_rules_answers_total{outcome!~"Rule|Default"}[15m])) > 0',
        hold="0s",
        severity="warning",
        summary="{{ $labels.namespace }}/{{ $labels.rule_set }}: the rules server was asked and had no answer; `outcome` says why.",
    ),
)
