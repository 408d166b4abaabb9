"""The process: a folder, a port, until a signal."""

import asyncio
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import structlog
from aiohttp import web

from sluicegate.contracts.errors import Refused, Unavailable
from sluicegate.fallback_rules.server.app import Rules, application
from sluicegate.fallback_rules.server.shelf import Shelf, read
from sluicegate.fallback_rules.server.telling import Telling

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class RulesConfig:
    """port: 0 takes any free one. every: seconds between two looks at the folder."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8095
    every: float = 2.0


def run(config: RulesConfig) -> None:
    """Serve until SIGTERM or SIGINT. Raises Refused when the folder cannot be read at the start, Unavailable when the
    port is taken. Files with mistakes are told, and the others serve. Logs are JSON lines on standard error.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    asyncio.run(_until_signal(config))


async def _until_signal(config: RulesConfig) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(config, stop)


async def serve(config: RulesConfig, stop: asyncio.Event) -> None:
    """The same until `stop` is set."""
    rules = Rules(shelf=Shelf(), telling=Telling(), monotonic=time.monotonic)
    _exchange(rules, await asyncio.to_thread(read, config.folder, rules.shelf))
    runner = web.AppRunner(application(rules), access_log=None, handle_signals=False, shutdown_timeout=5.0)
    await runner.setup()
    try:
        await _listen(runner, config)
        await _follow(rules, config, stop)
    finally:
        await runner.cleanup()
    log.info("rules_server_stopped")


async def _listen(runner: web.AppRunner, config: RulesConfig) -> None:
    try:
        await web.TCPSite(runner, config.host, config.port).start()
    except OSError as error:
        raise Unavailable(
            f"port {config.host}:{config.port} cannot be used: {error.strerror}; choose another with --port (0: any)"
        ) from error
    port = runner.addresses[0][1]
    log.info("rules_server_ready", url=f"http://{config.host}:{port}", folder=str(config.folder))


async def _follow(rules: Rules, config: RulesConfig, stop: asyncio.Event) -> None:
    """Look at the folder again and again."""
    while not stop.is_set():
        try:
            async with asyncio.timeout(config.every):
                await stop.wait()
        except TimeoutError:
            await _look(rules, config.folder)


async def _look(rules: Rules, folder: Path) -> None:
    try:
        shelf = await asyncio.to_thread(read, folder, rules.shelf)
    except Refused as error:
        log.warning("rules_folder_unreadable", reason=str(error))
        rules.telling.folder(readable=False)
        return
    except Exception:  # the server's one net: what answers goes on
        log.exception("rules_reading_crashed")
        rules.telling.folder(readable=False)
        return
    rules.telling.folder(readable=True)
    if shelf is not rules.shelf:
        _exchange(rules, shelf)


def _exchange(rules: Rules, shelf: Shelf) -> None:
    rules.shelf = shelf
    rules.telling.loaded(shelf)
    for key, one in shelf.sets.items():
        log.info("rule_set_answers", rule_set=str(key), version=one.version, digest=one.table.digest)
    for problem in shelf.problems:
        log.warning("rule_set_refused", problem=str(problem))
