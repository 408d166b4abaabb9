"""Gates: every kind of missing evidence, both error rates, and the sentences."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.rollout import gates, planning, verdicts
from sluicegate.rollout.judging import View
from tests.rollout.samples import T0, good_evidence, in_stage, later, signal, with_signal

NAN, INF = math.nan, math.inf
NOW = later(30)


def view(stage: Stage, evidence: StageEvidence | None, *, late: bool = False) -> View:
    spec = in_stage(stage).spec
    return View(spec=spec, stage=planning.stage_of(spec, stage), evidence=evidence, now=NOW, late=late)


def fresh(stage: Stage) -> StageEvidence:
    return good_evidence(in_stage(stage), NOW)


Change = Callable[[StageEvidence, Signal], StageEvidence]

MISSING: dict[str, Change] = {
    "nothing was observed": lambda e, s: replace(e, signals=tuple(i for i in e.signals if i.signal is not s)),
    "no unit is comparable": lambda e, s: with_signal(e, s, units=0, candidate=None, stable=None),
    "the candidate's mean is missing": lambda e, s: with_signal(e, s, candidate=None),
    "stable's mean is missing": lambda e, s: with_signal(e, s, stable=None),
    "safety is NaN": lambda e, s: with_signal(e, s, safe_log_e=NAN),
    "safety is infinite": lambda e, s: with_signal(e, s, safe_log_e=INF),
    "harm is NaN": lambda e, s: with_signal(e, s, harm_log_e=NAN),
    "the candidate's mean is NaN": lambda e, s: with_signal(e, s, candidate=NAN),
    "stable's mean is infinite": lambda e, s: with_signal(e, s, stable=INF),
    "most values are missing": lambda e, s: with_signal(e, s, missing=501),
    "most mirrors were dropped": lambda e, s: replace(e, dropped=501),
    "the last unit is old": lambda e, s: replace(e, last_at=NOW - timedelta(hours=2)),
    "the last unit is dated ahead": lambda e, s: replace(e, last_at=NOW + timedelta(seconds=61)),
    "no unit has a time": lambda e, s: replace(e, last_at=None),
    "too few for the margin": lambda e, s: with_signal(e, s, safe_log_e=1.0),
}


@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("stage", list(Stage))
def test_no_gate_passes_or_fails_on_missing_evidence(stage: Stage, kind: str) -> None:
    for gate in view(stage, None).stage.gates:
        evidence = MISSING[kind](fresh(stage), gate.signal)
        early = gates.judge(view(stage, evidence), gate)
        late = gates.judge(view(stage, evidence, late=True), gate)
        assert early.verdict is Verdict.WAIT, (gate.name, early)
        assert late.verdict is Verdict.INCONCLUSIVE, (gate.name, late)
        assert late.reason in {
            "NoData", "InsufficientSamples", "StaleData", "NonFinite", "TooManyDropped"
        }  # fmt: skip


@pytest.mark.parametrize("stage", list(Stage))
def test_no_evidence_at_all_is_no_data(stage: Stage) -> None:
    assert {item.reason for item in gates.evaluate(view(stage, None))} == {"NoData"}


@pytest.mark.parametrize("stage", list(Stage))
def test_enough_and_safe_passes(stage: Stage) -> None:
    found = gates.evaluate(view(stage, fresh(stage)))
    assert verdicts.combine(found) is Verdict.PASS
    assert {item.reason for item in found if item.required} == {"NotWorse"}


def threshold(stage: Stage, name: Signal) -> float:
    gate = next(gate for gate in view(stage, None).stage.gates if gate.signal is name)
    return -math.log(float(gate.abort_alpha))


@pytest.mark.parametrize("name", [Signal.SUCCESS_RATE, Signal.P95_LATENCY, Signal.DISAGREEMENT])
def test_harm_fails_exactly_at_one_over_alpha(name: Signal) -> None:
    limit = threshold(Stage.SHADOW, name)
    at = with_signal(fresh(Stage.SHADOW), name, harm_log_e=limit + 1e-9)
    below = with_signal(fresh(Stage.SHADOW), name, harm_log_e=limit - 1e-6, safe_log_e=0.0)
    found = {item.signal: item for item in gates.evaluate(view(Stage.SHADOW, at))}
    assert (found[name].verdict, found[name].reason) == (Verdict.FAIL, "Worse")
    assert found[name].runs == ("run-1",)
    unsure = {item.signal: item for item in gates.evaluate(view(Stage.SHADOW, below))}
    assert unsure[name].verdict is Verdict.WAIT


def test_a_breach_is_seen_through_missing_values_and_age() -> None:
    evidence = with_signal(fresh(Stage.CANARY), Signal.SUCCESS_RATE, harm_log_e=50.0, missing=9999)
    evidence = replace(evidence, last_at=T0 - timedelta(days=1), dropped=9999)
    assert verdicts.combine(gates.evaluate(view(Stage.CANARY, evidence))) is Verdict.FAIL


def test_fallback_alpha_is_split_over_components_and_the_worst_one_is_named() -> None:
    base = view(Stage.CANARY, None)
    spec = base.spec.model_copy(update={"components": ("agent", "memory")})
    limit = threshold(Stage.CANARY, Signal.FALLBACK_RATE_MAX)
    fallback = signal(Signal.FALLBACK_RATE_MAX)

    def judged(harm: float) -> Verdict:
        memory = replace(fallback, component="memory", harm_log_e=harm)
        evidence = replace(fresh(Stage.CANARY), signals=(fallback, memory))
        gate = next(gate for gate in base.stage.gates if gate.signal is Signal.FALLBACK_RATE_MAX)
        finding = gates.judge(replace(base, spec=spec, evidence=evidence), gate)
        assert finding.verdict is not Verdict.FAIL or finding.component == "memory"
        return finding.verdict

    assert judged(limit + math.log(2) - 1e-6) is not Verdict.FAIL
    assert judged(limit + math.log(2) + 1e-6) is Verdict.FAIL


def test_a_component_without_an_answer_is_no_data() -> None:
    base = view(Stage.CANARY, fresh(Stage.CANARY))
    spec = base.spec.model_copy(update={"components": ("agent", "memory")})
    found = {item.gate: item for item in gates.evaluate(replace(base, spec=spec))}
    assert (found["fallbacks"].reason, found["fallbacks"].component) == ("NoData", "memory")


UNSEEN = {
    "three units of a kind that stable never showed fail": (Stage.CANARY, 3, 500, Verdict.FAIL),
    "two are not enough": (Stage.CANARY, 2, 500, Verdict.PASS),
    "not when stable was seen less often": (Stage.CONTROLLED, 3, 499, Verdict.PASS),
    "not in Full, where stable is not seen": (Stage.FULL, 30, 500, Verdict.PASS),
}


@pytest.mark.parametrize("sentence", UNSEEN)
def test_unseen_violations(sentence: str) -> None:
    stage, count, stable_units, verdict = UNSEEN[sentence]
    evidence = replace(
        fresh(stage),
        unseen_violations={"Enum output/intent": (count, ("r1", "r2", "r3"))},
        stable_units=stable_units,
    )
    found = {item.gate: item for item in gates.evaluate(view(stage, evidence))}
    assert found["violations"].verdict is verdict
    if verdict is Verdict.FAIL:
        assert found["violations"].runs == ("r1", "r2", "r3")
        assert "Enum output/intent" in found["violations"].message


def test_a_p95_says_nothing_below_59_units() -> None:
    evidence = with_signal(fresh(Stage.CANARY), Signal.P95_LATENCY, units=58, harm_log_e=99.0)
    found = {item.gate: item for item in gates.evaluate(view(Stage.CANARY, evidence))}
    assert (found["latency"].verdict, found["latency"].need) == (Verdict.WAIT, 59)


def test_a_slow_trickle_is_not_stale_within_ten_gaps() -> None:
    evidence = replace(fresh(Stage.CANARY), units_per_hour=2.0, last_at=NOW - timedelta(hours=4))
    assert verdicts.combine(gates.evaluate(view(Stage.CANARY, evidence))) is Verdict.PASS


def test_a_gate_that_waits_says_how_much_it_needs() -> None:
    # e must grow from e^1 to 20 = e^2.9957 at 0.01 per unit: 199.57 units, so 200 more than the 500 it has.
    evidence = with_signal(fresh(Stage.CANARY), Signal.SUCCESS_RATE, safe_log_e=1.0, growth=0.01)
    found = {item.gate: item for item in gates.evaluate(view(Stage.CANARY, evidence))}
    assert found["success"].need == 700
    assert "needs about 200 more units (≈ 3.33 min)" in found["success"].message


def test_sentences_carry_both_numbers_n_and_alpha() -> None:
    evidence = with_signal(
        fresh(Stage.CANARY), Signal.SUCCESS_RATE, candidate=0.6117, stable=0.9383, units=240, harm_log_e=12.65
    )
    found = {item.gate: item for item in gates.evaluate(view(Stage.CANARY, evidence))}
    said = found["success"].message
    assert said.startswith(
        "candidate succeeded in 61.2 % of 240 units, stable in 93.8 %: worse (e = 3.12e+05 ≥ "
    )
    assert said.endswith("= 1/α)")


@given(
    harm=st.floats(allow_nan=True, allow_infinity=True),
    safe=st.floats(allow_nan=True, allow_infinity=True),
    units=st.integers(0, 10_000),
    missing=st.integers(0, 10_000),
)
def test_only_finite_sufficient_evidence_passes(harm: float, safe: float, units: int, missing: int) -> None:
    evidence = with_signal(
        fresh(Stage.CANARY),
        Signal.SUCCESS_RATE,
        harm_log_e=harm,
        safe_log_e=safe,
        units=units,
        missing=missing,
    )
    found = {item.gate: item for item in gates.evaluate(view(Stage.CANARY, evidence))}["success"]
    if found.verdict is Verdict.PASS:
        assert math.isfinite(harm)
        assert math.isfinite(safe)
        assert 0 < units >= missing
        assert safe >= math.log(20) - 1e-9


@given(st.floats(0.1, 1e4), st.floats(0.0, 1e4))
def test_more_safety_never_turns_a_pass_into_waiting(safe: float, more: float) -> None:
    def verdict(value: float) -> Verdict:
        evidence = with_signal(fresh(Stage.CANARY), Signal.SUCCESS_RATE, safe_log_e=value)
        return gates.evaluate(view(Stage.CANARY, evidence))[0].verdict

    if verdict(safe) is Verdict.PASS:
        assert verdict(safe + more) is Verdict.PASS


def test_a_stage_without_required_gates_never_passes() -> None:
    found = [
        replace(item, required=False) for item in gates.evaluate(view(Stage.CANARY, fresh(Stage.CANARY)))
    ]
    assert verdicts.combine(found) is Verdict.WAIT
