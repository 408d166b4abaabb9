"""Work that goes on beside the body of a block, and ends with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def aside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` until the body ends. What it raised before is raised then."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
