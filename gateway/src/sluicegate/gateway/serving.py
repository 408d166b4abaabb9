"""A run as a service: choose arms, run, record, answer; then what is done after the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from sluicegate.contracts.adapters.system import unix_ms
from sluicegate.contracts.evidence import ArmFacts
from sluicegate.contracts.patience import MAX_DEADLINE_MS
from sluicegate.contracts.runs import (
    Arm,
    BusinessAnswer,
    Comparison,
    Failure,
    Policy,
    RunOutcome,
    RunRecord,
)
from sluicegate.gateway.arms import assign
from sluicegate.gateway.business import response_of
from sluicegate.gateway.compare import compare
from sluicegate.gateway.copies import COALITIONS, coalition, copies
from sluicegate.gateway.engine.kernel import ArmState, Kernel
from sluicegate.gateway.engine.program import Program
from sluicegate.gateway.engine.run import run_after, run_arm
from sluicegate.gateway.escalation_ledger import Ledger
from sluicegate.gateway.facts import (
    Ablations,
    RunFrame,
    ablations_of,
    arm_facts,
    disagreement,
    keeps_bodies,
    light_record,
    observation_of,
    prepared,
    record_of,
)
from sluicegate.gateway.guarding import Guard, guard_of, instead, rehearsed
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.mirrors import MirrorAllowances
from sluicegate.gateway.plans import LivePlan
from sluicegate.gateway.problems import Response, failed_run, problem, violations_json
from sluicegate.gateway.resilience.budget import RetryBudget
from sluicegate.gateway.resilience.destinations import Destinations
from sluicegate.gateway.telling import FailureLog, named
from sluicegate.gateway.tracing import Trace, trace_of
from sluicegate.lineage.entries import encode_after, encode_observation, encode_run
from sluicegate.lineage.identity import input_hash
from sluicegate.lineage.ports import Spool
from sluicegate.lineage.spool import Pressure

After = Callable[[], Awaitable[None]]
_BROKEN_INPUT = "the input breaks the workflow's contract"
_OF_CANDIDATE = frozenset({Arm.CANDIDATE, Arm.ABLATED, Arm.MIXED})


@dataclass(slots=True)
class Incoming:
    """What a run needs of the request. headers: lower-case names, only made when a routing key asks for them."""

    body: bytes
    traceparent: str | None = None
    deadline_ms: int | None = None
    headers: Callable[[], dict[str, str]] = dict


@dataclass(slots=True, kw_only=True)
class RunService:
    """Serves runs of one worker. Single threaded: everything here belongs to one event loop."""

    kernel: Kernel
    spool: Spool
    salt: bytes
    worker: str
    destinations: Destinations = field(default_factory=Destinations)
    mirror_destinations: Destinations = field(default_factory=Destinations)
    ablated_budgets: dict[str, RetryBudget] = field(default_factory=dict)
    allowances: MirrorAllowances = field(default_factory=MirrorAllowances)
    failures: FailureLog = field(default_factory=FailureLog)
    ledger: Ledger = field(default_factory=Ledger)
    mirrors: set[asyncio.Task[None]] = field(default_factory=set)
    takes_mirrors: bool = True

    def drop_mirrors(self) -> None:
        """The worker stops: mirrors end now and are counted as dropped; users' runs go on."""
        self.takes_mirrors = False
        for task in self.mirrors:
            task.cancel()

    async def serve(self, live: LivePlan, incoming: Incoming) -> tuple[Response, After | None]:
        """The answer, its record already written, and what to do once it is sent."""
        run_id = self.kernel.new_id()
        with named(run_id):
            return await self._serve(live, incoming, run_id)

    async def _serve(self, live: LivePlan, incoming: Incoming, run_id: str) -> tuple[Response, After | None]:
        kernel = self.kernel
        started = kernel.monotonic()
        trace = trace_of(run_id, incoming.traceparent)
        try:
            value = parse(incoming.body)
        except JsonError as error:
            return problem(400, f"the body is not usable JSON: {error}", run_id=run_id), None
        compiled = live.stable.compiled
        value, unknown = compiled.normalised_input(value)
        value, broken = compiled.input.enforced(value, "input")
        violations = (*broken, *unknown)
        frame = self._frame(live, run_id, trace, value, incoming)
        frame.warnings = violations
        failed = [item for item in violations if item.policy is Policy.FAIL]
        if failed:
            self._write_rejected(frame, live.stable, (kernel.monotonic() - started) * 1000.0)
            return problem(422, _BROKEN_INPUT, run_id=run_id, problems=violations_json(failed)), None
        guard = guard_of(self.ledger, live, frame, self.salt)
        diverted = instead(guard, live, frame)
        if diverted is not None:
            program, answer = diverted
            self._write_diverted(frame, program, answer, (kernel.monotonic() - started) * 1000.0)
            return _business_response(answer, program, run_id, trace), None
        patience = (
            None if incoming.deadline_ms is None else min(MAX_DEADLINE_MS, incoming.deadline_ms) / 1000.0
        )
        state = self._state(frame, live, trace, frame.assignment.serving, patience, started)
        await run_arm(state)
        return self._answered(frame, live, state, trace, guard)

    def _frame(self, live: LivePlan, run_id: str, trace: Trace, value: Any, incoming: Incoming) -> RunFrame:
        routing = live.stable.compiled.routing_key
        key = None
        if routing is not None:
            wants_headers = any(path[0] == "headers" for path in routing.references)
            scope = {"input": value, "headers": incoming.headers() if wants_headers else {}}
            key = live.stable.compiled.evaluate_routing_key(scope)
        return RunFrame(
            run_id=run_id,
            plan=live.plan,
            assignment=assign(live.plan, run_id, key, leased=live.is_leased(unix_ms())),
            started_at=self.kernel.now(),
            input=value,
            input_hash=input_hash(self.salt, value),
            trace_id=trace.trace_id,
            worker=self.worker,
            key=key,
        )

    def _state(
        self, frame: RunFrame, live: LivePlan, trace: Trace, arm: Arm, patience: float | None, started: float
    ) -> ArmState:
        program = live.candidate if arm in _OF_CANDIDATE and live.candidate is not None else live.stable
        seconds = program.deadline if patience is None else patience
        plan, mirrored = frame.plan, arm is not frame.assignment.serving
        return ArmState(
            kernel=self.kernel,
            program=program,
            fallback_program=live.stable if program is not live.stable else None,
            destinations=self._destinations(arm) if mirrored else self.destinations,
            run_id=frame.run_id,
            arm=arm,
            mirrored=mirrored,
            stage=plan.stage.value.lower() if frame.assignment.observed and plan.stage is not None else None,
            traceparent=trace.traceparent,
            input=frame.input,
            started=started,
            patience=seconds,
            deadline=started + seconds,
            coalition=coalition(arm, frame.assignment, live),
        )

    def _destinations(self, arm: Arm) -> Destinations:
        """Of a mirror. What one run with a coalition breaks opens no circuit to any other run."""
        return Destinations(self.ablated_budgets) if arm in COALITIONS else self.mirror_destinations

    def _answered(
        self, frame: RunFrame, live: LivePlan, state: ArmState, trace: Trace, guard: Guard | None
    ) -> tuple[Response, After | None]:
        """Write the record, with the evidence if nothing more can change it, then make the answer.

        Whatever rules of business answer, to the evidence the run is what it was: failed.
        """
        response = _response(state, trace)
        has_after = bool(state.program.after_steps) and state.failure is None
        record = record_of(frame, state)
        business = None if guard is None else guard.end(state)
        if business is not None and business.answered_by is not None:
            response = _business_response(business, state.program, state.run_id, trace)
        business = business or rehearsed(guard, live, frame)
        if business is not None:
            record = replace(record, business=business)
        if state.failure is not None:
            now = self.kernel.monotonic()
            self.failures.tell(record, step=state.failed_step, reason=state.failure.value, now=now)
        lines = [self._encoded(record, state.program)]
        if frame.assignment.observed and not has_after and not frame.assignment.mirrored:
            lines += self._observation(frame, state, {state.arm: arm_facts(state)})
        self.spool.append(*lines)
        if not has_after and not frame.assignment.mirrored:
            return response, None
        return response, partial(self._afterwards, frame, live, state, trace, record)

    async def _afterwards(
        self, frame: RunFrame, live: LivePlan, served: ArmState, trace: Trace, record: RunRecord
    ) -> None:
        """Steps after the answer, then the mirrors; then exactly one observation."""
        mirrors: list[ArmState] = []
        is_whole = False
        try:
            with named(frame.run_id):
                await self._after_answer(served, record)
                is_whole = await self._mirror(frame, live, trace, served.patience, mirrors)
        finally:
            # Also when the worker is stopped in the middle: a unit is observed or counted as dropped, never lost.
            if frame.assignment.mirrored and not is_whole:
                self.spool.append(*self._observation(frame, served, {}, dropped=1))
            else:
                self._write_evidence(frame, live, served, mirrors)

    async def _mirror(
        self, frame: RunFrame, live: LivePlan, trace: Trace, patience: float, states: list[ArmState]
    ) -> bool:
        """Run the copies, which are added to `states`. False: dropped, for want of budget or because we stop."""
        if not frame.assignment.mirrored or not self.takes_mirrors:
            return False
        allowance = self.allowances.of(frame.plan.namespace, frame.plan.workflow, frame.plan.mirror_budget)
        if not allowance.take(self.kernel.monotonic()):
            return False

        async def in_turn() -> None:
            # Side by side, copies of one run would slow each other down at the components that they share, and
            # latencies would be no evidence: alone, each meets them as the user's run did.
            for arm in copies(frame.assignment, live):
                states.append(self._state(frame, live, trace, arm, patience, self.kernel.monotonic()))
                await run_arm(states[-1])
                await run_after(states[-1])  # for its reward

        try:
            async with asyncio.TaskGroup() as group:  # which survives that drop_mirrors cancels the task
                task = group.create_task(in_turn())
                self.mirrors.add(task)
                task.add_done_callback(self.mirrors.discard)
            return not task.cancelled()
        finally:
            used, cost = sum(state.spent for state in states), sum(state.cost for state in states)
            allowance.give_back(seconds=used, cost=cost)

    async def _after_answer(self, served: ArmState, record: RunRecord) -> None:
        program = served.program
        steps = await run_after(served)
        if not steps:
            return
        if program.redactor is not None:
            steps = program.redactor.redact_steps(steps, record)
        keeps = keeps_bodies(program, served.run_id) and self.spool.pressure < Pressure.DROP_BODIES
        self.spool.append(
            encode_after(
                served.run_id,
                served.arm,
                steps=steps,
                reward=served.reward,
                at=self.kernel.now(),
                bodies=keeps,
            )
        )

    def _write_evidence(
        self, frame: RunFrame, live: LivePlan, served: ArmState, mirrors: list[ArmState]
    ) -> None:
        facts: dict[Arm, ArmFacts] = {served.arm: arm_facts(served)}
        lines: list[bytes] = []
        for state in mirrors:
            comparison = None
            if state.arm not in COALITIONS:
                comparison = _compared(served, state, live)
                facts[state.arm] = arm_facts(state, disagreement(served, state, comparison))
            lines.append(self._encoded(record_of(frame, state, comparison), state.program))
        lines += self._observation(frame, served, facts, ablations=ablations_of(mirrors))
        self.spool.append(*lines)

    def _observation(
        self,
        frame: RunFrame,
        served: ArmState,
        facts: dict[Arm, ArmFacts],
        *,
        dropped: int = 0,
        ablations: Ablations = Ablations(),  # noqa: B008 - frozen
    ) -> list[bytes]:
        if not frame.assignment.observed:
            return []
        missing = served.program.has_reward and served.reward is None and served.failure is None
        observation = observation_of(
            frame,
            self.kernel.now(),
            facts,
            expects_reward=missing and not dropped,
            dropped=dropped,
            ablations=ablations,
        )
        return [] if observation is None else [encode_observation(observation)]

    def _encoded(self, record: RunRecord, program: Program) -> bytes:
        return encode_run(prepared(record, program), bodies=self.spool.pressure < Pressure.DROP_BODIES)

    def _write_rejected(self, frame: RunFrame, program: Program, latency_ms: float) -> None:
        record = light_record(frame, program, RunOutcome.REJECTED, latency_ms)
        self.spool.append(self._encoded(replace(record, arm=Arm.STABLE, error=_BROKEN_INPUT), program))

    def _write_diverted(
        self, frame: RunFrame, program: Program, business: BusinessAnswer, latency_ms: float
    ) -> None:
        record = light_record(frame, program, RunOutcome.DIVERTED, latency_ms)
        self.spool.append(self._encoded(replace(record, business=business), program))


def _compared(served: ArmState, other: ArmState, live: LivePlan) -> Comparison | None:
    """By the candidate's contract, for both copies: what it says of its answers is part of what is rolled out."""
    if served.failure is not None or other.failure is not None:
        return None
    shows = served.program.redactor is None and other.program.redactor is None
    rules = (live.candidate or live.stable).compiled.hints
    return compare(served.output, other.output, rules, shows_values=shows)


def _business_response(business: BusinessAnswer, program: Program, run_id: str, trace: Trace) -> Response:
    identity = [(b"sluicegate-run-id", run_id.encode()), (b"traceparent", trace.traceparent.encode())]
    return response_of(business, [*program.headers, *identity])


def _response(state: ArmState, trace: Trace) -> Response:
    if state.failure is not None:
        # What a component said stays in the record; the caller learns which step failed and how.
        where = f"step {state.failed_step}" if state.failed_step is not None else "the answer"
        response = failed_run(state.run_id, state.failure, f"{where}: {state.failure}", state.violations)
        response.headers += state.program.headers[1:]
    else:
        try:
            response = Response(200, orjson.dumps(state.output), [*state.program.headers])
        except orjson.JSONEncodeError as error:
            state.failure, state.error = Failure.INVALID_OUTPUT, f"the answer cannot be said in JSON: {error}"
            return _response(state, trace)
        response.headers.append((b"sluicegate-run-id", state.run_id.encode()))
        if fell := _fell_back(state):
            response.headers.append((b"sluicegate-fallback", fell.encode()))
    response.headers.append((b"traceparent", trace.traceparent.encode()))
    return response


def _fell_back(state: ArmState) -> str:
    """Names of the components of this answer that fell back, in the order of their steps."""
    return ", ".join(dict.fromkeys(step.component for step in state.steps if step.fallback is not None))
