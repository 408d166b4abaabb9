"""Recorded runs as a workload: served as components, or folded as evidence."""

from sluicegate.console.replay.options import ReplayOptions
from sluicegate.console.replay.selections import Selection, parse_selection

__all__ = ["ReplayOptions", "Selection", "parse_selection"]
