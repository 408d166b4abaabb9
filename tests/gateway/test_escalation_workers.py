"""Real worker processes: they share the count of failures, and killing them loses none of it."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gateway.components import stable_plan, status
from tests.gateway.rules import guarded, rule_set
from tests.gateway.workers import component_thread, spooled, wait_for, worker, write

VALUE = {"session": "ada", "topic": "order"}
RULE = "business; rule=r-order; rule-set=care@1.2.0"


@dataclass
class Switch:
    fails: bool = True

    def __call__(self, _: Any) -> Any:
        return status(500) if self.fails else {"text": "from the workflow"}


def told(answer: tuple[int, dict[str, str], Any]) -> tuple[int, str | None]:
    return answer[0], answer[1].get("sluicegate-fallback")


def test_a_count_is_shared_by_workers_survives_kill_9_and_ends_when_the_component_is_back(
    tmp_path: Path,
) -> None:
    switch = Switch()
    with component_thread(switch) as server:
        probe = {"everySeconds": 1, "successesToRecover": 2}
        plan = stable_plan(
            guarded(server.url, fallback={"afterConsecutiveFailures": 4, "probe": probe}),
            rule_sets=(rule_set(),),
        )
        write(tmp_path, plan)
        with worker(tmp_path, name="w0") as first, worker(tmp_path, name="w1") as second:
            assert [told(one.run(VALUE)) for one in (first, second)] == [(502, None)] * 2
            first.stop(signal.SIGKILL)
            assert told(second.run(VALUE)) == (502, None)
            second.stop(signal.SIGKILL)
        with worker(tmp_path, name="w2") as first, worker(tmp_path, name="w3") as second:
            assert told(first.run(VALUE)) == (200, RULE)  # the fourth in a row
            assert told(second.run(VALUE)) == (200, RULE)
            assert second.run({"session": "bob", "topic": "order"})[0] == 502
            switch.fails = False
            both = [first, second]

            def is_back() -> bool:
                both.reverse()
                code, headers, body = both[0].run(VALUE)
                assert code == 200
                return "sluicegate-fallback" not in headers and body == {"text": "from the workflow"}

            wait_for(is_back, "two probes succeed")
            wait_for(lambda: all(is_back() for _ in range(4)), "both workers know")
            outcomes = [entry["outcome"] for entry in spooled(tmp_path) if entry["t"] == "run"]
    assert outcomes.count("Failed") == 5
    assert outcomes.count("Diverted") >= 1
    assert outcomes.count("Succeeded") >= 2
