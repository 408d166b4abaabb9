"""What every test watches over."""

import fcntl
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sluicegate.contracts.resources.base import Condition
from sluicegate.rollout import conditions, events, gates, judging

pytest_plugins = ["tests.controlplane.fixtures", "tests.prometheus.fixtures"]

# A busy machine is slow for everybody; what is generated does not depend on it.
settings.register_profile("busy", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("busy")

_TYPES = {
    (item.type, reason)
    for item in (*conditions.OF_WORKFLOW, *conditions.OF_ROLLOUT, *conditions.OF_RULE_SET)
    for reason in item.reasons
}


@pytest.fixture(autouse=True)
def _turn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A test marked `alone` fills the machine with traffic and judges times: nothing runs beside it, in whatever worker.

    Others share the turn. The gate is passed first, so that whoever wants to be alone is not overtaken for ever.
    """
    folder = tmp_path_factory.getbasetemp().parent
    kind = fcntl.LOCK_EX if request.node.get_closest_marker("alone") else fcntl.LOCK_SH
    with (folder / "gate.lock").open("w") as gate, (folder / "turn.lock").open("w") as turn:
        fcntl.flock(gate, kind)
        fcntl.flock(turn, kind)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@pytest.fixture(autouse=True, scope="session")
def _words_are_documented() -> Iterator[None]:
    """Whatever a test makes the control loop say (conditions, findings, events) is in the reference."""
    settled, finding, emit = conditions._settled, judging.finding, events.emit

    def settled_(*args: Any) -> Condition:
        said = settled(*args)
        assert (said.type, said.reason) in _TYPES, f"undocumented: {said.type} {said.reason}"
        return said

    def finding_(gate: Any, item: Any, ruling: Any) -> Any:
        assert ruling.reason in gates.REASONS, f"undocumented: {ruling.reason}"
        return finding(gate, item, ruling)

    def emit_(about: Any, reason: str, *args: Any, **more: Any) -> Any:
        assert reason in events.REASONS, f"undocumented: {reason}"
        return emit(about, reason, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "_settled", settled_)
        patch.setattr(judging, "finding", finding_)
        patch.setattr(events, "emit", emit_)
        yield
