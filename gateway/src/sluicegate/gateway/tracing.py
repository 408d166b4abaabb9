"""W3C trace context (level 1): accept a caller's, or derive one from the run id."""

import re
from typing import NamedTuple

_PARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


class Trace(NamedTuple):
    """The trace that a run belongs to. traceparent: what components and the caller get."""

    trace_id: str
    traceparent: str


def trace_of(run_id: str, incoming: str | None) -> Trace:
    """The caller's trace with the run as the new parent; a broken header counts as none (W3C §3.2.2)."""
    digits = run_id.replace("-", "")
    trace_id, flags = digits, "01"
    if incoming is not None:
        match = _PARENT.fullmatch(incoming)
        if match is not None and match[1] != _NO_TRACE and match[2] != _NO_SPAN:
            trace_id, flags = match[1], match[3]
    return Trace(trace_id, f"00-{trace_id}-{digits[16:]}-{flags}")
