"""What changes the world happens once, and never in a mirrored run."""

from collections.abc import Iterator

from sluicegate.contracts.analysis.calls import address, chain
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.resources.workflow import Component, SideEffects
from sluicegate.contracts.stages import MIRRORED_STAGES
from sluicegate.contracts.verification.facts import Facts


def effects_happen_once(facts: Facts) -> Iterator[Diagnostic]:
    """Nobody outside the gateway, and no stand-in, repeats what is not idempotent. The gateway's own retries are `verification`'s."""
    callers = facts.spec.contract.sla.caller_attempts or 1
    for name in dict.fromkeys(step.component for step in facts.steps):
        component = facts.components.get(name)
        for one in () if component is None else chain(facts, component):
            if _repeats(one):
                yield from _repeated(facts, one, callers)
        if component is not None and _repeats(component):
            yield from _stand_in(facts, component)


def _repeats(component: Component) -> bool:
    return component.side_effects is SideEffects.LIVE and not component.idempotent


def _repeated(facts: Facts, component: Component, callers: int) -> Iterator[Diagnostic]:
    place = facts.spec.components.index(component)
    layers = (
        ("callers", callers, "spec.contract.sla.callerAttempts"),
        ("client", component.retry.attempts_below or 1, f"spec.components[{place}].retry.attemptsBelow"),
    )
    for name, attempts, path in layers:
        if attempts > 1:
            yield Diagnostic(
                code="RetryNotIdempotent",
                severity=Severity.WARNING,
                path=path,
                message=f"{component.name} changes the world and is not idempotent; tried {attempts} times it may do so {attempts} times",
                witness=f"{name} {attempts} × {component.name} (Live, not idempotent)",
                hint=f"make {component.name} idempotent and say `idempotent: true`, or take the retries away",
            )


def _stand_in(facts: Facts, component: Component) -> Iterator[Diagnostic]:
    for other in chain(facts, component)[1:]:
        if other.side_effects is SideEffects.LIVE:
            yield Diagnostic(
                code="StandInRepeatsEffect",
                severity=Severity.WARNING,
                path=f"spec.components[{facts.spec.components.index(component)}].onFailure",
                message=f"{component.name} may have done its work when it times out, and {other.name} would do it again",
                witness=f"{component.name} (Live, not idempotent) → {other.name} (Live)",
                hint="make both idempotent under one key, or answer with a value",
            )
            return


def mirrors_stay_away(facts: Facts) -> Iterator[Diagnostic]:
    """No address that a mirrored run calls is that of a Live component."""
    if all(stage in facts.spec.rollout.skip_stages for stage in MIRRORED_STAGES):
        return
    live = {
        address(one.endpoint): one.name
        for one in facts.spec.components
        if one.side_effects is SideEffects.LIVE
    }
    for number, one in enumerate(facts.spec.components) if live else ():
        is_live = one.side_effects is SideEffects.LIVE
        stub = one.mirror_stub.endpoint if is_live and one.mirror_stub else None
        called = stub if is_live else one.endpoint
        if called is None or address(called) not in live:
            continue
        field = "mirrorStub.endpoint" if is_live else "sideEffects"
        yield Diagnostic(
            code="MirrorReachesLive",
            severity=Severity.ERROR if is_live else Severity.WARNING,
            path=f"spec.components[{number}].{field}",
            message=f"a mirrored run calls {address(called)}, which is the Live component {live[address(called)]}",
            witness=f"{one.name} → {address(called)} = {live[address(called)]}",
            hint="give the stub a value, or a sandbox"
            if is_live
            else "write sideEffects: Live with a mirrorStub, or correct the address",
        )
