"""The gate on ComponentDrift: what is planned, what is judged, what people read."""

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.contracts import verification
from sluicegate.contracts.evidence import ArmFacts, CloudLook, OutputCounts, SignalEvidence, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.base import Metadata
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Outcome, Signal, Stage, Verdict
from sluicegate.rollout import gates, lint, outlook, planning
from sluicegate.rollout.backtest import RecordedPair, backtest
from sluicegate.rollout.judging import View
from sluicegate.rollout.model import Act, Emit
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.samples import (
    T0,
    good_evidence,
    in_stage,
    later,
    observed,
    remember,
    revision,
    workflow,
)

NOW = later(30)
INTENT = {"enum": ["order", "refund", "other"]}
SCORE = {"type": "number", "minimum": 0, "maximum": 1}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def spec_with(output: Any, version: str = "2.0.0", **rollout: Any) -> WorkflowSpec:
    agent = {
        "name": "agent",
        "version": version,
        "endpoint": {"protocol": "Http", "url": f"http://agent-{version}.local:8080"},
        "sideEffects": rollout.pop("effects", "None"),
        "contract": {"output": output},
        **({"mirrorStub": {"value": {}}} if rollout.pop("stub", False) else {}),
    }
    return WorkflowSpec.model_validate(
        {
            "version": version,
            "expectedRunsPerHour": 36_000,
            "components": [agent],
            "contract": {"sla": {"maxLatencyMs": 1000}},
            "rollout": rollout,
        }
    )


def with_gate(stage: str, output: Any = None, **spec: Any) -> WorkflowSpec:
    asked = [
        {"name": "success", "signal": "WorkflowSuccessRate"},
        {"name": "drift", "signal": "ComponentDrift"},
    ]
    return spec_with(
        fields(intent=INTENT) if output is None else output, stages=[{"name": stage, "gates": asked}], **spec
    )


def problems(spec: WorkflowSpec) -> list[str]:
    wish = AgentWorkflow(metadata=Metadata(name="bot"), spec=spec)
    return [f"{item.path}: {item.message}" for item in verification.verify(wish)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (with_gate("Full"), "in Full there is one arm"),
        (with_gate("Shadow", fields(text={"type": "string"})), "no output of a component is observed"),
        (with_gate("Shadow", effects="Live", stub=True), "copies never call the Live components"),
        (with_gate("Shadow"), None),
        (with_gate("Controlled", effects="Live", stub=True), None),
    ],
    ids=["Full", "nothing observed", "only Live", "Shadow", "Live in Controlled"],
)
def test_a_gate_that_could_see_nothing_is_refused(spec: WorkflowSpec, message: str | None) -> None:
    found = [text for text in problems(spec) if "drift" in text.lower() or "gates[1].signal" in text]
    assert found == [] if message is None else [message in text for text in found] == [True]


def test_shadow_shows_drift_by_default_and_nothing_depends_on_it() -> None:
    stages = {stage.name: stage for stage in planning.plan_stages(spec_with(fields(intent=INTENT)))}
    drift = [gate for gate in stages[Stage.SHADOW].gates if gate.signal is Signal.DRIFT]
    assert [(gate.required, gate.margin) for gate in drift] == [(False, "0.05")]
    assert not any(
        gate.signal is Signal.DRIFT
        for name in Stage
        if name is not Stage.SHADOW
        for gate in stages[name].gates
    )
    without = {stage.name: stage for stage in planning.plan_stages(spec_with(output=True))}
    assert [gate.name for gate in without[Stage.SHADOW].gates] == [
        gate.name for gate in stages[Stage.SHADOW].gates if gate.signal is not Signal.DRIFT
    ]
    alphas = {gate.abort_alpha for stage in (*stages.values(), *without.values()) for gate in stage.gates}
    assert len(alphas) == 1  # a gate that is not required takes nothing of the error budget


def test_only_outputs_that_both_revisions_observe_are_compared() -> None:
    stable = revision(spec_with(fields(intent=INTENT, score=INTENT), "1.0.0"))
    wish = spec_with(fields(intent=INTENT, score=SCORE, new=INTENT))
    made = planning.plan_rollout(workflow(wish), stable, revision(wish, 2), number=1)
    assert [(item.component, item.output) for item in made.spec.observed] == [("agent", "intent")]
    asked = planning.questions(made.spec, Stage.SHADOW, {})
    assert [(q.component, q.output, q.margin) for q in asked if q.signal is Signal.DRIFT] == [
        ("agent", "intent", 0.05)
    ]
    assert not [q for q in planning.questions(made.spec, Stage.CANARY, {}) if q.signal is Signal.DRIFT]


def test_the_outlook_knows_what_it_takes() -> None:
    found = {stage.stage: stage for stage in outlook.outlook(spec_with(fields(intent=INTENT)))}
    drift = next(gate for gate in found[Stage.SHADOW].gates if gate.signal is Signal.DRIFT)
    assert drift.modelled
    assert drift.needed is not None
    assert 1000 < drift.needed < 3000  # (ln 20 + mixture) * 2 * 0.375 / 0.05² and more
    assert lint.stage_problems(with_gate("Shadow")) == ()


BOTH = fields(intent=INTENT, score=SCORE)


def item(output: str, **changes: Any) -> SignalEvidence:
    numeric = output == "score"
    values: dict[str, Any] = {
        "signal": Signal.DRIFT,
        "component": "agent",
        "output": output,
        "units": 500,
        "candidate": 0.4,
        "stable": 0.4,
        "harm_log_e": -3.0,
        "safe_log_e": 5.0,
        "margin": 0.05,
        "growth": 0.01,
        "witnesses": ("run-1",),
        "outputs": OutputCounts(
            moved="> 0.5" if numeric else "refund",
            numeric=numeric,
            counts=(("≤ 0.5", 300.0, 300.0), ("> 0.5", 200.0, 200.0))
            if numeric
            else (("order", 300.0, 300.0), ("refund", 200.0, 200.0)),
        ),
    }
    return SignalEvidence(**(values | changes))


def judged(*items: SignalEvidence, late: bool = False, **evidence: Any) -> Finding:
    spec = remember(with_gate("Shadow", BOTH))
    rollout = in_stage(Stage.SHADOW, spec)
    rollout = rollout.model_copy(
        update={
            "spec": planning.plan_rollout(
                workflow(spec),
                revision(with_gate("Shadow", BOTH, version="1.0.0")),
                revision(spec, 2),
                number=1,
            ).spec
        }
    )
    stage = planning.stage_of(rollout.spec, Stage.SHADOW)
    base = good_evidence(rollout, NOW)
    signals = tuple(one for one in base.signals if one.signal is not Signal.DRIFT)
    seen = replace(base, signals=(*signals, *items), **evidence)
    gate = next(gate for gate in stage.gates if gate.signal is Signal.DRIFT)
    return gates.judge(View(spec=rollout.spec, stage=stage, evidence=seen, now=NOW, late=late), gate)


def test_no_share_moved_passes() -> None:
    found = judged(item("intent"), item("score"))
    assert (found.verdict, found.reason) == (Verdict.PASS, "NotDrifted")
    assert "no share moved by 5 points" in found.message


def test_the_finding_names_component_output_value_both_shares_and_the_scores() -> None:
    counts = (("order", 250.0, 350.0), ("refund", 250.0, 150.0))
    moved = item(
        "intent",
        harm_log_e=40.0,
        safe_log_e=-9.0,
        candidate=0.5,
        stable=0.3,
        outputs=OutputCounts(moved="refund", counts=counts),
    )
    found = judged(moved, item("score"))
    assert (found.verdict, found.reason, found.component, found.runs) == (
        Verdict.FAIL,
        "Drifted",
        "agent",
        ("run-1",),
    )
    assert found.message.startswith(
        "candidate's agent gave intent = refund in 50.0 % of 500 units, stable's in 30.0 %: moved (e = "
    )
    baseline = (
        350.5 / 501.5,
        150.5 / 501.5,
    )  # Jeffreys: a half for each value, and for what stable never gave
    kl = sum(0.5 * math.log(0.5 / share) for share in baseline) - 0.5 * (1 / 500 + 1 / 500)
    limit = stats.chi2.ppf(0.99, 1) / 2 * (2 / 500)
    p = stats.chi2_contingency([[250, 250], [350, 150]], correction=False, lambda_="log-likelihood").pvalue
    assert found.message.endswith(
        f"; KL {kl:.3g} debiased (of equal arms 99 in 100 below {limit:.2g}), if looked at once: p = {p:.2g} (G-test)"
    )


def test_of_vectors_the_region_is_named_and_what_the_clouds_say_as_wholes() -> None:
    regions = (("in region 1", 300.0, 420.0), ("far from stable's first", 200.0, 80.0))
    moved = item(
        "intent",
        harm_log_e=40.0,
        safe_log_e=-9.0,
        candidate=0.4,
        stable=0.16,
        outputs=OutputCounts(
            moved="far from stable's first", counts=regions, cloud=CloudLook(looks=3, p=0.004, log_e=5.0)
        ),
    )
    found = judged(moved, item("score"))
    assert found.reason == "Drifted"
    assert (
        "agent gave intent far from stable's first in 40.0 % of 500 units, stable's in 16.0 %"
        in found.message
    )
    assert "; as a whole: p = 0.004 (permutation, look 3); KL " in found.message


def test_vectors_are_asked_about_where_both_versions_have_as_many_numbers() -> None:
    def embedding(length: int) -> dict[str, Any]:
        numbers = {"type": "array", "items": {"type": "number"}, "minItems": length, "maxItems": length}
        return fields(embedding=numbers)

    def asked(stable: int) -> list[tuple[str | None, int]]:
        new = with_gate("Shadow", embedding(768))
        old = revision(with_gate("Shadow", embedding(stable), version="1.0.0"))
        spec = planning.plan_rollout(workflow(remember(new)), old, revision(new, 2), number=1).spec
        return [
            (one.output, one.length)
            for one in planning.questions(spec, Stage.SHADOW, {}, 1000.0)
            if one.signal is Signal.DRIFT
        ]

    assert asked(768) == [("embedding", 768)]
    assert asked(1024) == []


def test_alpha_is_split_over_the_outputs() -> None:
    alpha = next(
        g
        for g in planning.stage_of(
            in_stage(Stage.SHADOW, remember(with_gate("Shadow", BOTH))).spec, Stage.SHADOW
        ).gates
        if g.signal is Signal.DRIFT
    ).abort_alpha
    limit = math.log(2 / float(alpha))
    below = judged(item("intent", harm_log_e=limit - 1e-6), item("score"))
    above = judged(item("intent", harm_log_e=limit + 1e-6), item("score"))
    assert (below.verdict is Verdict.FAIL, above.verdict is Verdict.FAIL) == (False, True)


def test_a_value_that_stable_never_gave_has_its_own_reason() -> None:
    counts = (("order", 460.0, 500.0), ("vip", 40.0, 0.0))
    unseen = (("vip", 40, ("run-7", "run-8", "run-9")),)
    found = judged(
        item(
            "intent",
            harm_log_e=40.0,
            candidate=0.08,
            stable=0.0,
            outputs=OutputCounts(moved="vip", counts=counts, unseen=unseen),
        ),
        item("score"),
    )
    assert (found.verdict, found.reason) == (Verdict.FAIL, "UnseenValue")
    assert "stable, seen as often, never did" in found.message
    assert found.message.endswith("; new: agent.intent = vip in 40 units (run-7, run-8, run-9)")


@pytest.mark.parametrize(("units", "told"), [(2, False), (3, True)])
def test_a_new_value_is_told_before_anything_is_shown(units: int, told: bool) -> None:
    counts = OutputCounts(
        moved="order", counts=(("order", 500.0, 500.0),), unseen=(("vip\n", units, ("r",)),)
    )
    found = judged(item("intent", outputs=counts), item("score"))
    assert found.verdict is Verdict.PASS
    assert (f"; new: agent.intent = vip\\n in {units} units (r)" in found.message) is told


MISSING: dict[str, dict[str, Any]] = {
    "no unit": {"units": 0, "candidate": None, "stable": None, "outputs": None},
    "one arm": {"stable": None},
    "NaN": {"safe_log_e": math.nan},
    "infinite": {"harm_log_e": math.inf},
    "most are missing": {"missing": 501},
    "too few": {"safe_log_e": 1.0},
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_data_of_one_output_never_passes_the_gate(kind: str) -> None:
    found = judged(item("intent", **MISSING[kind]), item("score"))
    late = judged(item("intent", **MISSING[kind]), item("score"), late=True)
    assert (found.verdict, late.verdict) == (Verdict.WAIT, Verdict.INCONCLUSIVE)
    assert found.reason in {"NoData", "NonFinite", "NeedsMore"}


def test_an_output_without_an_answer_stale_and_dropped_ones_never_pass() -> None:
    assert judged(item("intent")).reason == "NoData"
    assert judged().reason == "NoData"
    assert judged(item("intent"), item("score"), last_at=T0 - (later(7200) - T0)).reason == "StaleData"
    assert judged(item("intent"), item("score"), dropped=501).reason == "TooManyDropped"


def pairs(units: int, mine: Any, theirs: Any) -> list[RecordedPair]:
    def arm(intent: str) -> ArmFacts:
        return ArmFacts(
            success=1.0, latencies_ms=(100.0,), disagrees=0.0, choices={"agent.intent": {intent: 1.0}}
        )

    return [
        RecordedPair(
            unit=f"u{n}",
            stable=arm(theirs(n)),
            candidate=arm(mine(n)),
            control=arm(theirs(n)),
            runs=(f"r{n}",),
        )
        for n in range(units)
    ]


def usual(number: int) -> str:
    return ("order", "refund", "order", "other")[number % 4]


ONLY = {"skipStages": ["Canary"]}
SHADOW = [
    {"name": "success", "signal": "WorkflowSuccessRate", "margin": "0.05"},
    {"name": "drift", "signal": "ComponentDrift"},
]


def test_a_candidate_whose_choices_move_fails_and_an_equal_one_passes() -> None:
    spec = spec_with(
        fields(intent=INTENT),
        skipStages=["Canary"],
        stages=[{"name": "Shadow", "minRuns": 200, "gates": SHADOW}],
    )
    moved = backtest(spec, pairs(1200, lambda n: "refund" if n % 5 == 0 else usual(n), usual))
    failed = [report.finding for report in moved.stages[-1].gates if report.finding.verdict is Verdict.FAIL]
    assert (moved.outcome, moved.stage) == (Outcome.ABORTED, Stage.SHADOW)
    assert [(finding.gate, finding.reason) for finding in failed] == [("drift", "Drifted")]
    equal = backtest(spec, pairs(1200, usual, usual))
    (drift,) = [report.finding for report in equal.stages[0].gates if report.finding.gate == "drift"]
    assert (drift.verdict, drift.reason) == (Verdict.PASS, "NotDrifted")


def new_values(acts: tuple[Act, ...]) -> list[str]:
    return [act.event.message for act in acts if isinstance(act, Emit) and act.event.reason == "UnseenValue"]


def test_an_event_tells_of_a_new_value_once() -> None:
    spec = remember(with_gate("Shadow"))
    rollout = in_stage(Stage.SHADOW, spec)
    assert rollout.spec.observed == ()  # 1.0.0 of the samples observes nothing
    stable = revision(with_gate("Shadow", version="1.0.0"))
    plan = planning.plan_rollout(workflow(spec), stable, revision(spec, 2), number=1)
    rollout = rollout.model_copy(update={"spec": plan.spec})
    unseen = (("vip", 3, ("run-7",)),)
    evidence: StageEvidence = good_evidence(rollout, NOW)
    signals = tuple(one for one in evidence.signals if one.signal is not Signal.DRIFT)
    counts = OutputCounts(moved="refund", counts=(("refund", 5.0, 5.0),), unseen=unseen)
    evidence = replace(evidence, units=50, signals=(*signals, item("intent", outputs=counts)))
    first = reconcile_rollout(observed(rollout, evidence), NOW)
    assert new_values(first.actions) == [
        "candidate gave agent.intent = vip in 3 units (run-7); stable, seen as often, never did"
    ]
    again = reconcile_rollout(
        observed(rollout.model_copy(update={"status": first.status}), replace(evidence, cursor=501)),
        later(60),
    )
    assert new_values(again.actions) == []
