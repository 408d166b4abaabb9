"""A gateway pod in one process tree: what ``python -m sluicegate.operator gateway`` calls.

    API server ── plans, Secrets ──► companion ──► plans.db, credentials/ ──► workers ──► users
               ◄── Lease: applied ──           ◄── acknowledgements ──────────┘
    lineage process ◄── spool/, byte for byte ──┘

Stop: the workers first (their runs in flight), then what is left in the spool, then the Lease. Nothing needs the stop: a
kill at any point is a start like any other. Without the API server users are answered by the last plans, and a
candidate's share ends with its lease.
"""

import argparse
import asyncio
from contextlib import AsyncExitStack

import structlog

from sluicegate.operator import process
from sluicegate.operator.edge.assembly import assemble
from sluicegate.operator.edge.config import EdgeConfig, config_of
from sluicegate.operator.local.state_dir import StateDir

log = structlog.get_logger(__name__)


def main(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; the exit code (`process.run`)."""
    return process.run("gateway", arguments, config_of, serve)


async def serve(config: EdgeConfig, state: StateDir, stop: asyncio.Event) -> None:
    """Run until `stop` is set."""
    async with AsyncExitStack() as stack:
        parts, metrics = await assemble(config, state, stack)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in parts.jobs()]
            try:
                await parts.supervisor.wait_ready(config.start_seconds)
                parts.listening(metrics.port)
                await stop.wait()
            finally:
                parts.is_leaving = True
                log.info("gateway_stops")
                await parts.supervisor.stop(config.stop_seconds)
                for task in tasks:
                    task.cancel()
        if parts.shipper is not None and not await parts.shipper.drain(config.drain_seconds):
            log.warning("runs_left_behind", spool=str(state.spool))
        await parts.heart.leave()
