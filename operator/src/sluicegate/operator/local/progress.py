"""What `up` says to the person who started it: where things are, then what happens."""

import sys
from datetime import datetime

from sluicegate.operator.local.state_dir import UpFile
from sluicegate.operator.ports import EventSink
from sluicegate.rollout.model import Event, Severity


class Progress:
    """Lines on standard output; quiet: none. A closed terminal is no failure."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def line(self, text: str) -> None:
        """One line."""
        if self._quiet:
            return
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            self._quiet = True

    def ready(self, facts: UpFile, state: str) -> None:
        """Everything listens."""
        plural = "worker" if facts.workers == 1 else "workers"
        self.line(f"sluicegate {facts.version} is up")
        self.line(f"  gateway  http://{facts.gateway_host}:{facts.gateway_port}  ({facts.workers} {plural})")
        self.line(f"  metrics  http://{facts.gateway_host}:{facts.metrics_port}/metrics")
        self.line(f"  state    {state}")
        self.line("Next, in another terminal: sluicegate apply -f workflow.yaml    (Ctrl-C here stops it)")

    def event(self, event: Event, at: datetime) -> None:
        """Something happened to an object."""
        mark = "!" if event.severity is Severity.WARNING else " "
        about = f"{event.about.namespace}/{event.about.name}"
        self.line(f"{at:%H:%M:%S} {mark} {about}  {event.reason}: {event.message}")


class ShownEvents:
    """`ports.EventSink` that also shows what is new to it."""

    def __init__(self, inner: EventSink, progress: Progress) -> None:
        self._inner, self._progress = inner, progress
        self._last: tuple[str, ...] = ()

    async def record(self, event: Event) -> None:
        """Keep, and show unless it was the last one shown."""
        await self._inner.record(event)
        shown = (*event.about, event.reason, event.message)
        if shown != self._last:
            self._last = shown
            self._progress.event(event, datetime.now().astimezone())  # noqa: TID251 - a person's wall clock
