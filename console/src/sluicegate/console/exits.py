"""Exit codes of every command; the table of docs/reference/exit-codes.md is made of it."""

from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Refused, SluicegateError, Unavailable
from sluicegate.contracts.stages import Outcome

OK = 0
ERROR = SluicegateError.exit_code
DIFFERENT = 1
REFUSED = Refused.exit_code
NOT_FOUND = NotFound.exit_code
FORBIDDEN = Forbidden.exit_code
CONFLICT = Conflict.exit_code
UNAVAILABLE = Unavailable.exit_code
ENDED_OTHERWISE = 7
TIMEOUT = 8
FINDINGS = 9
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    OK: "Done. `rollout status`, `wait`: the rollout ended Promoted, FastPromoted or (after an undo) FastRolledBack, the workflow is Healthy, or what was waited for is true. `diff`: no difference.",
    ERROR: "Something unexpected failed; `--debug` shows where. `diff`: there is a difference.",
    REFUSED: "The command line, a file or the act is wrong (also a decision made for another candidate, stage or attempt); every problem is listed and nothing was changed.",
    NOT_FOUND: "No such object, run or file.",
    FORBIDDEN: "The caller may not do this: the server, or one of its admission policies, says so; or the login has expired.",
    CONFLICT: "The object changed meanwhile, exists already, or the decision expired before it was used; read again and retry.",
    UNAVAILABLE: "The server (`sluicegate up`, or the cluster) does not answer; may be tried again.",
    ENDED_OTHERWISE: "The rollout ended, without its candidate: Aborted, Rejected, Superseded, Expired or RolledBack.",
    TIMEOUT: "The time given by `--timeout` is over; the rollout goes on. `backtest`: the recorded runs were used up before a decision.",
    FINDINGS: "`contract check`, `contract diff`, `contract sla`: something was found at or above `--fail-on` that is neither waived nor in the baseline. A file that cannot be read is 2, a crash 1: neither looks like a finding, or like none.",
    INTERRUPTED: "Stopped by Ctrl-C; what runs on the server goes on.",
}

ARRIVED = frozenset({Outcome.PROMOTED, Outcome.FAST_PROMOTED, Outcome.FAST_ROLLED_BACK})
"""The rollout did what it was made for: its candidate is stable now (of an undo: the earlier version is back)."""


def of_outcome(outcome: str) -> int:
    """The code of a rollout that ended with `outcome`."""
    return OK if outcome in ARRIVED else ENDED_OTHERWISE
