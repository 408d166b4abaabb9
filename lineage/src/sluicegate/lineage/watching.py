"""What users got, as units of the version that served it: made from run documents, so that no gateway writes a second line."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from sluicegate.contracts.evidence import RawObservation
from sluicegate.contracts.runs import Arm, RunOutcome, StepOutcome
from sluicegate.contracts.watch import Watched
from sluicegate.lineage import entries

_NOTHING_RAN: Final = (RunOutcome.REJECTED, RunOutcome.DIVERTED)


def part_of(entry: Mapping[str, Any]) -> RawObservation | None:
    """The run's part in a unit. entry: a run document. Raises KeyError, TypeError or ValueError when it is none.

    None of copies, of inputs that broke the contract and runs that rules of business answered at once (they say nothing of the version), and of documents that do not say
    how long a unit stays open. A missing reward is waited for as long, unless the run failed. Steps after the answer are
    not in the document: their fallbacks are not watched, their reward comes as an amendment.
    """
    window, outcome = entry.get("window_seconds"), entry["outcome"]
    if window is None or not entry["serving"] or outcome in _NOTHING_RAN:
        return None
    succeeded, run_id, reward = outcome == RunOutcome.SUCCEEDED, entry["run_id"], entry.get("reward")
    facts = entries.facts_from(
        {
            "success": 1.0 if succeeded else 0.0,
            "latencies_ms": [max(float(entry["latency_ms"]), 0.0)],
            "fallbacks": _fallbacks(entry),
            "reward": reward,
            "choices": entry.get("choices") or {},
            "numbers": entry.get("numbers") or {},
        }
    )
    is_candidate = entry["arm"] == Arm.CANDIDATE
    return RawObservation(
        key=Watched(entry["namespace"], entry["workflow"], entry["revision"]).key,
        unit=entry.get("unit") or run_id,
        run_id=run_id,
        at=entries.moment(entry["started_at"]) + timedelta(milliseconds=max(float(entry["latency_ms"]), 0.0)),
        stable=None if is_candidate else facts,
        candidate=facts if is_candidate else None,
        session=entry.get("unit") not in (None, run_id),
        expects_reward=reward is None and succeeded,
        window_seconds=min(max(float(window), 0.0), 30 * 86_400.0),
    )


def _fallbacks(entry: Mapping[str, Any]) -> dict[str, float]:
    """As the gateway counts them (`gateway.facts`): components that were due, 1 if they fell back in any of their steps."""
    found: dict[str, float] = {}
    for step in entry.get("steps") or ():
        if step["outcome"] == StepOutcome.SKIPPED or (step.get("stubbed") and not step.get("attempts")):
            continue
        fallback, name = step.get("fallback"), step["component"]
        fell = fallback is not None and not fallback.get("forced")
        found[name] = max(found.get(name, 0.0), 1.0 if fell else 0.0)
    return found
