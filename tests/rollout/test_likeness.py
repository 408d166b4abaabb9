"""The gate RewardShapleyVariance: passes the alike, fails what moved, and waits for what is missing."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest

from sluicegate.contracts.evidence import (
    AblatedUnits,
    Estimate,
    Likeness,
    Question,
    SignalEvidence,
    StageEvidence,
)
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.runs import Game
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.observability.contributions.likeness import Pairs
from sluicegate.rollout import explaining, gates, planning, routing
from sluicegate.rollout.judging import View
from tests.observability.contributions import paired
from tests.rollout.samples import T0, in_stage, later

NOW = later(30)
SIGNAL = Signal.SHAPLEY_VARIANCE


def spec(**gate: str) -> WorkflowSpec:
    gates_ = [
        {"name": "success", "signal": "WorkflowSuccessRate"},
        {"name": "alike", "signal": SIGNAL, "delta": "0.01", **gate},
    ]
    half = {"numerator": 1, "denominator": 2}
    components = [
        {
            "name": name,
            "version": "2.0.0",
            "endpoint": {"url": f"http://{name}.local"},
            "sideEffects": "None",
            "onFailure": {"type": "Skip"},
        }
        for name in paired.PLAYERS
    ]
    return WorkflowSpec.model_validate(
        {
            "version": "2.0.0",
            "components": components,
            "reward": "1.0",
            "rollout": {
                "stages": [{"name": "Shadow", "ablationShare": half, "versionShare": half, "gates": gates_}]
            },
        }
    )


def judged(item: SignalEvidence | None, *, late: bool = False, **changes: object) -> Finding:
    rollout = in_stage(Stage.SHADOW, spec())
    stage = planning.stage_of(rollout.spec, Stage.SHADOW)
    evidence = StageEvidence(
        key=planning.look(rollout).key,  # type: ignore[union-attr]
        units=5000,
        stable_units=5000,
        first_at=T0,
        last_at=NOW,
        units_per_hour=36_000.0,
        signals=() if item is None else (item,),
    )
    evidence = replace(evidence, **changes)  # type: ignore[arg-type]
    view = View(spec=rollout.spec, stage=stage, evidence=evidence, now=NOW, late=late)
    return gates.judge(view, stage.gates[1])


@cache
def folded(game: str, units: int, alike: float = 0.9) -> SignalEvidence:
    values = {"same": paired.VALUES, "degraded": paired.DEGRADED, "permuted": paired.PERMUTED}[game]
    [question] = [one for one in _questions() if one.signal is SIGNAL]
    made = Pairs(question, Stage.SHADOW)
    for one in paired.pairs(values, units, 5, alike=alike):
        made.add(one)
    return made.evidence()


def _questions() -> tuple[Question, ...]:
    return planning.questions(in_stage(Stage.SHADOW, spec()).spec, Stage.SHADOW, {})


def test_the_plan_asks_for_it() -> None:
    """delta is the margin, α that of promotion; deltaPhi has a default; stable is ablated only here."""
    rollout = in_stage(Stage.SHADOW, spec())
    stages = {one.name: one for one in rollout.spec.stages}
    gate = stages[Stage.SHADOW].gates[1]
    assert (gate.delta, gate.delta_phi, gate.margin) == ("0.01", "0.05", "0.01")
    [question] = [one for one in _questions() if one.signal is SIGNAL]
    assert (question.margin, question.level) == (0.01, 0.05)
    assert [routing.ablates_stable(one) for one in stages.values()] == [False, True, False, False]
    assert [one.version_share.numerator for one in stages.values()] == [0, 1, 0, 0]
    assert planning.plan_stages(spec(deltaPhi="0.1"))[1].gates[1].delta_phi == "0.1"


def test_the_same_components_pass() -> None:
    found = judged(folded("same", 2600))
    assert (found.verdict, found.reason, found.have) == (Verdict.PASS, "ContributionsAlike", 2600)
    assert found.candidate == pytest.approx(0.01507, abs=0.006)  # research §1.7


def test_not_before_a_thousand_pairs_inside() -> None:
    found = judged(folded("same", 900))
    assert (found.verdict, found.reason) == (Verdict.WAIT, "NeedsMore")
    assert found.need is not None
    assert 1000 <= found.need < 4000


@pytest.mark.parametrize("game", ["degraded", "permuted"])
def test_what_moved_fails_and_is_named(game: str) -> None:
    """The planner adds 0.22 less; permuted, the tools and the writer change places, and the variance does not show it."""
    found = judged(folded(game, 1500))
    assert (found.verdict, found.reason) == (Verdict.FAIL, "ContributionsDiffer")
    assert found.component in (
        {"planner"} if game == "degraded" else {"tools", "writer", "planner", "critic"}
    )
    assert "moved" in found.message


def item(**changes: object) -> SignalEvidence:
    shifts = tuple(Estimate(name, 0.001, 0.001) for name in paired.PLAYERS)
    made = SignalEvidence(
        signal=SIGNAL,
        units=2000,
        candidate=0.015,
        stable=0.0149,
        likeness=Likeness(error=0.0005, shifts=shifts, steady=1500),
    )
    known = {name: value for name, value in changes.items() if name in {"error", "shifts", "steady"}}
    rest = {name: value for name, value in changes.items() if name not in known}
    assert made.likeness is not None
    return replace(made, likeness=replace(made.likeness, **known), **rest)  # type: ignore[arg-type]


def moved(value: float) -> tuple[Estimate, ...]:
    return (Estimate("planner", value, 0.001), Estimate("tools", 0.0, 0.001))


Lacking = Callable[[], Finding]
LACKING: dict[str, tuple[Lacking, str]] = {
    "nothing was observed": (lambda: judged(None), "NoData"),
    "no pair is whole": (lambda: judged(replace(item(), units=0, likeness=None)), "NoData"),
    "most pairs lack a reward": (lambda: judged(item(missing=2001)), "NoData"),
    "a variance is NaN": (lambda: judged(item(candidate=math.nan)), "NonFinite"),
    "an error is infinite": (lambda: judged(item(error=math.inf)), "NonFinite"),
    "a shift is NaN": (lambda: judged(item(shifts=moved(math.nan))), "NonFinite"),
    "49 pairs": (lambda: judged(item(units=49)), "NeedsMore"),
    "999 pairs": (lambda: judged(item(units=999)), "NeedsMore"),
    "inside for 999 pairs": (lambda: judged(item(steady=999)), "NeedsMore"),
    "one component perhaps moved": (lambda: judged(item(shifts=moved(0.049))), "NeedsMore"),
    "most mirrors were dropped": (lambda: judged(item(), dropped=5001), "TooManyDropped"),
    "old": (lambda: judged(item(), last_at=NOW - timedelta(hours=2)), "StaleData"),
    "dated ahead": (lambda: judged(item(), last_at=NOW + timedelta(hours=2)), "StaleData"),
    "no time": (lambda: judged(item(), last_at=None), "StaleData"),
}


@pytest.mark.parametrize("kind", LACKING)
def test_what_is_missing_never_passes(kind: str) -> None:
    found, reason = LACKING[kind]
    assert (found().verdict, found().reason) == (Verdict.WAIT, reason)


def test_the_rest_of_that_table_passes_or_fails() -> None:
    assert judged(item()).verdict is Verdict.PASS
    assert judged(item(shifts=moved(0.06))).reason == "ContributionsDiffer"
    assert judged(item(candidate=0.03)).verdict is Verdict.FAIL
    assert judged(item(steady=0), late=True).verdict is Verdict.INCONCLUSIVE
    assert judged(item(steady=0), late=True).reason == "InsufficientSamples"


def test_an_estimate_beyond_all_measure_is_none() -> None:
    """As a number it would have more than 64 bits, and the status could not be written."""
    found = judged(item(shifts=moved(math.nextafter(0.05, 0.0))))
    assert (found.reason, found.need) == ("NeedsMore", None)
    assert found.message.endswith("no end in sight at the present numbers")


def test_equal_versions_are_hardly_ever_called_different() -> None:
    """15 runs, looked at every 25 pairs, noise that the arms do not share; α of abort is 5 % over 15 gates, halved."""
    [question] = [one for one in _questions() if one.signal is SIGNAL]
    for seed in range(15):
        made = Pairs(question, Stage.SHADOW)
        for number, one in enumerate(paired.pairs(paired.VALUES, 400, seed, alike=0.0), 1):
            made.add(one)
            if number % 25 == 0:
                assert judged(made.evidence()).verdict is Verdict.WAIT


def test_a_worse_reward_names_the_component() -> None:
    """±: 3.4 standard errors at 1,000 units and α = 0.05/2."""
    stage = StageEvidence(key=planning.look(in_stage(Stage.SHADOW, spec())).key)  # type: ignore[union-attr]
    mixed = AblatedUnits(
        players=("planner", "writer"),
        game=Game.VERSION,
        units=1000,
        estimates=(Estimate("planner", -0.12, 0.02), Estimate("writer", 0.01, 0.02)),
    )
    said = explaining.culprit(replace(stage, mixed=mixed))
    assert said.startswith("; of the changed components planner explains most: -0.120 of the reward (-0.1")
    unsure = replace(mixed, estimates=(Estimate("planner", -0.06, 0.02), Estimate("writer", 0.01, 0.02)))
    assert explaining.culprit(replace(stage, mixed=unsure)) == ""
    assert explaining.culprit(stage) == explaining.culprit(None) == ""
