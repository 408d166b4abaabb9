"""How far a load test is: a line that rewrites itself for a person, one every ten seconds for a log."""

import sys
from typing import Final

from sluicegate.console import output
from sluicegate.console.figures import percent
from sluicegate.console.loading.measuring import Seen

_EVERY: Final = 10.0


class Showing:
    """Told once a second; writes to standard error."""

    def __init__(self) -> None:
        self._is_watched = output.is_terminal(sys.stderr)
        self._last = 0.0
        self._width = 0

    def __call__(self, seen: Seen) -> None:
        """One look."""
        if self._is_watched:
            line = text(seen)
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line)
        elif seen.at - self._last >= _EVERY:
            self._last = seen.at
            output.note(text(seen))

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def text(seen: Seen) -> str:
    """`12s, 184 sessions, 3 in flight; latency Pass, success 0.5 % bad (0 % to 3 %)…`"""
    if not seen.counts.sessions:
        return f"{output.span(seen.at)}, warming up, {seen.flying} in flight"
    said = []
    for finding in seen.findings():
        if finding.decided_at is not None:
            said.append(f"{finding.promise.measure.value} {finding.verdict.value}")
        else:
            said.append(
                f"{finding.promise.measure.value} {percent(finding.low)} to {percent(finding.high)} bad"
            )
    head = (
        f"{output.span(seen.at)}, {output.plural(seen.counts.sessions, 'session')}, {seen.flying} in flight"
    )
    return f"{head}; {', '.join(said)}"
