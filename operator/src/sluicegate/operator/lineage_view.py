"""`api_context.LineageView` over the lineage store, in worker threads."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.lineage.store import LineageStore
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
        """Fallbacks that users got: from the newest served runs that had one."""
        return await asyncio.to_thread(self._fallbacks, filters, limit)

    async def counts(self) -> Json:
        """Totals."""
        return dict(await asyncio.to_thread(self._store.counts))

    def _fallbacks(self, filters: dict[str, str], limit: int) -> list[Json]:
        wanted: dict[str, Any] = {key: value for key, value in filters.items() if key != "component"}
        found: list[Json] = []
        for summary in self._store.runs(**wanted, fallback=True, limit=limit):
            for document in self._store.run(summary["run_id"]):
                if document.get("serving") and document.get("arm") == summary.get("arm"):
                    found += _fallbacks_of(document, filters.get("component"))
        return found[:limit]


def _fallbacks_of(document: Json, component: str | None) -> list[Json]:
    return [
        {
            "runId": document["run_id"],
            "arm": document["arm"],
            "component": step["component"],
            "step": step["name"],
            "reason": step["fallback"]["reason"],
            "strategy": step["fallback"]["strategy"],
            "request": step.get("request"),
            "response": step.get("response"),
        }
        for step in document.get("steps") or ()
        if step.get("fallback") and component in {None, step["component"]}
    ]


def since(text: str, now: datetime) -> datetime:
    """``90s``, ``15m``, ``2h``, ``7d`` ago, or an RFC 3339 time."""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.isdecimal() and len(number) < 9:
        return now - timedelta(seconds=int(number) * _UNITS[unit])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
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


def _flag(name: str, text: str) -> bool:
    if text not in _FLAGS:
        raise Refused((Problem(path=name, message="cannot be read", value=text[:40], allowed="true, false"),))
    return _FLAGS[text]
