"""Ablated units in a fold: a table of their own, the same in any batches, and no evidence of an arm."""

import json
from dataclasses import replace

import pytest

from sluicegate.contracts.evidence import AblatedUnits, Ablation, Observation
from sluicegate.contracts.runs import Arm, Coalition, Game
from sluicegate.observability.contributions.ablated import Ablated, cells_of, of_state
from sluicegate.observability.contributions.estimate import estimate
from sluicegate.observability.fold import Fold
from tests.observability import facts

PLAYERS = ("planner", "writer")
VALUES = {0: 0.0, 1: 0.25, 2: 0.25, 3: 1.0}
"""What each coalition earns: 0.25 alone, 0.5 more together, so 0.5 each."""


def unit(
    sequence: int, mask: int, reward: float | None = None, players: tuple[str, ...] = PLAYERS
) -> Observation:
    coalition = Coalition(players=players, mask=mask, probability=0.25)
    return replace(
        facts.unit(sequence, stable=facts.good(), candidate=facts.good()),
        ablation=Ablation(coalition=coalition, reward=reward),
    )


UNITS = [unit(number, number % 4, VALUES[number % 4]) for number in range(1, 81)]


def test_a_fold_keeps_the_table() -> None:
    fold = Fold(facts.key(), facts.QUESTIONS)
    fold.add_all([*UNITS, unit(81, 3), unit(82, 1, 0.5, ("other",))])
    found = fold.evidence().ablated
    assert found is not None
    assert replace(found, estimates=(), spread=None) == AblatedUnits(
        players=PLAYERS,
        cells=((0, 20, 0.0, 0.0), (1, 20, 5.0, 1.25), (2, 20, 5.0, 1.25), (3, 20, 20.0, 20.0)),
        missing=2,
        units=80,
    )
    assert [one.component for one in found.estimates] == list(PLAYERS)
    known = estimate(cells_of(found))
    assert [item.value for item in known.each] == pytest.approx([0.5, 0.5])
    assert known.units == 80


def test_cut_anywhere_it_is_the_same_bytes() -> None:
    whole = Fold(facts.key(), facts.QUESTIONS)
    whole.add_all(UNITS)
    for cut in (0, 1, 37, 80):
        fold = Fold(facts.key(), facts.QUESTIONS)
        fold.add_all(UNITS[:cut])
        fold = Fold.from_bytes(fold.to_bytes(), facts.QUESTIONS)
        fold.add_all(UNITS)
        assert fold.to_bytes() == whole.to_bytes()
    assert of_state(json.loads(whole.to_bytes())) == (whole.evidence().ablated,)


def test_every_gate_sees_what_it_saw_without_ablation() -> None:
    found = []
    for units in (UNITS, [replace(one, ablation=None) for one in UNITS]):
        fold = Fold(facts.key(), facts.QUESTIONS)
        fold.add_all(units)
        found.append(fold.evidence())
    assert replace(found[0], ablated=None) == found[1]
    assert found[1].ablated is None


def test_coalitions_are_bounded() -> None:
    """20 players have a million coalitions; the first 4,096 are kept, and units of them counted on."""
    players = tuple(f"p{number}" for number in range(20))
    ablated = Ablated()
    for number in range(5000):
        ablated.add(unit(number, number, 0.5, players))
    ablated.add(unit(5000, 7, 0.5, players))
    found = ablated.evidence()
    assert found is not None
    assert (len(found.cells), found.units, found.missing) == (4096, 5001, 0)
    assert found.cells[7][:2] == (7, 2)


def test_more_players_have_running_means_alone() -> None:
    players = tuple(f"p{number}" for number in range(64))
    ablated = Ablated()
    for number in range(60):
        ablated.add(unit(number, (1 << 64) - 1 if number % 2 else 0, float(number % 2), players))
    found = ablated.evidence()
    assert found is not None
    assert (found.cells, found.units, len(found.estimates)) == ((), 60, 64)
    assert Ablated.from_json(json.loads(json.dumps(ablated.to_json()))).evidence() == found


def test_each_arm_has_its_own_and_stables_only_where_it_is_ablated() -> None:
    fold = Fold(facts.key(), facts.QUESTIONS)
    for one in UNITS:
        found = one.ablation
        assert found is not None
        mixed = replace(found, coalition=replace(found.coalition, game=Game.VERSION), reward=0.5)
        stable = found.coalition.mask / 4 if one.sequence > 40 else None
        fold.add(replace(one, ablation=replace(found, stable=stable), mixed=mixed))
    known = fold.evidence()
    assert known.stable_ablated is not None
    assert known.mixed is not None
    assert (known.stable_ablated.units, known.stable_ablated.missing) == (40, 0)
    assert known.stable_ablated.cells[3] == (3, 10, 7.5, 5.625)
    assert (known.mixed.game, known.mixed.units, known.mixed.cells[3]) == (
        Game.VERSION,
        80,
        (3, 20, 10.0, 5.0),
    )
    arms = [one.arm for one in of_state(json.loads(fold.to_bytes()))]
    assert arms == [Arm.ABLATED, Arm.ABLATED_STABLE, Arm.MIXED]


def test_a_state_of_before_has_none() -> None:
    assert of_state({}) == ()
    assert of_state({"ablated": Ablated().to_json()}) == ()
    kept = {
        "players": ["a", "b"],
        "halfLife": None,
        "units": 1,
        "scale": 1.0,
        "cells": [[0, 1.0, 1.0, 0.5, 0.25]],
    }
    assert of_state({"format": 2, "ablated": {"cells": kept, "missing": 0}}) == (), "five sums a coalition"
