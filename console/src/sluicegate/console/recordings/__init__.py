"""Recorded agent runs: what an agent answered and did, and how good it was."""

from sluicegate.console.recordings.formats import FORMATS, load
from sluicegate.console.recordings.model import RecordedRun, Recording, ToolCall

__all__ = ["FORMATS", "RecordedRun", "Recording", "ToolCall", "load"]
