"""The same evidence in the store's order gives the same findings bit for bit: however it is cut, restarted, or hashed.

Run as a program it prints the digest of findings and states: another process, with other hashes of strings.
"""

import hashlib
import itertools
import os
import random  # noqa: TID251 - seeded
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.evidence import Ablation, ArmFacts, EvidenceKey, Observation
from sluicegate.contracts.resources.rollout import ObservedOutput, PlannedStage, RolloutSpec
from sluicegate.contracts.runs import Coalition
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, planning
from sluicegate.rollout.judging import View
from tests.rollout.samples import T0, later, rollout, workflow_spec

ROOT = Path(__file__).parents[2]
COMPONENTS = ("agent", "memory", "planner", "writer")
UNITS = 320
NEW = ("Enum output/tool", "Type output/score")
BASELINE = {"WorkflowSuccessRate": "0.9", "ContractViolations": "0.1", "WorkflowP95Latency": "0.1"} | {
    f"ComponentFallbackRateMax/{name}": "0.05" for name in COMPONENTS
}


OUTPUTS = tuple(
    ObservedOutput(component=component, output=output, numeric=numeric, live=False)
    for component, output, numeric in (("planner", "intent", False), ("agent", "score", True))
)
INTENTS = ("ask", "buy", "cancel", "refund")


def asked() -> RolloutSpec:
    """Every default gate, four components, a reward; drift and contributions wherever they can be asked."""
    body = workflow_spec("2.0.0").to_json()
    spec = rollout(workflow_spec("2.0.0").model_validate({**body, "reward": "output.reward"})).spec
    stages = tuple(_with_all(stage) for stage in spec.stages)
    return spec.model_copy(update={"components": COMPONENTS, "observed": OUTPUTS, "stages": stages})


def _with_all(stage: PlannedStage) -> PlannedStage:
    signals = [Signal.DRIFT] if stage.name is not Stage.FULL else []
    signals += [Signal.SHAPLEY_VARIANCE] if stage.name in MIRRORED_STAGES else []
    deltas = {"margin": "0.05", "delta": "0.05", "delta_phi": "0.05"}
    more = (
        stage.gates[0].model_copy(update={"name": signal, "signal": signal, **deltas}) for signal in signals
    )
    return stage.model_copy(update={"gates": (*stage.gates, *more)})


def ablation(draw: random.Random) -> Ablation:
    coalition = Coalition(players=COMPONENTS, mask=draw.randrange(16), probability=0.1)
    stable = draw.choice((None, draw.random())) if draw.random() < 0.2 else draw.random()
    return Ablation(coalition=coalition, reward=draw.random(), stable=stable)


def facts(draw: random.Random, *new: str) -> ArmFacts:
    """new: kinds of violation that only the candidate has."""
    kinds = ("Enum output/intent", "Required output/text", "Type steps/plan", *new)
    return ArmFacts(
        success=draw.choice((0.0, 1.0, 1.0, 1.0, 1 / 3)),
        latencies_ms=(draw.uniform(1.0, 1100.0),),
        fallbacks={name: draw.choice((0.0, 0.0, 1.0)) for name in draw.sample(COMPONENTS, 3)},
        violations=tuple(draw.sample(kinds, draw.randrange(3))),
        violated=draw.choice((0.0, 1.0)),
        reward=draw.choice((None, draw.random(), float("nan"))) if draw.random() < 0.2 else draw.random(),
        disagrees=draw.random(),
        similarity=draw.random(),
        texts=tuple(draw.choice((None, draw.random())) for _ in range(draw.randrange(3))),
        evaluated=draw.choice((None, draw.random(), draw.random())),
        outcome=draw.choice((None, 0.0, 1.0, 1.0)),
        choices={"planner.intent": _shares(draw, *(("sell",) if new else ()))},
        numbers={"agent.score": tuple(draw.random() for _ in range(draw.randrange(4)))},
    )


def _shares(draw: random.Random, *new: str) -> dict[str, float]:
    """Of one run or of several; sometimes nothing."""
    given = draw.choices((*INTENTS, *new), k=draw.choice((0, 1, 1, 3)))
    return {value: given.count(value) / len(given) for value in given}


def stream(stage: Stage, count: int = UNITS) -> list[Observation]:
    """As the store gives them, with gaps, and values missing."""
    draw = random.Random(f"{stage}")
    found, sequence = [], 0
    for number in range(count):
        sequence += draw.randint(1, 3)
        one = Observation(
            sequence=sequence,
            key=EvidenceKey("ro-1", stage, 1),
            unit=f"unit-{number}",
            runs=(f"run-{number}",),
            at=T0 + timedelta(seconds=number + draw.random()),
            stable=facts(draw),
            candidate=facts(draw, *NEW),
            control=facts(draw) if draw.random() < 0.5 else None,
            dropped=int(draw.random() < 0.1),
            ablation=ablation(draw),
            mixed=ablation(draw) if draw.random() < 0.5 else None,
        )
        if stage not in MIRRORED_STAGES:
            arm = "candidate" if draw.random() < 0.3 else "stable"
            nobody: dict[str, Any] = dict.fromkeys(("stable", "candidate", "control", "ablation", "mixed"))
            one = replace(one, **nobody | {arm: facts(draw, *(NEW if arm == "candidate" else ()))})
        found.append(one)
    return found


def findings(stage: Stage, parts: Sequence[Sequence[Observation]]) -> Iterator[str]:
    """After each part, which begins with the state as it was saved; floats as they are written shortest, so exactly."""
    spec = asked()
    questions = planning.questions(spec, stage, BASELINE, 1000.0)
    state = Fold(EvidenceKey("ro-1", stage, 1), questions).to_bytes()
    for part in parts:
        fold = Fold.from_bytes(state, questions)
        fold.add_all(part)
        state = fold.to_bytes()
        view = View(spec=spec, stage=planning.stage_of(spec, stage), evidence=fold.evidence(), now=later(900))
        yield repr(gates.evaluate(view)) + state.decode()


def test_the_stream_reaches_every_kind_of_evidence() -> None:
    """What no unit feeds would be the same without being looked at."""
    for stage in Stage:
        fold = Fold(EvidenceKey("ro-1", stage, 1), planning.questions(asked(), stage, BASELINE, 1000.0))
        fold.add_all(stream(stage))
        found = fold.evidence()
        assert all(one.units for one in found.signals)
        assert (found.improvement is not None) == (stage is Stage.CONTROLLED)
        is_mirrored = stage in MIRRORED_STAGES
        assert bool(found.ablated and found.stable_ablated and found.mixed) == is_mirrored
        assert bool(found.of(Signal.SHAPLEY_VARIANCE)) == is_mirrored
        assert len(found.of(Signal.DRIFT)) == (0 if stage is Stage.FULL else len(OUTPUTS))


@pytest.mark.parametrize("stage", list(Stage))
def test_cut_anywhere_the_findings_are_the_same(stage: Stage) -> None:
    observations = stream(stage)
    (whole,) = findings(stage, [observations])
    draw = random.Random(3)
    for cuts in (list(range(0, UNITS + 1, 8)), sorted([0, *draw.sample(range(UNITS), 20), UNITS])):
        parts = [observations[start:end] for start, end in itertools.pairwise(cuts)]
        *_, last = findings(stage, parts)
        assert last == whole


@pytest.mark.parametrize("stage", list(Stage))
def test_what_was_folded_before_changes_no_finding(stage: Stage) -> None:
    observations = stream(stage)
    (whole,) = findings(stage, [observations])
    *_, again = findings(stage, [observations[:200], observations[100:], observations])
    assert again == whole


def digest() -> str:
    """Of all stages, in two parts."""
    found = hashlib.sha256()
    for stage in Stage:
        observations = stream(stage)
        for said in findings(stage, [observations[:150], observations[150:]]):
            found.update(said.encode())
    return found.hexdigest()


def test_another_process_with_other_hashes_says_the_same() -> None:
    mine = digest()
    for seed in ("0", "4242"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.rollout.test_same_finding"],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == mine, seed


if __name__ == "__main__":
    print(digest())
