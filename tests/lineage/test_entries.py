"""What is written to a spool is read back as it was, and nothing else is taken for an entry."""

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.evidence import Ablation, ArmFacts, RawObservation
from sluicegate.contracts.runs import Arm, Coalition, RunOutcome
from sluicegate.contracts.stages import Stage
from sluicegate.lineage import documents, entries
from sluicegate.lineage.entries import Amendment, MalformedError
from tests.lineage.builders import SHADOW, at, fell_back, observed, run, step

rates = st.floats(0, 1)
facts = st.builds(
    ArmFacts,
    success=rates,
    latencies_ms=st.lists(st.floats(0, 1e6), max_size=64).map(tuple),
    fallbacks=st.dictionaries(st.text(), rates, max_size=3),
    violations=st.lists(st.text(), max_size=3).map(tuple),
    violated=rates,
    reward=st.none() | rates,
    disagrees=st.none() | rates,
    similarity=st.none() | rates,
    texts=st.lists(st.none() | rates, max_size=64).map(tuple),
)
raw = st.builds(
    RawObservation,
    key=st.builds(
        lambda stage, n: SHADOW._replace(stage=stage, attempt=n), st.sampled_from(Stage), st.integers(0, 9)
    ),
    unit=st.text(min_size=1),
    run_id=st.text(min_size=1),
    at=st.floats(0, 1e6).map(at),
    stable=facts,
    candidate=st.none() | facts,
    control=st.none() | facts,
    dropped=st.integers(0, 3),
    session=st.booleans(),
    expects_reward=st.booleans(),
    window_seconds=st.floats(0, 1e5),
)


@given(raw)
def test_an_observation_comes_back_as_it_was(observation: RawObservation) -> None:
    line = entries.encode_observation(observation)
    assert entries.raw_observation_from(entries.decode(line)) == observation
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_a_run_document_has_the_record_s_fields() -> None:
    record = run(steps=(step(), fell_back("orders")))
    found = json.loads(entries.encode_run(record))  # the standard library's reader as second opinion
    assert found.pop("t") == "run"
    assert found == json.loads(json.dumps(asdict(record)))


def test_without_bodies_the_facts_remain() -> None:
    record = run(steps=(step(), fell_back("orders")))
    found = entries.decode(entries.encode_run(record, bodies=False))
    assert (found["input"], found["output"], found["bodies"]) == (None, None, "Dropped")
    assert [(s["request"], s["response"]) for s in found["steps"]] == [(None, None)] * 2
    assert found["steps"][1]["fallback"]["reason"] == "Timeout"
    assert found["latency_ms"] == 12.5


def test_a_body_that_is_not_json_is_dropped_not_the_run() -> None:
    found = entries.decode(entries.encode_run(run(output={"x": object()})))
    assert found["bodies"] == "Dropped"
    assert found["outcome"] == "Succeeded"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_missing(value: float) -> None:
    line = entries.encode_observation(
        observed(stable=ArmFacts(success=1.0, latencies_ms=(value, 2.0), reward=value))
    )
    found = entries.raw_observation_from(entries.decode(line)).stable
    assert found is not None
    assert (found.reward, found.latencies_ms) == (None, (2.0,))


def test_amendments_come_back() -> None:
    after = entries.encode_after("r", Arm.CANDIDATE, steps=(step("judge"),), reward=0.5, at=at(1))
    outcome = entries.encode_outcome("r", at=at(2), outcome=RunOutcome.FAILED, note="wrong parcel")
    assert entries.amendment_from(entries.decode(after)) == Amendment(
        run_id="r", kind="after", arm=Arm.CANDIDATE, reward=0.5, at=at(1)
    )
    assert entries.amendment_from(entries.decode(outcome)) == Amendment(
        run_id="r", kind="outcome", outcome=RunOutcome.FAILED, at=at(2)
    )


def _ablation(mask: int, reward: float) -> Ablation:
    return Ablation(coalition=Coalition(players=("a", "b"), mask=mask, probability=0.5), reward=reward)


BAD = {
    "no JSON": b"{",
    "half a line": entries.encode_run(run())[:100],
    "an array": b"[1]",
    "no kind": b'{"run_id": "x"}',
    "an unknown kind": b'{"t": "other"}',
    "a run without an id": entries.encode_run(run()).replace(b'"run-000001"', b"null"),
    "a run of an unknown arm": entries.encode_run(run()).replace(b'"arm":"stable"', b'"arm":"fourth"'),
    "a run whose steps are a number": entries.encode_run(run(steps=())).replace(b'"steps":[]', b'"steps":7'),
    "a run at no time": entries.encode_run(run(started_at="yesterday")),
    "a run whose latency is a list": entries.encode_run(run()).replace(b":12.5", b":[]"),
    "a run whose attempt is beyond 64 bits": entries.encode_run(run()).replace(
        b'"attempt":0', b'"attempt":1e400'
    ),
    "an observation without arms": entries.encode_observation(observed(stable=None)),
    "an observation without success": entries.encode_observation(
        observed(stable=ArmFacts(success=math.nan, latencies_ms=()))
    ),
    "an observation of an unknown stage": entries.encode_observation(observed()).replace(b"Shadow", b"Shade"),
    "a coalition of other players": entries.encode_observation(observed(ablation=_ablation(4, 0.5))),
    "an ablated run that earned too much": entries.encode_observation(observed(ablation=_ablation(1, 1.5))),
    "a reward above 1": entries.encode_outcome("r", at=at(0), reward=1.5),
    "an outcome at no time": b'{"t":"outcome","run_id":"r","reward":1}',
    "an outcome of a run with a number as id": b'{"t":"outcome","run_id":7,"at":"2026-01-01T00:00:00Z"}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_what_is_no_entry_is_malformed(line: bytes) -> None:
    with pytest.raises(MalformedError):
        documents.parse(line)


@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda c: st.dictionaries(
            st.sampled_from(["t", "key", "steps", "run_id", "arm", "at"]),
            c | st.sampled_from(["run", "obs", "after", "outcome"]),
        ),
    ).map(lambda v: json.dumps(v).encode())
)
def test_anything_else_is_malformed_and_nothing_worse(line: bytes) -> None:
    with pytest.raises(MalformedError):
        documents.parse(line)
