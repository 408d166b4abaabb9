"""Blocking work beside an event loop: one thread, in order."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class SerialThread:
    """Calls run one after the other in a thread of their own; objects bound to one thread live there."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The function's result; a cancelled caller does not stop a call that began."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """Wait for the calls that began."""
        self._pool.shutdown(wait=True, cancel_futures=True)
