"""What a recording is, whatever file it came from."""

from dataclasses import dataclass, field
from typing import Any

_READS = ("get_", "search_", "list_", "find_", "calculate", "think")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. failed: the tool refused it, so it changed nothing."""

    name: str
    arguments: dict[str, Any]
    failed: bool = False

    @property
    def is_write(self) -> bool:
        """Whether the call changed something outside (a read, a calculation or a failed call did not)."""
        return not self.failed and not self.name.startswith(_READS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One attempt at one task. reward in [0, 1]; answer is the agent's last text, empty if it gave none."""

    task: str
    trial: int
    reward: float
    request: str
    answer: str
    tool_calls: tuple[ToolCall, ...]
    messages: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def writes(self) -> tuple[ToolCall, ...]:
        """The calls that changed something, in order."""
        return tuple(call for call in self.tool_calls if call.is_write)

    @property
    def actions(self) -> list[dict[str, Any]]:
        """The writes as JSON."""
        return [{"name": call.name, "arguments": call.arguments} for call in self.writes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All runs of one file, by task and trial."""

    source: str
    format: str
    runs: dict[str, dict[int, RecordedRun]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Task ids in the file's order."""
        return tuple(self.runs)

    @property
    def trials(self) -> tuple[int, ...]:
        """Trials that every task has, ascending."""
        common = set.intersection(*(set(trials) for trials in self.runs.values()))
        return tuple(sorted(common))
