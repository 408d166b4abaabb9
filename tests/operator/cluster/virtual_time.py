"""An event loop whose time is a number: waiting costs nothing, so hours of leases pass in milliseconds."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Instead of waiting, moves the time on."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout:
            self.loop.moment += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 1000 seconds."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.moment = 1000.0
        super().__init__(selector)

    def time(self) -> float:
        return self.moment


def run(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
