from dataclasses import replace
from datetime import UTC, datetime

from sluicegate.contracts.evidence import EvidenceKey, Question
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.operator.loop import evidence
from sluicegate.rollout.model import Look
from tests.operator.world import Lineage

KEY = EvidenceKey("uid", Stage.CANARY, 1)
AT = datetime(2026, 1, 1, tzinfo=UTC)
LOOK = Look(key=KEY, questions=(Question(signal=Signal.SUCCESS_RATE, margin=0.1),))


def test_a_look_continues_where_the_last_one_ended_and_keeps_the_state_first() -> None:
    lineage, at_once = Lineage(), Lineage()
    for count in (3, 0, 7):
        lineage.feed(KEY, count, AT)
        found = evidence.fold(lineage, LOOK)
    at_once.feed(KEY, 10, AT)
    assert found == evidence.fold(at_once, LOOK)
    assert lineage.saved == at_once.saved
    assert (found.units, found.cursor) == (10, 10)
    assert lineage.saves == 2, "a look without news saves nothing"


def test_a_lost_state_comes_out_the_same() -> None:
    lineage = Lineage()
    lineage.feed(KEY, 25, AT)
    first = evidence.fold(lineage, LOOK)
    lineage.saved.clear()
    assert evidence.fold(lineage, LOOK) == first


def test_other_questions_start_anew_and_an_unreadable_state_too() -> None:
    lineage = Lineage()
    lineage.feed(KEY, 25, AT)
    evidence.fold(lineage, LOOK)
    other = replace(LOOK, questions=(Question(signal=Signal.SUCCESS_RATE, margin=0.2),))
    assert evidence.fold(lineage, other).signals[0].margin == 0.2
    lineage.saved[KEY] = b"torn"
    assert evidence.fold(lineage, other).units == 25


def test_one_look_is_bounded_and_the_next_goes_on() -> None:
    lineage = Lineage()
    most = evidence.BATCH * evidence.BATCHES
    lineage.feed(KEY, most + 5, AT)
    assert evidence.fold(lineage, LOOK).cursor == most
    assert evidence.fold(lineage, LOOK).cursor == most + 5


def test_stages_and_attempts_are_apart() -> None:
    lineage = Lineage()
    lineage.feed(KEY, 5, AT)
    for key in (KEY._replace(attempt=2), KEY._replace(stage=Stage.SHADOW)):
        assert evidence.fold(lineage, replace(LOOK, key=key)).units == 0
