"""What the demo says: each step, each command that a person could have typed, and each promise with whether it was kept."""

import time
from dataclasses import dataclass, field

from sluicegate.console import output


@dataclass(slots=True)
class Telling:
    """Notes every promise; `kept` at the end."""

    began: float = field(default_factory=time.monotonic)
    broken: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether every promise was."""
        return not self.broken

    def step(self, text: str) -> None:
        """What begins now."""
        output.echo(f"\n{output.dim(self._clock())} {output.bold(text)}")

    def command(self, user: str, text: str) -> None:
        """What a person types."""
        output.echo(output.dim(f"       {user}$ {text}"))

    def say(self, text: str) -> None:
        """A fact."""
        output.echo(f"       {text}")

    def check(self, promise: str, is_kept: object, instead: str = "") -> bool:
        """A promise; `instead` is what was seen when it is broken."""
        if is_kept:
            output.echo(f"  {output.word('Ok')}   {promise}")
        else:
            self.broken.append(promise)
            output.echo(f"  {output.word('Failed')} {promise}{f': {instead}' if instead else ''}")
        return bool(is_kept)

    def verdict(self) -> None:
        """The last line."""
        if self.kept:
            end = "The good candidate was promoted, the bad one aborted, and no user met either too early."
        else:
            end = f"{len(self.broken)} promises were broken; see above."
        output.echo(f"\n{output.dim(self._clock())} {output.bold(end)}")

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self.began)
        return f"{seconds // 60}:{seconds % 60:02d}"
