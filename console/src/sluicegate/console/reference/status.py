"""Conditions and events, from the closed sets of `rollout`."""

from sluicegate.console.reference.markdown import page, table, words
from sluicegate.contracts.stages import Outcome, State
from sluicegate.rollout import conditions, events
from sluicegate.rollout import table as states
from sluicegate.rollout.conditions import Definition

_OUTCOMES = {
    Outcome.PROMOTED: "It passed every stage; the candidate is stable.",
    Outcome.FAST_PROMOTED: "A person promoted it past all stages (`promote --full`); the candidate is stable.",
    Outcome.ABORTED: "A gate failed, or a person aborted it.",
    Outcome.SUPERSEDED: "Another version is wished, or the workflow goes.",
    Outcome.ROLLED_BACK: "A person took it back before it was promoted (`undo`).",
    Outcome.FAST_ROLLED_BACK: "An earlier stable version came back without stages; it is stable.",
    Outcome.REJECTED: "A person rejected it.",
    Outcome.EXPIRED: "Every gate passed, and the people did not answer by the stage's deadline.",
}

_OWN_WORDS = (*State, *Outcome)


def conditions_page() -> str:
    """Conditions, their reasons, states, outcomes, events."""
    return page(
        "Conditions, reasons, events",
        "Conditions have the shape of Kubernetes' (`type`, `status`, `reason`, `message`, `observedGeneration`, "
        "`lastTransitionTime`); `Ready`, `Reconciling` and `Stalled` mean what kstatus says. `status.phase` is a summary for lists. "
        "`sluicegate wait NAME --for condition=Ready` waits for one.",
        "## Of an AgentWorkflow",
        _conditions(conditions.OF_WORKFLOW),
        "## Of a WorkflowRollout",
        _conditions(conditions.OF_ROLLOUT),
        "## Of a FallbackRuleSet",
        _conditions(conditions.OF_RULE_SET),
        "## Reasons",
        table(
            ("reason", "meaning"),
            (
                (f"`{reason}`", meaning)
                for reason, meaning in sorted(conditions.REASONS.items())
                if reason not in _OWN_WORDS
            ),
        ),
        f"## States\n\n{words(State)}. Paused and held are flags beside them.",
        "## Outcomes",
        table(("outcome", "meaning", "stable afterwards"), (_outcome(outcome) for outcome in Outcome)),
        "## Events",
        "`sluicegate describe` shows them. Severity is Warning where people should look.",
        table(
            ("reason", "meaning"), ((f"`{reason}`", meaning) for reason, meaning in events.REASONS.items())
        ),
    )


def _conditions(definitions: tuple[Definition, ...]) -> str:
    for item in definitions:
        for reason in item.reasons:
            conditions.REASONS[reason]  # KeyError: a reason without a meaning
    return table(
        ("condition", "True when", "reasons"),
        ((f"`{item.type}`", item.meaning, _reasons(item.reasons)) for item in definitions),
    )


def _reasons(reasons: tuple[str, ...]) -> str:
    """A whole enumeration by its name."""
    named = [
        words(reason for reason in reasons if reason not in _OWN_WORDS or not set(_OWN_WORDS) <= set(reasons))
    ]
    return ", ".join(
        [*filter(None, named), *(["the state or outcome"] if set(_OWN_WORDS) <= set(reasons) else [])]
    )


def _outcome(outcome: Outcome) -> tuple[str, str, str]:
    wins = outcome in states.CANDIDATE_WINS
    after = "the candidate" if wins else "as before"
    if outcome in states.LATCHING:
        after += "; the candidate is not tried again until a retry or a new version"
    return f"`{outcome}`", _OUTCOMES[outcome], after
