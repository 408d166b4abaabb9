"""One step's call of one component: attempts inside deadline, retry budget and breaker."""

from dataclasses import dataclass, field
from typing import Any

from sluicegate.contracts.runs import Attempt, Failure, Policy, Violation
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.program import ProgramComponent, ProgramStep, Stub
from sluicegate.gateway.ports import TransportError
from sluicegate.gateway.protocols.base import (
    Answer,
    CallContext,
    CallError,
    ComponentProtocol,
    queue_ms,
    retry_after_seconds,
)
from sluicegate.gateway.resilience.breaker import Breaker

BREAKING = frozenset({Failure.TIMEOUT, Failure.UNAVAILABLE, Failure.RATE_LIMITED, Failure.FAULT})
"""Failures that say something about the destination's health; the others are about one message."""


@dataclass(slots=True, kw_only=True)
class CallResult:
    """What came of all attempts. failure None: `output` is valid."""

    output: Any = None
    failure: Failure | None = None
    message: str | None = None
    attempts: tuple[Attempt, ...] = ()
    violations: tuple[Violation, ...] = ()
    reported: str | None = None  # the component's own fallback, as it says


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call in progress."""

    state: ArmState
    step: ProgramStep
    component: ProgramComponent
    protocol: ComponentProtocol
    inputs: Any
    breaker: Breaker | None


async def call(
    state: ArmState, step: ProgramStep, component: ProgramComponent, inputs: Any, *, stub: Stub | None = None
) -> CallResult:
    """Call until an output is valid or patience is over. Never raises for what a component does.

    stub: its endpoint is called instead of the component's own.
    """
    protocol, destination = component.protocol, component.destination
    if stub is not None and stub.protocol is not None:
        protocol, destination = stub.protocol, stub.destination
    breaker = None
    if component.breaker is not None:
        key = (destination, component.name, component.version)
        breaker = state.destinations.breaker(key, component.breaker)
    call = _Call(
        state=state, step=step, component=component, protocol=protocol, inputs=inputs, breaker=breaker
    )
    budget = state.destinations.budget(destination)
    budget.deposit(component.budget_ratio)
    attempts: list[Attempt] = []
    monotonic = state.kernel.monotonic
    while True:
        number = len(attempts) + 1
        result, wait = await _attempt(call, number, attempts)
        failure = result.failure
        if (
            failure is None
            or wait is None
            or number >= component.attempts
            or failure not in component.retry_on
        ):
            break
        backoff = min(component.backoff_max, component.backoff_base * (1 << (number - 1)))
        delay = max(wait, state.kernel.jitter(backoff))
        if monotonic() + delay >= state.deadline or not budget.withdraw(monotonic()):
            break
        if delay > 0.0:
            await state.kernel.sleep(delay)
    result.attempts = tuple(attempts)
    return result


@dataclass(slots=True)
class _Trial:
    """One attempt, and what it brought as far as it came. begun: monotonic seconds; left: until the run's deadline."""

    number: int
    begun: float
    left: float
    result: CallResult = field(default_factory=CallResult)
    status: int | None = None
    queue_ms: float | None = None
    usage: dict[str, Any] | None = None
    retryable: bool = True
    wait: float = 0.0


async def _attempt(call: _Call, number: int, attempts: list[Attempt]) -> tuple[CallResult, float | None]:
    """One attempt, and the least time to wait before the next one; None: do not try again."""
    state = call.state
    begun = state.kernel.monotonic()
    trial = _Trial(number, begun, state.deadline - begun)
    refusal = _refusal(call, trial)
    if refusal is not None:
        return refusal, None
    await _try(call, trial)
    ended = state.kernel.monotonic()
    state.spent += ended - begun
    attempts.append(_recorded(trial, begun - state.started, ended - begun))
    return trial.result, trial.wait if trial.retryable else None


def _refusal(call: _Call, trial: _Trial) -> CallResult | None:
    """Why nothing is sent; None takes the breaker's leave, which `_try` gives back."""
    if trial.left <= 0.0:
        return CallResult(failure=Failure.DEADLINE, message="the run's deadline was over before the call")
    if call.breaker is not None and not call.breaker.allows(trial.begun):
        message = f"the circuit to {call.component.name} {call.component.version} is open"
        return CallResult(failure=Failure.CIRCUIT_OPEN, message=message)
    return None


async def _try(call: _Call, trial: _Trial) -> None:
    """Send and read, and tell the breaker."""
    timeout, breaker = call.component.timeout, call.breaker
    own = timeout if timeout is not None else call.state.program.deadline
    seconds = trial.left if timeout is None else min(trial.left, timeout)
    try:
        await _send(call, trial, seconds)
    except TransportError as error:
        trial.result = CallResult(failure=error.failure, message=error.message)
    except CallError as error:
        trial.result = CallResult(failure=error.failure, message=error.message)
        trial.retryable = error.retryable
        trial.wait = error.retry_after if error.retry_after is not None else trial.wait
    except BaseException:  # cancelled: the breaker's probe must not stay taken
        if breaker is not None:
            breaker.release(begun=trial.begun)
        raise
    if breaker is not None:
        _tell(breaker, trial, call.state.kernel.monotonic(), is_hasty=seconds * 2 < own)


def _recorded(trial: _Trial, started: float, seconds: float) -> Attempt:
    """The attempt's document. started: seconds since the arm's start."""
    wall = seconds * 1000.0
    return Attempt(
        number=trial.number,
        started_ms=started * 1000.0,
        service_ms=wall if trial.queue_ms is None else max(0.0, wall - trial.queue_ms),
        queue_ms=trial.queue_ms,
        status=trial.status,
        failure=trial.result.failure,
        message=trial.result.message,
        usage=trial.usage,
    )


def _tell(breaker: Breaker, trial: _Trial, now: float, *, is_hasty: bool) -> None:
    """What the attempt says of the destination's health.

    Nothing, when it was never reached, or when a caller in haste left it less than half of its usual time: otherwise
    one impatient caller could open the circuit for everybody.
    """
    failure = trial.result.failure
    if failure in BREAKING and not (is_hasty and failure is Failure.TIMEOUT):
        breaker.record(failed=True, begun=trial.begun, now=now)
    elif trial.status is not None:
        breaker.record(failed=False, begun=trial.begun, now=now)
    else:
        breaker.release(begun=trial.begun)


async def _send(call: _Call, trial: _Trial, seconds: float) -> None:
    state, component = call.state, call.component
    context = CallContext(
        run_id=state.run_id,
        step=call.step.name,
        arm=state.arm,
        attempt=trial.number,
        deadline_ms=int(trial.left * 1000.0),
        stage=state.stage,
        dry_run=state.mirrored,
        traceparent=state.traceparent,
        stand_in=None if component is call.step.component else f"{component.name}@{component.version}",
    )
    url, headers, body = call.protocol.request(context, call.inputs)
    http = await state.kernel.client.post(url, headers, body, seconds)
    trial.status = http.status
    if http.server_timing is not None:
        trial.queue_ms = queue_ms(http.server_timing)
    if http.retry_after is not None:
        trial.wait = retry_after_seconds(http.retry_after, state.kernel.now()) or 0.0
    answer = call.protocol.answer(http)
    if answer.usage is not None:
        trial.usage = answer.usage
        state.cost += _cost(answer.usage)
    trial.result = _checked(call, answer)


def _checked(call: _Call, answer: Answer) -> CallResult:
    """The output against the semantic domains and the component's contract; what goes on is what they made of it."""
    output, unknown = call.step.compiled.normalised(answer.output)
    output, broken = call.component.output.enforced(output, f"steps.{call.step.name}")
    violations = (*broken, *unknown)
    failed = [item for item in violations if item.policy is Policy.FAIL]
    if failed:
        message = "; ".join(f"{item.kind}: {item.message}" for item in failed[:3])
        return CallResult(
            output=answer.output, failure=Failure.INVALID_OUTPUT, message=message, violations=violations
        )
    return CallResult(output=output, reported=answer.fallback, violations=violations)


def _cost(usage: dict[str, Any]) -> float:
    cost = usage.get("cost")
    return (
        float(cost)
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e12
        else 0.0
    )
