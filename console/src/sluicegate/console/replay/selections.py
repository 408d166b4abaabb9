"""A version of a recorded agent is a selection: which of a task's recorded runs it answers with."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sluicegate.console.recordings.model import RecordedRun, Recording
from sluicegate.contracts.errors import Problem, Refused

_TRIAL = re.compile(r"(?:trial[-:=])?(\d{1,6})\Z")

_EXTREMES: dict[str, Callable[[RecordedRun], tuple[float, int]]] = {
    "best": lambda run: (-run.reward, run.trial),
    "worst": lambda run: (run.reward, run.trial),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """`trial-N`, or `best` or `worst` of all trials by reward (the first of equals)."""

    name: str
    trial: int | None = None

    def of(self, recording: Recording, task: str) -> RecordedRun:
        """The run that this selection answers `task` with; KeyError if the recording has none."""
        trials = recording.runs[task]
        if self.trial is not None:
            return trials[self.trial]
        return min(trials.values(), key=_EXTREMES[self.name])

    def check(self, recording: Recording) -> None:
        """Refuse a trial that some task does not have."""
        if self.trial is None or self.trial in recording.trials:
            return
        allowed = ", ".join([*(f"trial-{trial}" for trial in recording.trials), *_EXTREMES])
        raise Refused(
            (
                Problem(
                    path="selection",
                    message="not every task has this trial",
                    value=self.name,
                    allowed=allowed,
                ),
            )
        )


def parse_selection(text: str) -> Selection:
    """`0`, `trial-0`, `trial:0`, `best`, `best-of`, `worst`, `worst-of`."""
    word = text.strip().lower().removesuffix("-of")
    if word in _EXTREMES:
        return Selection(name=word)
    match = _TRIAL.match(word)
    if match:
        number = int(match[1])
        return Selection(name=f"trial-{number}", trial=number)
    allowed = "trial-N, best, worst"
    raise Refused((Problem(path="selection", message="unknown selection", value=text, allowed=allowed),))
