"""Hourly: hot runs become cold, cold runs go, as each workflow's `lineage` says; the workers' log is trimmed."""

import asyncio
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import SluicegateError
from sluicegate.lineage.retention import Policy, Tiers, sweep
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.local import logs
from sluicegate.operator.ports import Json, ResourceReader

PERIOD = 3600.0
FIRST = 30.0
"""Seconds after the start; a machine that is never up for an hour tidies up too."""
log = structlog.get_logger(__name__)


async def keep(store: ResourceReader, lineage: LineageStore, worker_log: Path) -> None:
    """Sweep for ever, and trim the workers' log; a failure is told and tried again at the next hour."""
    wait = FIRST
    while True:
        await asyncio.sleep(wait + system.jitter(wait / 10))
        wait = PERIOD
        try:
            await sweep_once(store, lineage)
            await asyncio.to_thread(logs.trim, worker_log)
        except (SluicegateError, sqlite3.Error, OSError) as error:
            log.warning("retention_failed", error=repr(error))


async def sweep_once(store: ResourceReader, lineage: LineageStore) -> None:
    """As the workflows that there are say."""
    found = await store.listing("AgentWorkflow")
    await sweep_all(lineage, policy_of(found.items))


async def sweep_all(lineage: LineageStore, policy: Policy) -> None:
    """Until nothing is left to do."""
    while True:
        swept = await asyncio.to_thread(sweep, lineage, policy, system.now())
        if swept.moved or swept.deleted or swept.segments:
            log.info("retention", moved=swept.moved, deleted=swept.deleted, segments=swept.segments)
        if not swept.more:
            return
        await asyncio.sleep(0.05)


def policy_of(items: Iterable[Json]) -> Policy:
    """What AgentWorkflows say of their runs."""
    workflows = {}
    for item in items:
        lineage = item["spec"].get("lineage") or {}
        tiers = Tiers()
        workflows[(item["metadata"]["namespace"], item["metadata"]["name"])] = Tiers(
            hot_days=lineage.get("hotDays", tiers.hot_days),
            cold_days=lineage.get("coldDays", tiers.cold_days),
        )
    return Policy(workflows=workflows)
