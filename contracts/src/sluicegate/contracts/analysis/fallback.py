"""Declared degradation: how often it may be needed, and whether it gets to answer."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.analysis.latency import awaited
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.patience import MAX_STAND_INS, attempt_ms, attempts, deadline_ms
from sluicegate.contracts.resources.workflow import Component, FailureStrategy
from sluicegate.contracts.suggestions import listed
from sluicegate.contracts.verification.facts import Facts
from sluicegate.contracts.verification.shapes import closed_names, required_names

_EXACT: Final = 1e-9


def fallbacks_add_up(facts: Facts) -> Iterator[Diagnostic]:
    """The fallback rates that the steps allow stay within what the workflow allows."""
    allowed = facts.spec.contract.sla.max_fallback_rate
    if allowed is None:
        return
    rates = {number: float(one.sla.max_fallback_rate or 0) for number, _, one in awaited(facts)}
    path = branches(facts).heaviest({number: rate for number, rate in rates.items() if rate})
    together = 1.0 - math.prod(1.0 - rates[number] for number in path)
    if together <= float(allowed) + _EXACT:
        return
    yield Diagnostic(
        code="FallbackBudget",
        severity=Severity.WARNING,
        path="spec.contract.sla.maxFallbackRate",
        message=f"the steps allow a fallback in {together:.4f} of the runs together, the workflow allows {allowed}",
        witness=f"1 - {' × '.join(f'(1 - {facts.steps[number].name} {rates[number]:g})' for number in path)} = {together:.4f}",
        hint="lower sla.maxFallbackRate of components, or raise the workflow's",
    )


def stand_ins_answer(facts: Facts) -> Iterator[Diagnostic]:
    """What stands in for a component is asked, in time, takes what it is sent, and the chain ends."""
    for name in dict.fromkeys(step.component for step in facts.steps):
        component = facts.components.get(name)
        members = () if component is None else chain(facts, component)
        if len(members) > 1:
            path = f"spec.components[{facts.spec.components.index(members[0])}].onFailure"
            yield from _end(facts, members, path)
            yield from _time(facts, members, path)
    yield from _inputs(facts)


def _end(facts: Facts, members: tuple[Component, ...], path: str) -> Iterator[Diagnostic]:
    last, way = members[-1], " → ".join(one.name for one in members)
    rule = last.on_failure
    following = facts.components.get(rule.component or "") if rule.type is FailureStrategy.COMPONENT else None
    if following is not None and following not in members:
        yield Diagnostic(
            code="FallbackUnreachable",
            severity=Severity.ERROR,
            path=path,
            message=f"{following.name} is never asked: at most {MAX_STAND_INS} components stand in for one",
            witness=f"{way} → {following.name}",
            hint=f"let {last.name} end the chain with a value",
        )
    elif rule.type is FailureStrategy.FAIL:
        yield Diagnostic(
            code="FallbackUnreachable",
            severity=Severity.WARNING,
            path=path,
            message=f"the fallback ends in {last.name}, which may fail as well: then the run fails",
            witness=f"{way} → Fail",
            hint=f"let {last.name} end with `onFailure: {{type: Value, value: …}}` or `Skip`",
        )


def _time(facts: Facts, members: tuple[Component, ...], path: str) -> Iterator[Diagnostic]:
    """Whether anything is left when those before have timed out."""
    deadline, spent, told = deadline_ms(facts.spec), 0, []
    for one, following in pairwise(members):
        ms = attempt_ms(one)
        spent = deadline if ms is None else spent + ms * attempts(one)
        told.append(
            f"{one.name} takes what is left" if ms is None else f"{one.name} {attempts(one)} × {ms} ms"
        )
        if spent >= deadline:
            yield Diagnostic(
                code="FallbackUnreachable",
                severity=Severity.WARNING,
                path=path,
                message=f"when {one.name} times out, nothing is left of the run's deadline ({deadline} ms) for {following.name}",
                witness=f"{' + '.join(told)} ≥ {deadline} ms",
                hint=f"lower timeoutMs of {one.name}, so that {following.name} has time to answer",
            )
            return


def _inputs(facts: Facts) -> Iterator[Diagnostic]:
    """A stand-in gets what the step sends to the component."""
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        if component is None or step.inputs is None:
            continue
        for one in chain(facts, component)[1:]:
            missing = [name for name in required_names(one.contract.input) if name not in step.inputs]
            closed = closed_names(one.contract.input)
            extra = [] if closed is None else [name for name in step.inputs if name not in closed]
            if one.name != component.name and (missing or extra):
                said = f"requires {listed(missing)}" if missing else f"refuses {listed(extra)}"
                yield Diagnostic(
                    code="FallbackUnreachable",
                    severity=Severity.ERROR,
                    path=f"spec.steps[{number}].inputs",
                    message=f"{one.name} stands in for {component.name} and {said}: it would refuse every input of this step",
                    witness=f"inputs: {listed(step.inputs)}",
                    hint=f"add {listed(missing)}"
                    if missing
                    else f"let the contract of {one.name} take {listed(extra)}",
                )
