"""Who may decide what: the RBAC verb behind every act.

A person holds a verb on `workflowrollouts` (acts on a rollout) or on `agentworkflows` (attest; breakglass for the
finalizer). The chart's admission policies hold the same table; `tests/admission` compares the two.
"""

from enum import StrEnum
from typing import Final

from sluicegate.contracts.stages import Action


class Verb(StrEnum):
    """Custom RBAC verbs."""

    APPROVE = "approve"
    PROMOTE = "promote"
    ABORT = "abort"
    OVERRIDE = "override"
    REVIEW = "review"
    BREAKGLASS = "breakglass"  # past all stages at once; dropping the finalizer
    ATTEST = "attest"  # name the author of a change that another wrote: a GitOps bot


VERBS: Final[dict[Action, Verb]] = {
    Action.APPROVE: Verb.APPROVE,
    Action.REJECT: Verb.APPROVE,  # who may say yes may say no
    Action.PROMOTE: Verb.PROMOTE,
    Action.RESUME: Verb.PROMOTE,
    Action.RETRY: Verb.PROMOTE,
    Action.ABORT: Verb.ABORT,
    Action.UNDO: Verb.ABORT,
    Action.PAUSE: Verb.ABORT,  # whatever stops is one verb, whatever goes on another
    Action.OVERRIDE: Verb.OVERRIDE,
    Action.REVIEW: Verb.REVIEW,
}
"""The verb of each act; a Promote with `full` needs breakglass."""


def verb_of(action: Action, *, full: bool = False) -> Verb:
    """What the caller must hold on the rollout."""
    return Verb.BREAKGLASS if full and action is Action.PROMOTE else VERBS[action]
