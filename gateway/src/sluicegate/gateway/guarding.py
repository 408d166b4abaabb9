"""One run and the end of its chain: is it diverted or rehearsed, does it count, who answers when it fails."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.runs import Arm, BusinessAnswer, ChainLink, Failure, Link, LinkOutcome, Trigger
from sluicegate.gateway.business import Asked, Escalation, RuleSet, ask
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.program import Program
from sluicegate.gateway.escalation import RUN, Decision, Ended, Way
from sluicegate.gateway.escalation_ledger import Key, Ledger
from sluicegate.gateway.facts import RunFrame
from sluicegate.gateway.plans import LivePlan

EVERYBODY: Final = "-"
"""The session of runs that name none."""
_OUT_OF_TIME: Final = frozenset({Failure.TIMEOUT, Failure.DEADLINE})


@dataclass(slots=True, kw_only=True)
class Guard:
    """Of a run whose revision has a `businessFallback` that could answer.

    is_judged: the run is evidence of a rollout's candidate, so that it is never diverted: its failures are answered by
    the rules, and go on to count against it. decision: what `arrive` said.
    """

    ledger: Ledger
    program: Program
    escalation: Escalation
    rules: RuleSet | None
    key: Key
    is_judged: bool = False
    decision: Decision = RUN

    def arrive(self, frame: RunFrame) -> BusinessAnswer | None:
        """The answer of the rules when they answer this run at once. Where they have none, it runs as if it were off."""
        self.decision = self.ledger.arrive(self.key, self.escalation.settings, frame.started_at.timestamp())
        trigger = self.decision.trigger
        if self.is_judged or self.decision.way is not Way.DIVERT or trigger is None:
            return None
        diverted = ChainLink(
            link=Link.WORKFLOW, outcome=LinkOutcome.DIVERTED, message=f"{trigger} is escalated"
        )
        answer = self._ask(trigger, _context(frame), (diverted,))
        return answer if answer.answered_by is not None else None

    def end(self, state: ArmState) -> BusinessAnswer | None:
        """Count the run. What the rules did when they were asked, since it failed and the escalation is on."""
        trigger = self._counted(state)
        if trigger is None:
            return None
        chain = [ChainLink(link=Link.WORKFLOW, outcome=LinkOutcome.FAILED, message=str(state.failure))]
        if state.failed_step is not None:
            said = f"step {state.failed_step}: {state.failure}"
            chain.insert(0, ChainLink(link=Link.COMPONENT, outcome=LinkOutcome.FAILED, message=said))
        return self._ask(trigger, state.scope, tuple(chain))

    def _counted(self, state: ArmState) -> Trigger | None:
        if _is_hasty(state):
            return self.decision.trigger
        ended = Ended(failed=state.failure is not None, probe=self.decision.probe)
        now = state.kernel.now().timestamp()
        return self.ledger.end(self.key, self.escalation.settings, ended, now)

    def _ask(self, trigger: Trigger, context: dict[str, Any], chain: tuple[ChainLink, ...]) -> BusinessAnswer:
        probe = self.decision.way is Way.PROBE
        asked = Asked(trigger=trigger, context=context, chain=chain, probe=probe)
        return ask(self.escalation, self.rules, asked, self.program.redactor)


def guard_of(ledger: Ledger, live: LivePlan, frame: RunFrame, salt: bytes) -> Guard | None:
    """None: nothing stands behind the workflow."""
    program = _serving(live, frame)
    escalation = program.escalation
    if escalation is None:
        return None
    rules = live.rules.get(escalation.spec.rule_set)
    if rules is None and escalation.spec.static_answer is None:
        return None
    session = EVERYBODY
    if frame.key is not None:
        named = f"{frame.plan.namespace}/{frame.plan.workflow}/{frame.key}"
        session = hashlib.blake2b(
            named.encode("utf-8", "surrogatepass"), key=salt[:64], digest_size=16
        ).hexdigest()
    key = Key(escalation.scope, session)
    is_judged = program is live.candidate
    return Guard(
        ledger=ledger, program=program, escalation=escalation, rules=rules, key=key, is_judged=is_judged
    )


def instead(guard: Guard | None, live: LivePlan, frame: RunFrame) -> tuple[Program, BusinessAnswer] | None:
    """The answer of the rules in the workflow's place: it is escalated, or a drill that is not mirrored takes the run.

    A run that is evidence of a rollout is never taken from it, and nobody gets a static answer, or none, because of a drill.
    """
    if guard is not None:
        answer = guard.arrive(frame)
        if answer is not None:
            return guard.program, answer
    if live.drills is None or live.drills.body.mirrored or frame.assignment.observed:
        return None
    drill = rehearsed(guard, live, frame)
    return (_serving(live, frame), drill) if drill is not None and drill.answered_by is Link.RULES else None


def rehearsed(guard: Guard | None, live: LivePlan, frame: RunFrame) -> BusinessAnswer | None:
    """What the rules would answer if the escalation were on, of a run that a drill takes. None: it takes it not, the
    escalation is on, or nothing stands behind the version that serves this run.
    """
    is_off = guard is None or guard.decision.way is Way.RUN
    if live.drills is None or not is_off or not live.drills.takes(frame.run_id, frame.started_at):
        return None
    program = _serving(live, frame)
    escalation = program.escalation
    if escalation is None:
        return None
    name = escalation.spec.rule_set
    rules = live.rules.get(name)
    if rules is None and any(body.name == name for body in live.plan.rule_sets):
        return None  # on its way: not compiled yet
    asked = Asked(trigger=Trigger.DRILL, context=_context(frame), chain=())
    return ask(escalation, rules, asked, program.redactor)


def _serving(live: LivePlan, frame: RunFrame) -> Program:
    if frame.assignment.serving is Arm.CANDIDATE and live.candidate is not None:
        return live.candidate
    return live.stable


def _context(frame: RunFrame) -> dict[str, Any]:
    """What the rules see before anything ran."""
    return {"input": frame.input, "steps": {}, "run": {"id": frame.run_id, "attempt": 1}}


def _is_hasty(state: ArmState) -> bool:
    """A caller who left the run less than half of its usual time says nothing of the workflow when the time is over."""
    return state.failure in _OUT_OF_TIME and state.patience * 2 < state.program.deadline
