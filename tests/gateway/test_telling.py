"""Log lines about runs: which run, never too many."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from sluicegate.contracts.runs import Arm, RunOutcome, RunRecord
from sluicegate.gateway.telling import MOST_PER_SECOND, FailureLog, named
from tests.gateway.components import component, harness, serving, spec_of, stable_plan

RECORD = RunRecord(
    run_id="r-1",
    arm=Arm.STABLE,
    serving=True,
    namespace="default",
    workflow="bot",
    revision="bot-1",
    version="1",
    components={},
    started_at="2026-01-01T00:00:00+00:00",
    latency_ms=1.0,
    outcome=RunOutcome.FAILED,
    unit="r-1",
)


def tell(log: FailureLog, now: float) -> bool:
    return log.tell(RECORD, step="agent", reason="Timeout", now=now)


async def test_a_failed_run_is_told_with_its_id_and_a_good_one_is_not() -> None:
    async with (
        serving(lambda body: {} if body.get("ok") else 1 / 0) as server,
        harness(stable_plan(spec_of(component(server.url)))) as gate,
    ):
        with capture_logs() as lines:
            await gate.run({"ok": True})
            assert lines == []
            response = await gate.run({"ok": False})
    (line,) = lines
    assert (line["event"], line["run_id"]) == (
        "run_failed",
        dict(response.headers)[b"sluicegate-run-id"].decode(),
    )
    assert (line["workflow"], line["step"], line["reason"]) == ("bot", "agent", "Fault")


def test_an_outage_fills_no_disk_and_the_rest_is_counted() -> None:
    log = FailureLog()
    with capture_logs() as lines:
        told = [tell(log, 7.0 + number / 100) for number in range(50)]
        assert sum(told) == MOST_PER_SECOND
        assert tell(log, 8.0)
    assert lines[-1]["untold"] == 50 - MOST_PER_SECOND


def test_a_bug_leaves_with_the_runs_id() -> None:
    def broken() -> Any:
        with named("r-9"):
            raise LookupError("a bug")

    with pytest.raises(LookupError) as caught:
        broken()
    assert caught.value.__notes__ == ["run_id: r-9"]
