"""The closing rule and the merging of a unit: pure, the same whatever the batches were.

A unit is one session (or one run) in one stage of one attempt. Its parts are what single runs observed.

- Nothing expected (no session, no reward that may still come): closed at once, at its part's time.
- A reward expected: closed as soon as every arm that took part has one, else `window_seconds` after the part.
- A session: closed `window_seconds` after its last run; a run is the session's while it starts before that.

A run or an outcome later than the closing time is kept in the store but is no evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.evidence import Ablation, ArmFacts, RawObservation, RunFacts
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.contracts.stages import MIRRORED_STAGES
from sluicegate.lineage.choices import merged_choices, merged_numbers
from sluicegate.lineage.entries import MAX_LATENCIES, MAX_RUN_IDS, Amendment

MAX_KINDS: Final = 64  # kinds of violations kept per arm
ARMS: Final = (Arm.STABLE, Arm.CANDIDATE, Arm.CONTROL)

Amendments = Mapping[str, Sequence[Amendment]]
"""By run id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedUnit:
    """A unit's facts when it closes; late: runs that came after it."""

    at: datetime
    runs: tuple[str, ...]
    arms: Mapping[Arm, ArmFacts]
    dropped: int
    late: int = 0
    by_run: tuple[RunFacts, ...] = ()
    ablation: Ablation | None = None
    mixed: Ablation | None = None


def facts_of(part: RawObservation) -> dict[Arm, ArmFacts]:
    """The arms of a part that took part."""
    every = {Arm.STABLE: part.stable, Arm.CANDIDATE: part.candidate, Arm.CONTROL: part.control}
    return {arm: facts for arm, facts in every.items() if facts is not None}


def serving_arm(part: RawObservation) -> Arm:
    """Whose answer the user got: stable where it took part (mirrored stages), else the only arm there is."""
    return Arm.STABLE if part.stable is not None else Arm.CANDIDATE


def joined(first: RawObservation, second: RawObservation) -> RawObservation:
    """Two observations of the same run: arms of the second fill those the first lacks."""
    return replace(
        first,
        stable=first.stable or second.stable,
        candidate=first.candidate or second.candidate,
        control=first.control or second.control,
        ablation=first.ablation or second.ablation,
        mixed=first.mixed or second.mixed,
        dropped=max(first.dropped, second.dropped),
    )


def waits(part: RawObservation) -> bool:
    """Whether the unit stays open for more runs or a reward."""
    return part.session or part.expects_reward


def closing_time(parts: Sequence[RawObservation], amendments: Amendments) -> datetime:
    """When the unit closes, as known now. parts: at least one."""
    inside, end = _members(parts)
    if any(part.session for part in inside):
        return end
    return max(_complete(part, amendments.get(part.run_id, ())) for part in inside)


def close(parts: Sequence[RawObservation], amendments: Amendments) -> ClosedUnit:
    """Merge the parts of a unit; means over its runs.

    In mirrored stages a pair's two sides cover the same requests: when the candidate took part in some runs,
    stable's facts are of those runs only.
    """
    at = closing_time(parts, amendments)
    inside, _ = _members(parts)
    amended = [amended_facts(part, amendments.get(part.run_id, ()), at) for part in inside]
    paired = inside[0].key.stage in MIRRORED_STAGES and any(Arm.CANDIDATE in found for found in amended)
    arms = {}
    for arm in ARMS:
        facts = [
            found[arm]
            for found in amended
            if arm in found and (arm is not Arm.STABLE or not paired or Arm.CANDIDATE in found)
        ]
        if facts:
            arms[arm] = merged(facts)
    return ClosedUnit(
        at=at,
        runs=tuple(part.run_id for part in inside[:MAX_RUN_IDS]),
        arms=arms,
        dropped=sum(part.dropped for part in inside),
        late=len(parts) - len(inside),
        by_run=_by_run(inside, amended) if len(inside) > 1 else (),
        ablation=_ablation(part.ablation for part in inside),
        mixed=_ablation(part.mixed for part in inside),
    )


def _ablation(parts: Iterable[Ablation | None]) -> Ablation | None:
    """A unit has one coalition in a game; the mean of what its runs earned, of stable's only when it covers the same runs."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    same = [one for one in found if one.coalition == found[0].coalition]
    paired = all((one.reward is None) == (one.stable is None) for one in same)
    return Ablation(
        coalition=found[0].coalition,
        reward=_mean_of_known(one.reward for one in same),
        stable=_mean_of_known(one.stable for one in same) if paired else None,
    )


def _by_run(
    inside: Sequence[RawObservation], amended: Sequence[Mapping[Arm, ArmFacts]]
) -> tuple[RunFacts, ...]:
    found = [
        RunFacts(run=part.run_id, candidate=facts[Arm.CANDIDATE], stable=facts.get(Arm.STABLE))
        for part, facts in zip(inside, amended, strict=True)
        if Arm.CANDIDATE in facts
    ]
    return tuple(found[:MAX_RUN_IDS])


def amended_facts(
    part: RawObservation, amendments: Iterable[Amendment], until: datetime
) -> dict[Arm, ArmFacts]:
    """The part's facts with the rewards and outcomes that were known at `until`.

    A business outcome is the serving arm's; its reward replaces an evaluator's; Failed makes success 0.
    """
    facts = facts_of(part)
    known = sorted((a for a in amendments if a.at is None or a.at <= until), key=_precedence)
    for amendment in known:
        arm = amendment.arm or serving_arm(part)
        if arm not in facts:
            continue
        facts[arm] = _confronted(facts[arm], amendment)
        if amendment.reward is not None:
            facts[arm] = replace(facts[arm], reward=amendment.reward)
        if amendment.outcome is not None:
            facts[arm] = replace(facts[arm], success=_success(part, arm, amendment.outcome))
    return facts


def merged(facts: Sequence[ArmFacts]) -> ArmFacts:
    """Means over runs; a fallback that a run does not mention is 0; missing rewards are left out."""
    count = len(facts)
    if count == 1:
        return facts[0]
    components = sorted({name for item in facts for name in item.fallbacks})
    kinds = dict.fromkeys(kind for item in facts for kind in item.violations)
    return ArmFacts(
        success=sum(item.success for item in facts) / count,
        latencies_ms=tuple(ms for item in facts for ms in item.latencies_ms)[:MAX_LATENCIES],
        fallbacks={name: sum(item.fallbacks.get(name, 0.0) for item in facts) / count for name in components},
        violations=tuple(kinds)[:MAX_KINDS],
        violated=sum(item.violated for item in facts) / count,
        reward=_mean_of_known(item.reward for item in facts),
        disagrees=_mean_of_known(item.disagrees for item in facts),
        evaluated=_mean_of_known(item.evaluated for item in facts),
        outcome=_mean_of_known(item.outcome for item in facts),
        similarity=_mean_of_known(item.similarity for item in facts),
        texts=tuple(value for item in facts for value in item.texts)[:MAX_LATENCIES],
        choices=merged_choices([item.choices for item in facts]),
        numbers=merged_numbers([item.numbers for item in facts]),
    )


def _members(parts: Sequence[RawObservation]) -> tuple[list[RawObservation], datetime]:
    ordered = sorted(parts, key=lambda part: (part.at, part.run_id))
    inside = [ordered[0]]
    end = _end(ordered[0])
    for part in ordered[1:]:
        if part.at > end:
            break
        inside.append(part)
        end = max(end, _end(part))
    return inside, end


def _end(part: RawObservation) -> datetime:
    return part.at + timedelta(seconds=part.window_seconds) if waits(part) else part.at


def _complete(part: RawObservation, amendments: Sequence[Amendment]) -> datetime:
    """When nothing more is expected of a run: at once, when the last missing reward came, or at the end."""
    end = _end(part)
    if not part.expects_reward:
        return end
    missing = {arm for arm, facts in facts_of(part).items() if facts.reward is None}
    at = part.at
    for amendment in sorted(amendments, key=lambda a: a.at or part.at):
        if not missing:
            break
        if amendment.reward is not None:
            missing.discard(amendment.arm or serving_arm(part))
            at = max(at, amendment.at or part.at)
    return end if missing else min(at, end)


def _precedence(amendment: Amendment) -> tuple[bool, float]:
    at = amendment.at.timestamp() if amendment.at is not None else 0.0
    return amendment.kind == "outcome", at


def _confronted(facts: ArmFacts, amendment: Amendment) -> ArmFacts:
    """The business's word beside the evaluator's reward, where there is one: the last word counts."""
    if amendment.kind != "outcome":
        return facts
    evaluated = facts.reward if facts.outcome is None else facts.evaluated
    said = amendment.reward
    if said is None and amendment.outcome is not None:
        said = 1.0 if amendment.outcome is RunOutcome.SUCCEEDED else 0.0
    if said is None or evaluated is None:
        return facts
    return replace(facts, evaluated=evaluated, outcome=said)


def _success(part: RawObservation, arm: Arm, outcome: RunOutcome) -> float:
    answered = facts_of(part)[arm].success  # contract-conforming or not: a good outcome cannot mend that
    return answered if outcome is RunOutcome.SUCCEEDED else 0.0


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
