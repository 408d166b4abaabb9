"""`api_context.LineageView` over the lineage store, in worker threads."""

import asyncio
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import orjson

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.stages import Stage
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.contributions.ablated import of_state
from sluicegate.operator.ports import Json

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class StoredLineage:
    """Runs for the API."""

    def __init__(self, store: LineageStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def runs(self, filters: dict[str, str], limit: int) -> list[Json]:
        """Summaries, newest first."""
        wanted: dict[str, Any] = dict(filters)
        if "since" in wanted:
            wanted["since"] = since(wanted["since"], self._clock.now())
        if "fallback" in wanted:
            wanted["fallback"] = _flag("fallback", wanted["fallback"])
        return await asyncio.to_thread(self._store.runs, **wanted, limit=limit)

    async def run(self, run_id: str) -> list[Json]:
        """Documents of one run."""
        return await asyncio.to_thread(self._store.run, run_id)

    async def fallbacks(self, filters: dict[str, str], limit: int) -> list[Json]:
        """Fallbacks that users got: the sample of a rollout's stage and attempt, which is always the same; without
        a rollout those of the newest runs.
        """
        find = self._sample if "rollout" in filters else self._newest
        return await asyncio.to_thread(find, filters, limit)

    async def ablated(self, filters: dict[str, str]) -> list[Json]:
        """Units with a coalition of a rollout's stage and attempt, as the last look folded them; an item per arm and game."""
        key = _key(filters, Stage.SHADOW)
        saved = await asyncio.to_thread(self._store.load, key)
        return [] if saved is None else [asdict(found) for found in of_state(orjson.loads(saved))]

    async def units(self, filters: dict[str, str], after: int, limit: int) -> list[Json]:
        """Closed units of a rollout's stage and attempt above the sequence `after`, in the order of the store."""
        key = _key(filters, Stage.CANARY)
        return await asyncio.to_thread(self._units, key, after, limit)

    def _units(self, key: EvidenceKey, after: int, limit: int) -> list[Json]:
        found = (asdict(one) for one in self._store.observations(key, after=after, limit=limit))
        return [{name: value for name, value in one.items() if name != "key"} for one in found]

    async def counts(self) -> Json:
        """Totals."""
        return dict(await asyncio.to_thread(self._store.counts))

    def _sample(self, filters: dict[str, str], limit: int) -> list[Json]:
        attempt = _number("attempt", filters.get("attempt", "1"))
        sample = self._store.fallbacks(filters["rollout"], filters.get("stage", Stage.CONTROLLED), attempt)
        wanted = [one for one in sample if filters.get("component") in {None, one["component"]}]
        return [
            found
            for one in wanted[:limit]
            for found in self._described(one["run_id"], one["arm"], one["step"])
        ]

    def _newest(self, filters: dict[str, str], limit: int) -> list[Json]:
        wanted: dict[str, Any] = {
            key: filters[key] for key in ("namespace", "workflow", "stage") if key in filters
        }
        runs = self._store.runs(**wanted, fallback=True, limit=limit)
        served = [run for run in runs if run["serving"]]
        found = [one for run in served for one in self._described(run["run_id"], run["arm"], None)]
        return [one for one in found if filters.get("component") in {None, one["component"]}][:limit]

    def _described(self, run_id: str, arm: str, name: str | None) -> list[Json]:
        """The fallbacks of a run's arm, or that of one step, with what was asked and answered."""
        return [
            {
                "runId": run_id,
                "arm": arm,
                "component": step["component"],
                "step": step["name"],
                "reason": step["fallback"]["reason"],
                "strategy": step["fallback"]["strategy"],
                "request": step.get("request"),
                "response": step.get("response"),
            }
            for document in self._store.run(run_id)
            if document["arm"] == arm
            for step in document.get("steps") or ()
            if step.get("fallback") and not step["fallback"].get("forced") and name in {None, step["name"]}
        ]


def _key(filters: dict[str, str], usual: Stage) -> EvidenceKey:
    """Whose evidence is meant. Raises Refused."""
    stage = filters.get("stage", usual)
    if "rollout" not in filters:
        raise Refused((Problem(path="rollout", message="is needed: the uid of a rollout"),))
    if stage not in set(Stage):
        raise Refused((Problem(path="stage", message="unknown", value=stage[:40], allowed=", ".join(Stage)),))
    return EvidenceKey(filters["rollout"], Stage(stage), _number("attempt", filters.get("attempt", "1")))


def since(text: str, now: datetime) -> datetime:
    """``90s``, ``15m``, ``2h``, ``7d`` ago, or an RFC 3339 time."""
    number, unit = text[:-1], text[-1:]
    found = None
    try:
        if unit in _UNITS and number.isdecimal():
            found = now - timedelta(seconds=int(number) * _UNITS[unit])
        else:
            found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        pass
    if found is None or found.tzinfo is None:
        raise Refused(
            (
                Problem(
                    path="since",
                    message="cannot be read",
                    value=text[:40],
                    allowed="90s, 15m, 2h, 7d or an RFC 3339 time",
                ),
            )
        )
    return found


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise Refused((Problem(path=name, message="not a number", value=text[:40]),))
    return int(text[:9])


def _flag(name: str, text: str) -> bool:
    if text not in _FLAGS:
        raise Refused((Problem(path=name, message="cannot be read", value=text[:40], allowed="true, false"),))
    return _FLAGS[text]
