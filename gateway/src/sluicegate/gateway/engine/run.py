"""One arm of one run, from the input to the answer; and what comes after the answer."""

from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.runs import Failure, Policy, StepRecord
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.steps import run_step

INVALID_ANSWER = "the answer breaks the workflow's contract"


async def run_arm(state: ArmState) -> None:
    """Run the steps of the request and make the answer. The state tells how it went; never raises for that.

    The reward is evaluated at once when no step runs after the answer.
    """
    state.scope = {"input": state.input, "steps": {}, "run": {"id": state.run_id, "attempt": 1}}
    for step in state.program.request_steps:
        if not await run_step(state, step):
            break
    else:
        _answer(state)
    state.latency_ms = state.since_start_ms()
    if not state.program.after_steps and state.failure is None:
        state.reward = _reward(state)


async def run_after(state: ArmState) -> tuple[StepRecord, ...]:
    """Steps after the answer, with a deadline of their own, then the reward. Gives the records of these steps.

    They run only behind a good answer; one that fails leaves the answer and the run's outcome as they are.
    """
    if state.failure is not None or not state.program.after_steps:
        return ()
    before = len(state.steps)
    state.deadline = state.kernel.monotonic() + state.patience
    for step in state.program.after_steps:
        if not await run_step(state, step):
            state.failure = state.error = state.failed_step = None
            break
    state.reward = _reward(state)
    return tuple(state.steps[before:])


def _answer(state: ArmState) -> None:
    compiled = state.program.compiled
    try:
        output = compiled.evaluate_output(state.scope)
    except ExpressionError as error:
        state.failure, state.error = Failure.EXPRESSION, f"output: {error}"
        return
    state.output, state.violations = compiled.output.enforced(output, "output")
    if any(item.policy is Policy.FAIL for item in state.violations):
        state.failure, state.error = Failure.INVALID_OUTPUT, INVALID_ANSWER


def _reward(state: ArmState) -> float | None:
    """The reward in [0, 1]; None when there is none, or it cannot be evaluated, or is no such number."""
    try:
        return state.program.compiled.evaluate_reward(state.scope)
    except ExpressionError:
        return None
