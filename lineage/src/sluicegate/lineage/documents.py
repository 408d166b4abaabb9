"""A line as the store needs it, and a document as a person reads it: pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sluicegate.contracts.evidence import RawObservation
from sluicegate.contracts.runs import Arm, Link, LinkOutcome, RunOutcome, Trigger
from sluicegate.lineage import entries, schema, watching
from sluicegate.lineage.entries import Amendment, MalformedError

ARM_ORDER: Final = {arm.value: place for place, arm in enumerate(Arm)}
MAX_ERROR: Final = 500


class RunRow(NamedTuple):
    """The searchable part of a run document, in the order of the table's columns."""

    run_id: str
    arm: str
    namespace: str
    workflow: str
    revision: str
    version: str
    rollout: str | None
    stage: str | None
    attempt: int
    serving: bool
    outcome: str
    latency_ms: float
    reward: float | None
    started_at: int
    flags: int
    error: str | None


class FallbackRow(NamedTuple):
    """One step of a run that fell back and was not told to."""

    component: str
    reason: str
    step: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A checked line: what it says, and the row, observation or amendment to store. served: of a run that a user got."""

    line: bytes
    entry: dict[str, Any]
    value: RunRow | RawObservation | Amendment
    fallbacks: tuple[FallbackRow, ...] = ()
    served: RawObservation | None = None


def parse(line: bytes) -> Parsed:
    """Check a line completely, so that storing it cannot fail. Raises MalformedError."""
    entry = entries.decode(line)
    match entry["t"]:
        case "obs":
            return Parsed(line, entry, entries.raw_observation_from(entry))
        case "run":
            try:
                fallbacks = tuple(_fallbacks(entry))
                row = _run_row(entry, bool(fallbacks))
                return Parsed(line, entry, row, fallbacks, watching.part_of(entry))
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise MalformedError(f"{type(error).__name__}: {error}") from error
        case _:
            return Parsed(line, entry, entries.amendment_from(entry))


def amended(
    document: dict[str, Any], amendments: Sequence[tuple[Mapping[str, Any], bool, bool]]
) -> dict[str, Any]:
    """The document with what became known later; amendments: (entry, used as evidence, still pending).

    `outcomes` lists every outcome call, each with `late`: it came after its unit was closed. `outcome` and
    `reward` are those now valid; what was answered at first stays in `outcomeAtAnswer`.
    """
    document = {name: value for name, value in document.items() if name != "t"}
    answered = document["outcome"]
    outcomes = []
    for entry, used, pending in sorted(amendments, key=lambda item: _precedence(item[0])):
        if entry["t"] == "after":
            if entry["arm"] == document["arm"]:
                _add_after(document, entry)
            continue
        if not document["serving"]:
            continue
        late = bool(document.get("rollout")) and not used and not pending
        said = {name: entry.get(name) for name in ("reward", "outcome", "source", "at", "note")}
        outcomes.append(said | {"late": late})
        if entry.get("reward") is not None:
            document |= {"reward": entry["reward"], "reward_source": entry.get("source") or "Outcome"}
        if entry.get("outcome") is not None:
            document["outcome"] = entry["outcome"]
    if outcomes:
        document["outcomes"] = outcomes
    if document["outcome"] != answered:
        document["outcomeAtAnswer"] = answered
    return document


def effective(
    arm: str, serving: bool, amendments: Sequence[Mapping[str, Any]]
) -> tuple[float | None, str | None, int]:
    """Reward and outcome that amendments give to an arm (None: the document's own), and flags they add."""
    reward, outcome, flags = None, None, 0
    for entry in sorted(amendments, key=_precedence):
        if entry["t"] == "after":
            if entry["arm"] != arm:
                continue
            flags |= schema.FALLBACK if any(_fallbacks(entry)) else 0
        elif not serving:
            continue
        else:
            outcome = entry.get("outcome") or outcome
        reward = reward if entry.get("reward") is None else float(entry["reward"])
    return reward, outcome, flags


def _run_row(entry: Mapping[str, Any], fell_back: bool) -> RunRow:
    steps = entry.get("steps") or ()
    reward, comparison, error = entry.get("reward"), entry.get("comparison"), entry.get("error")
    flags = schema.FALLBACK if fell_back else 0
    if entry.get("violations") or any(step.get("violations") for step in steps):
        flags |= schema.VIOLATED
    if entry.get("bodies", "Kept") != "Kept":
        flags |= schema.BODILESS
    if comparison is not None and not comparison["agrees"]:
        flags |= schema.DISAGREES
    flags |= _drilled(entry.get("business"))
    return RunRow(
        run_id=entries.text(entry, "run_id"),
        arm=Arm(entry["arm"]).value,
        namespace=entries.text(entry, "namespace"),
        workflow=entries.text(entry, "workflow"),
        revision=entries.text(entry, "revision"),
        version=entries.text(entry, "version"),
        rollout=_optional(entry, "rollout"),
        stage=_optional(entry, "stage"),
        attempt=int(entry.get("attempt") or 0),
        serving=bool(entry["serving"]),
        outcome=RunOutcome(entry["outcome"]).value,
        latency_ms=float(entry["latency_ms"]),
        reward=None if reward is None else float(reward),
        started_at=schema.micros(entries.moment(entry["started_at"])),
        flags=flags,
        error=None if error is None else str(error)[:MAX_ERROR],
    )


def _drilled(business: Mapping[str, Any] | None) -> int:
    """How a rehearsal of the rules went; 0 when there was none."""
    if business is None or business["trigger"] != Trigger.DRILL:
        return 0
    if business.get("answered_by") == Link.RULES:
        return schema.DRILLED
    is_unlawful = any(link["outcome"] == LinkOutcome.INVALID for link in of_rules(business))
    return schema.DRILLED | (schema.UNLAWFUL if is_unlawful else schema.UNANSWERED)


def of_rules(business: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the rules did, of the chain."""
    return [link for link in business.get("chain") or () if link["link"] == Link.RULES]


def _fallbacks(entry: Mapping[str, Any]) -> list[FallbackRow]:
    return [
        FallbackRow(
            entries.text(step, "component"),
            str(step["fallback"]["reason"]),
            entries.text(step, "name"),
            str(step["fallback"]["strategy"]),
        )
        for step in entry.get("steps") or ()
        if step.get("fallback") and not step["fallback"].get("forced")
    ]


def _add_after(document: dict[str, Any], entry: Mapping[str, Any]) -> None:
    later = {step["name"]: step for step in entry.get("steps") or ()}
    steps = [step for step in document.get("steps") or () if step["name"] not in later]
    document["steps"] = [*steps, *later.values()]
    if entry.get("reward") is not None:
        document |= {"reward": entry["reward"], "reward_source": entry.get("reward_source") or "Evaluator"}


def _precedence(entry: Mapping[str, Any]) -> tuple[bool, datetime]:
    """An outcome counts more than an evaluator, a later one more than an earlier one."""
    at = entry.get("at")
    return entry["t"] == "outcome", entries.moment(at) if at is not None else schema.EPOCH


def _optional(entry: Mapping[str, Any], name: str) -> str | None:
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise MalformedError(f"`{name}` must be a string or null")
    return value
