"""Logs: JSON lines, one per event, from structlog and from the standard library alike."""

import logging
import logging.handlers
import shutil
from pathlib import Path
from typing import Any

import structlog

SIZE = 20 * 1024 * 1024
"""Bytes of one log file; three older ones are kept."""


def trim(path: Path) -> bool:
    """Keep one older copy of a file that other processes append to, and empty it, once it is above SIZE."""
    if not path.exists() or path.stat().st_size <= SIZE:
        return False
    shutil.copyfile(path, path.with_name(f"{path.name}.1"))
    with path.open("r+b") as file:  # opened for appending by its writers, who go on at its new end
        file.truncate()
    return True


def configure(path: Path) -> None:
    """Send everything of this process to `path`."""
    _install(logging.handlers.RotatingFileHandler(path, maxBytes=SIZE, backupCount=3, encoding="utf-8"))


def configure_stderr() -> None:
    """Send everything of this process to its standard error."""
    _install(logging.StreamHandler())


def _install(handler: logging.Handler) -> None:
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
