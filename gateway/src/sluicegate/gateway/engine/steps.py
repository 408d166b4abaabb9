"""One step: condition, inputs, call, and the degradation that the contract declares."""

from typing import Any, NamedTuple

from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.patience import MAX_STAND_INS
from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.runs import (
    Attempt,
    Failure,
    Fallback,
    Policy,
    StepOutcome,
    StepRecord,
    Violation,
)
from sluicegate.gateway.engine.calls import CallResult, call
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.program import Program, ProgramComponent, ProgramStep

REPORTED = "Reported"
"""Fallback.strategy of a component that says itself that it degraded."""

ABSENT = object()
_FORCED = CallResult(failure=Failure.UNAVAILABLE, message="left out of this run")


class _Done(NamedTuple):
    """How a step ended, before it is written down. value ABSENT: the step stays out of the scope."""

    outcome: StepOutcome
    value: Any
    request: Any = None
    attempts: tuple[Attempt, ...] = ()
    fallback: Fallback | None = None
    violations: tuple[Violation, ...] = ()
    stubbed: bool = False
    failure: Failure | None = None
    message: str | None = None


async def run_step(state: ArmState, step: ProgramStep) -> bool:
    """Run one step, record it, and put its output into the scope. False: the run has failed."""
    started = state.since_start_ms()
    component = _playing(state, step)
    done = await _done(state, step, component)
    value = done.value
    state.steps.append(
        StepRecord(
            name=step.name,
            component=component.name,
            version=component.version,
            outcome=done.outcome,
            started_ms=started,
            latency_ms=state.since_start_ms() - started,
            request=done.request,
            response=None if value is ABSENT else value,
            attempts=done.attempts,
            fallback=done.fallback,
            violations=done.violations,
            stubbed=done.stubbed,
        )
    )
    if done.outcome is StepOutcome.FAILED:
        state.failure, state.failed_step = done.failure, step.name
        state.error = (
            f"step {step.name} ({component.name} {component.version}): {done.failure}: {done.message}"
        )
        return False
    if value is not ABSENT:
        state.scope["steps"][step.name] = value
    return True


def _playing(state: ArmState, step: ProgramStep) -> ProgramComponent:
    """The step's component; in the version game stable's, where the coalition leaves out the candidate's."""
    if step.component.name in state.replaced and state.fallback_program is not None:
        return state.fallback_program.components.get(step.component.name, step.component)
    return step.component


async def _done(state: ArmState, step: ProgramStep, component: ProgramComponent) -> _Done:
    try:
        if not step.compiled.is_due(state.scope):
            return _Done(StepOutcome.SKIPPED, ABSENT)
        inputs = step.compiled.component_input(state.scope)
    except ExpressionError as error:
        failed = CallResult(failure=Failure.EXPRESSION, message=str(error))
        return await _degraded(state, step, component, None, failed)
    if component.name in state.forced:
        return await _degraded(state, step, component, inputs, _FORCED)
    return await _called(state, step, component, inputs, ())


async def _called(
    state: ArmState, step: ProgramStep, component: ProgramComponent, inputs: Any, stood_in: tuple[str, ...]
) -> _Done:
    """Call a component, or its stub; then degrade if that failed."""
    inputs, told = component.input.enforced(inputs, f"steps.{step.name}.input")
    failed = [item for item in told if item.policy is Policy.FAIL]
    if failed:
        message = "; ".join(f"{item.kind}: {item.message}" for item in failed[:3])
        result = CallResult(failure=Failure.INVALID_INPUT, message=message, violations=told)
        return await _degraded(state, step, component, inputs, result, stood_in)
    stub, stubbed = None, state.mirrored and component.live
    if stubbed:
        stub = component.stub
        if stub is None:
            result = CallResult(failure=Failure.REJECTED, message="a mirror never calls a Live component")
            return _failed(inputs, result, stubbed=True)
        if stub.protocol is None:
            return _Done(StepOutcome.OK, stub.value, inputs, violations=told, stubbed=True)
    result = await call(state, step, component, inputs, stub=stub)
    result.violations = (*told, *result.violations)
    if result.failure is not None:
        return await _degraded(state, step, component, inputs, result, stood_in)
    reported = None
    if result.reported is not None:
        reported = Fallback(strategy=REPORTED, reason=Failure.FAULT)
    outcome = StepOutcome.OK if reported is None else StepOutcome.FALLBACK
    return _Done(
        outcome, result.output, inputs, result.attempts, reported, result.violations, stubbed=stubbed
    )


async def _degraded(
    state: ArmState,
    step: ProgramStep,
    component: ProgramComponent,
    inputs: Any,
    result: CallResult,
    stood_in: tuple[str, ...] = (),
) -> _Done:
    """What `onFailure` declares."""
    rule = component.on_failure
    reason = result.failure or Failure.FAULT
    fallback = Fallback(strategy=rule.type.value, reason=reason, forced=result is _FORCED)
    done = _Done(StepOutcome.FALLBACK, ABSENT, inputs, result.attempts, fallback, result.violations)
    if rule.type is FailureStrategy.SKIP:
        return done
    if rule.type is FailureStrategy.VALUE:
        return done._replace(value=rule.value)
    other = stand_in(component, state.program, state.fallback_program)
    # After a broken mapping there is nothing to send to anybody; and no circle.
    if (
        other is None
        or inputs is None
        or len(stood_in) >= MAX_STAND_INS
        or _label(other) in (*stood_in, _label(component))
    ):
        return _failed(inputs, result)
    theirs = await _called(state, step, other, inputs, (*stood_in, _label(component)))
    attempts, violations = (*result.attempts, *theirs.attempts), (*result.violations, *theirs.violations)
    if theirs.outcome is StepOutcome.FAILED:
        return theirs._replace(attempts=attempts, violations=violations)
    return theirs._replace(
        outcome=StepOutcome.FALLBACK, attempts=attempts, fallback=fallback, violations=violations
    )


def stand_in(
    component: ProgramComponent, program: Program, fallback_program: Program | None
) -> ProgramComponent | None:
    """The component that `onFailure` puts in its place, if it names one."""
    rule = component.on_failure
    if rule.type is FailureStrategy.COMPONENT and rule.component is not None:
        return program.components.get(rule.component)
    if rule.type is FailureStrategy.STABLE_VERSION and fallback_program is not None:
        return fallback_program.components.get(component.name)
    return None


def is_same(one: ProgramComponent, other: ProgramComponent) -> bool:
    """Whether calling one is calling the other."""
    return _label(one) == _label(other)


def _label(component: ProgramComponent) -> str:
    return f"{component.name}@{component.version}@{component.protocol.url}"


def _failed(inputs: Any, result: CallResult, *, stubbed: bool = False) -> _Done:
    return _Done(
        StepOutcome.FAILED,
        ABSENT,
        inputs,
        result.attempts,
        None,
        result.violations,
        stubbed,
        result.failure,
        result.message,
    )
