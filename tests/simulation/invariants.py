"""What holds after every write and every step, whatever goes wrong."""

from typing import Any

from sluicegate.contracts.resources import WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.routes import TrafficMode
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage, State
from sluicegate.rollout import planning, table
from tests.simulation.world import World

ORDER = [state.value for state in State]


class WatchedWorld(World):
    """A world that checks itself."""

    def check_status(self, held: Any, status: Any) -> None:
        if not isinstance(held, WorkflowRollout):
            return
        old = held.status or planning.initial_status(held)
        self._check_move(old, status)
        self._check_share(held, old, status)
        uids = [record.uid for record in status.decisions]
        assert len(uids) == len(set(uids)), "a decision was counted twice"
        if old.state is status.state and old.attempt == status.attempt:
            assert old.stage_started_at == status.stage_started_at, "a look moved the stage's start"

    def _check_move(self, old: RolloutStatus, new: RolloutStatus) -> None:
        if old.state is new.state:
            return
        ways = {move.to for (state, _), move in table.MOVES.items() if state is old.state}
        assert new.state in ways, f"{old.state} -> {new.state} is not in the table"
        promotes = [
            record
            for record in new.decisions
            if record.action == "Promote" and record.result == "Applied" and record not in old.decisions
        ]
        assert len(promotes) <= 1, "two promotes moved in one look"

    def _check_share(self, held: WorkflowRollout, old: RolloutStatus, new: RolloutStatus) -> None:
        if old.attempt != new.attempt or State.DRAINING in {old.state, new.state}:
            return
        if old.state in table.STAGES and new.state in table.STAGES:
            before = planning.stage_of(held.spec, Stage(old.state.value)).share
            after = planning.stage_of(held.spec, Stage(new.state.value)).share
            assert after.numerator * before.denominator >= before.numerator * after.denominator

    def check(self) -> None:
        """After each step."""
        for gateway in self.gateways:
            plan = gateway.plan
            if plan is not None and plan.candidate is not None and plan.stage is not None:
                mirrored = plan.stage in MIRRORED_STAGES
                assert (plan.mode is TrafficMode.MIRROR) == mirrored, (
                    "users would get a mirrored stage's candidate"
                )
        versions = [plan.version for plan in self.plans if plan is not None]
        assert versions == sorted(set(versions)), "plan versions grow"
        running = [item for item in self.list(WorkflowRollout) if self._routes(item)]
        assert len(running) <= 1, "two rollouts route"
        for item in self.list(WorkflowRevision):
            assert item.spec.digest == self.digest(item.spec.body), "a revision changed"

    def _routes(self, item: WorkflowRollout) -> bool:
        return item.status is not None and item.status.state in table.STAGES

    def advances(self, rollout: str, attempt: int) -> list[str]:
        """Stages left in an attempt, in order."""
        status = self.rollout(rollout).status
        assert status is not None
        return [record.stage.value for record in status.history if record.attempt == attempt]
