"""A field of vectors, folded: what moved is seen, equal arms are not called different, the state is small and exact."""

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest

from sluicegate.contracts.evidence import VECTOR, ArmFacts, Observation, Question
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.drift import points
from sluicegate.observability.drift.outputs import Outputs
from sluicegate.observability.fold import Fold
from tests.observability.drift.outputs import folded
from tests.observability.facts import good, unit

EMBEDDING = Question(
    signal=Signal.DRIFT, margin=0.1, component="agent", output="embedding", numeric=True, length=VECTOR
)


def at(*vectors: list[float]) -> ArmFacts:
    return good(numbers={"agent.embedding": tuple(value for vector in vectors for value in vector)})


def stream(
    n: int,
    seed: int,
    *,
    moved: float = 0.0,
    equal: float = 0.0,
    stage: Stage = Stage.SHADOW,
    share: float = 0.5,
) -> Iterator[Observation]:
    """Normal vectors; of the candidate's a share lies elsewhere, of its answers a share is stable's."""
    generator = np.random.default_rng(seed)
    for number in range(1, n + 1):
        mine, theirs = generator.standard_normal((2, VECTOR))
        if generator.random() < equal:
            mine = theirs.copy()
        if generator.random() < moved:
            mine += 1.0
        if stage is Stage.SHADOW:
            yield unit(number, stage, candidate=at(mine.tolist()), stable=at(theirs.tolist()))
        elif generator.random() < share:
            yield unit(number, stage, candidate=at(mine.tolist()))
        else:
            yield unit(number, stage, stable=at(theirs.tolist()))


def test_a_fifth_of_the_vectors_elsewhere_is_shown_and_named() -> None:
    found = folded(list(stream(700, 1, moved=0.2)), EMBEDDING)
    assert found.harm_log_e > math.log(340)
    assert found.outputs is not None
    assert found.outputs.moved == "far from stable's first"
    assert (found.candidate or 0) > (found.stable or 0) + 0.05
    assert found.witnesses


def test_the_permutation_alone_shows_a_turn_that_leaves_the_regions_as_they_are() -> None:
    """All of the candidate's vectors are half as long: within every region, and none is far."""
    observations = []
    for one in stream(1100, 2):
        assert one.candidate is not None
        short = [value * 0.4 for value in one.candidate.numbers["agent.embedding"]]
        observations.append(unit(one.sequence, Stage.SHADOW, candidate=at(short), stable=one.stable))
    found = folded(observations, EMBEDDING)
    assert found.outputs is not None
    assert found.outputs.cloud is not None
    assert found.outputs.cloud.looks == 6
    assert found.outputs.cloud.log_e > math.log(340)


@pytest.mark.parametrize("stage", [Stage.SHADOW, Stage.CONTROLLED])
def test_equal_arms_are_not_called_different_however_often_one_looks(stage: Stage) -> None:
    """20 streams of 300 units, looked at after every thirtieth: at α = 5 % more than 5 alarms have a chance of 3 in 10,000."""
    alarms = 0
    for seed in range(20):
        fold, worst = Outputs(EMBEDDING, stage), -math.inf
        for observation in stream(300, seed, stage=stage):
            fold.add(observation)
            if observation.sequence % 30 == 0:
                worst = max(worst, fold.evidence().harm_log_e)
        alarms += worst >= math.log(20)
    assert alarms <= 5


def test_mostly_equal_vectors_are_shown_not_to_have_moved() -> None:
    found = folded(list(stream(900, 3, equal=0.9)), EMBEDDING)
    assert found.safe_log_e > math.log(20)
    assert found.harm_log_e < math.log(20)


def test_stables_first_vectors_set_the_regions_and_are_no_evidence() -> None:
    observations = list(stream(points.CALIBRATION + 5, 4))
    assert folded(observations[: points.CALIBRATION], EMBEDDING).units == 0
    assert folded(observations, EMBEDDING).units == 5


@pytest.mark.parametrize("stage", [Stage.SHADOW, Stage.CONTROLLED])
def test_a_restart_anywhere_gives_the_same_bits(stage: Stage) -> None:
    observations = list(stream(260, 5, moved=0.3, stage=stage, share=0.7))
    whole, parts = Outputs(EMBEDDING, stage), Outputs(EMBEDDING, stage)
    for observation in observations:
        whole.add(observation)
        parts.add(observation)
        if observation.sequence % 13 == 0:
            kept = json.loads(json.dumps(parts.to_json(), sort_keys=True, allow_nan=False))
            parts = Outputs.from_json(kept, EMBEDDING, stage)
    assert parts.to_json() == whole.to_json()
    assert parts.evidence() == whole.evidence()


def few(n: int, seed: int, *, far: float = 0.0) -> Iterator[Observation]:
    """Coordinates of three values, so that many points are as far from several middles, or just as far as the radius."""
    generator = np.random.default_rng(seed)
    for number in range(1, n + 1):
        mine, theirs = generator.integers(0, 3, (2, VECTOR)).astype(float)
        if generator.random() < far:
            mine[0] = generator.choice([-7.0, 9.0, 1e300, -1e300, 3.5e38, math.inf, math.nan])
        yield unit(number, Stage.SHADOW, candidate=at(mine.tolist()), stable=at(theirs.tolist()))


def sessions(n: int) -> Iterator[Observation]:
    """Two runs to each unit of the candidate, and of every seventh nothing is known."""
    for one in stream(n, 21):
        assert one.candidate is not None
        found = list(one.candidate.numbers["agent.embedding"])
        twice = at() if one.sequence % 7 == 0 else at(found, [0.5] * VECTOR)
        yield unit(one.sequence, Stage.SHADOW, candidate=twice, stable=one.stable)


def scaled(n: int, seed: int, by: float, first: float | None = None) -> Iterator[Observation]:
    """Numbers of another size; the first may never vary."""
    for one in stream(n, seed):
        assert one.candidate is not None
        assert one.stable is not None
        arms = (
            [value * by for value in arm.numbers["agent.embedding"]] for arm in (one.candidate, one.stable)
        )
        mine, theirs = ([numbers[0] if first is None else first, *numbers[1:]] for numbers in arms)
        yield unit(one.sequence, Stage.SHADOW, candidate=at(mine), stable=at(theirs))


STREAMS: dict[str, list[Observation]] = {
    "pairs": list(stream(400, 22, moved=0.2, equal=0.2)),
    "units of one arm": list(stream(400, 23, stage=Stage.CONTROLLED, share=0.7)),
    "points as far from several middles": list(few(400, 24)),
    "far away, and no numbers": list(few(400, 25, far=0.3)),
    "sessions": list(sessions(300)),
    "beyond single precision": list(scaled(200, 27, 2e38)),
    "a number that single precision does not have, always": list(scaled(200, 28, 1.0, first=0.1)),
}


@pytest.mark.parametrize("what", STREAMS)
@pytest.mark.parametrize("size", [9, 64, 400])
def test_many_at_once_give_the_same_bits_as_one_by_one(what: str, size: int) -> None:
    observations = STREAMS[what]
    key = observations[0].key
    one_by_one, at_once = Fold(key, (EMBEDDING,)), Fold(key, (EMBEDDING,))
    for observation in observations:
        one_by_one.add(observation)
    for start in range(0, len(observations), size):
        at_once.add_all(observations[start : start + size])
    assert at_once.to_bytes() == one_by_one.to_bytes()


def test_many_at_once_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only units before the regions are known are taken one by one."""
    observations = list(stream(points.CALIBRATION + 100, 26))
    fold = Fold(observations[0].key, (EMBEDDING,))
    fold.add_all(observations[: points.CALIBRATION])
    monkeypatch.setattr(points, "_mean", None)
    fold.add_all(observations[points.CALIBRATION :])
    assert fold.evidence().signals[0].units == 100


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_state_stays_below_four_kilobytes(share: float) -> None:
    for stage in (Stage.SHADOW, Stage.CONTROLLED):
        fold = Outputs(EMBEDDING, stage)
        for observation in stream(200, 6, moved=0.2, stage=stage, share=share):
            fold.add(observation)
            assert len(json.dumps(fold.to_json(), separators=(",", ":"))) <= 4096


@pytest.mark.parametrize(
    "numbers",
    [
        (),
        (1.0,) * (VECTOR - 1),
        (math.nan, *[0.0] * (VECTOR - 1)),
        (math.inf, -math.inf, *[0.0] * (VECTOR - 2)),
    ],
    ids=["nothing", "too short", "NaN", "infinite"],
)
def test_what_is_no_vector_is_missing(numbers: tuple[float, ...]) -> None:
    broken = good(numbers={"agent.embedding": numbers})
    observations = list(stream(points.CALIBRATION + 1, 7))
    last = observations[-1]
    observations[-1] = unit(last.sequence, Stage.SHADOW, candidate=broken, stable=last.stable)
    found = folded(observations, EMBEDDING)
    assert (found.units, found.missing) == (0, 1)


def test_a_session_is_the_mean_of_its_runs() -> None:
    observations = list(stream(points.CALIBRATION, 8))
    mean, apart = [0.5] * VECTOR, ([0.0] * VECTOR, [1.0] * VECTOR)
    session = unit(points.CALIBRATION + 1, Stage.SHADOW, candidate=at(*apart), stable=at(mean))
    found = folded([*observations, session], EMBEDDING)
    assert found.outputs is not None
    assert all(candidate == stable for _, candidate, stable in found.outputs.counts)


def test_a_coordinate_that_never_varied_and_the_largest_numbers_are_far() -> None:
    def padded(one: ArmFacts | None, last: float) -> ArmFacts:
        assert one is not None
        return at([*one.numbers["agent.embedding"][:-1], last])

    observations = [
        unit(
            one.sequence, Stage.SHADOW, candidate=padded(one.candidate, last), stable=padded(one.stable, 0.0)
        )
        for one, last in zip(stream(90, 9), [0.5] * 60 + [1e300] * 30, strict=True)
    ]
    found = folded(observations, EMBEDDING)
    assert found.outputs is not None
    name, candidate, _ = found.outputs.counts[-1]
    assert (name, candidate) == ("far from stable's first", 58.0)


def repeated(count: int, mine: list[float], theirs: list[float], first: int = 1) -> list[Observation]:
    return [
        unit(first + number, Stage.SHADOW, candidate=at(mine), stable=at(theirs)) for number in range(count)
    ]


FIXED = points.ATTEMPTS * points.CALIBRATION
ALWAYS = [0.1] * VECTOR


def test_what_always_gives_the_same_numbers_is_not_far_from_itself() -> None:
    """0.1 has no exact double or single."""
    found = folded(repeated(FIXED + 100, ALWAYS, ALWAYS), EMBEDDING)
    assert found.outputs is not None
    assert found.outputs.counts == (("in region 1", 100.0, 100.0), ("far from stable's first", 0.0, 0.0))


def test_another_constant_is_shown_to_differ() -> None:
    found = folded(repeated(FIXED + 100, [0.05, *ALWAYS[1:]], ALWAYS), EMBEDDING)
    assert found.harm_log_e > math.log(340)
    assert found.safe_log_e < 0.0


@pytest.mark.parametrize("kinds", [1, points.REGIONS])
def test_requests_that_repeat_set_no_regions(kinds: int) -> None:
    """Stable's first vectors are those of a few requests; then real traffic, which the candidate answers quite differently."""
    generator = np.random.default_rng(12)
    observations: list[Observation] = []
    for number in range(1, points.CALIBRATION + 1):
        same = [0.5 * (number % kinds)] * VECTOR
        observations += repeated(1, same, same, first=number)
    for number in range(points.CALIBRATION + 1, 600):
        mine, theirs = (
            generator.normal(0.5, 10.0, VECTOR).tolist(),
            generator.normal(0.5, 1.0, VECTOR).tolist(),
        )
        observations += repeated(1, mine, theirs, first=number)
    found = folded(observations, EMBEDDING)
    assert found.outputs is not None
    assert found.units == 599 - 2 * points.CALIBRATION
    assert found.harm_log_e > math.log(340)
    assert found.safe_log_e < 0.0
    assert found.outputs.counts[-1][2] < 0.5 * found.units


def test_regions_that_do_not_hold_what_stable_gives_prove_nothing() -> None:
    """Far too long the same request: all that comes later is far, of both arms, however different they are."""
    generator = np.random.default_rng(13)
    observations = repeated(FIXED, ALWAYS, ALWAYS)
    for number in range(FIXED + 1, FIXED + 300):
        mine, theirs = generator.standard_normal((2, VECTOR)).tolist()
        observations += repeated(1, mine, theirs, first=number)
    found = folded(observations, EMBEDDING)
    assert (found.units, found.safe_log_e, found.growth) == (299, 0.0, 0.0)
    settled = [
        *repeated(FIXED, ALWAYS, ALWAYS),
        *observations[FIXED:][:20],
        *repeated(200, ALWAYS, ALWAYS, first=FIXED + 21),
    ]
    assert folded(settled, EMBEDDING).safe_log_e > 0.0, "when most of stable lies in them again, they do"
