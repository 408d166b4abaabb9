"""Steps that wait for what may not come, that nobody waits for, and runs that begin runs."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from sluicegate.contracts.analysis.guards import Alternatives, guards, never_hold
from sluicegate.contracts.analysis.values import Comparison
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.resources.workflow import FailureStrategy, Phase, Role, SideEffects
from sluicegate.contracts.verification.facts import Facts

_IS_THERE: Final = Comparison("==", (True,))
_OWN_RUNS: Final = re.compile(r"/v1/(?:namespaces/([^/]+)/)?workflows/([^/]+)/runs/?")


def steps_can_run(facts: Facts) -> Iterator[Diagnostic]:
    """No condition needs a step that never runs."""
    dead, never = never_hold(facts), dict[str, str]()
    for guard in guards(facts) if dead else ():
        name = facts.steps[guard.step].name
        if guard.step in dead:
            never[name] = name
            continue
        missing = next((step for step in never if _needs(guard.holds, step)), None)
        if missing is not None:
            never[name] = f"{never[missing]} → {name}"
            yield Diagnostic(
                code="UnreachableStep",
                severity=Severity.ERROR,
                path=guard.path,
                message=f"{name} can never run: its condition needs {missing}, which never runs",
                witness=never[name],
                hint=f"correct the condition of {never[name].partition(' ')[0]}",
            )


def _needs(holds: Alternatives, step: str) -> bool:
    """Whether the condition holds only with an output of the step."""
    return bool(holds) and all(
        any(
            name.keys[:2] == ("steps", step) and (name.what != "has" or _IS_THERE in tests)
            for name, tests in one.items()
        )
        for one in holds
    )


def outputs_are_used(facts: Facts) -> Iterator[Diagnostic]:
    """Somebody reads what a step of the request gives, or it changes something."""
    used = {name for use in facts.uses if use.compiled for name in use.compiled.steps}
    awaited = [step.name for step in facts.steps if step.phase is Phase.IN_REQUEST]
    used.update(awaited[-1:] if facts.spec.output is None else ())
    whole = any(("steps",) in use.compiled.references for use in facts.uses if use.compiled)
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        if component is None or whole or step.phase is not Phase.IN_REQUEST or step.name in used:
            continue
        is_gate = component.role is Role.GUARDRAIL and component.on_failure.type is FailureStrategy.FAIL
        if component.side_effects is SideEffects.NONE and not is_gate:
            yield Diagnostic(
                code="DeadEnd",
                severity=Severity.WARNING,
                path=f"spec.steps[{number}]",
                message=f"nothing reads steps.{step.name}, and {component.name} changes nothing outside: users wait for nothing",
                witness=f"steps.{step.name}",
                hint="use its output, run it AfterAnswer, or remove it",
            )


def sessions_stay_together(facts: Facts) -> Iterator[Diagnostic]:
    """Where the world is changed, a session stays with one version."""
    called = dict.fromkeys(step.component for step in facts.steps)
    live = [
        name
        for name in called
        if name in facts.components and facts.components[name].side_effects is SideEffects.LIVE
    ]
    if live and facts.spec.routing is None:
        yield Diagnostic(
            code="MissingCorrelation",
            severity=Severity.WARNING,
            path="spec.routing",
            message=f"{live[0]} changes the world, and nothing keeps the requests of one session with one version during a rollout",
            witness=f"{live[0]}: sideEffects Live; routing.key is not set",
            hint="routing: {key: input.session_id}, or whatever names the session",
        )


def runs_begin_no_runs(facts: Facts) -> Iterator[Diagnostic]:
    """No component is the workflow itself."""
    for number, component in enumerate(facts.spec.components):
        try:
            found = _OWN_RUNS.fullmatch(urlsplit(component.endpoint.url or "").path)
        except ValueError:
            continue
        if found is not None and (found[1] or "default", found[2]) == (facts.namespace, facts.name):
            yield Diagnostic(
                code="UnboundedCycle",
                severity=Severity.WARNING,
                path=f"spec.components[{number}].endpoint.url",
                message=f"{component.name} has the address of this workflow's own runs: each run begins another one, without end",
                witness=f"{facts.name} → {component.name} → {facts.name}",
                hint="call what is behind it, or split the workflow in two",
            )
