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


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For a test that fills the machine with traffic: no other of them runs meanwhile, in whatever worker."""
    with (tmp_path_factory.getbasetemp().parent / "alone.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
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
