"""How far a long command is: a bar on standard error, for people only, and only after a second."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sluicegate.console import output
from sluicegate.contracts.adapters import system

T = TypeVar("T")
SILENT_MS = 1000.0
_EVERY = 200


class Progress:
    """Counts steps of `total` (None: not known)."""

    def __init__(self, total: int | None, label: str, *, is_watched: bool) -> None:
        self._total, self._label, self._is_watched = total, label, is_watched
        self._done, self._began = 0, system.unix_ms()
        self._bar: Any = None
        self._task: Any = None

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted as they are taken."""
        for item in items:
            yield item
            self._done += 1
            if self._is_watched and self._done % _EVERY == 0:
                self.show()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._is_watched:
            self.show()

    def show(self) -> None:
        """Draw the present state, if it has taken long enough."""
        if self._bar is None:
            if system.unix_ms() - self._began < SILENT_MS:
                return
            self._bar = _bar()
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("units"),
        TimeRemainingColumn(),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def counted(total: int | None, label: str) -> Iterator[Progress]:
    """A progress that is taken away at the end, also after an error."""
    import sys

    found = Progress(total, label, is_watched=output.is_terminal(sys.stderr))
    try:
        yield found
    finally:
        found.close()
