"""The example's candidates in real rollouts: `sluicegate up`, its gateway, the components, users.

All of them run at once in one `up`, each as a workflow of its own, so that the whole takes little more than the
longest.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console.client import ROLLOUTS, WORKFLOWS
from sluicegate.console.demo import checks as demo_checks
from sluicegate.console.demo import files as demo_files
from sluicegate.console.demo.processes import Children, runs_url, until
from sluicegate.console.local import LocalClient
from sluicegate.console.output import moment
from sluicegate.console.traffic import Answer, BackgroundTraffic, Tally, support_customers

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

NAMESPACE = "default"
SECONDS = 400.0
AFTER = 20  # runs asked after the end of a rollout

# candidate -> the signal that must show it
BAD = {
    "contract-break": "ContractViolations",
    "slow-p95": "WorkflowP95Latency",
    "more-fallbacks": "ComponentFallbackRateMax",
    "lower-reward": "WorkflowReward",
    "crash": "WorkflowSuccessRate",
}
# candidate -> whether the documents of a run, by arm, show what is wrong with it
SHOWS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "contract-break": lambda arms: any(step["violations"] for step in arms["candidate"]["steps"]),
    "slow-p95": lambda arms: arms["candidate"]["latency_ms"] > 500 >= arms["stable"]["latency_ms"],  # the SLA
    "more-fallbacks": lambda arms: any(step["fallback"] for step in arms["candidate"]["steps"]),
    "lower-reward": lambda arms: arms["candidate"]["reward"] < arms["stable"]["reward"],
    "crash": lambda arms: arms["candidate"]["outcome"] == "Failed" != arms["stable"]["outcome"],
}
RATES = {"good": 20.0} | dict.fromkeys(BAD, 8.0)


@dataclass(slots=True)
class Case:
    """One candidate's rollout, as it ended."""

    rollout: dict[str, Any] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    witnesses: list[dict[str, Any]] = field(default_factory=list)  # arm -> document

    @property
    def status(self) -> dict[str, Any]:
        return self.rollout.get("status") or {}

    @property
    def ended(self) -> datetime:
        found = moment(self.status.get("endedAt"))
        assert found is not None
        return found


def document(name: str, base: str, candidate: str | None = None) -> dict[str, Any]:
    """A workflow of its own for each candidate; every user takes part in Canary, so that few are enough."""
    found = demo_files.stable(base) if candidate is None else demo_files.candidate(candidate, base)
    found = demo_files.moved(found, base, name=name)
    found["metadata"]["namespace"] = NAMESPACE
    found["spec"]["rollout"]["stages"][0]["share"] = {"numerator": 1, "denominator": 1}
    return found


def healthy(client: LocalClient) -> bool:
    found = [item.get("status") or {} for item in client.listing(WORKFLOWS, NAMESPACE)]
    return all(one.get("phase") == "Healthy" and "RuleSetReady" in reasons(one) for one in found)


def reasons(status: dict[str, Any]) -> set[str]:
    return {condition["reason"] for condition in status["conditions"]}


def ended(client: LocalClient) -> dict[str, dict[str, Any]]:
    rollouts = client.listing(ROLLOUTS, NAMESPACE)
    return {
        item["spec"]["workflow"]: item
        for item in rollouts
        if (item.get("status") or {}).get("state") == "Done"
    }


def rolled_out(folder: Path) -> dict[str, Case]:
    found = {name: Case() for name in RATES}
    with Children(folder / "logs") as children:
        base = children.services(demo_files.support_bot() / "services.py", 1)
        client = children.up(folder / "s")
        rules = demo_files.rules()
        rules["metadata"]["namespace"] = NAMESPACE
        client.apply([rules, *(document(name, base) for name in RATES)])
        assert until(lambda: healthy(client), 180), children.tail("up")
        with ExitStack() as stack:
            for seed, (name, case) in enumerate(found.items()):
                users = support_customers(seed)
                traffic = BackgroundTraffic(runs_url(client, name), users, rate=RATES[name], seed=seed)
                case.tally = traffic.tally
                traffic.start()
                stack.callback(traffic.stop)
            client.apply([document(name, base, name) for name in RATES])
            until(lambda: len(ended(client)) == len(RATES), SECONDS)
            for name, item in ended(client).items():
                found[name].rollout = item
            children.check()
            until(lambda: all(len(after(case)) >= AFTER for case in found.values() if case.rollout), 180)
        for name, case in found.items():
            failed = demo_checks.failed_gates(case.rollout)
            runs = [run for gate in failed if gate["signal"] == BAD.get(name) for run in gate["runs"]]
            case.witnesses = [{one["arm"]: one for one in client.run(run)} for run in runs[:3]]
    return found


def after(case: Case) -> list[Answer]:
    return demo_checks.since(case.tally.answers, case.ended)


def check_aborted_by_the_gate_that_sees_it(name: str, case: Case) -> None:
    assert case.status.get("outcome") == "Aborted", case.status
    failed = {gate["signal"]: gate for gate in demo_checks.failed_gates(case.rollout)}
    assert BAD[name] in failed, failed
    gate = failed[BAD[name]]
    assert gate["candidate"] is not None, gate
    assert gate["stable"] is not None, gate
    assert gate["have"] > 0, gate
    assert gate["runs"], gate
    assert gate["name"] in case.status["message"], case.status["message"]


def check_runs_that_show_it_can_be_looked_at(name: str, case: Case) -> None:
    assert case.witnesses, case.status
    for arms in case.witnesses:
        assert arms["candidate"]["workflow"] == name
        assert SHOWS[name](arms), (name, case.status["message"], arms)


def check_every_user_was_answered_by_stable(name: str, case: Case) -> None:
    assert {passage.stage for passage in demo_checks.passages(case.rollout)} <= {"Canary", "Shadow"}
    assert set(case.tally.by_version()) == {"1.0.0"}
    assert len(after(case)) >= AFTER


def check_promoted_through_all_stages(case: Case) -> None:
    assert case.status.get("outcome") == "Promoted", case.status
    stages = [passage.stage for passage in demo_checks.passages(case.rollout)]
    assert stages == ["Canary", "Shadow", "Controlled", "Full"]
    assert demo_checks.too_early(case.tally.answers, "2.0.0", demo_checks.opened_at(case.rollout)) == []
    assert {answer.version for answer in after(case) if answer.status == 200} == {"2.0.0"}


def test_each_candidate_ends_as_it_should(tmp_path: Path) -> None:
    """One test, since one `up` runs all of them."""
    cases = rolled_out(tmp_path)
    for name in BAD:
        check_aborted_by_the_gate_that_sees_it(name, cases[name])
        check_runs_that_show_it_can_be_looked_at(name, cases[name])
        check_every_user_was_answered_by_stable(name, cases[name])
    check_promoted_through_all_stages(cases["good"])
    for case in cases.values():  # stable fails when its planner fails twice: about 1 run in 7,000
        assert case.tally.failed <= max(2, len(case.tally.answers) // 200)
