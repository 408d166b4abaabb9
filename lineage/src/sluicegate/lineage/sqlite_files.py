"""SQLite files that are no longer databases: told from passing trouble, and set aside where they can be made anew."""

import sqlite3
from pathlib import Path
from typing import Final

_BROKEN: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})


def is_broken(error: BaseException | None) -> bool:
    """Whether the file is damaged: waiting and trying again does not help."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & 0xFF in _BROKEN


def is_busy(error: BaseException | None) -> bool:
    """Whether somebody else writes just now."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & 0xFF == sqlite3.SQLITE_BUSY


def set_aside(path: Path) -> Path:
    """Rename the file to NAME.broken (an earlier one goes) and drop its companions; where it is now."""
    aside = path.with_name(f"{path.name}.broken")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside
