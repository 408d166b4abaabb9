"""The lines of a spool: one JSON object per line, `t` says which kind.

    run      {"t":"run", ...RunRecord}             one arm of one run
    obs      {"t":"obs", ...RawObservation}        one run's part in an evidence unit
    after    {"t":"after", run_id, arm, steps, reward, reward_source, at}   steps that ran after the answer
    outcome  {"t":"outcome", run_id, reward, outcome, source, at, note}     what the business says later

Encoders give bytes that end with a newline and hold no other. Values that JSON lacks (NaN, infinities)
become null. Decoders raise MalformedError; they never guess.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import orjson

from sluicegate.contracts.errors import SluicegateError
from sluicegate.contracts.evidence import (
    Ablation,
    ArmFacts,
    EvidenceKey,
    Observation,
    RawObservation,
    RunFacts,
)
from sluicegate.contracts.runs import Arm, Coalition, Game, RunOutcome, RunRecord, StepRecord
from sluicegate.contracts.stages import Stage

T = TypeVar("T")
KINDS: Final = ("run", "obs", "after", "outcome")
MAX_LATENCIES: Final = 64
MAX_RUN_IDS: Final = 8


class MalformedError(SluicegateError):
    """A line that is not an entry; the message says why."""

    reason = "Malformed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What became known of a run after its document was written.

    arm: None for an outcome: it is the serving arm's. at: None for `after` entries that carry no time.
    """

    run_id: str
    kind: str  # after | outcome
    arm: Arm | None = None
    reward: float | None = None
    outcome: RunOutcome | None = None
    at: datetime | None = None


# --- encoders -----------------------------------------------------------------------------------------


def encode_run(record: RunRecord, *, bodies: bool = True) -> bytes:
    """A run document; without `bodies` requests, responses, input and output are left out (`Dropped`)."""
    if not bodies:
        record = without_bodies(record, "Dropped")
    try:
        return _line(b"run", record)
    except orjson.JSONEncodeError:  # a body that JSON cannot say: the facts still count
        return _line(b"run", without_bodies(record, "Dropped"))


def encode_observation(observation: RawObservation) -> bytes:
    """One run's part in a unit."""
    return _line(b"obs", observation)


def encode_after(
    run_id: str,
    arm: Arm,
    *,
    steps: tuple[StepRecord, ...] = (),
    reward: float | None = None,
    at: datetime | None = None,
    bodies: bool = True,
) -> bytes:
    """Steps of phase AfterAnswer, and the reward that they gave to this arm; at: when they ended."""
    if not bodies:
        steps = tuple(replace(step, request=None, response=None) for step in steps)
    source = None if reward is None else "Evaluator"
    body = {"run_id": run_id, "arm": arm, "steps": steps, "reward": reward}
    return _line(b"after", body | {"reward_source": source, "at": at})


def encode_outcome(
    run_id: str,
    *,
    at: datetime,
    reward: float | None = None,
    outcome: RunOutcome | None = None,
    source: str = "Outcome",
    note: str | None = None,
) -> bytes:
    """The outcome call: reward in [0, 1] and/or Succeeded|Failed for the serving arm of a run."""
    body = {"run_id": run_id, "reward": reward, "outcome": outcome, "source": source}
    return _line(b"outcome", body | {"at": at, "note": note})


def without_bodies(record: RunRecord, why: str) -> RunRecord:
    """The record without input, output, requests, responses and what rules of business saw and said; `why`: Dropped | Sampled."""
    steps = tuple(replace(step, request=None, response=None) for step in record.steps)
    business = None if record.business is None else replace(record.business, answer=None, values={})
    return replace(record, input=None, output=None, steps=steps, business=business, bodies=why)


def _line(kind: bytes, body: object) -> bytes:
    return b'{"t":"' + kind + b'",' + orjson.dumps(body, _plain)[1:] + b"\n"


def _plain(value: object) -> object:
    if isinstance(value, tuple | set | frozenset):  # NamedTuple: orjson leaves subclasses of tuple to us
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


# --- decoders -----------------------------------------------------------------------------------------


def decode(line: bytes) -> dict[str, Any]:
    """A line as a dict, of a known kind. Raises MalformedError."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedError(f"not JSON: {error}") from error
    if not isinstance(entry, dict) or entry.get("t") not in KINDS:
        raise MalformedError("not an entry: `t` must be one of " + ", ".join(KINDS))
    return entry


def raw_observation_from(entry: Mapping[str, Any]) -> RawObservation:
    """The observation entry as a value. Raises MalformedError."""
    return _guarded(_raw_observation, entry)


def amendment_from(entry: Mapping[str, Any]) -> Amendment:
    """An `after` or `outcome` entry as a value. Raises MalformedError."""
    return _guarded(_amendment, entry)


def observation_from(row: tuple[int, str, str, int, str, bytes | str]) -> Observation:
    """A closed unit as the store keeps it: sequence, rollout, stage, attempt, unit, JSON of the rest."""
    sequence, rollout, stage, attempt, unit, body = row
    data = orjson.loads(body)
    return Observation(
        sequence=sequence,
        key=EvidenceKey(rollout, Stage(stage), attempt),
        unit=unit,
        runs=tuple(data["runs"]),
        at=datetime.fromisoformat(data["at"]),
        stable=facts_from(data.get("stable")),
        candidate=facts_from(data.get("candidate")),
        control=facts_from(data.get("control")),
        ablation=ablation_from(data.get("ablation")),
        mixed=ablation_from(data.get("mixed")),
        dropped=data.get("dropped", 0),
        by_run=tuple(_run_facts(item) for item in data.get("by_run", ())),
    )


def _run_facts(data: Mapping[str, Any]) -> RunFacts:
    candidate = facts_from(data["candidate"])
    if candidate is None:
        raise MalformedError("`by_run` needs the candidate's facts")
    return RunFacts(run=data["run"], candidate=candidate, stable=facts_from(data.get("stable")))


def facts_from(data: Mapping[str, Any] | None) -> ArmFacts | None:
    """ArmFacts of a JSON object; numbers that were not finite are missing."""
    if data is None:
        return None
    return ArmFacts(
        success=float(data["success"]),
        latencies_ms=tuple(float(x) for x in data.get("latencies_ms", ()) if x is not None)[:MAX_LATENCIES],
        fallbacks={str(k): float(v) for k, v in data.get("fallbacks", {}).items() if v is not None},
        violations=tuple(map(str, data.get("violations", ()))),
        violated=float(data.get("violated") or 0.0),
        reward=_number(data.get("reward")),
        disagrees=_number(data.get("disagrees")),
        evaluated=_number(data.get("evaluated")),
        outcome=_number(data.get("outcome")),
        similarity=_number(data.get("similarity")),
        texts=tuple(map(_number, data.get("texts", ())))[:MAX_LATENCIES],
        choices={
            str(field): {str(value): float(share) for value, share in shares.items() if share is not None}
            for field, shares in data.get("choices", {}).items()
        },
        numbers={
            str(field): tuple(float(x) for x in found if x is not None)[:MAX_LATENCIES]
            for field, found in data.get("numbers", {}).items()
        },
    )


def ablation_from(data: Mapping[str, Any] | None) -> Ablation | None:
    """Ablation of a JSON object. Raises ValueError for a coalition of other players or a reward outside [0, 1]."""
    if data is None:
        return None
    said = data["coalition"]
    coalition = Coalition(
        players=tuple(map(str, said["players"])),
        mask=int(said["mask"]),
        probability=float(said["probability"]),
        game=Game(said.get("game", Game.FALLBACK)),
    )
    if not 0 <= coalition.mask < 1 << len(coalition.players):
        raise ValueError(f"coalition {coalition.mask} is none of {len(coalition.players)} players")
    return Ablation(coalition=coalition, reward=_reward(data, "reward"), stable=_reward(data, "stable"))


def _reward(data: Mapping[str, Any], name: str) -> float | None:
    reward = _number(data.get(name))
    if reward is not None and not 0.0 <= reward <= 1.0:
        raise ValueError(f"reward {reward} is outside [0, 1]")
    return reward


def moment(value: Any) -> datetime:
    """An RFC 3339 text as aware UTC; a text without an offset is read as UTC. Raises ValueError, TypeError."""
    at = datetime.fromisoformat(value)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def text(entry: Mapping[str, Any], name: str) -> str:
    """A required string. Raises MalformedError."""
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedError(f"`{name}` must be a non-empty string")
    return value


def _raw_observation(entry: Mapping[str, Any]) -> RawObservation:
    rollout, stage, attempt = entry["key"]
    arms = {arm: facts_from(entry.get(arm)) for arm in ("stable", "candidate", "control")}
    if all(facts is None for facts in arms.values()):
        raise MalformedError("an observation needs at least one arm")
    return RawObservation(
        key=EvidenceKey(str(rollout), Stage(stage), int(attempt)),
        unit=text(entry, "unit"),
        run_id=text(entry, "run_id"),
        at=moment(entry["at"]),
        ablation=ablation_from(entry.get("ablation")),
        mixed=ablation_from(entry.get("mixed")),
        dropped=int(entry.get("dropped") or 0),
        session=bool(entry.get("session")),
        expects_reward=bool(entry.get("expects_reward")),
        window_seconds=min(max(float(entry.get("window_seconds") or 0.0), 0.0), 30 * 86_400.0),
        **arms,
    )


def _amendment(entry: Mapping[str, Any]) -> Amendment:
    after = entry["t"] == "after"
    outcome, at = entry.get("outcome"), entry.get("at")
    reward = _number(entry.get("reward"))
    if reward is not None and not 0.0 <= reward <= 1.0:
        raise MalformedError(f"reward {reward} is outside [0, 1]")
    return Amendment(
        run_id=text(entry, "run_id"),
        kind=str(entry["t"]),
        arm=Arm(entry["arm"]) if after else None,
        reward=reward,
        outcome=RunOutcome(outcome) if outcome is not None and not after else None,
        at=moment(at) if at is not None or not after else None,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _guarded(build: Callable[[Mapping[str, Any]], T], entry: Mapping[str, Any]) -> T:
    try:
        return build(entry)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MalformedError(f"{type(error).__name__}: {error}") from error
