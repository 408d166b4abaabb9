"""Measurements, folded into what the status keeps. Pure, and the same whatever is folded twice."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.measured import Counted, Measured
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage
from sluicegate.contracts.resources.source import Limit, Source
from sluicegate.contracts.verification.sources import compares, limit_of
from sluicegate.observability.counts import Block, block_gains, folded
from sluicegate.rollout.job_runs import CANDIDATE, STABLE
from sluicegate.rollout.measurements import FAILURES, Measurement, Outcome

MOST: Final = 2.0**53
"""Above it not every whole number is a float, so that counts would not be exact, nor fit in a status."""

MOST_LOST: Final = 16
"""Falls of one counter that are remembered."""


def after(
    held: tuple[Measured, ...], stage: PlannedStage, key: EvidenceKey, news: Iterable[Measurement]
) -> tuple[Measured, ...]:
    """What is held of each gate with a source, with the measurements of `key` that are newer than it, in their order."""
    known = {one.gate: one for one in held}
    ours = sorted((one for one in news if one.key == key), key=lambda one: one.number)
    return tuple(_gate(gate, known.get(gate.name), ours) for gate in stage.gates if gate.source is not None)


def _gate(gate: PlannedGate, held: Measured | None, news: list[Measurement]) -> Measured:
    found = held or Measured(gate=gate.name)
    for one in news:
        if one.gate == gate.name and one.number > found.number:
            found = add(gate, found, one)
    return found


def add(gate: PlannedGate, held: Measured, one: Measurement) -> Measured:
    """One more measurement."""
    outcome, message = one.worst()
    changes: dict[str, object] = {
        "number": one.number,
        "at": one.at,
        "outcome": outcome.value,
        "message": message,
        "errors": held.errors + 1 if outcome in FAILURES else 0,
    }
    source = gate.source or Source()
    if one.number > held.number + 1:  # what was measured between is not known: a row does not reach over it
        held = held.model_copy(update={"good": 0})
    if outcome is not Outcome.VALUE:
        changes["good"] = 0
    elif one.value(CANDIDATE, "value") is not None:
        changes |= _valued(source, held, one)
    else:
        changes |= _counted(gate, source, held, one)
    return held.model_copy(update=changes)


def _valued(source: Source, held: Measured, one: Measurement) -> dict[str, object]:
    value, stable = one.value(CANDIDATE, "value"), one.value(STABLE, "value")
    samples = one.value(CANDIDATE, "samples")
    changes: dict[str, object] = {
        "candidate": text(value),
        "stable": text(stable),
        "samples": None if samples is None else int(max(0.0, min(samples, MOST))),
    }
    if source.min_samples is not None and (samples or 0.0) < source.min_samples:
        return changes | {"good": 0}
    if next(broken(limit_of(source), value or 0.0, stable), None) is not None:
        return changes | {"good": 0, "bad": held.bad + 1}
    return changes | {"good": held.good + 1, "bad": 0}


def broken(limit: Limit, value: float, stable: float | None) -> Iterator[str]:
    """The bounds that `value` breaks, for people."""
    if limit.min is not None and value < float(limit.min):
        yield f"below {limit.min}"
    if limit.max is not None and value > float(limit.max):
        yield f"above {limit.max}"
    if limit.above_stable is not None and stable is not None and value > stable + float(limit.above_stable):
        yield f"more than {limit.above_stable} above stable"
    if limit.below_stable is not None and stable is not None and value < stable - float(limit.below_stable):
        yield f"more than {limit.below_stable} below stable"


def _counted(gate: PlannedGate, source: Source, held: Measured, one: Measurement) -> dict[str, object]:
    """Fold what the counters grew by, once both arms have grown; what was not folded stays for the next time."""
    now = {CANDIDATE: _read(one, CANDIDATE)} | ({STABLE: _read(one, STABLE)} if compares(source) else {})
    faults = [f"{arm}: {fault}" for arm, (_, fault) in now.items() if fault]
    if faults:
        return {"outcome": Outcome.AMBIGUOUS.value, "message": "; ".join(faults)[:500]}
    candidate, stable = now[CANDIDATE][0], now[STABLE][0] if STABLE in now else None
    if source.job is not None:
        return _ran(gate, held, one, candidate, stable)
    before, stable_before = held.candidate_counts, held.stable_counts
    if before is None or (stable is not None and stable_before is None):
        return _begun(candidate, stable)
    grown = _grown(before, candidate)
    stable_grown = None if stable is None or stable_before is None else _grown(stable_before, stable)
    pairs = [grown] if stable_grown is None else [grown, stable_grown]
    if any(min(pair) < 0 for pair in pairs) or _comes_back(before, grown):
        return _reset(held, candidate, stable)
    if stable_before is not None and stable_grown is not None and _comes_back(stable_before, stable_grown):
        return _reset(held, candidate, stable)
    for arm, (bad, total) in zip((CANDIDATE, STABLE), pairs, strict=False):
        if bad > total:
            told = f"{arm}: bad grew by {bad} and total by {total} since the measurement before"
            return {"outcome": Outcome.AMBIGUOUS.value, "message": told}
    if any(total == 0 for _, total in pairs):
        return {}
    return _more(gate, held, one, grown, stable_grown)


def _ran(
    gate: PlannedGate,
    held: Measured,
    one: Measurement,
    candidate: tuple[int, int],
    stable: tuple[int, int] | None,
) -> dict[str, object]:
    """What Jobs counted is all of this look: there is no counter that went on before."""
    for arm, found in ((CANDIDATE, candidate), (STABLE, stable)):
        if found is not None and found[0] > found[1]:
            return {"outcome": Outcome.AMBIGUOUS.value, "message": f"{arm}: bad {found[0]} of {found[1]}"}
    if candidate[1] == 0 or (stable is not None and stable[1] == 0):
        return {"outcome": Outcome.NO_DATA.value, "message": "a Job counted nothing"}
    if (held.candidate_counts or Counted()).total + candidate[1] > MOST:
        return {"outcome": Outcome.AMBIGUOUS.value, "message": "more was counted than a status can hold"}
    empty = {"candidate_counts": held.candidate_counts or Counted()}
    if stable is not None:
        empty["stable_counts"] = held.stable_counts or Counted()
    return _more(gate, held.model_copy(update=empty), one, candidate, stable)


def _read(one: Measurement, arm: str) -> tuple[tuple[int, int], str]:
    bad, total = one.value(arm, "bad"), one.value(arm, "total")
    if bad is None or total is None or not (_is_count(bad) and _is_count(total)):
        told = f"bad {bad} and total {total} are no counts: whole numbers from 0 to 2^53 that only grow"
        return (0, 0), told
    return (int(bad), int(total)), ""


def _is_count(value: float) -> bool:
    return 0.0 <= value <= MOST and value.is_integer()


def _begun(candidate: tuple[int, int], stable: tuple[int, int] | None) -> dict[str, object]:
    """The first time: what was counted before the stage is none of its evidence."""
    return {
        "candidate_counts": Counted(bad=candidate[0], total=candidate[1]),
        "stable_counts": None if stable is None else Counted(bad=stable[0], total=stable[1]),
    }


def _reset(held: Measured, candidate: tuple[int, int], stable: tuple[int, int] | None) -> dict[str, object]:
    """A counter fell, or rose by what one has lost: what both arms counted since the measurement before is left out."""
    return {
        "resets": held.resets + 1,
        "candidate_counts": _rebased(held.candidate_counts or Counted(), candidate),
        "stable_counts": None if stable is None else _rebased(held.stable_counts or Counted(), stable),
    }


def _comes_back(held: Counted, grown: tuple[int, int]) -> bool:
    """Whether a counter grew by as much as one fall has taken: a sum over processes counts one again that was not seen."""
    return any(
        step >= min(lost, default=step + 1)
        for step, lost in zip(grown, (held.lost_bad, held.lost_total), strict=True)
    )


def _rebased(held: Counted, now: tuple[int, int]) -> Counted:
    """What is left out must not depend on what is tested: by `bad` only where it fell without `total`."""
    bad, total = _grown(held, now)
    alone = held.lost_bad if bad < 0 and total < 0 else _lost(held.lost_bad, bad)
    return _seen(held, now, (0, 0)).model_copy(
        update={"lost_bad": alone, "lost_total": _lost(held.lost_total, total)}
    )


def _lost(held: tuple[int, ...], step: int) -> tuple[int, ...]:
    """With one more fall, or without the largest that may have come back."""
    if step < 0:
        return (*held, -step)[-MOST_LOST:]
    back = max((one for one in held if one <= step), default=None)
    if back is None:
        return held
    place = held.index(back)
    return (*held[:place], *held[place + 1 :])


def _grown(held: Counted, now: tuple[int, int]) -> tuple[int, int]:
    return now[0] - held.bad, now[1] - held.total


def _seen(held: Counted | None, now: tuple[int, int], grown: tuple[int, int]) -> Counted:
    past = held or Counted()
    return Counted(
        bad=now[0],
        total=now[1],
        grown_bad=past.grown_bad + grown[0],
        grown_total=past.grown_total + grown[1],
        lost_bad=past.lost_bad,
        lost_total=past.lost_total,
    )


def _more(
    gate: PlannedGate,
    held: Measured,
    one: Measurement,
    grown: tuple[int, int],
    stable_grown: tuple[int, int] | None,
) -> dict[str, object]:
    before, stable_before = held.candidate_counts or Counted(), held.stable_counts or Counted()
    now = (before.bad + grown[0], before.total + grown[1])
    changes: dict[str, object] = {"grew_at": one.at, "candidate_counts": _seen(before, now, grown)}
    if stable_grown is None:
        past, block = Block(before.grown_bad, before.grown_total), Block(*grown)
    else:
        past = Block(before.grown_bad, before.grown_total, stable_before.grown_bad, stable_before.grown_total)
        block = Block(*grown, *stable_grown)
        stable_now = (stable_before.bad + stable_grown[0], stable_before.total + stable_grown[1])
        changes["stable_counts"] = _seen(stable_before, stable_now, stable_grown)
    harm, safe = nulls(gate)
    changes["harm"] = _tested(held.harm, block_gains(block, past, harm, 1.0))
    changes["safe"] = _tested(held.safe, block_gains(block, past, safe, -1.0))
    return changes


def nulls(gate: PlannedGate) -> tuple[float, float]:
    """What the rate, or its difference to stable's, is held against: for harm, and for safety."""
    limit = None if gate.source is None or gate.source.limit is None else gate.source.limit.max
    return (0.0, float(gate.margin or 0)) if limit is None else (float(limit), float(limit))


def _tested(held: tuple[str, ...], gains: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(repr(log) for log in folded([float(log) for log in held], gains))


def text(value: float | None) -> str | None:
    """A value as decimal text, six digits that count."""
    return None if value is None else format(Decimal(f"{value:.6g}"), "f")
